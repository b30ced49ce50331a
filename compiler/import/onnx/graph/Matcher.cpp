// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walk from the outputs to the inputs.
#include "compiler/import/onnx/graph/Matcher.h"

#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;

namespace attn::importer {

std::vector<Operation> matchGraph(Graph &graph, std::vector<Misfit> &misfits) {
  return Matcher(graph, misfits).run();
}

std::vector<Operation> Matcher::run() {
  isWanted.resize(graph.nodes.size());
  for (int output : graph.outputs)
    want(output);
  for (size_t i = graph.nodes.size(); i-- > 0;)
    if (isWanted[i])
      match(graph.nodes[i]);
  if (misfits.empty())
    for (const GraphNode *node : unsized)
      misfits.push_back({node, "it takes an output that is not read"});
  for (auto [i, node] : llvm::enumerate(graph.nodes))
    if (node.type() == "Push" && misfits.empty() && pushes[&node] != 1)
      misfits.push_back({&node, pushes[&node]
                                    ? "keys or values of a cache that several attentions take"
                                    : "a cache whose keys or values are read by no attention"});
  std::reverse(operations.begin(), operations.end());
  std::reverse(misfits.begin(), misfits.end());
  return std::move(operations);
}

void Matcher::want(int value) {
  if (value >= 0 && graph[value].node >= 0 && !graph[value].known)
    isWanted[static_cast<size_t>(graph[value].node)] = true;
}

Operation &Matcher::add(OperationKind kind, const GraphNode &node, ArrayRef<int> inputs) {
  Operation &operation = operations.emplace_back();
  operation.kind = kind;
  operation.node = &node;
  operation.inputs.assign(inputs.begin(), inputs.end());
  operation.output = node.outputs.empty() ? -1 : node.outputs.front();
  for (int input : inputs)
    want(input);
  return operation;
}

void Matcher::refuse(const GraphNode &node, const Twine &why) {
  misfits.push_back({&node, why.str()});
  for (int input : node.inputs)
    want(input);
}

void Matcher::match(GraphNode &node) {
  bool isRecurrent = node.type() == "LSTM" || node.type() == "GRU" || node.type() == "RNN";
  if (!node.problem.empty() || (node.outputs.front() < 0 && !isRecurrent))
    return refuse(node, node.problem.empty() ? "its first output is left out" : node.problem);
  bool isComplete =
      all_of(node.inputs, [&](int value) { return value < 0 || graph[value].sizes.has_value(); });
  // What is wrong is said of a node before.
  if (!isComplete) {
    unsized.push_back(&node);
    for (int input : node.inputs)
      want(input);
    return;
  }
  using Pattern = bool (Matcher::*)(const GraphNode &);
  static constexpr Pattern patterns[] = {
      &Matcher::matchAttention,  &Matcher::matchAttentionNode, &Matcher::matchRotary,
      &Matcher::matchRotaryNode, &Matcher::matchNorm,          &Matcher::matchNormNode,
      &Matcher::matchLinear,     &Matcher::matchGemm,          &Matcher::matchGelu,
      &Matcher::matchSilu,       &Matcher::matchRecurrent,     &Matcher::matchConvolution,
      &Matcher::matchView,       &Matcher::matchPart,          &Matcher::matchGather,
      &Matcher::matchOther,      &Matcher::matchFormula};
  size_t refused = misfits.size();
  for (Pattern pattern : patterns)
    if ((this->*pattern)(node) || misfits.size() > refused)
      return;
  refuse(node, node.type() == "MatMul" ? "a product of two tensors that is part of no attention"
                                       : "it is part of no pattern that is known");
}

} // namespace attn::importer
