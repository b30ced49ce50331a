// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run of an entry on the GPU: room, what is to be done there, times.
#include "cuda/Gpu.h"

using namespace attn;

/// Blocks of strided copies for each multiprocessor, which has room for as many.
static constexpr int stridedBlocks = 8;

/// Parts of device memory begin at multiples of this.
static size_t aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }

attn_status Gpu::run(const GpuRun &run, Error &error) {
  isProfiled = run.kernels != nullptr;
  bool waits = !device.callersStream || isTimed || isProfiled;
  for (const Vector<RunBuffer> *buffers : {&run.inputs, &run.outputs})
    for (const RunBuffer &buffer : *buffers)
      waits |= buffer.place == RunBuffer::Host;
  EnteredGpu entered(device, error);
  if (!entered)
    return error.status;
  attn_status status = enqueue(run, error);
  device.isPending = true;
  // After an error, too: copies to and from the caller's buffers may be under way.
  if (!status && !waits)
    return ATTN_OK;
  CuResult ended = device.driver.streamSynchronize(device.currentStream());
  device.isPending = false;
  if (status || device.driver.check(ended, "running the model", error)) {
    code.addWatchdog(error);
    return error.status;
  }
  return takeTimes(run, error);
}

/// Grows the workspace, behind which buffers that are not used in place have copies, and says where
/// all are.
attn_status Gpu::makeRoom(const GpuRun &run, Vector<void *> &given, Vector<void *> &made,
                          Error &error) {
  int64_t wanted = workspaceBytes(run.entry, run.dims);
  if (wanted < 0)
    return error.set(ATTN_OUT_OF_MEMORY, "R0401", "no memory for a workspace of %lld bytes",
                     static_cast<long long>(wanted));
  size_t total = aligned(size_t(wanted));
  bool isStrided = false;
  for (const Vector<RunBuffer> *buffers : {&run.inputs, &run.outputs})
    for (const RunBuffer &buffer : *buffers) {
      total += buffer.place == RunBuffer::Device ? 0 : aligned(buffer.bytes);
      isStrided |= buffer.place == RunBuffer::Strided;
    }
  if ((isStrided && code.loadStrided(error)) ||
      device.grow(work, total, "making room for a run", error))
    return error.status;
  CuPointer next = work.pointer + aligned(size_t(wanted));
  auto place = [&](const Vector<RunBuffer> &buffers, Vector<void *> &places) {
    for (const RunBuffer &buffer : buffers) {
      bool isInPlace = buffer.place == RunBuffer::Device;
      if (!places.push(isInPlace ? buffer.tensor.data : asPointer(next)))
        return error.outOfMemory("a run");
      next += isInPlace ? 0 : aligned(buffer.bytes);
    }
    return ATTN_OK;
  };
  if (place(run.inputs, given) || place(run.outputs, made))
    return error.status;
  for (size_t c = 0; c < run.cacheBytes.size(); ++c) {
    auto cache = size_t(tables->entries[run.entry].caches[c].cache);
    if (device.grow(caches[cache], run.cacheBytes[c], "making room for a cache", error))
      return error.status;
  }
  return ATTN_OK;
}

attn_status Gpu::enqueue(const GpuRun &run, Error &error) {
  Vector<void *> given, made;
  if (weights.upload(run.packed, run.binding, code.tables().transposesPanels, error) ||
      makeRoom(run, given, made, error) || recordRun(run, given, made, error))
    return error.status;
  EntryGraph &graph = isProfiled ? profiled : *graphs[size_t(run.entry)];
  // A profile's launches follow each other from the first run on.
  return runner.perform(graph, recording, isProfiled, error);
}

/// attn_abi_call.launch: launches are written down, words as they are, tensor maps made of what the
/// words behind them say.
void Gpu::recordLaunch(void *gpu, int64_t kernel, const int64_t *arguments, int64_t count) {
  Gpu &own = *static_cast<Gpu *>(gpu);
  if (own.launcher.failure.result)
    return;
  const attn_abi_gpu_kernel &info = own.code.tables().kernels[kernel];
  Step step = {};
  step.kind = Step::Launch;
  step.kernel = own.launcher.failure.kernel = kernel;
  step.function = own.code.function(kernel);
  step.blocks = unsigned(own.device.multiprocessors * info.blocks);
  step.threads = unsigned(info.threads), step.sharedBytes = unsigned(info.sharedBytes);
  step.argumentCount = info.wordCount, step.mapCount = info.mapCount, step.maps = info.maps;
  int64_t expected = info.wordCount;
  for (int32_t i = 0; i < info.mapCount; ++i)
    expected += numbersOf(info.maps[i]);
  if (count != expected)
    own.launcher.failure.result = cuInvalidValue;
  else if (!own.recording.add(step, arguments, size_t(count)))
    own.launcher.failure.result = cuOutOfMemory;
  else if (own.isProfiled)
    own.recordEvent(++own.launched);
}

