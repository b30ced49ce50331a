// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Devices, alignment, strides and overlaps of the buffers of a run, each with an error of its own.
#include "run/Buffers.h"
#include "base/Overlap.h"
#include "base/Tensor.h"

using namespace attn;

/// What kernels on a GPU read at once.
static constexpr uintptr_t deviceAlignment = 16;

bool attn::isUsedInPlace(const attn_tensor &tensor) {
  return isDense(tensor) && uintptr_t(tensor.data) % deviceAlignment == 0;
}

namespace {
/// A tensor as errors name it.
struct Named {
  const char *kind, *name, *entry;
  const attn_tensor &tensor;
};
} // namespace

static Named nameOf(const attn_abi_entry &entry, const attn_tensor *inputs,
                    const attn_tensor *outputs, int32_t i) {
  if (i < entry.inputCount)
    return {"input", entry.inputs[i].name, entry.name, inputs[i]};
  i -= entry.inputCount;
  return {"output", entry.outputs[i].name, entry.name, outputs[i]};
}

static attn_status checkDevice(const Named &named, int32_t gpu, Error &error) {
  const attn_tensor &tensor = named.tensor;
  bool isHost = tensor.deviceKind == 0 || tensor.deviceKind == ATTN_DEVICE_CPU ||
                tensor.deviceKind == ATTN_DEVICE_CUDA_HOST;
  if (isHost || (isOnDevice(tensor) && gpu >= 0 && tensor.deviceIndex == gpu))
    return ATTN_OK;
  if (!isOnDevice(tensor))
    return error.set(
        ATTN_INVALID_ARGUMENT, "R0101",
        "%s `%s` of entry `%s`: its kind of device is %d, expected %d (CPU), %d (CUDA) "
        "or %d (pinned memory of the host)",
        named.kind, named.name, named.entry, int(tensor.deviceKind), ATTN_DEVICE_CPU,
        ATTN_DEVICE_CUDA, ATTN_DEVICE_CUDA_HOST);
  Text context;
  context.append(gpu < 0 ? "cpu" : "cuda:%d", int(gpu));
  error.set(ATTN_INVALID_ARGUMENT, "R0101",
            "%s `%s` of entry `%s` is in memory of `cuda:%d`, but the context runs on `%s`",
            named.kind, named.name, named.entry, int(tensor.deviceIndex), context.c_str());
  error.help("attn_context_set_device says where a context runs");
  return error.status;
}

static attn_status badStrides(const Named &named, const char *what, const char *help,
                              Error &error) {
  Text strides, shape;
  strides.appendShape(named.tensor.strides, named.tensor.rank);
  shape.appendShape(named.tensor.shape, named.tensor.rank);
  error.set(ATTN_INVALID_ARGUMENT, "R0101", "%s `%s` of entry `%s`: its strides are %s, %s %s",
            named.kind, named.name, named.entry, strides.c_str(), what, shape.c_str());
  error.help("%s", help);
  return error.status;
}

static attn_status checkStrides(const Named &named, bool isOutput, Error &error) {
  const attn_tensor &tensor = named.tensor;
  if (isDense(tensor))
    return ATTN_OK;
  if (!isOnDevice(tensor))
    return badStrides(named, "expected those of a dense, row-major tensor of shape",
                      "make it contiguous first", error);
  int64_t lowest = 0, end = 0;
  if (!reachOf(tensor, lowest, end))
    return badStrides(named, "which lead out of memory in a tensor of shape",
                      "strides count elements, not bytes", error);
  if (isOutput && mayOverlapItself(tensor))
    return badStrides(named, "which put elements in one place in a tensor of shape",
                      "an output needs a place for each element", error);
  return ATTN_OK;
}

static attn_status checkPlace(const Named &named, int32_t gpu, bool isOutput, Error &error) {
  const attn_tensor &tensor = named.tensor;
  if (attn_status status = checkDevice(named, gpu, error))
    return status;
  size_t alignment = attn_dtype_size(tensor.dtype);
  if (!tensor.data || uintptr_t(tensor.data) % alignment)
    return error.set(ATTN_INVALID_ARGUMENT, "R0101",
                     "%s `%s` of entry `%s`: its data is %s, expected a multiple of %zu bytes",
                     named.kind, named.name, named.entry,
                     tensor.data ? "misaligned" : "a null pointer", alignment);
  return checkStrides(named, isOutput, error);
}

attn_status attn::checkBuffers(const attn_abi_entry &entry, const attn_tensor *inputs,
                               const attn_tensor *outputs, int32_t gpu, Error &error) {
  int32_t total = entry.inputCount + entry.outputCount;
  for (int32_t i = 0; i < total; ++i) {
    Named named = nameOf(entry, inputs, outputs, i);
    bool isOutput = i >= entry.inputCount;
    bool isLeftOut = !isOutput && entry.inputs[i].state && !named.tensor.data; // of a generation
    if (isLeftOut)
      continue;
    if (attn_status status = checkPlace(named, gpu, isOutput, error))
      return status;
    for (int32_t j = 0; isOutput && j < i; ++j) {
      Named other = nameOf(entry, inputs, outputs, j);
      if (mayOverlap(named.tensor, other.tensor))
        return error.set(ATTN_INVALID_ARGUMENT, "R0101", "output `%s` of entry `%s` overlaps `%s`",
                         named.name, named.entry, other.name);
    }
  }
  return ATTN_OK;
}
