// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run of an entry on the GPU: room, copies, launches or the graph of them, times.
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
  if (upload(run, error) || makeRoom(run, given, made, error))
    return error.status;
  for (size_t i = 0; i < run.inputs.size(); ++i)
    if (!run.inputs[i].isOnDevice &&
        driver.check(driver.memcpyHtoDAsync(reinterpret_cast<CuPointer>(given[i]),
                                            run.inputs[i].data, run.inputs[i].bytes,
                                            currentStream()),
                     "copying an input", error))
      return error.status;
  attn_abi_call call = {};
  call.inputs = given.data(), call.outputs = made.data(), call.dims = run.dims;
  call.packed = static_cast<const char *>(asPointer(weights.pointer));
  call.workspace = static_cast<char *>(asPointer(work.pointer));
  call.threads = 1;
  call.team = this, call.launch = launch;
  if (int32_t cache = tables->entries[run.entry].cache; cache >= 0)
    call.cache = static_cast<char *>(asPointer(caches[size_t(cache)].pointer));
  if (launchAll(run, call, error))
    return error.status;
  for (size_t i = 0; i < run.outputs.size(); ++i)
    if (!run.outputs[i].isOnDevice &&
        driver.check(driver.memcpyDtoHAsync(run.outputs[i].data,
                                            reinterpret_cast<CuPointer>(made[i]),
                                            run.outputs[i].bytes, currentStream()),
                     "copying an output", error))
      return error.status;
  return ATTN_OK;
}

/// Whether a run's launches are those of the entry's run before, to the last argument: these follow
/// from dims, the cache's positions among them, and addresses.
bool Gpu::isRepeated(const GpuRun &run, const attn_abi_call &call) {
  int64_t *key = keys.data() + size_t(run.entry) * keySize;
  size_t used = 0;
  bool isSame = true;
  auto compare = [&](int64_t value) {
    isSame &= key[used] == value;
    key[used++] = value;
  };
  auto compareAll = [&](const auto *values, size_t count) {
    for (size_t i = 0; i < count; ++i)
      compare(int64_t(values[i]));
  };
  compare(isTimed ? 2 : 1); // 0 before the first run
  compare(int64_t(call.packed));
  compare(int64_t(call.workspace));
  compare(int64_t(call.cache));
  compareAll(run.dims, size_t(tables->dimCount));
  compareAll(call.inputs, run.inputs.size());
  compareAll(call.outputs, run.outputs.size());
  return isSame;
}

attn_status Gpu::launchAll(const GpuRun &run, const attn_abi_call &call, Error &error) {
  CuGraphExec &graph = isProfiled ? profiled : graphs[size_t(run.entry)];
  // A profile's graph is of this run alone: the numbers of its kernels are.
  bool isWanted = isProfiled || isRepeated(run, call);
  if (isProfiled || !isWanted)
    dropGraph(graph);
  if (!graph && usesGraphs && isWanted)
    usesGraphs = capture(run.entry, call, graph);
  if (graph)
    return driver.check(driver.graphLaunch(graph, currentStream()), "launching a graph", error);
  launchOn(currentStream(), run.entry, call);
  return failure.result ? reportFailure(error) : ATTN_OK;
}

/// Launches the entry's kernels, with events around them where times are wanted.
void Gpu::launchOn(CuStream where, int32_t entry, const attn_abi_call &call) {
  failure = Failure();
  target = where;
  launched.clear();
  if (isTimed || isProfiled)
    record(0);
  code->entries[entry](&call, 0);
  if (isTimed && !isProfiled)
    record(1);
}

void Gpu::record(size_t event) {
  while (!failure.result && events.size() <= event) {
    CuEvent made = nullptr;
    failure.result = driver.eventCreate(&made, 0);
    if (!failure.result && !events.push(made)) {
      driver.eventDestroy(made);
      failure.result = kCuOutOfMemory;
    }
  }
  if (!failure.result)
    failure.result = driver.eventRecord(events[event], target, isCapturing ? kCuRecordExternal : 0);
}

/// Makes a graph of the launches; false where the driver does not.
bool Gpu::capture(int32_t entry, const attn_abi_call &call, CuGraphExec &graph) {
  if (driver.streamBeginCapture(stream, kCuCaptureThreadLocal))
    return false;
  isCapturing = true;
  launchOn(stream, entry, call);
  isCapturing = false;
  CuGraph captured = nullptr;
  bool isMade = !driver.streamEndCapture(stream, &captured) && !failure.result &&
                !driver.graphInstantiate(&graph, captured, 0);
  if (captured)
    driver.graphDestroy(captured);
  if (!isMade)
    graph = nullptr;
  return isMade;
}

void Gpu::dropGraph(CuGraphExec &graph) {
  if (!graph)
    return;
  settle();
  driver.graphExecDestroy(graph);
  graph = nullptr;
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
  for (size_t i = 0; i < launched.size(); ++i) {
    if (since(i + 1, time))
      return error.status;
    run.profile->add(code->kernels[launched[i]].cost, int64_t(1e6 * begin), int64_t(1e6 * time));
    begin = time;
  }
  return ATTN_OK;
}
