// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run of an entry on the GPU: room, what is to be done there, times.
#include "cuda/Gpu.h"

using namespace attn;

/// Parts of device memory begin at multiples of this.
static size_t aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }

attn_status Gpu::run(const GpuRun &run, Error &error) {
  isProfiled = run.profile != nullptr;
  bool waits = !callersStream || isTimed || isProfiled;
  for (const Vector<RunBuffer> *buffers : {&run.inputs, &run.outputs})
    for (const RunBuffer &buffer : *buffers)
      waits |= !buffer.isOnDevice;
  if (driver.check(driver.ctxSetCurrent(context), "taking the GPU", error))
    return error.status;
  attn_status status = enqueue(run, error);
  isPending = true;
  // After an error, too: copies to and from the caller's buffers may be under way.
  if (!status && !waits)
    return ATTN_OK;
  CuResult ended = driver.streamSynchronize(currentStream());
  isPending = false;
  if (status || driver.check(ended, "running the model", error))
    return error.status;
  return takeTimes(run, error);
}

/// Grows the workspace, behind which the host's buffers have copies, and says where all are.
attn_status Gpu::makeRoom(const GpuRun &run, Vector<void *> &given, Vector<void *> &made,
                          Error &error) {
  int64_t wanted = workspaceBytes(run.entry, run.dims);
  if (wanted < 0)
    return error.set(ATTN_OUT_OF_MEMORY, "R0401", "no memory for a workspace of %lld bytes",
                     static_cast<long long>(wanted));
  size_t total = aligned(size_t(wanted));
  for (const Vector<RunBuffer> *buffers : {&run.inputs, &run.outputs})
    for (const RunBuffer &buffer : *buffers)
      total += buffer.isOnDevice ? 0 : aligned(buffer.bytes);
  if (grow(work, total, "making room for a run", error))
    return error.status;
  CuPointer next = work.pointer + aligned(size_t(wanted));
  auto place = [&](const Vector<RunBuffer> &buffers, Vector<void *> &places) {
    for (const RunBuffer &buffer : buffers) {
      if (!places.push(buffer.isOnDevice ? buffer.data : asPointer(next)))
        return error.outOfMemory("a run");
      next += buffer.isOnDevice ? 0 : aligned(buffer.bytes);
    }
    return ATTN_OK;
  };
  if (place(run.inputs, given) || place(run.outputs, made))
    return error.status;
  int32_t cache = tables->entries[run.entry].cache;
  return cache < 0 ? ATTN_OK
                   : grow(caches[size_t(cache)], size_t(run.cacheBytes), "making room for a cache",
                          error);
}

attn_status Gpu::enqueue(const GpuRun &run, Error &error) {
  Vector<void *> given, made;
  if (upload(run, error) || makeRoom(run, given, made, error) || recordRun(run, given, made, error))
    return error.status;
  return perform(isProfiled ? profiled : *graphs[size_t(run.entry)], error);
}

/// Writes down copies and launches, with events around the launches where times are wanted.
attn_status Gpu::recordRun(const GpuRun &run, Vector<void *> &given, Vector<void *> &made,
                           Error &error) {
  failure = Failure();
  launched = 0;
  recording.clear();
  auto copyAll = [&](Step::Kind kind, const Vector<RunBuffer> &buffers, void *const *places) {
    for (size_t i = 0; i < buffers.size(); ++i)
      if (!buffers[i].isOnDevice && !recording.addCopy(kind, reinterpret_cast<CuPointer>(places[i]),
                                                       buffers[i].data, buffers[i].bytes))
        failure.result = kCuOutOfMemory;
  };
  attn_abi_call call = {};
  call.inputs = given.data(), call.outputs = made.data(), call.dims = run.dims;
  call.packed = static_cast<const char *>(asPointer(weights.pointer));
  call.workspace = static_cast<char *>(asPointer(work.pointer));
  call.threads = 1;
  call.team = this, call.launch = recordLaunch;
  if (int32_t cache = tables->entries[run.entry].cache; cache >= 0)
    call.cache = static_cast<char *>(asPointer(caches[size_t(cache)].pointer));
  copyAll(Step::CopyIn, run.inputs, given.data());
  if (isTimed || isProfiled)
    recordEvent(0);
  code->entries[run.entry](&call, 0);
  if (isTimed && !isProfiled)
    recordEvent(1);
  copyAll(Step::CopyOut, run.outputs, made.data());
  if (failure.result == kCuOutOfMemory)
    return error.outOfMemory("a run");
  return failure.result ? reportFailure(error) : ATTN_OK;
}

void Gpu::recordEvent(size_t event) {
  while (!failure.result && events.size() <= event) {
    CuEvent made = nullptr;
    failure.result = driver.eventCreate(&made, 0);
    if (!failure.result && !events.push(made)) {
      driver.eventDestroy(made);
      failure.result = kCuOutOfMemory;
    }
  }
  if (failure.result)
    return;
  Step step = {};
  step.kind = Step::Record;
  auto own = int64_t(reinterpret_cast<uintptr_t>(events[event]));
  if (!recording.add(step, &own, 1))
    failure.result = kCuOutOfMemory;
}

/// Of a run that has ended: its time, and where it is profiled, its kernels'.
attn_status Gpu::takeTimes(const GpuRun &run, Error &error) {
  auto since = [&](size_t event, double &milliseconds) {
    float passed = 0;
    attn_status status = driver.check(driver.eventElapsedTime(&passed, events[0], events[event]),
                                      "taking the time", error);
    milliseconds = double(passed);
    return status;
  };
  if (!isProfiled)
    return isTimed ? since(1, time) : ATTN_OK;
  double begin = 0;
  size_t event = 0;
  for (size_t i = 0; i < profiled.done.size(); ++i) {
    if (profiled.done[i].kind != Step::Launch)
      continue;
    if (since(++event, time))
      return error.status;
    int32_t cost = code->kernels[profiled.done[i].kernel].cost;
    run.profile->add(cost, int64_t(1e6 * begin), int64_t(1e6 * time));
    begin = time;
  }
  return ATTN_OK;
}
