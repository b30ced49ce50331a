// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CUDA graphs. From an entry's second run on that does the same steps as the one before, in their
// order, they are one executable graph; where their words differ, as a cache's length does from
// token to token, the nodes that differ get the new ones.
#pragma once

#include "cuda/Launch.h"

namespace attn {

/// An entry's last run, and the CUDA graph that does the same, where there is one: it holds steps
/// [first, first + nodes.size()) of the run, a node for each, one behind the other.
struct EntryGraph {
  Recording done;
  CuGraph graph = nullptr; ///< What `nodes` are of; `exec` was made of it.
  CuGraphExec exec = nullptr;
  Vector<CuGraphNode> nodes;
  size_t first = 0;
};

/// Does recorded runs, by graphs where it can. Inside of an EnteredGpu.
class GraphRunner {
public:
  explicit GraphRunner(Launcher &launcher) : launcher(launcher), device(launcher.device) {}
  GraphRunner(const GraphRunner &) = delete;
  GraphRunner &operator=(const GraphRunner &) = delete;

  /// Does what has been recorded, and swaps it with what was done last. `isAtOnce`: makes a graph
  /// from the first run on, not from the second.
  attn_status perform(EntryGraph &own, Recording &recording, bool isAtOnce, Error &error);
  void drop(EntryGraph &own);

private:
  /// Makes the graph of a whole run, or of its launches alone where copies cannot be in one.
  bool make(EntryGraph &own);
  /// Makes the graph of steps [first, end) of a run; false where the driver refuses it.
  bool makeOf(EntryGraph &own, size_t first, size_t end);
  /// Gives the graph what differs in `recording`; false where the driver refuses it.
  bool update(EntryGraph &own, const Recording &recording);
  /// Appends a node for step `step` of the last run.
  CuResult addNode(EntryGraph &own, size_t step);
  /// Gives the node of step `step` the words of `recording`.
  CuResult updateNode(EntryGraph &own, const Recording &recording, size_t step);

  Launcher &launcher;
  GpuDevice &device;
  bool usesGraphs = true;   ///< Until one could not be made.
  bool graphsCopies = true; ///< Until one could not be made with copies to and from the host.
};

} // namespace attn
