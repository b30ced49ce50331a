// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Codes of 4 and 8 bits to numbers. In a byte of two codes the first one has the low bits.
#include "io/OnnxCodes.h"
#include "base/Dtype.h"
#include "base/Tensor.h"

using namespace attn;

StoredTensor *OnnxCodes::partOf(const char *name) {
  StoredTensor *parts[] = {&codes, &scales, &zeros};
  for (int i = 0; i < 3; ++i)
    if (const char *own = inputs[isProduct ? i + 1 : i]; own && strcmp(own, name) == 0)
      return parts[i];
  return nullptr;
}

static attn_status refuse(const OnnxCodes &node, const char *why, Error &error) {
  return error.set(ATTN_BAD_WEIGHTS, "W0206", "tensor `%s` cannot be codes: %s", node.codes.name,
                   why);
}

static int64_t countOf(const StoredTensor &tensor) {
  int64_t elements = 0;
  return tensor.name && countElements(tensor.shape, tensor.rank, elements) ? elements : 0;
}

/// One code of a row, whose codes lie side by side.
static float codeAt(const uint8_t *row, int64_t index, int64_t bits) {
  if (bits == 8)
    return row[index];
  return float(index % 2 ? row[index / 2] >> 4 : row[index / 2] & 15);
}

/// Codes of MatMulNBits.
static attn_status decodeProduct(const OnnxCodes &node, const char *codes, const char *scales,
                                 const char *zeros, float *values, Error &error) {
  if ((node.bits != 4 && node.bits != 8) || node.block < 16 || node.depth < 1 || node.columns < 1)
    return refuse(node, "codes of other than 4 or 8 bits, or blocks that cannot be", error);
  int64_t blocks = (node.depth + node.block - 1) / node.block, bytes = node.block * node.bits / 8;
  bool areFloats = node.zeros.name && node.zeros.dtype == node.scales.dtype;
  int64_t zeroBytes = (blocks * node.bits + 7) / 8;
  if (countOf(node.codes) != node.columns * blocks * bytes ||
      countOf(node.scales) != node.columns * blocks ||
      (zeros && countOf(node.zeros) != node.columns * (areFloats ? blocks : zeroBytes)))
    return refuse(node, "codes, scales and zeros are not as many as `N`, `K` and `block_size` say",
                  error);
  for (int64_t row = 0; row < node.columns; ++row)
    for (int64_t k = 0; k < node.depth; ++k) {
      int64_t block = k / node.block, at = row * blocks + block;
      auto *own = reinterpret_cast<const uint8_t *>(codes) + at * bytes;
      float zero = float(1 << (node.bits - 1));
      if (zeros)
        zero = areFloats ? loadFloat(zeros, node.zeros.dtype, at)
                         : codeAt(reinterpret_cast<const uint8_t *>(zeros) + row * zeroBytes, block,
                                  node.bits);
      values[row * node.depth + k] = (codeAt(own, k % node.block, node.bits) - zero) *
                                     loadFloat(scales, node.scales.dtype, at);
    }
  return ATTN_OK;
}

/// Codes of DequantizeLinear.
static attn_status decodeAlong(const OnnxCodes &node, const char *codes, const char *scales,
                               const char *zeros, float *values, Error &error) {
  int64_t count = countOf(node.codes), several = countOf(node.scales);
  int64_t axis = node.axis < 0 ? node.axis + node.codes.rank : node.axis, inner = 1;
  if (several > 1) {
    if (axis < 0 || axis >= node.codes.rank || node.codes.shape[axis] != several)
      return refuse(node, "a scale for each block, or of an axis that is not there", error);
    for (int32_t i = int32_t(axis) + 1; i < node.codes.rank; ++i)
      inner *= node.codes.shape[i];
  }
  if (several < 1 || (zeros && countOf(node.zeros) != several))
    return refuse(node, "zeros that are not as many as scales", error);
  bool isSigned = strcmp(node.codes.dtypeName, "I8") == 0;
  auto code = [&](const char *bytes, int64_t at) {
    return isSigned ? float(int8_t(bytes[at])) : float(uint8_t(bytes[at]));
  };
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = i / inner % several;
    values[i] =
        (code(codes, i) - (zeros ? code(zeros, at) : 0)) * loadFloat(scales, node.scales.dtype, at);
  }
  return ATTN_OK;
}

attn_status attn::decodeOnnxCodes(const OnnxCodes &node, Arena &arena, StoredTensor &made,
                                  Error &error) {
  made = {};
  if (!node.codes.name || !node.scales.name)
    return ATTN_OK;
  Vector<char> codeBytes, scaleBytes, zeroBytes, numbers;
  const char *codes = Checkpoint::bytesOf(node.codes, codeBytes, error),
             *scales = codes ? Checkpoint::bytesOf(node.scales, scaleBytes, error) : nullptr,
             *zeros = scales && node.zeros.name ? Checkpoint::bytesOf(node.zeros, zeroBytes, error)
                                                : nullptr;
  if (!scales || (node.zeros.name && !zeros))
    return error.status;
  int64_t count = node.isProduct ? 0 : countOf(node.codes);
  if (node.isProduct && __builtin_mul_overflow(node.columns, node.depth, &count))
    return refuse(node, "a matrix whose size overflows", error);
  if (count < 0 || count > INT64_MAX / 4 || !numbers.resize(size_t(count) * 4))
    return error.outOfMemory(node.codes.name);
  auto *values = reinterpret_cast<float *>(numbers.data());
  attn_status status = node.isProduct ? decodeProduct(node, codes, scales, zeros, values, error)
                                      : decodeAlong(node, codes, scales, zeros, values, error);
  if (status)
    return status;
  made = node.codes;
  made.name = node.isProduct ? node.codes.name : node.output;
  made.nameLength = strlen(made.name);
  made.dtype = ATTN_F32;
  strcpy(made.dtypeName, attn_dtype_name(ATTN_F32));
  if (node.isProduct) {
    made.rank = 2;
    made.shape[0] = node.columns;
    made.shape[1] = node.depth;
  }
  made.bytes = numbers.size();
  made.file = nullptr;
  made.data = arena.copy(numbers.data(), numbers.size());
  return made.data ? ATTN_OK : error.outOfMemory(made.name);
}
