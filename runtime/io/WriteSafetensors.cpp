// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors as a .safetensors file: the length of the header, the header in JSON, the elements.
#include "base/Dtype.h"
#include "io/Checkpoint.h"
#include "io/Safetensors.h"

using namespace attn;

/// A JSON string.
static void appendString(Text &text, const char *value) {
  text.append("\"");
  for (const char *at = value; *at; ++at)
    if (*at == '"' || *at == '\\')
      text.append("\\%c", *at);
    else if (static_cast<unsigned char>(*at) < 0x20)
      text.append("\\u%04x", unsigned(*at));
    else
      text.append("%c", *at);
  text.append("\"");
}

/// The bytes of a tensor; false for what is no tensor.
static bool bytesOf(const attn_tensor &tensor, int64_t &bytes) {
  return safetensorsName(tensor.dtype) && tensor.rank >= 0 && tensor.rank <= ATTN_MAX_RANK &&
         countElements(tensor.shape, tensor.rank, bytes) &&
         !__builtin_mul_overflow(bytes, int64_t(attn_dtype_size(tensor.dtype)), &bytes);
}

/// Appends `"name":{...}`, its elements beginning at `offset`, which becomes their end.
static bool appendEntry(Text &header, const attn_named_tensor &named, int64_t &offset) {
  int64_t bytes = 0;
  const attn_tensor &tensor = named.tensor;
  if (!bytesOf(tensor, bytes))
    return false;
  appendString(header, named.name);
  header.append(":{\"dtype\":\"%s\",\"shape\":[", safetensorsName(tensor.dtype));
  for (int32_t a = 0; a < tensor.rank; ++a)
    header.append(a ? ",%lld" : "%lld", static_cast<long long>(tensor.shape[a]));
  header.append("],\"data_offsets\":[%lld,", static_cast<long long>(offset));
  offset += bytes;
  header.append("%lld]}", static_cast<long long>(offset));
  return true;
}

attn_status attn::writeSafetensors(const char *path, const attn_named_tensor *tensors, size_t count,
                                   Error &error) {
  Text header;
  header.append("{");
  int64_t offset = 0;
  for (size_t i = 0; i < count; ++i) {
    if (i)
      header.append(",");
    if (!appendEntry(header, tensors[i], offset))
      return error.set(ATTN_INVALID_ARGUMENT, "R0101", "`%s` cannot be written to `%s`: no tensor",
                       tensors[i].name, path);
  }
  header.append("}");
  // Elements begin at a multiple of 64 bytes of the file.
  size_t padding = -(8 + header.size()) % 64;
  header.append("%*s", int(padding), "");
  if (header.failed())
    return error.outOfMemory(path);
  unsigned char length[8] = {};
  for (size_t i = 0; i < sizeof length; ++i)
    length[i] = static_cast<unsigned char>(uint64_t(header.size()) >> (8 * i));
  OutputFile file;
  if (file.open(path, error) || file.write(length, sizeof length, error) ||
      file.write(header.c_str(), header.size(), error))
    return error.status;
  for (size_t i = 0; i < count; ++i) {
    int64_t bytes = 0;
    if (bytesOf(tensors[i].tensor, bytes) &&
        file.write(tensors[i].tensor.data, size_t(bytes), error))
      return error.status;
  }
  return file.commit(error);
}
