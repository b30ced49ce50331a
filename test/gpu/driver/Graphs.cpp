// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver's graphs, as far as the runtime makes them: each node behind the one before.
#include "test/gpu/driver/State.h"
#include <algorithm>

using namespace attn;
using namespace attn::interpreted;

namespace {
struct Node {
  Action action;
  std::string kernel; ///< Of a launch.
  size_t number = 0;  ///< In its graph.
  bool isCopy = false;
};
} // namespace

struct attn::interpreted::Graph {
  std::vector<std::unique_ptr<Node>> nodes;
  bool isLoose = false; ///< Nothing is before its last node yet.
};

void Stream::add(Action action) {
  if (!captured)
    return waiting.push_back(std::move(action));
  captured->nodes.push_back(std::make_unique<Node>());
  captured->nodes.back()->action = std::move(action);
}

namespace {

/// An executable graph: its nodes have actions of their own. `from` has to be there for updates.
struct Executable {
  Graph *from;
  std::vector<Action> actions;
};

/// All that are there, so that one that is not is found.
std::vector<Graph *> &graphs() {
  static std::vector<Graph *> graphs;
  return graphs;
}

/// A kernel's node without an edge gets one next (cuGraphAddDependencies_v2), or the graph is none.
CuResult addNode(CuGraphNode *made, CuGraph handle, const CuGraphNode *behind, size_t count,
                 Node node) {
  Graph &graph = *reinterpret_cast<Graph *>(handle);
  bool isFirst = graph.nodes.empty(), isLoose = !isFirst && count == 0 && !node.kernel.empty();
  bool isChain = isFirst ? count == 0
                         : isLoose || (count == 1 && reinterpret_cast<Node *>(behind[0]) ==
                                                         graph.nodes.back().get());
  isChain &= !graph.isLoose;
  graph.isLoose = isLoose;
  if (!isChain) {
    state().lastError = "a node that is not behind the one before";
    return invalidValue;
  }
  node.number = graph.nodes.size();
  graph.nodes.push_back(std::make_unique<Node>(std::move(node)));
  *made = reinterpret_cast<CuGraphNode>(graph.nodes.back().get());
  return success;
}

/// A copy of one row between the host and the device.
CuResult actionOf(const CuCopyNode &copy, Action &action) {
  bool isToDevice = copy.from.memory == cuHost;
  const CuCopyEnd &host = isToDevice ? copy.from : copy.to,
                  &device = isToDevice ? copy.to : copy.from;
  bool isPlain = host.memory == cuHost && device.memory == cuDevice && copy.bytes > 0 &&
                 copy.rows == 1 && copy.slices == 1 && host.host && !host.device && !device.host;
  for (const CuCopyEnd *end : {&copy.from, &copy.to})
    isPlain &= end->x == 0 && end->y == 0 && end->z == 0 && end->level == 0 && !end->array &&
               !end->reserved && end->pitch >= copy.bytes && end->height >= copy.rows;
  if (!isPlain) {
    state().lastError = "a copy that is not of one row between host and device";
    return invalidValue;
  }
  action = copyAction(const_cast<void *>(host.host), device.device, copy.bytes, isToDevice);
  return success;
}

/// The node of an executable graph that is updated; null where it is of another graph.
Node *nodeOf(const Executable &executable, CuGraphNode handle) {
  if (std::find(graphs().begin(), graphs().end(), executable.from) == graphs().end()) {
    state().lastError = "the graph of this node is gone";
    return nullptr;
  }
  for (const auto &node : executable.from->nodes)
    if (node.get() == reinterpret_cast<Node *>(handle))
      return node.get();
  state().lastError = "a node of another graph";
  return nullptr;
}

} // namespace

// Names are the driver's.
// NOLINTBEGIN(readability-identifier-naming)

DRIVER cuGraphCreate(CuGraph *graph, unsigned) {
  BEGIN_CALL();
  graphs().push_back(new Graph);
  *graph = reinterpret_cast<CuGraph>(graphs().back());
  return success;
}

DRIVER cuGraphAddKernelNode(CuGraphNode *node, CuGraph graph, const CuGraphNode *behind,
                            size_t count, const CuKernelNode *kernel) {
  BEGIN_CALL();
  Node own;
  own.kernel = reinterpret_cast<Kernel *>(kernel->function)->name;
  CuResult result = prepareLaunch(*kernel, own.action);
  return result ? result : addNode(node, graph, behind, count, std::move(own));
}

