// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strided tensors as sets of bytes: their reach, and whether two of these sets meet.
#include "base/Overlap.h"

using namespace attn;

namespace {
/// Steps of `stride` bytes, 0 to `most` of them.
struct Axis {
  int64_t stride, most;
};

/// Axes in the order of their strides, the longest first.
struct Axes {
  Axis items[2 * (ATTN_MAX_RANK + 1)];
  int32_t count = 0;

  void add(int64_t stride, int64_t most) {
    if (most == 0)
      return;
    int32_t at = count++;
    for (; at > 0 && size(items[at - 1].stride) < size(stride); --at)
      items[at] = items[at - 1];
    items[at] = {stride, most};
  }
  static int64_t size(int64_t stride) { return stride < 0 ? -stride : stride; }
};
} // namespace

/// The stride of an axis in bytes, of what is dense where there are none.
static void addAxes(Axes &axes, const attn_tensor &tensor, int64_t sign) {
  auto width = int64_t(attn_dtype_size(tensor.dtype));
  int64_t dense = width;
  for (int32_t a = tensor.rank; a-- > 0; dense *= tensor.shape[a])
    axes.add(sign * (tensor.strides ? tensor.strides[a] * width : dense), tensor.shape[a] - 1);
}

bool attn::reachOf(const attn_tensor &tensor, int64_t &lowest, int64_t &end) {
  auto width = int64_t(attn_dtype_size(tensor.dtype));
  int64_t dense = 1;
  lowest = 0, end = width;
  for (int32_t a = tensor.rank; a-- > 0;) {
    int64_t reach = 0, stride = tensor.strides ? tensor.strides[a] : dense;
    if (__builtin_mul_overflow(dense, tensor.shape[a], &dense))
      return false;
    if (tensor.shape[a] == 1)
      continue;
    if (__builtin_mul_overflow(stride, width, &reach) ||
        __builtin_mul_overflow(reach, tensor.shape[a] - 1, &reach) ||
        __builtin_add_overflow(reach < 0 ? lowest : end, reach, reach < 0 ? &lowest : &end))
      return false;
  }
  auto data = int64_t(reinterpret_cast<uintptr_t>(tensor.data));
  int64_t sum = 0;
  return !__builtin_add_overflow(data, lowest, &sum) && sum >= 0 &&
         !__builtin_add_overflow(data, end, &sum);
}

/// Whether axes [first, count) lead to `target`, tried depth first.
static bool leadTo(const Axes &axes, int32_t first, int64_t target, int64_t &budget) {
  int64_t least = 0, most = 0;
  for (int32_t i = first; i < axes.count; ++i)
    (axes.items[i].stride < 0 ? least : most) += axes.items[i].stride * axes.items[i].most;
  if (target < least || target > most)
    return false;
  if (target == 0 || --budget < 0)
    return true;
  if (first == axes.count)
    return false;
  const Axis &axis = axes.items[first];
  if (axis.stride == 0)
    return leadTo(axes, first + 1, target, budget);
  // The rest reaches from `least` to `most` without this axis.
  int64_t own = axis.stride * axis.most;
  (own < 0 ? least : most) -= own;
  // Steps c with least <= target - c * stride <= most, in the direction of the stride.
  int64_t size = Axes::size(axis.stride);
  int64_t from = axis.stride > 0 ? target - most : least - target,
          to = axis.stride > 0 ? target - least : most - target;
  int64_t begin = from <= 0 ? 0 : (from + size - 1) / size, end = to < 0 ? -1 : to / size;
  for (int64_t c = begin; c <= end && c <= axis.most; ++c)
    if (leadTo(axes, first + 1, target - c * axis.stride, budget))
      return true;
  return false;
}

bool attn::mayOverlap(const attn_tensor &a, const attn_tensor &b) {
  auto aData = int64_t(reinterpret_cast<uintptr_t>(a.data)),
       bData = int64_t(reinterpret_cast<uintptr_t>(b.data));
  int64_t aLowest = 0, aEnd = 0, bLowest = 0, bEnd = 0;
  reachOf(a, aLowest, aEnd);
  reachOf(b, bLowest, bEnd);
  if (aData + aEnd <= bData + bLowest || bData + bEnd <= aData + aLowest)
    return false;
  // A byte of `a` is as far from one of `b` as axes of both, and of their elements' bytes, lead.
  Axes axes;
  addAxes(axes, a, 1);
  axes.add(1, int64_t(attn_dtype_size(a.dtype)) - 1);
  addAxes(axes, b, -1);
  axes.add(-1, int64_t(attn_dtype_size(b.dtype)) - 1);
  int64_t budget = 1 << 14;
  return leadTo(axes, 0, bData - aData, budget);
}

bool attn::mayOverlapItself(const attn_tensor &tensor) {
  Axes axes;
  addAxes(axes, tensor, 1);
  auto reach = int64_t(attn_dtype_size(tensor.dtype));
  for (int32_t i = axes.count; i-- > 0;) {
    if (Axes::size(axes.items[i].stride) < reach)
      return true;
    reach += Axes::size(axes.items[i].stride) * axes.items[i].most;
  }
  return false;
}
