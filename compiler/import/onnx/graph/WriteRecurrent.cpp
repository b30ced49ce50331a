// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LSTM, GRU and RNN: a cell whose gates stand in ONNX's order, i o f c and z r h, and its scan.
#include "compiler/import/onnx/graph/GraphWriter.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace attn::importer {

/// The sum that a gate is a function of; of GRU's last gate `h` may be another than the state.
static std::string sumOf(char gate, bool hasBias, StringRef h = "h") {
  std::string g(1, gate);
  return g + "x(x)" + (hasBias ? " + b." + g + "x" : "") + " + " + g + "h(" + h.str() + ")" +
         (hasBias ? " + b." + g + "h" : "");
}

/// What a step computes.
static std::string bodyOf(const GraphNode &node, bool hasBias) {
  if (node.type() == "LSTM")
    return "let kept = sigmoid(" + sumOf('f', hasBias) + ") * c + sigmoid(" + sumOf('i', hasBias) +
           ") * tanh(" + sumOf('g', hasBias) + ")\nreturn sigmoid(" + sumOf('o', hasBias) +
           ") * tanh(kept), kept\n";
  if (node.type() == "RNN") {
    auto *activations = node.attribute<std::vector<std::string>>("activations");
    bool isRelu = activations && activations->front() == "Relu";
    return std::string("return ") + (isRelu ? "relu(" : "tanh(") + sumOf('n', hasBias) + ")\n";
  }
  // The gate r is applied to the state, or behind its map.
  std::string candidate =
      node.integer("linear_before_reset", 0)
          ? std::string("nx(x)") + (hasBias ? " + b.nx + r * (nh(h) + b.nh)" : " + r * nh(h)")
          : sumOf('n', hasBias, "r * h");
  return "let z = sigmoid(" + sumOf('z', hasBias) + ")\nlet r = sigmoid(" + sumOf('r', hasBias) +
         ")\nreturn (1 - z) * tanh(" + candidate + ") + z * h\n";
}

/// The cell of a node, called `name`, from `features` to states of `units`.
static std::string cellOf(const Graph &graph, const Operation &operation, StringRef name,
                          StringRef features, StringRef units) {
  const GraphNode &node = *operation.node;
  bool isLstm = node.type() == "LSTM", hasBias = operation.bias.value >= 0;
  StringRef gates = isLstm ? "iofg" : node.type() == "GRU" ? "zrn" : "n";
  auto words = [&](StringRef prefix, char side) {
    std::string text;
    for (char gate : gates)
      text += (prefix.empty() ? " " : text.empty() ? "" : ", ") + prefix.str() + gate + side;
    return text;
  };
  auto linear = [&](char side, StringRef from, int weight) {
    std::string list;
    for (char gate : gates)
      list += (list.empty() ? "" : ", ") + std::string(1, gate) + side;
    std::string tensor = quoted("{" + graph[weight].name + "|}");
    return "linear " + list + ": " + from.str() + " -> " + units.str() + " = " +
           (gates.size() == 1 ? tensor : "split(" + tensor + "," + words("", side) + ")") + "\n";
  };
  std::string text = "\ncell " + name.str() + "(x: [" + features.str() + "], h: [" + units.str() +
                     "]" + (isLstm ? ", c: [" + units.str() + "]) -> h, c {\n" : ") -> h {\n");
  text +=
      linear('x', features, operation.weight.value) + linear('h', units, operation.recurrent.value);
  if (hasBias)
    text += "param " + words("b.", 'x') + ", " + words("b.", 'h') + ": [" + units.str() +
            "] = split(" + quoted(graph[operation.bias.value].name) + "," + words("", 'x') +
            words("", 'h') + ")\n";
  return text + bodyOf(node, hasBias) + "}\n";
}

std::optional<Written> GraphWriter::writtenRecurrent(const Operation &operation, SpecScope &scope) {
  const GraphNode &node = *operation.node;
  AxisList steps = axes.own(operation, 0), taken = axes.own(operation, 1),
           given = axes.own(operation, 2);
  if (steps.size() != 1 || taken.size() != 1 || given.size() != 1) {
    misfits.push_back({&node, "steps, features or states along several axes"});
    return std::nullopt;
  }
  bool isLstm = node.type() == "LSTM";
  Written x = ending(operation.inputs[0], taken, scope);
  auto [found, isNew] = scans.try_emplace(&node);
  if (isNew) {
    std::string cell = names.fresh(isLstm                 ? "Lstm"
                                   : node.type() == "GRU" ? "Gru"
                                                          : "Rnn"),
                part = scope.names.fresh(StringRef(cell).lower());
    blocks += cellOf(graph, operation, cell, axisName(taken), axisName(given));
    scope.declarations.push_back({"part", part, cell + " = \"\"", true});
    found->second = scope.names.fresh("hs") + " " + scope.names.fresh("h") + " " +
                    (isLstm ? scope.names.fresh("c") : "");
    auto [all, last] = StringRef(found->second).split(' ');
    auto [h, c] = last.split(' ');
    std::string from = "zeros";
    // States that come in have an axis of directions, of one element.
    auto state = [&](int value) {
      std::string text = ending(value, given, scope).formula.text;
      AxisList direction = axes.at(value, node.integer("layout", 0) ? 1 : 0);
      return direction.empty() ? text : "first(" + axisName(direction) + ", " + text + ")";
    };
    if (operation.inputs.size() > 1)
      from = state(operation.inputs[1]);
    if (operation.inputs.size() > 2)
      from = "(" + from + ", " + state(operation.inputs[2]) + ")";
    auto *direction = node.attribute<std::string>("direction");
    scope.body += "let " + all.str() + ", " +
                  (isLstm ? "(" + h.str() + ", " + c.str() + ")" : h.str()) + " = scan " + part +
                  " over " + x.formula.at(Formula::Primary) + " along " + axisName(steps) +
                  (direction && *direction == "reverse" ? " reverse" : "") + " from " + from + "\n";
    for (int weight : weightsOf(operation))
      bound.insert(weight);
  }
  SmallVector<StringRef, 3> results;
  StringRef(found->second).split(results, ' ');
  x.axes.back() = given;
  auto which = static_cast<size_t>(operation.integers[0]);
  if (which > 0)
    llvm::erase(x.axes, steps);
  x.formula = {results[which].str(), Formula::Primary};
  return x;
}

} // namespace attn::importer
