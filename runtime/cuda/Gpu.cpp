// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opening and closing a model on a GPU, streams, and what is copied beside runs: tensors, caches.
#include "cuda/Gpu.h"
#include "base/Tensor.h"

using namespace attn;

Gpu::~Gpu() {
  if (!device.context)
    return;
  Error ignored;
  EnteredGpu entered(device, ignored);
  device.settle();
  for (EntryGraph *graph : graphs) {
    if (graph)
      runner.drop(*graph);
    dispose(graph);
  }
  runner.drop(profiled);
  for (CuEvent event : events)
    device.driver.eventDestroy(event);
  weights.release();
  device.free(work);
  for (DeviceMemory &cache : caches)
    device.free(cache);
  if (device.stream)
    device.driver.streamDestroy(device.stream);
  code.unload();
  device.release();
}

attn_status Gpu::open(const attn_abi_model &model, const attn_abi_slot *packedSlots,
                      SharedWeights &shared, int32_t wanted, Error &error) {
  if (model.gpuCount == 0) {
    error.set(ATTN_NO_DEVICE, "R0404", "model `%s` has no code for GPUs", model.name);
    error.help("compile it with `--target=native,sm_80`");
    return error.status;
  }
  tables = &model;
  weights.open(model, packedSlots, shared);
  if (device.find(wanted, error) || code.choose(model, error) || device.retain(error))
    return error.status;
  if (!caches.resize(size_t(model.cacheCount)) || !cacheBlocks.resize(size_t(model.cacheCount)) ||
      !graphs.resize(size_t(model.entryCount)))
    return error.outOfMemory("the GPU's state");
  for (EntryGraph *&graph : graphs)
    if (!(graph = create<EntryGraph>()))
      return error.outOfMemory("the GPU's state");
  EnteredGpu entered(device, error);
  if (!entered || device.makeStream(error))
    return error.status;
  return code.load(error);
}

attn_status Gpu::setStream(CuStream wanted, Error &error) {
  EnteredGpu entered(device, error);
  if (!entered)
    return error.status;
  // The workspace is one for all streams.
  device.settle();
  device.callersStream = wanted;
  return ATTN_OK;
}

attn_status Gpu::read(void *to, const attn_tensor &from, Error &error) {
  EnteredGpu entered(device, error);
  if (!entered)
    return error.status;
  recording.clear();
  auto dense = reinterpret_cast<CuPointer>(from.data);
  if (!isDense(from)) {
    if (code.loadStrided(error) ||
        device.grow(work, size_t(byteSize(from)), "copying from the GPU", error))
      return error.status;
    dense = work.pointer;
  }
  if ((!isDense(from) && !recordStrided(StridedCopy::gather(from, dense))) ||
      !recording.addCopy(Step::CopyOut, dense, to, size_t(byteSize(from))))
    return error.outOfMemory("copying from the GPU");
  attn_status status = launcher.issue(recording, 0, recording.size(), error);
  // After an error, too: the copy's end may not be there any more.
  CuResult ended = device.driver.streamSynchronize(device.currentStream());
  return status ? status : device.driver.check(ended, "copying from the GPU", error);
}

attn_status Gpu::writeCache(int32_t cache, const void *from, size_t bytes, Error &error) {
  DeviceMemory &memory = caches[size_t(cache)];
  EnteredGpu entered(device, error);
  if (!entered || device.grow(memory, bytes, "making room for a cache", error) ||
      device.driver.check(device.driver.memcpyHtoDAsync(memory.pointer, from, bytes, device.stream),
                          "copying a cache", error))
    return error.status;
  return device.driver.check(device.driver.streamSynchronize(device.stream), "copying a cache",
                             error);
}

attn_status Gpu::readCache(int32_t cache, void *to, size_t bytes, Error &error) {
  EnteredGpu entered(device, error);
  if (!entered)
    return error.status;
  device.settle();
  if (attn_status status = device.driver.check(
          device.driver.memcpyDtoHAsync(to, caches[size_t(cache)].pointer, bytes, device.stream),
          "copying a cache", error))
    return status;
  return device.driver.check(device.driver.streamSynchronize(device.stream), "copying a cache",
                             error);
}

void Gpu::fillCache(int32_t cache, unsigned char value) {
  const DeviceMemory &memory = caches[size_t(cache)];
  Error ignored;
  EnteredGpu entered(device, ignored);
  device.driver.memsetD8Async(memory.pointer, value, memory.bytes, device.currentStream());
}
