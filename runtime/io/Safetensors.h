// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The safetensors format: its header to the tensors that it describes, and tensors to a file.
#pragma once

#include "base/Arena.h"
#include "base/Error.h"

namespace attn {

struct StoredTensor;

/// Adds how to convert a file of PyTorch's to .safetensors.
void helpToConvert(Error &error);

/// Bytes of a .safetensors file that hold its header, if it has one: at most all `size`.
/// `start` are its first 8, or all where it has fewer.
uint64_t headerBytes(const char *start, uint64_t size);

/// What the format calls an ATTN_* dtype; null of one that it has no name for.
const char *safetensorsName(int32_t dtype);

/// Reads the header of a .safetensors file of `size` bytes strictly by the format's rules and
/// appends its tensors (names are copied into `arena`), by their offsets. `data` are the bytes up
/// to the header's end. ATTN_BAD_WEIGHTS with the place in the header.
attn_status readSafetensors(const char *data, uint64_t size, const char *label, Arena &arena,
                            Vector<StoredTensor> &tensors, Error &error);

/// Writes tensors as a .safetensors file, in their order, whole or not at all. Names are UTF-8, no
/// two the same. ATTN_IO, ATTN_OUT_OF_MEMORY; ATTN_INVALID_ARGUMENT for what is no dtype or shape.
attn_status writeSafetensors(const char *path, const attn_named_tensor *tensors, size_t count,
                             Error &error);

} // namespace attn
