// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kind of file an input is given as, and the memory of inputs.
#include "base/Dtype.h"
#include "main/Command.h"
#include <strings.h>

using namespace attn;

bool Tensors::allocate(attn_tensor &tensor) {
  int64_t elements;
  void *block = nullptr;
  if (!countElements(tensor.shape, tensor.rank, elements) || elements > INT64_MAX / 16)
    return false;
  size_t bytes = size_t(elements) * attn_dtype_size(tensor.dtype);
  if (posix_memalign(&block, 64, bytes ? bytes : 1) != 0)
    return false;
  if (!memory.push(block)) {
    free(block);
    return false;
  }
  tensor.data = block;
  return true;
}

bool attn::hasSuffix(const char *path, const char *suffix) {
  size_t length = strlen(path), wanted = strlen(suffix);
  return length >= wanted && strcasecmp(path + length - wanted, suffix) == 0;
}

bool attn::isImageFile(const char *path) {
  return hasSuffix(path, ".png") || hasSuffix(path, ".jpg") || hasSuffix(path, ".jpeg");
}

bool attn::isSoundFile(const char *path) {
  return hasSuffix(path, ".wav") || hasSuffix(path, ".flac");
}

attn_status attn::refuseSound(const attn_abi_entry &entry, const attn_abi_tensor &input,
                              Error &error) {
  error.set(ATTN_BAD_INPUT, "R0303", "input `%s` of entry `%s` takes no sound", input.name,
            entry.name);
  error.help("say in the spec how one becomes the tensor: `sound input 80 x 3000`");
  return error.status;
}
