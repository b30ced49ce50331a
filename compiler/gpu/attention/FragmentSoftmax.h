// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Online softmax of scores in fragments of 16 rows (TensorCores.h), of which a thread has parts of
// two: exp2 of scores less the largest so far, and what sums are to be rescaled by where it grew
// (Milakov and Gimelshein 2018; Dao 2023, FlashAttention-2).
#pragma once

#include "compiler/gpu/threads/TensorCores.h"
#include <array>

namespace attn {

/// Makes weights of the scores in one thread's fragments.
class FragmentSoftmax {
public:
  using Value = mlir::Value;

  /// `unit` times a score, which is positive, is an exponent of 2. `fuses`: by one multiply-add,
  /// but for large scores, which takes some registers.
  FragmentSoftmax(const TensorCores &cores, double unit, bool fuses)
      : cores(cores), unit(unit), fuses(fuses) {}

  /// The statistics of the rows g and g + 8.
  struct State {
    std::array<Value, 2> maxima; ///< of scores; -inf where none was live
    std::array<Value, 2> sums;   ///< of the thread's own weights

    /// The state as a loop carries it, and back.
    llvm::SmallVector<Value> values() const { return {maxima[0], maxima[1], sums[0], sums[1]}; }
    static State of(mlir::ValueRange values) {
      return {{values[0], values[1]}, {values[2], values[3]}};
    }
  };

  /// What a score is multiplied with to be an exponent of 2.
  double exponentUnit() const { return unit; }

  /// No keys; `sinks`, if given, are scores of none.
  State initial(std::optional<std::array<Value, 2>> sinks) const;
  /// Replaces scores by weights in f32; the factors of what was summed with weights before. Without
  /// a row's live score, all are 0; of NaN, all that follows is NaN.
  std::array<Value, 2> weigh(llvm::MutableArrayRef<Value> scores, State &state) const;
  /// 1 / the sum of all weights of a row, 0 where that is 0.
  std::array<Value, 2> inverses(const State &state) const;

private:
  /// Whether a float is this number.
  Value equals(Value a, double b) const;

  const TensorCores &cores;
  double unit;
  bool fuses;
};

} // namespace attn
