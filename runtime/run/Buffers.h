// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The caller's buffers: whether they can be what a run takes.
#pragma once

#include "attn/abi.h"
#include "base/Error.h"

namespace attn {

/// Whether a GPU's kernels can use a tensor in its memory as it is; others are copied there.
bool isUsedInPlace(const attn_tensor &tensor);

/// Null, misaligned or overlapping buffers, strides of the host that are not dense, memory of a
/// device other than GPU number `gpu` (-1: of any). Shapes have been checked.
attn_status checkBuffers(const attn_abi_entry &entry, const attn_tensor *inputs,
                         const attn_tensor *outputs, int32_t gpu, Error &error);

} // namespace attn
