// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recorded steps to calls of the driver; tensor maps are encoded before.
#include "cuda/Launch.h"

using namespace attn;

CuResult Launcher::encode(const attn_abi_tensor_map &map, const int64_t *numbers, char *encoded) {
  uint64_t sizes[ATTN_MAX_MAP_RANK], strides[ATTN_MAX_MAP_RANK];
  uint32_t box[ATTN_MAX_MAP_RANK], elementStrides[ATTN_MAX_MAP_RANK];
  for (int32_t d = 0; d < map.rank; ++d) {
    sizes[d] = uint64_t(numbers[1 + d]);
    strides[d] = d + 1 < map.rank ? uint64_t(numbers[1 + map.rank + d]) : 0;
    box[d] = uint32_t(map.box[d]);
    elementStrides[d] = 1;
  }
  int swizzle = map.swizzle == 128 ? 3 : map.swizzle == 64 ? 2 : map.swizzle == 32 ? 1 : 0;
  CuTensorMap made;
  CuResult result = device.driver.tensorMapEncodeTiled(
      &made, cuMapBfloat16, unsigned(map.rank), asPointer(CuPointer(numbers[0])), sizes, strides,
      box, elementStrides, /*interleave=*/0, swizzle, cuMapPromote256, /*fill=*/0);
  if (!result)
    memcpy(encoded, made.bytes, sizeof made);
  return result;
}

attn_status Launcher::encodeMaps(Recording &run, const Recording *before, Error &error) {
  for (size_t i = 0; i < run.size(); ++i) {
    const Step &step = run[i];
    int32_t at = step.argumentCount;
    for (int32_t m = 0; m < step.mapCount; at += numbersOf(step.maps[m++])) {
      const int64_t *numbers = run.wordsOf(i) + at;
      size_t bytes = sizeof(int64_t) * size_t(numbersOf(step.maps[m]));
      if (before && memcmp(numbers, before->wordsOf(i) + at, bytes) == 0) {
        memcpy(run.mapOf(i, m), before->mapOf(i, m), sizeof(CuTensorMap));
      } else if (CuResult result = encode(step.maps[m], numbers, run.mapOf(i, m))) {
        failure.result = result, failure.kernel = step.kernel, failure.map = m;
        memcpy(failure.numbers, numbers, bytes);
        return reportFailure(error);
      }
    }
  }
  return ATTN_OK;
}

PreparedLaunch::PreparedLaunch(const Recording &run, size_t i) {
  const Step &step = run[i];
  node = {step.function,    step.blocks, 1,      1, step.threads, 1, 1,
          step.sharedBytes, pointers,    nullptr};
  for (int32_t a = 0; a < step.argumentCount; ++a)
    pointers[a] = const_cast<int64_t *>(run.wordsOf(i) + a);
  for (int32_t m = 0; m < step.mapCount; ++m) {
    memcpy(maps[m].bytes, run.mapOf(i, m), sizeof(CuTensorMap));
    pointers[step.argumentCount + m] = &maps[m];
  }
}

CuResult Launcher::launch(const CuKernelNode &node, bool startsEarly) {
  if (!startsEarly)
    return device.driver.launchKernel(node.function, node.gridX, node.gridY, node.gridZ,
                                      node.blockX, node.blockY, node.blockZ, node.sharedBytes,
                                      device.currentStream(), node.arguments, node.extra);
  CuLaunchAttribute attribute = {};
  attribute.id = cuProgrammaticLaunch, attribute.value = 1;
  CuLaunchConfig config = {node.gridX,       node.gridY,
                           node.gridZ,       node.blockX,
                           node.blockY,      node.blockZ,
                           node.sharedBytes, device.currentStream(),
                           &attribute,       1};
  return device.driver.launchKernelEx(&config, node.function, node.arguments, node.extra);
}

attn_status Launcher::issue(const Recording &run, size_t first, size_t end, Error &error) {
  for (size_t i = first; i < end; ++i) {
    const int64_t *words = run.wordsOf(i);
    switch (run[i].kind) {
    case Step::CopyIn:
      device.driver.check(device.driver.memcpyHtoDAsync(CuPointer(words[0]),
                                                        asPointer(CuPointer(words[1])),
                                                        size_t(words[2]), device.currentStream()),
                          "copying an input", error);
      break;
    case Step::CopyOut:
      device.driver.check(device.driver.memcpyDtoHAsync(asPointer(CuPointer(words[1])),
                                                        CuPointer(words[0]), size_t(words[2]),
                                                        device.currentStream()),
                          "copying an output", error);
      break;
    case Step::Record:
      device.driver.check(
          device.driver.eventRecord(static_cast<CuEvent>(asPointer(CuPointer(words[0]))),
                                    device.currentStream()),
          "taking the time", error);
      break;
    case Step::Launch: {
      PreparedLaunch prepared(run, i);
      failure.kernel = run[i].kernel;
      failure.result = launch(prepared.node, code.startsEarly(run[i]));
      if (failure.result)
        reportFailure(error);
    }
    }
    if (error.status)
      return error.status;
  }
  return ATTN_OK;
}

static void appendNumbers(Text &text, const char *what, const int64_t *numbers, int32_t count) {
  text.append(", %s ", what);
  text.appendShape(numbers, count);
}

attn_status Launcher::reportFailure(Error &error) const {
  if (failure.map < 0) {
    Text what;
    what.append("launching kernel `%s`", failure.kernel < 0
                                             ? stridedKernels[-1 - failure.kernel]
                                             : code.tables().kernels[failure.kernel].name);
    return device.driver.check(failure.result, what.c_str(), error);
  }
  const attn_abi_gpu_kernel &kernel = code.tables().kernels[failure.kernel];
  const attn_abi_tensor_map &map = kernel.maps[failure.map];
  int64_t box[ATTN_MAX_MAP_RANK];
  for (int32_t d = 0; d < map.rank; ++d)
    box[d] = map.box[d];
  Text what, text;
  what.append("making tensor map %d of kernel `%s`", int(failure.map), kernel.name);
  device.driver.check(failure.result, what.c_str(), error);
  text.append("bf16 at %p", asPointer(CuPointer(failure.numbers[0])));
  appendNumbers(text, "sizes", failure.numbers + 1, map.rank);
  appendNumbers(text, "strides in bytes", failure.numbers + 1 + map.rank, map.rank - 1);
  appendNumbers(text, "box", box, map.rank);
  error.note("%s, swizzle %d", text.c_str(), int(map.swizzle));
  return error.status;
}