/// The edge of a kernel that starts while the one before it ends, which must be one that waits.
DRIVER cuGraphAddDependencies_v2(CuGraph handle, const CuGraphNode *from, const CuGraphNode *to,
                                 const CuGraphEdge *edges, size_t count) {
  BEGIN_CALL();
  Graph &graph = *reinterpret_cast<Graph *>(handle);
  size_t size = graph.nodes.size();
  bool isGood = graph.isLoose && count == 1 && size > 1 &&
                reinterpret_cast<Node *>(from[0]) == graph.nodes[size - 2].get() &&
                reinterpret_cast<Node *>(to[0]) == graph.nodes[size - 1].get() &&
                !graph.nodes[size - 2]->kernel.empty() && edges[0].fromPort == 1 &&
                edges[0].toPort == 0 && edges[0].type == 1;
  if (!isGood) {
    state().lastError = "an edge that is not from one kernel to the next";
    return invalidValue;
  }
  graph.isLoose = false;
  ++state().counts.earlyLaunches;
  return success;
}

DRIVER cuGraphAddMemcpyNode(CuGraphNode *node, CuGraph graph, const CuGraphNode *behind,
                            size_t count, const CuCopyNode *copy, CuContext) {
  BEGIN_CALL();
  Node own;
  own.isCopy = true;
  CuResult result = actionOf(*copy, own.action);
  return result ? result : addNode(node, graph, behind, count, std::move(own));
}

DRIVER cuGraphAddEventRecordNode(CuGraphNode *node, CuGraph graph, const CuGraphNode *behind,
                                 size_t count, CuEvent event) {
  BEGIN_CALL();
  Node own;
  own.action = [event] {
    reinterpret_cast<Event *>(event)->time = std::chrono::steady_clock::now();
    return success;
  };
  return addNode(node, graph, behind, count, std::move(own));
}

DRIVER cuGraphInstantiateWithFlags(CuGraphExec *exec, CuGraph graph, unsigned long long) {
  BEGIN_CALL();
  if (reinterpret_cast<Graph *>(graph)->isLoose) {
    state().lastError = "a node that is not behind the one before";
    return invalidValue;
  }
  ++state().counts.instantiations;
  auto *executable = new Executable{reinterpret_cast<Graph *>(graph), {}};
  for (const auto &node : executable->from->nodes)
    executable->actions.push_back(node->action);
  *exec = reinterpret_cast<CuGraphExec>(executable);
  return success;
}

DRIVER cuGraphExecKernelNodeSetParams(CuGraphExec exec, CuGraphNode handle,
                                      const CuKernelNode *kernel) {
  BEGIN_CALL();
  Executable &executable = *reinterpret_cast<Executable *>(exec);
  Node *node = nodeOf(executable, handle);
  if (!node || node->kernel.empty())
    return invalidValue;
  if (CuResult result = prepareLaunch(*kernel, executable.actions[node->number]))
    return result;
  ++state().counts.kernelUpdates;
  state().updates += " " + node->kernel;
  return success;
}

DRIVER cuGraphExecMemcpyNodeSetParams(CuGraphExec exec, CuGraphNode handle, const CuCopyNode *copy,
                                      CuContext) {
  BEGIN_CALL();
  Executable &executable = *reinterpret_cast<Executable *>(exec);
  Node *node = nodeOf(executable, handle);
  if (!node || !node->isCopy)
    return invalidValue;
  ++state().counts.copyUpdates;
  return actionOf(*copy, executable.actions[node->number]);
}

DRIVER cuGraphLaunch(CuGraphExec exec, CuStream stream) {
  BEGIN_CALL();
  if (state().stream(stream).captured) // would be a graph within it
    return captureUnsupported;
  ++state().counts.graphLaunches;
  // As it is now: later updates are not for this launch.
  for (const Action &action : reinterpret_cast<Executable *>(exec)->actions)
    state().stream(stream).waiting.push_back(action);
  return success;
}

DRIVER cuStreamBeginCapture_v2(CuStream handle, int) {
  BEGIN_CALL();
  Stream &stream = state().stream(handle);
  if (stream.captured)
    return captureUnsupported;
  graphs().push_back(new Graph);
  stream.captured = graphs().back();
  return success;
}

DRIVER cuStreamEndCapture(CuStream handle, CuGraph *graph) {
  BEGIN_CALL();
  Stream &stream = state().stream(handle);
  if (!stream.captured)
    return invalidValue;
  *graph = reinterpret_cast<CuGraph>(stream.captured);
  stream.captured = nullptr;
  return success;
}

DRIVER cuStreamIsCapturing(CuStream stream, int *status) {
  BEGIN_CALL();
  *status = state().stream(stream).captured ? 1 : 0;
  return success;
}

DRIVER cuGraphDestroy(CuGraph graph) {
  BEGIN_CALL();
  auto found = std::find(graphs().begin(), graphs().end(), reinterpret_cast<Graph *>(graph));
  if (found == graphs().end())
    return invalidValue;
  delete *found;
  graphs().erase(found);
  return success;
}

DRIVER cuGraphExecDestroy(CuGraphExec exec) {
  BEGIN_CALL();
  delete reinterpret_cast<Executable *>(exec);
  return success;
}
// NOLINTEND(readability-identifier-naming)
