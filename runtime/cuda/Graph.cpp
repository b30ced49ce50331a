// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Making, updating and launching the CUDA graph of an entry's run.
#include "cuda/Graph.h"

using namespace attn;

attn_status GraphRunner::perform(EntryGraph &own, Recording &recording, bool isAtOnce,
                                 Error &error) {
  bool isLike = recording.isLike(own.done);
  launcher.failure = Failure();
  if (attn_status status = launcher.encodeMaps(recording, isLike ? &own.done : nullptr, error))
    return status;
  if (device.isCaptured())
    return launcher.issue(recording, 0, recording.size(), error);
  // A node that could not be updated leaves others that were.
  if (own.exec && !(isLike && update(own, recording)))
    drop(own);
  own.done.swap(recording);
  if (!own.exec && usesGraphs && (isLike || isAtOnce))
    usesGraphs = make(own);
  if (!own.exec)
    return launcher.issue(own.done, 0, own.done.size(), error);
  if (launcher.issue(own.done, 0, own.first, error) ||
      device.driver.check(device.driver.graphLaunch(own.exec, device.currentStream()),
                          "launching a graph", error) ||
      launcher.issue(own.done, own.first + own.nodes.size(), own.done.size(), error))
    drop(own);
  return error.status;
}

static bool isCopy(const Step &step) {
  return step.kind == Step::CopyIn || step.kind == Step::CopyOut;
}

/// A graph of a run: of all steps, or, where the driver does not take the host's memory there, of
/// those between the copies. False where there is none.
bool GraphRunner::make(EntryGraph &own) {
  size_t first = 0, end = own.done.size();
  if (graphsCopies && makeOf(own, first, end))
    return true;
  while (first < end && isCopy(own.done[first]))
    ++first;
  while (first < end && isCopy(own.done[end - 1]))
    --end;
  graphsCopies = false;
  return makeOf(own, first, end);
}

bool GraphRunner::makeOf(EntryGraph &own, size_t first, size_t end) {
  own.first = first;
  bool isMade = !device.driver.graphCreate(&own.graph, 0);
  for (size_t i = first; isMade && i < end; ++i)
    isMade = !addNode(own, i);
  isMade = isMade && !device.driver.graphInstantiate(&own.exec, own.graph, 0);
  if (!isMade) {
    own.exec = nullptr;
    drop(own);
  }
  return isMade;
}

static CuCopyNode copyOf(const Recording &run, size_t step) {
  const int64_t *words = run.wordsOf(step);
  auto bytes = size_t(words[2]);
  CuCopyEnd device = {}, host = {};
  device.memory = cuDevice, device.device = CuPointer(words[0]);
  host.memory = cuHost, host.host = asPointer(CuPointer(words[1]));
  device.pitch = host.pitch = bytes, device.height = host.height = 1;
  bool isIn = run[step].kind == Step::CopyIn;
  return {isIn ? host : device, isIn ? device : host, bytes, 1, 1};
}

/// Appends a node for a step, behind the one before.
CuResult GraphRunner::addNode(EntryGraph &own, size_t step) {
  const CuGraphNode *behind = own.nodes.empty() ? nullptr : &own.nodes.back();
  size_t count = own.nodes.empty() ? 0 : 1;
  CuGraphNode node = nullptr;
  CuResult result = 0;
  if (isCopy(own.done[step])) {
    CuCopyNode copy = copyOf(own.done, step);
    result =
        device.driver.graphAddMemcpyNode(&node, own.graph, behind, count, &copy, device.context);
  } else if (own.done[step].kind == Step::Record) {
    auto *event = static_cast<CuEvent>(asPointer(CuPointer(*own.done.wordsOf(step))));
    result = device.driver.graphAddEventRecordNode(&node, own.graph, behind, count, event);
  } else {
    PreparedLaunch launch(own.done, step);
    bool isEarly = count && launcher.code.startsEarly(own.done[step]) &&
                   own.done[step - 1].kind == Step::Launch;
    result = device.driver.graphAddKernelNode(&node, own.graph, behind, isEarly ? 0 : count,
                                              &launch.node);
    CuGraphEdge edge = {1, 0, 1, {}};
    if (!result && isEarly)
      result = device.driver.graphAddDependencies(own.graph, behind, &node, &edge, 1);
  }
  if (!result && !own.nodes.push(node))
    result = cuOutOfMemory;
  return result;
}

/// Makes a graph, which does what was done last, do what has been recorded, which is like it. False
/// where a node could not be updated: the graph is of no use then.
bool GraphRunner::update(EntryGraph &own, const Recording &recording) {
  for (size_t i = own.first; i < own.first + own.nodes.size(); ++i)
    if (!recording.isSame(own.done, i) && updateNode(own, recording, i))
      return false;
  return true;
}

CuResult GraphRunner::updateNode(EntryGraph &own, const Recording &recording, size_t step) {
  CuGraphNode node = own.nodes[step - own.first];
  if (isCopy(recording[step])) {
    CuCopyNode copy = copyOf(recording, step);
    return device.driver.graphExecMemcpyNodeSetParams(own.exec, node, &copy, device.context);
  }
  PreparedLaunch launch(recording, step);
  return device.driver.graphExecKernelNodeSetParams(own.exec, node, &launch.node);
}

void GraphRunner::drop(EntryGraph &own) {
  if (own.exec) {
    device.settle();
    device.driver.graphExecDestroy(own.exec);
  }
  if (own.graph)
    device.driver.graphDestroy(own.graph);
  own.exec = nullptr, own.graph = nullptr;
  own.nodes.clear();
}
