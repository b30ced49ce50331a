// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run of an entry on a GPU, from the caller's buffers to cuda/Gpu.h.
#include "base/Tensor.h"
#include "run/Buffers.h"
#include "run/Context.h"

using namespace attn;

/// Indices in the GPU's memory are looked at where a run waits in any case.
static attn_status checkIndicesOnGpu(const attn_context &context, const attn_abi_entry &entry,
                                     const attn_tensor *inputs, Error &error) {
  for (int32_t i = 0; i < entry.inputCount; ++i) {
    if (entry.inputs[i].below <= 0 || !isOnDevice(inputs[i]) || context.gpu->hasCallersStream())
      continue;
    Vector<int64_t> values; // aligned for either kind of index
    attn_tensor copy = inputs[i];
    size_t bytes = size_t(byteSize(copy));
    if (!values.resize((bytes + 7) / 8))
      return error.outOfMemory("indices");
    copy.data = values.data(), copy.deviceKind = ATTN_DEVICE_CPU, copy.strides = nullptr;
    if (context.gpu->read(copy.data, inputs[i], error) || checkIndices(entry, i, copy, error))
      return error.status;
  }
  return ATTN_OK;
}

static bool addBuffers(const attn_tensor *tensors, int32_t count, Vector<RunBuffer> &buffers) {
  for (int32_t i = 0; i < count; ++i) {
    RunBuffer::Place place = !isOnDevice(tensors[i])     ? RunBuffer::Host
                             : isUsedInPlace(tensors[i]) ? RunBuffer::Device
                                                         : RunBuffer::Strided;
    if (!buffers.push({tensors[i], size_t(byteSize(tensors[i])), place}))
      return false;
  }
  return true;
}

attn_status attn::runOnGpu(attn_context &context, int32_t entryIndex, const int64_t *dims,
                           const attn_tensor *inputs, const attn_tensor *outputs, Error &error) {
  const attn_model &model = *context.model;
  const attn_abi_entry &entry = model.tables->entries[entryIndex];
  if (attn_status status = checkIndicesOnGpu(context, entry, inputs, error))
    return status;
  if (attn_status status = prepareCaches(context, entry, dims, error))
    return status;
  GpuRun run{entryIndex, dims, model.weights, model.bindings, {}, {}, {}, nullptr};
  for (int32_t c = 0; c < entry.cacheCount; ++c)
    if (!run.cacheBytes.push(context.caches[size_t(entry.caches[c].cache)]->block.size()))
      return error.outOfMemory("a run");
  Profile *profile = context.profile.isEnabled() ? &context.profile : nullptr;
  if (!addBuffers(inputs, entry.inputCount, run.inputs) ||
      !addBuffers(outputs, entry.outputCount, run.outputs) ||
      (profile && !profile->beginRun(dims, model.tables->dimCount)))
    return error.outOfMemory("a run");
  run.kernels = profile ? &profile->deviceEvents() : nullptr;
  attn_status status = context.gpu->run(run, error);
  if (status == ATTN_OK)
    countCached(context, entry, dims);
  return status;
}
