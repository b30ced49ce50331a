// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kahn's algorithm (Topological sorting of large networks, 1962), which of all nodes that could be
// next takes the first in the file.
#include "compiler/import/onnx/NodeOrder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include <queue>

using namespace llvm;

namespace attn::importer {

/// The nodes of one cycle among those that wait for others, each of which it waits for.
static Error cycleError(const OnnxGraph &graph, ArrayRef<std::vector<size_t>> before,
                        ArrayRef<size_t> waits) {
  size_t at =
      static_cast<size_t>(find_if(waits, [](size_t count) { return count > 0; }) - waits.begin());
  std::vector<size_t> path;
  while (!is_contained(path, at)) {
    path.push_back(at);
    at = *find_if(before[at], [&](size_t node) { return waits[node] > 0; });
  }
  path.erase(path.begin(), find(path, at));
  std::string names;
  constexpr size_t most = 8;
  for (size_t node : reverse(path)) {
    if (path.size() > most && node == path[path.size() - most - 1]) {
      names += ", …";
      break;
    }
    names += (names.empty() ? "" : ", ") + labelOf(graph.nodes[node]);
  }
  return importError(path.size() == 1 ? "the node " + names + " takes its own result"
                                      : "the nodes " + names +
                                            " take each other's results in a "
                                            "circle");
}

Error sortNodes(OnnxGraph &graph) {
  StringMap<size_t> givers;
  for (auto [i, node] : enumerate(graph.nodes))
    for (const std::string &output : node.outputs)
      if (!output.empty())
        givers.try_emplace(output, i);
  std::vector<std::vector<size_t>> before(graph.nodes.size()), behind(graph.nodes.size());
  std::vector<size_t> waits(graph.nodes.size());
  auto wait = [&](size_t node, StringRef value) {
    auto giver = givers.find(value);
    if (giver == givers.end() || is_contained(before[node], giver->second))
      return;
    before[node].push_back(giver->second);
    behind[giver->second].push_back(node);
    ++waits[node];
  };
  for (auto [i, node] : enumerate(graph.nodes)) {
    for (const std::string &input : node.inputs)
      wait(i, input);
    for (const std::string &outer : node.outerValues())
      wait(i, outer);
  }
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < waits.size(); ++i)
    if (waits[i] == 0)
      ready.push(i);
  std::vector<OnnxNode> sorted;
  while (!ready.empty()) {
    size_t next = ready.top();
    ready.pop();
    for (size_t node : behind[next])
      if (--waits[node] == 0)
        ready.push(node);
    sorted.push_back(graph.nodes[next]);
  }
  if (sorted.size() != graph.nodes.size())
    return cycleError(graph, before, waits);
  graph.nodes = std::move(sorted);
  return Error::success();
}

} // namespace attn::importer
