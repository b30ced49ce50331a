// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The copy of a strided tensor: its axes made few and its elements wide, and the PTX of the kernel.
#include "cuda/Strided.h"

using namespace attn;

const char attn::stridedKernels[][12] = {"attnCopy1", "attnCopy2", "attnCopy4", "attnCopy8",
                                         "attnCopy16"};

// Element i of the dense tensor: i is taken apart by the axes' sizes, innermost first, and the
// remainders times the strides are where it is on either side. Elements are fewer than 2^31, a step
// of all threads too, so that 32 bits do for i. Parameters are read by address as PTX ISA 7.1.1 has
// it for kernels.
#define ATTN_COPY_KERNEL(width, registers, load, store)                                            \
  ".visible .entry attnCopy" width "(.param .u64 from, .param .u64 to, .param .u64 elements,\n"    \
  "  .param .u64 rank, .param .align 8 .b8 axes[192])\n"                                           \
  "{\n"                                                                                            \
  "  .reg .b32 %r<12>; .reg .b64 %rd<10>; .reg .pred %p<3>; " registers "\n"                       \
  "  ld.param.u64 %rd1, [from];\n"                                                                 \
  "  ld.param.u64 %rd2, [to];\n"                                                                   \
  "  ld.param.u64 %rd3, [elements];\n"                                                             \
  "  cvt.u32.u64 %r1, %rd3;\n"                                                                     \
  "  ld.param.u64 %rd3, [rank];\n"                                                                 \
  "  cvt.u32.u64 %r2, %rd3;\n"                                                                     \
  "  mov.u32 %r3, %ctaid.x;\n"                                                                     \
  "  mov.u32 %r4, %ntid.x;\n"                                                                      \
  "  mov.u32 %r5, %tid.x;\n"                                                                       \
  "  mad.lo.s32 %r3, %r3, %r4, %r5;\n"                                                             \
  "  mov.u32 %r5, %nctaid.x;\n"                                                                    \
  "  mul.lo.s32 %r4, %r4, %r5;\n"                                                                  \
  "NEXT:\n"                                                                                        \
  "  setp.ge.u32 %p1, %r3, %r1;\n"                                                                 \
  "  @%p1 bra END;\n"                                                                              \
  "  mov.b64 %rd3, axes;\n"                                                                        \
  "  mov.b64 %rd4, %rd1;\n"                                                                        \
  "  mov.b64 %rd5, %rd2;\n"                                                                        \
  "  mov.b32 %r5, %r3;\n"                                                                          \
  "  mov.b32 %r6, %r2;\n"                                                                          \
  "AXIS:\n"                                                                                        \
  "  ld.param.u64 %rd6, [%rd3];\n"                                                                 \
  "  ld.param.u64 %rd7, [%rd3+8];\n"                                                               \
  "  ld.param.u64 %rd8, [%rd3+16];\n"                                                              \
  "  cvt.u32.u64 %r7, %rd6;\n"                                                                     \
  "  div.u32 %r8, %r5, %r7;\n"                                                                     \
  "  mul.lo.s32 %r9, %r8, %r7;\n"                                                                  \
  "  sub.s32 %r9, %r5, %r9;\n"                                                                     \
  "  cvt.u64.u32 %rd9, %r9;\n"                                                                     \
  "  mad.lo.s64 %rd4, %rd9, %rd7, %rd4;\n"                                                         \
  "  mad.lo.s64 %rd5, %rd9, %rd8, %rd5;\n"                                                         \
  "  mov.b32 %r5, %r8;\n"                                                                          \
  "  add.s64 %rd3, %rd3, 24;\n"                                                                    \
  "  sub.s32 %r6, %r6, 1;\n"                                                                       \
  "  setp.ne.u32 %p2, %r6, 0;\n"                                                                   \
  "  @%p2 bra AXIS;\n"                                                                             \
  "  ld.global" load ", [%rd4];\n"                                                                 \
  "  st.global" store ";\n"                                                                        \
  "  add.s32 %r3, %r3, %r4;\n"                                                                     \
  "  bra NEXT;\n"                                                                                  \
  "END:\n"                                                                                         \
  "  ret;\n"                                                                                       \
  "}\n"

