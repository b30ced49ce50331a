// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the beams of a generation are computed in: each row of the batch several times, one after
// the other, in tensors that are passed from step to step and in caches.
#pragma once

#include "run/Context.h"
#include "run/RepeatedRows.h"

namespace attn {

/// The rows of a generation's batch, each as often as there are beams.
class BeamRows {
public:
  /// Of a step's entry, whose rows lie along `dim`, known only when running.
  BeamRows(attn_context &context, const attn_abi_entry &step, int32_t dim, int64_t beams)
      : context(context), tables(*context.model->tables), step(step), dim(dim), beams(beams) {}
  BeamRows(const BeamRows &) = delete;
  BeamRows &operator=(const BeamRows &) = delete;
  ~BeamRows();

  /// Whether the model takes `rows` times as many rows as there are beams; says so for `entry`.
  attn_status checkRoom(const attn_abi_entry &entry, int64_t rows, Error &error) const;
  /// Repeats the rows of a tensor that the step takes as input number `input`, in memory of its
  /// own.
  attn_status repeat(int32_t input, attn_tensor &tensor, Error &error);
  /// Repeats the rows that the step's caches hold.
  attn_status repeatCaches(Error &error);

  /// A row that becomes what another one is.
  struct Copy {
    int64_t to, from;
  };
  /// In a tensor, which is shaped as `known` says.
  void copy(const attn_abi_tensor &known, attn_tensor &tensor, const Vector<Copy> &copies) const;
  /// In the caches to which the step adds positions.
  attn_status copyInCaches(const Vector<Copy> &copies, Error &error);
  /// How rows lie in a tensor; no rows where it does not have their axis.
  RowLayout layoutOf(const attn_abi_tensor &known, const attn_tensor &tensor) const;

private:
  /// The axis of a tensor that rows lie along, -1 where it has none.
  int32_t axisAt(const attn_abi_tensor &known) const;
  /// How rows lie in a state; one row, which all share, where it does not have their axis.
  RowLayout layoutOf(const attn_abi_cache &cache, const attn_abi_state &state,
                     const CacheMemory &memory) const;
  /// Where a cache's bytes are changed: its memory, or what was copied there from the GPU.
  attn_status fetch(int32_t cache, Error &error);
  /// Takes what was changed there to where runs read it.
  attn_status store(int32_t cache, Error &error);

  attn_context &context;
  const attn_abi_model &tables;
  const attn_abi_entry &step;
  int32_t dim;
  int64_t beams;
  Vector<PageBlock *> owned;
};

} // namespace attn