/// Writes down copies and launches, with events around the launches where times are wanted.
attn_status Gpu::recordRun(const GpuRun &run, Vector<void *> &given, Vector<void *> &made,
                           Error &error) {
  launcher.failure = Failure();
  launched = 0;
  recording.clear();
  auto copyAll = [&](bool isIn, RunBuffer::Place kind, const Vector<RunBuffer> &buffers,
                     void *const *places) {
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (buffers[i].place != kind)
        continue;
      const attn_tensor &own = buffers[i].tensor;
      auto dense = reinterpret_cast<CuPointer>(places[i]);
      bool isThere = kind == RunBuffer::Host
                         ? recording.addCopy(isIn ? Step::CopyIn : Step::CopyOut, dense, own.data,
                                             buffers[i].bytes)
                         : recordStrided(isIn ? StridedCopy::gather(own, dense)
                                              : StridedCopy::scatter(dense, own));
      if (!isThere)
        launcher.failure.result = cuOutOfMemory;
    }
  };
  attn_abi_call call = {};
  call.inputs = given.data(), call.outputs = made.data(), call.dims = run.dims;
  call.packed = static_cast<const char *>(asPointer(weights.pointer()));
  call.workspace = static_cast<char *>(asPointer(work.pointer));
  call.threads = 1;
  call.team = this, call.launch = recordLaunch;
  for (size_t c = 0; c < caches.size(); ++c)
    cacheBlocks[c] = static_cast<char *>(asPointer(caches[c].pointer));
  call.caches = cacheBlocks.data();
  // The host's first and last, as graphs without them want it.
  copyAll(true, RunBuffer::Host, run.inputs, given.data());
  copyAll(true, RunBuffer::Strided, run.inputs, given.data());
  if (isTimed || isProfiled)
    recordEvent(0);
  code.tables().entries[run.entry](&call, 0);
  if (isTimed && !isProfiled)
    recordEvent(1);
  copyAll(false, RunBuffer::Strided, run.outputs, made.data());
  copyAll(false, RunBuffer::Host, run.outputs, made.data());
  if (launcher.failure.result == cuOutOfMemory)
    return error.outOfMemory("a run");
  return launcher.failure.result ? launcher.reportFailure(error) : ATTN_OK;
}

/// Appends the launches that a copy takes; false where memory is lacking.
bool Gpu::recordStrided(StridedCopy copy) {
  while (copy.elements() >= StridedCopy::mostElements)
    if (!recordStrided(copy.takeHalf()))
      return false;
  int64_t words[StridedCopy::wordCount];
  copy.toWords(words);
  Step step = {};
  step.kind = Step::Launch;
  step.kernel = -1 - copy.kernel();
  step.function = code.stridedCopy(copy.kernel());
  int64_t wanted = (copy.elements() + StridedCopy::threads - 1) / StridedCopy::threads;
  int64_t most = int64_t(stridedBlocks) * device.multiprocessors;
  step.blocks = unsigned(wanted < most ? wanted : most), step.threads = StridedCopy::threads;
  step.argumentCount = StridedCopy::argumentCount;
  return recording.add(step, words, StridedCopy::wordCount);
}

void Gpu::recordEvent(size_t event) {
  while (!launcher.failure.result && events.size() <= event) {
    CuEvent made = nullptr;
    launcher.failure.result = device.driver.eventCreate(&made, 0);
    if (!launcher.failure.result && !events.push(made)) {
      device.driver.eventDestroy(made);
      launcher.failure.result = cuOutOfMemory;
    }
  }
  if (launcher.failure.result)
    return;
  Step step = {};
  step.kind = Step::Record;
  auto own = int64_t(reinterpret_cast<uintptr_t>(events[event]));
  if (!recording.add(step, &own, 1))
    launcher.failure.result = cuOutOfMemory;
}

/// Takes the time of a run that has ended, and the times of its kernels where it is profiled.
attn_status Gpu::takeTimes(const GpuRun &run, Error &error) {
  auto since = [&](size_t event, double &milliseconds) {
    float passed = 0;
    attn_status status =
        device.driver.check(device.driver.eventElapsedTime(&passed, events[0], events[event]),
                            "taking the time", error);
    milliseconds = double(passed);
    return status;
  };
  if (!isProfiled)
    return isTimed ? since(1, time) : ATTN_OK;
  double begin = 0;
  size_t event = 0;
  for (size_t i = 0; i < profiled.done.size(); ++i) {
    if (profiled.done[i].kind != Step::Launch || profiled.done[i].kernel < 0)
      continue;
    if (since(++event, time))
      return error.status;
    int32_t cost = code.tables().kernels[profiled.done[i].kernel].cost;
    auto end = int64_t(1e6 * time);
    run.kernels->push({cost, int64_t(1e6 * begin), end, end});
    begin = time;
  }
  return ATTN_OK;
}
