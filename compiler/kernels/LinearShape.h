// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sizes of a linear kernel that its code depends on.
#pragma once

#include "compiler/transforms/ParameterLayout.h"
#include "llvm/ADT/Sequence.h"

namespace attn {

/// The sizes of a linear kernel; all but the number of rows are known when compiling.
struct LinearShape {
  mlir::Value rows;                 ///< the buffer of what is multiplied
  int64_t n;                        ///< columns of `out`
  llvm::SmallVector<int64_t, 3> ks; ///< the contracted dims, outermost first
  int64_t k = 1;                    ///< their product
  int64_t width = panelWidth;       ///< columns of a panel
  int64_t panels;                   ///< ceil(n / width)
  Precision precision;              ///< of the products
  bool isWidened;                   ///< panels of 16 bits, rows of f32
  bool isOfBytes = false;           ///< panels of groups, multiplied as int8
  bool isOfNumbers = false;         ///< panels of half bytes, multiplied as bytes of groups
  bool keepsSums = true;            ///< `out` may hold sums of a part of k: it is f32, no capture

  /// Whether a part of a panel of groups is to be widened to bytes.
  bool becomesBytes() const { return isOfBytes || isOfNumbers; }
  /// What the panels have.
  const WeightFormat &format() const { return formatOf(precision); }
  /// Elements of the innermost contracted dim that one step takes, side by side in the panels.
  int64_t group() const { return format().group(); }
  /// Elements of `panels` that a step takes of each column.
  int64_t words() const { return format().elementsPerWord(); }
  /// Steps along contracted dim `d`, and in all.
  int64_t steps(size_t d) const { return ks[d] / (d + 1 == ks.size() ? group() : 1); }
  int64_t steps() const { return k / group(); }
  /// Steps from one panel to the next.
  int64_t panelSteps() const { return format().words(k); }
  /// Elements of `panels` that a step takes.
  int64_t stepElements() const { return width * words(); }

  /// The shape of a kernel with its rows; with its rounded ones where there are some and
  /// `readsRounded`.
  static mlir::FailureOr<LinearShape> of(LinearKernelOp op, bool readsRounded,
                                         int64_t width = panelWidth);

  /// The shape of a linear kernel's buffers; an error is reported at `op` where it is not known at
  /// compile time, or the panels are not of this shape.
  static mlir::FailureOr<LinearShape> of(mlir::Operation *op, mlir::Value input, mlir::Value panels,
                                         Precision precision, mlir::Value out, int64_t contract,
                                         int64_t width = panelWidth);

  /// Steps of k in one iteration of the innermost loop, by default. More of them, or several in a
  /// loop within others, let the scheduler load so much in advance that sums leave their registers.
  int64_t unroll() const {
    int64_t most = ks.size() > 1 ? 1 : isWidened ? 2 : 4;
    return std::min(steps(ks.size() - 1), most);
  }

  /// Steps of the outermost contracted dim that one tile takes: all of them, or parts of about
  /// equal size with `most` steps at most, whole iterations of `unroll`. The last may be shorter.
  int64_t depth(int64_t most, int64_t unroll) const;
};

} // namespace attn
