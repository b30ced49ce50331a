// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Questions to a tensor of the C API, whose shape and strides are the caller's.
#pragma once

#include "attn/attn.h"

namespace attn {

/// Whether the data are in the memory of a GPU.
inline bool isOnDevice(const attn_tensor &tensor) { return tensor.deviceKind == ATTN_DEVICE_CUDA; }

/// Whether its strides, where it has some, are those of its shape, row-major.
bool isDense(const attn_tensor &tensor);

/// Bytes of a tensor whose dtype and shape are good.
uint64_t byteSize(const attn_tensor &tensor);

} // namespace attn
