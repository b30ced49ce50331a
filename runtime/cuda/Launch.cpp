// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn_abi_call.launch: words as they are, tensor maps made of what the words behind them say.
#include "cuda/Gpu.h"

using namespace attn;

/// Numbers that say what a map is of: pointer, sizes, strides.
static int32_t numbersOf(const attn_abi_tensor_map &map) { return 2 * map.rank; }

CuResult Gpu::encode(const attn_abi_tensor_map &map, const int64_t *numbers, CuTensorMap &encoded) {
  uint64_t sizes[ATTN_MAX_MAP_RANK], strides[ATTN_MAX_MAP_RANK];
  uint32_t box[ATTN_MAX_MAP_RANK], elementStrides[ATTN_MAX_MAP_RANK];
  for (int32_t d = 0; d < map.rank; ++d) {
    sizes[d] = uint64_t(numbers[1 + d]);
    strides[d] = d + 1 < map.rank ? uint64_t(numbers[1 + map.rank + d]) : 0;
    box[d] = uint32_t(map.box[d]);
    elementStrides[d] = 1;
  }
  int swizzle = map.swizzle == 128 ? 3 : map.swizzle == 64 ? 2 : map.swizzle == 32 ? 1 : 0;
  return driver.tensorMapEncodeTiled(&encoded, kCuMapBfloat16, unsigned(map.rank),
                                     asPointer(CuPointer(numbers[0])), sizes, strides, box,
                                     elementStrides, /*interleave=*/0, swizzle, kCuMapPromote256,
                                     /*fill=*/0);
}

CuResult Gpu::launchKernel(int64_t kernel, const int64_t *arguments, int64_t count) {
  const attn_abi_gpu_kernel &info = code->kernels[kernel];
  void *pointers[kMostWords + kMostMaps];
  CuTensorMap maps[kMostMaps];
  const int64_t *next = arguments + info.wordCount, *end = arguments + count;
  for (int32_t i = 0; i < info.wordCount; ++i)
    pointers[i] = const_cast<int64_t *>(arguments + i);
  for (int32_t i = 0; i < info.mapCount; next += numbersOf(info.maps[i++])) {
    if (end - next < numbersOf(info.maps[i]))
      return kCuInvalidValue;
    if (CuResult result = encode(info.maps[i], next, maps[i])) {
      failure.map = i;
      memcpy(failure.numbers, next, sizeof(int64_t) * size_t(numbersOf(info.maps[i])));
      return result;
    }
    pointers[info.wordCount + i] = &maps[i];
  }
  if (next != end)
    return kCuInvalidValue;
  return driver.launchKernel(functions[size_t(kernel)], unsigned(multiprocessors * info.blocks), 1,
                             1, unsigned(info.threads), 1, 1, unsigned(info.sharedBytes), target,
                             pointers, nullptr);
}

void Gpu::launch(void *gpu, int64_t kernel, const int64_t *arguments, int64_t count) {
  Gpu &own = *static_cast<Gpu *>(gpu);
  if (own.failure.result)
    return;
  own.failure.result = own.launchKernel(kernel, arguments, count);
  own.failure.kernel = kernel;
  if (!own.isProfiled)
    return;
  if (!own.launched.push(kernel))
    own.failure.result = kCuOutOfMemory;
  own.record(own.launched.size());
}

static void appendNumbers(Text &text, const char *what, const int64_t *numbers, int32_t count) {
  text.append(", %s ", what);
  text.appendShape(numbers, count);
}

attn_status Gpu::reportFailure(Error &error) const {
  const attn_abi_gpu_kernel &kernel = code->kernels[failure.kernel];
  if (failure.map < 0) {
    Text what;
    what.append("launching kernel `%s`", kernel.name);
    return driver.check(failure.result, what.c_str(), error);
  }
  const attn_abi_tensor_map &map = kernel.maps[failure.map];
  int64_t box[ATTN_MAX_MAP_RANK];
  for (int32_t d = 0; d < map.rank; ++d)
    box[d] = map.box[d];
  Text what, text;
  what.append("making tensor map %d of kernel `%s`", int(failure.map), kernel.name);
  driver.check(failure.result, what.c_str(), error);
  text.append("bf16 at %p", asPointer(CuPointer(failure.numbers[0])));
  appendNumbers(text, "sizes", failure.numbers + 1, map.rank);
  appendNumbers(text, "strides in bytes", failure.numbers + 1 + map.rank, map.rank - 1);
  appendNumbers(text, "box", box, map.rank);
  error.note("%s, swizzle %d", text.c_str(), int(map.swizzle));
  return error.status;
}
