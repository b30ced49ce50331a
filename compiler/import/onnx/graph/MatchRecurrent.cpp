// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LSTM, GRU and RNN in one direction: a scan of a cell, of which the node gives up to three
// results.
#include "compiler/import/onnx/graph/Matcher.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace attn::importer {

/// Why a recurrent node is not read; empty where it is.
static std::string recurrentProblem(const Graph &graph, const GraphNode &node) {
  auto *direction = node.attribute<std::string>("direction");
  if (direction && *direction == "bidirectional")
    return "both directions in one node, whose weights stand in one tensor";
  if (direction && *direction != "forward" && *direction != "reverse")
    return "a `direction` that is unknown";
  for (const OnnxAttribute &attribute : node.source->attributes)
    if (attribute.name == "clip" || attribute.name == "activation_alpha" ||
        attribute.name == "activation_beta")
      return "the attribute `" + attribute.name + "`";
  if (node.integer("input_forget", 0))
    return "gates that are coupled (`input_forget`)";
  if (node.input(4) >= 0)
    return "lengths of rows (`sequence_lens`)";
  if (node.input(7) >= 0)
    return "peepholes";
  std::vector<std::string> usual =
      node.type() == "LSTM"  ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
      : node.type() == "GRU" ? std::vector<std::string>{"Sigmoid", "Tanh"}
                             : std::vector<std::string>{"Tanh"};
  auto *activations = node.attribute<std::vector<std::string>>("activations");
  bool isRelu =
      activations && node.type() == "RNN" && *activations == std::vector<std::string>{"Relu"};
  if (activations && *activations != usual && !isRelu)
    return "other activations than the usual ones";
  if (graph[node.input(0)].rank() != 3)
    return "an input of other than three axes";
  return "";
}

bool Matcher::matchRecurrent(const GraphNode &node) {
  if (node.type() != "LSTM" && node.type() != "GRU" && node.type() != "RNN")
    return false;
  if (std::string problem = recurrentProblem(graph, node); !problem.empty()) {
    refuse(node, problem);
    return false;
  }
  std::optional<Weight> input = weightOf(node.input(1)), states = weightOf(node.input(2)), bias;
  if (node.input(3) >= 0)
    bias = weightOf(node.input(3));
  if (!input || !states || (node.input(3) >= 0 && !bias)) {
    refuse(node, "weights that are no initializers");
    return false;
  }
  std::vector<int> taken = {node.input(0)};
  for (size_t i : {5, 6})
    if (node.input(i) >= 0)
      taken.push_back(node.input(i));
  if (node.type() == "LSTM" && taken.size() == 2) {
    refuse(node, "one of two states that come in");
    return false;
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] < 0)
      continue;
    Operation &made = add(OperationKind::Recurrent, node, taken);
    made.output = node.outputs[i];
    made.integers = {static_cast<int64_t>(i)};
    made.weight = *input;
    made.recurrent = *states;
    made.bias = bias.value_or(Weight());
  }
  return true;
}

} // namespace attn::importer
