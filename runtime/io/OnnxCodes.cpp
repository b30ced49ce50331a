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

namespace {
/// The sizes of a MatMulNBits: blocks of a row, and the bytes of a block and of a row of zeros.
struct ProductSizes {
  explicit ProductSizes(const OnnxCodes &node)
      : blocks((node.depth + node.block - 1) / node.block), bytes(node.block * node.bits / 8),
        zeroBytes((blocks * node.bits + 7) / 8),
        areFloats(node.zeros.name && node.zeros.dtype == node.scales.dtype) {}
  int64_t blocks, bytes, zeroBytes;
  bool areFloats; ///< The zeros, which else are codes, too.
};
} // namespace

/// Whether all tensors of a MatMulNBits are as large as it says. Nothing that is computed of sizes
/// below `most` overflows.
static attn_status checkProduct(const OnnxCodes &node, Error &error) {
  constexpr int64_t most = int64_t(1) << 30;
  auto isSize = [](int64_t size) { return size >= 1 && size <= most; };
  if ((node.bits != 4 && node.bits != 8) || node.block < 16 || !isSize(node.block) ||
      !isSize(node.depth) || !isSize(node.columns))
    return refuse(node, "codes of other than 4 or 8 bits, or blocks that cannot be", error);
  ProductSizes sizes(node);
  int64_t zeros = node.columns * (sizes.areFloats ? sizes.blocks : sizes.zeroBytes);
  if (countOf(node.codes) != node.columns * sizes.blocks * sizes.bytes ||
      countOf(node.scales) != node.columns * sizes.blocks ||
      (node.zeros.name && countOf(node.zeros) != zeros))
    return refuse(node, "codes, scales and zeros are not as many as `N`, `K` and `block_size` say",
                  error);
  return ATTN_OK;
}

static void decodeProduct(const OnnxCodes &node, const char *codes, const char *scales,
                          const char *zeros, float *values) {
  ProductSizes sizes(node);
  for (int64_t row = 0; row < node.columns; ++row)
    for (int64_t k = 0; k < node.depth; ++k) {
      int64_t block = k / node.block, at = row * sizes.blocks + block;
      auto *own = reinterpret_cast<const uint8_t *>(codes) + at * sizes.bytes;
      float zero = float(1 << (node.bits - 1));
      if (zeros)
        zero = sizes.areFloats
                   ? loadFloat(zeros, node.zeros.dtype, at)
                   : codeAt(reinterpret_cast<const uint8_t *>(zeros) + row * sizes.zeroBytes, block,
                            node.bits);
      values[row * node.depth + k] = (codeAt(own, k % node.block, node.bits) - zero) *
                                     loadFloat(scales, node.scales.dtype, at);
    }
}

/// The axis of a DequantizeLinear's scales, counted from the front.
static int64_t axisOf(const OnnxCodes &node) {
  return node.axis < 0 ? node.axis + node.codes.rank : node.axis;
}

/// The same of a DequantizeLinear.
static attn_status checkAlong(const OnnxCodes &node, Error &error) {
  int64_t several = countOf(node.scales), axis = axisOf(node);
  if (several > 1 && (axis < 0 || axis >= node.codes.rank || node.codes.shape[axis] != several))
    return refuse(node, "a scale for each block, or of an axis that is not there", error);
  if (several < 1 || (node.zeros.name && countOf(node.zeros) != several))
    return refuse(node, "zeros that are not as many as scales", error);
  if (node.zeros.name && node.zeros.dtype != node.codes.dtype)
    return refuse(node, "zeros that are no codes", error);
  return ATTN_OK;
}

static void decodeAlong(const OnnxCodes &node, const char *codes, const char *scales,
                        const char *zeros, float *values) {
  int64_t count = countOf(node.codes), several = countOf(node.scales), inner = 1;
  for (int64_t i = axisOf(node) + 1; several > 1 && i < node.codes.rank; ++i)
    inner *= node.codes.shape[i];
  bool isSigned = strcmp(node.codes.dtypeName, "I8") == 0;
  auto code = [&](const char *bytes, int64_t at) {
    return isSigned ? float(int8_t(bytes[at])) : float(uint8_t(bytes[at]));
  };
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = i / inner % several;
    values[i] =
        (code(codes, i) - (zeros ? code(zeros, at) : 0)) * loadFloat(scales, node.scales.dtype, at);
  }
}

attn_status attn::decodeOnnxCodes(const OnnxCodes &node, Arena &arena, StoredTensor &made,
                                  Error &error) {
  made = {};
  if (!node.codes.name || !node.scales.name)
    return ATTN_OK;
  if (node.codes.dtype != ATTN_U8 || node.scales.dtype == ATTN_U8)
    return refuse(node, "codes that are no bytes, or scales that are", error);
  if (attn_status status = node.isProduct ? checkProduct(node, error) : checkAlong(node, error))
    return status;
  Vector<char> codeBytes, scaleBytes, zeroBytes, numbers;
  const char *codes = Checkpoint::bytesOf(node.codes, codeBytes, error),
             *scales = codes ? Checkpoint::bytesOf(node.scales, scaleBytes, error) : nullptr,
             *zeros = scales && node.zeros.name ? Checkpoint::bytesOf(node.zeros, zeroBytes, error)
                                                : nullptr;
  if (!scales || (node.zeros.name && !zeros))
    return error.status;
  int64_t count = node.isProduct ? node.columns * node.depth : countOf(node.codes);
  if (!numbers.resize(size_t(count) * 4))
    return error.outOfMemory(node.codes.name);
  auto *values = reinterpret_cast<float *>(numbers.data());
  if (node.isProduct)
    decodeProduct(node, codes, scales, zeros, values);
  else
    decodeAlong(node, codes, scales, zeros, values);
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