const char attn::stridedPtx[] = ".version 7.0\n.target sm_80\n.address_size 64\n" //
    ATTN_COPY_KERNEL("1", ".reg .b16 %h;", ".u8 %h", ".u8 [%rd5], %h")
        ATTN_COPY_KERNEL("2", ".reg .b16 %h;", ".b16 %h", ".b16 [%rd5], %h")
            ATTN_COPY_KERNEL("4", "", ".b32 %r10", ".b32 [%rd5], %r10")
                ATTN_COPY_KERNEL("8", ".reg .b64 %d;", ".b64 %d", ".b64 [%rd5], %d")
                    ATTN_COPY_KERNEL("16", ".reg .b32 %v<4>;", ".v4.b32 {%v0, %v1, %v2, %v3}",
                                     ".v4.b32 [%rd5], {%v0, %v1, %v2, %v3}");

/// Twice as wide, where all places are multiples of that.
static bool widen(StridedCopy &copy) {
  int64_t twice = 2 * copy.width;
  StridedCopy::Axis &inner = copy.axes[0];
  bool isPossible = twice <= 16 && inner.size % 2 == 0 && inner.fromStride == copy.width &&
                    inner.toStride == copy.width && copy.from % CuPointer(twice) == 0 &&
                    copy.to % CuPointer(twice) == 0;
  for (int32_t a = 1; a < copy.rank; ++a)
    isPossible &= copy.axes[a].fromStride % twice == 0 && copy.axes[a].toStride % twice == 0;
  if (isPossible)
    copy.width = inner.fromStride = inner.toStride = twice, inner.size /= 2;
  return isPossible;
}

static StridedCopy between(CuPointer from, CuPointer to, const attn_tensor &tensor,
                           bool isFromStrided) {
  StridedCopy copy;
  copy.from = from, copy.to = to;
  copy.width = int64_t(attn_dtype_size(tensor.dtype));
  int64_t dense = copy.width;
  for (int32_t a = tensor.rank; a-- > 0; dense *= tensor.shape[a]) {
    if (tensor.shape[a] == 1)
      continue;
    int64_t own = tensor.strides ? tensor.strides[a] * copy.width : dense;
    StridedCopy::Axis axis = {tensor.shape[a], isFromStrided ? own : dense,
                              isFromStrided ? dense : own};
    StridedCopy::Axis *last = copy.rank ? &copy.axes[copy.rank - 1] : nullptr;
    if (last && axis.fromStride == last->size * last->fromStride &&
        axis.toStride == last->size * last->toStride)
      last->size *= axis.size;
    else
      copy.axes[copy.rank++] = axis;
  }
  if (copy.rank == 0)
    copy.axes[copy.rank++] = {1, copy.width, copy.width};
  while (widen(copy)) {
  }
  return copy;
}

StridedCopy StridedCopy::gather(const attn_tensor &tensor, CuPointer dense) {
  return between(reinterpret_cast<CuPointer>(tensor.data), dense, tensor, true);
}

StridedCopy StridedCopy::scatter(CuPointer dense, const attn_tensor &tensor) {
  return between(dense, reinterpret_cast<CuPointer>(tensor.data), tensor, false);
}

int64_t StridedCopy::elements() const {
  int64_t product = 1;
  for (int32_t a = 0; a < rank; ++a)
    product *= axes[a].size;
  return product;
}

StridedCopy StridedCopy::takeHalf() {
  StridedCopy half = *this;
  int32_t outermost = rank - 1;
  while (axes[outermost].size == 1)
    --outermost;
  Axis &axis = axes[outermost];
  half.axes[outermost].size = axis.size / 2;
  axis.size -= axis.size / 2;
  from += CuPointer(half.axes[outermost].size * axis.fromStride);
  to += CuPointer(half.axes[outermost].size * axis.toStride);
  return half;
}

void StridedCopy::toWords(int64_t (&words)[wordCount]) const {
  words[0] = int64_t(from), words[1] = int64_t(to), words[2] = elements(), words[3] = rank;
  for (int32_t a = 0; a < ATTN_MAX_RANK; ++a) {
    const Axis &axis = a < rank ? axes[a] : Axis{1, 0, 0};
    words[4 + 3 * a] = axis.size;
    words[5 + 3 * a] = axis.fromStride, words[6 + 3 * a] = axis.toStride;
  }
}

int32_t StridedCopy::kernel() const {
  int32_t kernel = 0;
  while (int64_t(1) << kernel < width)
    ++kernel;
  return kernel;
}
