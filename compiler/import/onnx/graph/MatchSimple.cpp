// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes that are an operation each: other views of a tensor, parts of it, what works element by
// element, reductions.
#include "compiler/import/onnx/graph/ConstantFolder.h"
#include "compiler/import/onnx/graph/ElementFormula.h"
#include "compiler/import/onnx/graph/Matcher.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace llvm;

namespace attn::importer {

bool Matcher::matchView(const GraphNode &node) {
  StringRef type = node.type();
  int input = node.input(0);
  if (type == "Cast" || type == "CastLike") {
    OnnxType before = graph[input].type, after = graph[node.outputs[0]].type;
    if ((isFloating(before) && isFloating(after)) || (isInteger(before) && isInteger(after)) ||
        before == after) {
      add(OperationKind::View, node, {input});
      return true;
    }
    Operation &made = add(OperationKind::Formula, node, {input});
    made.text = isFloating(after) ? "float" : "int";
    if (after == OnnxType::Bool) {
      made.text = "!=";
      made.numbers = {"", "0"};
    } else if (isFloating(before)) {
      operations.pop_back();
      return false;
    }
    return true;
  }
  if (type == "Identity" || type == "Push" || type == "Dropout" || type == "Reshape" ||
      type == "Flatten" || type == "Unsqueeze" || type == "Squeeze") {
    add(OperationKind::View, node, {input});
    return true;
  }
  if (type == "Expand") {
    add(OperationKind::Expand, node, {input});
    return true;
  }
  if (type != "Transpose")
    return false;
  Operation &turn = add(OperationKind::Transpose, node, {input});
  auto rank = static_cast<int64_t>(graph[input].sizes->size());
  if (auto *order = node.attribute<std::vector<int64_t>>("perm"))
    turn.integers.assign(order->begin(), order->end());
  else
    for (int64_t i = rank; i-- > 0;)
      turn.integers.push_back(i);
  return true;
}

//===-- parts -------------------------------------------------------------------------------===//

void Matcher::addSlice(const GraphNode &node, int input, int output, int64_t axis, int64_t first) {
  const Quantity &before = (*graph[input].sizes)[static_cast<size_t>(axis)],
                 &after = (*graph[output].sizes)[static_cast<size_t>(axis)];
  bool isOne = after.is(1) && !before.is(1);
  Operation &slice = add(isOne ? OperationKind::Pick : OperationKind::Slice, node, {input});
  slice.output = output;
  slice.keeps = true;
  slice.integers = {axis, first};
  if (!isOne)
    slice.integers.push_back(after.whole());
}

/// The first rows of a weight, as many as there are positions.
bool Matcher::matchPositions(const GraphNode &node, int table, int64_t axis) {
  const Sizes &before = *graph[table].sizes;
  bool isMatrix = graph[table].isWeight();
  for (size_t i = 0; i < before.size(); ++i)
    isMatrix &= static_cast<int64_t>(i) == axis || i + 1 == before.size() || before[i].is(1);
  if (!isMatrix || static_cast<size_t>(axis) + 1 == before.size())
    return false;
  Operation &rows = add(OperationKind::Embedding, node, {});
  rows.weight = {table, false};
  rows.text = "p";
  rows.integers = {axis};
  return true;
}

bool Matcher::matchPart(const GraphNode &node) {
  if (node.type() == "Split") {
    const Sizes &before = *graph[node.input(0)].sizes;
    int axis = axisOf(node.integer("axis", 0), before.size());
    int64_t first = 0;
    for (int output : node.outputs) {
      if (output < 0)
        return false;
      addSlice(node, node.input(0), output, axis, first);
      first += static_cast<int64_t>((*graph[output].sizes)[static_cast<size_t>(axis)].whole());
    }
    return true;
  }
  if (node.type() != "Slice")
    return false;
  const Sizes before = *graph[node.input(0)].sizes, after = *graph[node.outputs[0]].sizes;
  auto list = [&](StringRef name, size_t i) {
    std::vector<int64_t> numbers;
    if (auto *given = node.attribute<std::vector<int64_t>>(name))
      return *given;
    if (node.input(i) >= 0)
      for (const Quantity &number : *graph[node.input(i)].known)
        numbers.push_back(number.whole());
    return numbers;
  };
  std::vector<int64_t> starts = list("starts", 1), axes = list("axes", 3), steps = list("steps", 4);
  if (any_of(steps, [](int64_t step) { return step != 1; })) {
    refuse(node, "a slice with a step other than 1");
    return false;
  }
  SmallVector<std::pair<int64_t, int64_t>> cuts;
  for (size_t i = 0; i < starts.size(); ++i) {
    int axis = axisOf(axes.empty() ? static_cast<int64_t>(i) : axes[i], before.size());
    auto at = static_cast<size_t>(axis);
    if (before[at] == after[at])
      continue;
    if (!after[at].isNumber()) {
      if (!matchPositions(node, node.input(0), axis))
        refuse(node, "a slice of an axis whose size is only named");
      return true;
    }
    auto size = before[at].whole();
    cuts.push_back(
        {axis, std::clamp<int64_t>(starts[i] < 0 ? starts[i] + size : starts[i], 0, size)});
  }
  if (cuts.empty()) {
    add(OperationKind::View, node, {node.input(0)});
    return true;
  }
  // Several axes are cut one after the other; operations are found from back to front.
  int output = node.outputs[0];
  for (size_t i = cuts.size(); i-- > 0;) {
    int input = node.input(0);
    if (i > 0) {
      Sizes sizes = *graph[output].sizes;
      auto at = static_cast<size_t>(cuts[i].first);
      sizes[at] = before[at];
      input = graph.add(graph[output].type, sizes);
    }
    addSlice(node, input, output, cuts[i].first, cuts[i].second);
    output = input;
  }
  return true;
}

bool Matcher::matchGather(const GraphNode &node) {
  if (node.type() != "Gather")
    return false;
  int table = strip(node.input(0)), at = node.input(1);
  const Sizes &before = *graph[table].sizes;
  int64_t axis = axisOf(node.integer("axis", 0), before.size());
  if (graph.number(at)) {
    auto place = Quantity(*graph.number(at)).whole();
    const Quantity &size = before[static_cast<size_t>(axis)];
    if (!size.isNumber() && place != 0 && place != -1) {
      refuse(node, "an element of an axis whose size is only named");
      return false;
    }
    Operation &pick = add(OperationKind::Pick, node, {table});
    pick.keeps = graph[at].rank() == 1;
    pick.integers = {axis, place < 0 && size.isNumber() ? place + size.whole() : place};
    return true;
  }
  std::optional<Weight> weight = weightOf(table);
  if (weight && !weight->isTransposed && before.size() == 2 && axis == 0) {
    Places places;
    static constexpr const char *letters[] = {"p", "q", "r", "s"};
    for (size_t i = 0; i < graph[at].sizes->size(); ++i)
      places.push_back({i < 4 ? letters[i] : "t", static_cast<int>(i)});
    auto none = [](int, ArrayRef<Place>) { return std::nullopt; };
    std::optional<Formula> formula = formulaOf(graph, at, places, none);
    Operation &rows = add(OperationKind::Embedding, node, {});
    rows.weight = *weight;
    if (formula) {
      rows.text = formula->text;
    } else {
      rows.inputs = {at};
      want(at);
    }
    return true;
  }
  if (const auto &known = graph[at].known; known && graph[at].rank() == 1) {
    double first = known->front().factor;
    bool isRun = before[static_cast<size_t>(axis)].isNumber() && first >= 0;
    for (size_t i = 0; i < known->size(); ++i)
      isRun &= (*known)[i].is(first + static_cast<double>(i));
    if (isRun) {
      addSlice(node, table, node.outputs[0], axis, Quantity(first).whole());
      return true;
    }
  }
  refuse(node, "places that are computed, in a tensor that is no matrix of weights");
  return false;
}

//===-- along axes --------------------------------------------------------------------------===//

bool Matcher::matchOther(const GraphNode &node) {
  StringRef type = node.type();
  if (node.input(0) < 0)
    return false;
  auto rank = graph[node.input(0)].sizes->size();
  if (type == "Softmax") {
    int axis = axisOf(node.integer("axis", graph.opset < 13 ? 1 : -1), rank);
    if (axis < 0 || (graph.opset < 13 && static_cast<size_t>(axis) + 1 != rank)) {
      refuse(node, "a softmax along several axes");
      return false;
    }
    add(OperationKind::Softmax, node, {node.input(0)}).integers.push_back(axis);
    return true;
  }
  if (type == "Concat") {
    add(OperationKind::Concat, node, node.inputs)
        .integers.push_back(axisOf(node.integer("axis", 0), rank));
    return true;
  }
  if (type == "ReduceL2" || type == "ReduceSumSquare")
    return matchLength(node);
  StringRef function = StringSwitch<StringRef>(type)
                           .Case("ReduceMean", "mean")
                           .Case("ReduceSum", "sum")
                           .Case("ReduceMax", "max")
                           .Case("ReduceMin", "min")
                           .Default("");
  if (function.empty())
    return false;
  addReduce(node, node.input(0), node.outputs[0], function);
  return true;
}

void Matcher::addReduce(const GraphNode &node, int input, int output, StringRef function) {
  if (isInteger(graph[input].type)) { // whole numbers are counted as numbers
    int numbers = graph.add(OnnxType::F32, *graph[input].sizes);
    Operation &counted = add(OperationKind::Formula, node, {input});
    counted.text = "float";
    counted.output = numbers;
    addReduce(node, numbers, output, function);
    std::swap(operations.back(), operations[operations.size() - 2]);
    return;
  }
  Operation &reduce = add(OperationKind::Reduce, node, {input});
  reduce.output = output;
  reduce.text = function.str();
  reduce.keeps = node.integer("keepdims", 1);
  std::vector<int64_t> axes;
  auto rank = graph[input].sizes->size();
  if (auto *given = node.attribute<std::vector<int64_t>>("axes"))
    axes = *given;
  else if (node.input(1) >= 0)
    for (const Quantity &axis : *graph[node.input(1)].known)
      axes.push_back(axis.whole());
  if (axes.empty())
    for (size_t i = 0; i < rank; ++i)
      axes.push_back(static_cast<int64_t>(i));
  for (int64_t axis : axes)
    reduce.integers.push_back(axisOf(axis, rank));
}

/// The root of the sum of squares, or that sum.
bool Matcher::matchLength(const GraphNode &node) {
  int input = node.input(0), output = node.outputs[0];
  int squares = graph.add(graph[input].type, *graph[input].sizes);
  // Operations are found from back to front.
  if (node.type() == "ReduceL2") {
    int sum = graph.add(graph[output].type, *graph[output].sizes);
    Operation &root = add(OperationKind::Formula, node, {sum});
    root.text = "sqrt";
    output = sum;
  }
  addReduce(node, squares, output, "sum");
  Operation &square = add(OperationKind::Formula, node, {input});
  square.output = squares;
  square.text = "**";
  square.numbers = {"", "2"};
  return true;
}

//===-- element by element ------------------------------------------------------------------===//

/// The function or operator of the language that a node is; empty where there is none.
static StringRef functionOf(StringRef type) {
  return StringSwitch<StringRef>(type)
      .Case("Relu", "relu")
      .Case("Tanh", "tanh")
      .Case("Sigmoid", "sigmoid")
      .Case("Exp", "exp")
      .Case("Sqrt", "sqrt")
      .Case("Abs", "abs")
      .Case("Log", "log")
      .Case("Sin", "sin")
      .Case("Cos", "cos")
      .Case("Floor", "floor")
      .Case("Neg", "-")
      .Case("Not", "not")
      .Case("Add", "+")
      .Case("Sub", "-")
      .Case("Mul", "*")
      .Case("Div", "/")
      .Case("Pow", "**")
      .Case("Min", "min")
      .Case("Max", "max")
      .Case("Equal", "==")
      .Case("Less", "<")
      .Case("LessOrEqual", "<=")
      .Case("Greater", ">")
      .Case("GreaterOrEqual", ">=")
      .Case("And", "and")
      .Case("Or", "or")
      .Case("Where", "if")
      .Case("Reciprocal", "/")
      .Case("Clip", "clamp")
      .Default("");
}

/// The bounds of a Clip, where one may be missing: `clamp`, `min` or `max`.
bool Matcher::matchClip(const GraphNode &node, Operation &made) {
  std::optional<double> low = graph.number(node.input(1)), high = graph.number(node.input(2));
  if (auto *number = node.attribute<float>("min"))
    low = *number;
  if (auto *number = node.attribute<float>("max"))
    high = *number;
  if ((node.input(1) >= 0 && !low) || (node.input(2) >= 0 && !high) || (!low && !high))
    return false;
  made.inputs = {node.input(0)};
  if (low && high)
    made.numbers = {"", floatText(*low), floatText(*high)};
  else
    made.numbers = {"", floatText(low ? *low : *high)};
  made.text = low && high ? "clamp" : low ? "max" : "min";
  return true;
}

bool Matcher::matchFormula(const GraphNode &node) {
  Operation made;
  made.kind = OperationKind::Formula;
  made.node = &node;
  made.output = node.outputs[0];
  made.text = functionOf(node.type()).str();
  if (made.text.empty() || node.input(0) < 0)
    return false;
  if (node.type() == "Clip") {
    if (!matchClip(node, made))
      return false;
  } else {
    if (node.type() == "Reciprocal")
      made.numbers.push_back("1");
    for (int input : node.inputs) {
      if (input < 0)
        return false;
      std::optional<double> number = graph.number(input);
      if (number && std::isnan(*number))
        return false;
      if (!number && graph[input].known) {
        refuse(node, "a constant of several whole numbers");
        return false;
      }
      made.numbers.push_back(number ? floatText(*number) : "");
      if (!number)
        made.inputs.push_back(input);
    }
  }
  for (int input : made.inputs)
    want(input);
  operations.push_back(std::move(made));
  return true;
}

} // namespace attn::importer
