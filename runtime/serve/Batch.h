// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Requests as rows of one run: along which axes, how many of them, and their tensors put together.
#pragma once

#include "attn/abi.h"
#include "main/Command.h"

namespace attn {

/// Where the rows of a batch are in the tensors of an entry.
struct BatchAxes {
  const attn_abi_model &tables;
  const attn_abi_entry &entry;
  int32_t batch; ///< the dim that counts them; -1: a run is of one request

  BatchAxes(const attn_abi_model &tables, int32_t entry)
      : tables(tables), entry(tables.entries[entry]), batch(this->entry.batch) {}
  /// The axis of the batch, or -1.
  int32_t ofInput(size_t input) const { return axisOf(entry.inputs[input]); }
  int32_t ofOutput(size_t output) const { return axisOf(entry.outputs[output]); }
  /// The rows of an entry's inputs.
  int64_t rowsOf(const attn_tensor *inputs) const { return inputs[0].shape[ofInput(0)]; }
  /// How many rows of this kind a run should have. More take as much longer as there are more, once
  /// each weight is used often enough for its reading not to count.
  int64_t mostRows(const attn_tensor *inputs) const;
  /// The same for texts of so many tokens, by an entry that takes them.
  int64_t mostTexts(int64_t tokens) const;

private:
  /// The axis of the batch, or -1.
  int32_t axisOf(const attn_abi_tensor &tensor) const;
};

/// Tensors one behind the other along an axis, in memory of `owner`; false without it.
bool joinTensors(const Vector<attn_tensor *> &pieces, int32_t axis, Tensors &owner,
                 attn_tensor &whole);

/// `count` places of an axis, from `first` on, as a tensor of its own in memory of `owner`; false
/// without it.
bool cutTensor(const attn_tensor &whole, int32_t axis, int64_t first, int64_t count, Tensors &owner,
               attn_tensor &piece);

} // namespace attn
