// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which tensor of a checkpoint is which parameter of a model.
#pragma once

#include "attn/abi.h"
#include "base/Error.h"
#include "io/Checkpoint.h"

namespace attn {

/// The tensor of each parameter and layer: index firsts[parameter] + layer (0 where it belongs to
/// no stack). Null where an optional parameter has none.
struct Binding {
  Vector<int64_t> firsts;
  Vector<const StoredTensor *> tensors;
};

/// The name of a parameter's tensor: its pattern with the layer in place of "{n}" (abi.h).
void expandName(const attn_abi_parameter &parameter, int32_t layer, Text &name);

/// Matches a checkpoint and a model's parameters. Where they differ, the error (W0105) lists every
/// parameter without a tensor, tensor without a parameter, other shape and other dtype.
attn_status matchCheckpoint(const attn_abi_model &tables, const Checkpoint &checkpoint,
                            Binding &binding, Error &error);

} // namespace attn
