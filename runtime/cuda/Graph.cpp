// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CUDA graphs. From an entry's second run on that does the same steps as the one before, in their
// order, they are one executable graph; where their words differ, as a cache's length does from
// token to token, the nodes that differ get the new ones.
#include "cuda/Gpu.h"

using namespace attn;

/// Whether what is asked for now becomes a graph of the caller's, in which a graph of the entry's
/// could not be updated.
bool Gpu::isCaptured() const {
  int status = 0;
  return callersStream && driver.streamIsCapturing(callersStream, &status) == 0 && status != 0;
}

/// Does what has been recorded.
attn_status Gpu::perform(EntryGraph &own, Error &error) {
  bool isLike = recording.isLike(own.done);
  failure = Failure();
  if ((failure.result = encodeMaps(recording, isLike ? &own.done : nullptr)))
    return reportFailure(error);
  if (isCaptured())
    return issue(recording, 0, recording.size(), error);
  // A node that could not be updated leaves others that were.
  if (own.exec && !(isLike && updateGraph(own)))
    dropGraph(own);
  own.done.swap(recording);
  // A profile's launches follow each other from the first run on.
  if (!own.exec && usesGraphs && (isLike || isProfiled))
    usesGraphs = makeGraph(own);
  if (!own.exec)
    return issue(own.done, 0, own.done.size(), error);
  if (issue(own.done, 0, own.first, error) ||
      driver.check(driver.graphLaunch(own.exec, currentStream()), "launching a graph", error) ||
      issue(own.done, own.first + own.nodes.size(), own.done.size(), error))
    dropGraph(own);
  return error.status;
}

static bool isCopy(const Step &step) {
  return step.kind == Step::CopyIn || step.kind == Step::CopyOut;
}

/// A graph of a run: of all steps, or, where the driver does not take the host's memory there, of
/// those between the copies. False where there is none.
bool Gpu::makeGraph(EntryGraph &own) {
  size_t first = 0, end = own.done.size();
  if (graphsCopies && makeGraphOf(own, first, end))
    return true;
  while (first < end && isCopy(own.done[first]))
    ++first;
  while (first < end && isCopy(own.done[end - 1]))
    --end;
  graphsCopies = false;
  return makeGraphOf(own, first, end);
}

bool Gpu::makeGraphOf(EntryGraph &own, size_t first, size_t end) {
  own.first = first;
  bool isMade = !driver.graphCreate(&own.graph, 0);
  for (size_t i = first; isMade && i < end; ++i)
    isMade = !addNode(own, i);
  isMade = isMade && !driver.graphInstantiate(&own.exec, own.graph, 0);
  if (!isMade) {
    own.exec = nullptr;
    dropGraph(own);
  }
  return isMade;
}

static CuCopyNode copyOf(const Recording &run, size_t step) {
  const int64_t *words = run.wordsOf(step);
  auto bytes = size_t(words[2]);
  CuCopyEnd device = {}, host = {};
  device.memory = kCuDevice, device.device = CuPointer(words[0]);
  host.memory = kCuHost, host.host = asPointer(CuPointer(words[1]));
  device.pitch = host.pitch = bytes, device.height = host.height = 1;
  bool isIn = run[step].kind == Step::CopyIn;
  return {isIn ? host : device, isIn ? device : host, bytes, 1, 1};
}

/// Appends a node for a step, behind the one before.
CuResult Gpu::addNode(EntryGraph &own, size_t step) {
  const CuGraphNode *behind = own.nodes.empty() ? nullptr : &own.nodes.back();
  size_t count = own.nodes.empty() ? 0 : 1;
  CuGraphNode node = nullptr;
  CuResult result = 0;
  if (isCopy(own.done[step])) {
    CuCopyNode copy = copyOf(own.done, step);
    result = driver.graphAddMemcpyNode(&node, own.graph, behind, count, &copy, context);
  } else if (own.done[step].kind == Step::Record) {
    auto *event = static_cast<CuEvent>(asPointer(CuPointer(*own.done.wordsOf(step))));
    result = driver.graphAddEventRecordNode(&node, own.graph, behind, count, event);
  } else {
    PreparedLaunch launch;
    prepare(own.done, step, launch);
    bool isEarly = count && startsEarly(own.done[step]) && own.done[step - 1].kind == Step::Launch;
    result = driver.graphAddKernelNode(&node, own.graph, behind, isEarly ? 0 : count, &launch.node);
    CuGraphEdge edge = {1, 0, 1, {}};
    if (!result && isEarly)
      result = driver.graphAddDependencies(own.graph, behind, &node, &edge, 1);
  }
  if (!result && !own.nodes.push(node))
    result = kCuOutOfMemory;
  return result;
}

/// Makes a graph, which does what was done last, do what has been recorded, which is like it. False
/// where a node could not be updated: the graph is of no use then.
bool Gpu::updateGraph(EntryGraph &own) {
  for (size_t i = own.first; i < own.first + own.nodes.size(); ++i)
    if (!recording.isSame(own.done, i) && updateNode(own, i))
      return false;
  return true;
}

CuResult Gpu::updateNode(EntryGraph &own, size_t step) {
  CuGraphNode node = own.nodes[step - own.first];
  if (isCopy(recording[step])) {
    CuCopyNode copy = copyOf(recording, step);
    return driver.graphExecMemcpyNodeSetParams(own.exec, node, &copy, context);
  }
  PreparedLaunch launch;
  prepare(recording, step, launch);
  return driver.graphExecKernelNodeSetParams(own.exec, node, &launch.node);
}

void Gpu::dropGraph(EntryGraph &own) {
  if (own.exec) {
    settle();
    driver.graphExecDestroy(own.exec);
  }
  if (own.graph)
    driver.graphDestroy(own.graph);
  own.exec = nullptr, own.graph = nullptr;
  own.nodes.clear();
}
