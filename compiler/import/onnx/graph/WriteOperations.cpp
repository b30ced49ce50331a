// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each operation as an expression, named by a `let` where it is used more than once or would make a
// line too long.
#include "compiler/import/onnx/graph/GraphWriter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace attn::importer {

/// How tightly an operator binds.
static Formula::Level levelOf(StringRef op) {
  return StringSwitch<Formula::Level>(op)
      .Case("or", Formula::Or)
      .Case("and", Formula::And)
      .Cases({"==", "<", "<=", ">", ">="}, Formula::Comparison)
      .Case("!=", Formula::Comparison)
      .Cases({"+", "-"}, Formula::Sum)
      .Cases({"*", "/"}, Formula::Product)
      .Case("**", Formula::Power)
      .Default(Formula::Primary);
}

Written GraphWriter::writtenFormula(const Operation &operation, SpecScope &scope) {
  SmallVector<Written> arguments;
  size_t next = 0, count = std::max(operation.numbers.size(), operation.inputs.size());
  for (size_t i = 0; i < count; ++i) {
    if (i < operation.numbers.size() && !operation.numbers[i].empty()) {
      bool isNegative = operation.numbers[i][0] == '-';
      arguments.push_back(
          {{operation.numbers[i], isNegative ? Formula::Minus : Formula::Primary}, {}});
    } else {
      arguments.push_back(flat(operation.inputs[next++], scope));
    }
  }
  // One side has all axes of the others.
  size_t widest = 0;
  AxisList all;
  for (size_t i = 0; i < count; ++i) {
    if (arguments[i].axes.size() > arguments[widest].axes.size())
      widest = i;
    for (int axis : arguments[i].all())
      if (!is_contained(all, axis))
        all.push_back(axis);
  }
  arguments[widest] = repeated(arguments[widest], all);
  Written result;
  result.axes = arguments[widest].axes;
  StringRef op = operation.text;
  Formula::Level level = levelOf(op);
  if (op == "if") {
    result.formula = {"if " + arguments[0].formula.at(Formula::Or) + " then " +
                          arguments[1].formula.at(Formula::Or) + " else " +
                          arguments[2].formula.at(Formula::Or),
                      Formula::Choice};
  } else if (count == 1 && op == "-") {
    result.formula = {"-" + arguments[0].formula.at(Formula::Power), Formula::Minus};
  } else if (count == 1 && op == "not") {
    result.formula = {"not " + arguments[0].formula.at(Formula::Comparison), Formula::Not};
  } else if (level == Formula::Primary) {
    std::string text;
    for (const Written &argument : arguments)
      text += (text.empty() ? "" : ", ") + argument.formula.text;
    result.formula = {operation.text + "(" + text + ")", Formula::Primary};
  } else {
    auto tighter = static_cast<Formula::Level>(std::min<int>(level + 1, Formula::Primary));
    bool isLoose = op == "+" || op == "*" || op == "and" || op == "or";
    Formula::Level left = op == "**" || level == Formula::Comparison ? tighter : level;
    result.formula = {arguments[0].formula.at(left) + " " + operation.text + " " +
                          arguments[1].formula.at(isLoose ? level : tighter),
                      level};
  }
  return result;
}

Written GraphWriter::writtenWindows(const Operation &operation, SpecScope &scope) {
  AxisList taken = axes.own(operation, 1), given = axes.own(operation, 0);
  Written x = valueOf(operation.inputs[0], scope);
  // Of each axis of places, how many windows there are, and the axis in a window.
  size_t rank = graph[operation.weight.value].sizes->size() - 2;
  AxisList inside(taken.end() - static_cast<long>(rank), taken.end());
  AxisList all = x.all();
  bool arePatches = all_of(inside, [&](int axis) { return is_contained(all, axis); });
  Written result;
  std::string text;
  if (arePatches) {
    SmallVector<AxisList, 4> order;
    for (int axis : all)
      if (!is_contained(taken, axis))
        order.push_back({axis});
    result.axes = order;
    for (int axis : taken)
      order.push_back({axis});
    text = arranged(x, order);
  } else {
    x = flat(operation.inputs[0], scope);
    text = "windows(" + x.formula.text;
    for (size_t i = 0; i < rank; ++i) {
      std::string axis = axisName(axes.at(operation.inputs[0], 2 + i)),
                  places = axisName(axes.at(operation.output, 2 + i));
      text += ", " + axis + (axis == places ? "" : " = " + places);
      if (operation.integers[2 * i] != 1)
        text += " by " + std::to_string(operation.integers[2 * i]);
      text += " as " + axisName(inside[i]);
    }
    if (operation.integers[1])
      text += ", pad = " + std::to_string(operation.integers[1]);
    text += ")";
    for (const AxisList &group : x.axes) {
      AxisList after = group;
      for (size_t i = 0; i < rank; ++i)
        if (group == axes.at(operation.inputs[0], 2 + i))
          after = axes.at(operation.output, 2 + i);
      if (!is_contained(taken, group[0]))
        result.axes.push_back(after);
    }
  }
  for (int axis : given)
    result.axes.push_back({axis});
  result.formula = {linear(operation, scope) + "(" + text + ")", Formula::Primary};
  return result;
}

Written GraphWriter::writtenConcat(const Operation &operation, SpecScope &scope) {
  auto along = static_cast<size_t>(operation.integers[0]);
  AxisList packed = axes.at(operation.output, along);
  std::string text = "pack(" + axisName(packed);
  Written widest;
  for (int input : operation.inputs) {
    int root = views.rootOf(input);
    AxisList own = axes.at(input, along);
    Written part;
    if (graph[root].isWeight() && own.empty()) {
      // Of a token in front, [1, 1, D], the axis that is packed.
      int place = static_cast<int>(along) - graph[operation.output].rank() + graph[root].rank();
      part = parameter(root, scope, place);
    } else {
      part = valueOf(input, scope);
      SmallVector<AxisList, 4> wanted;
      bool isPlaced = false;
      for (int axis : part.all()) {
        if (!is_contained(own, axis))
          wanted.push_back({axis});
        else if (!isPlaced)
          wanted.push_back(own);
        isPlaced |= is_contained(own, axis);
      }
      if (own.empty()) // in front of what follows in the file's order
        wanted.insert(wanted.begin() + static_cast<long>(std::min(along, wanted.size())),
                      AxisList());
      part.formula = {arranged(part, wanted), Formula::Primary};
      part.axes = wanted;
    }
    text += ", " + part.formula.text;
    for (AxisList &group : part.axes)
      if (group == own)
        group = packed;
    if (part.axes.size() > widest.axes.size())
      widest = part;
  }
  widest.formula = {text + ")", Formula::Primary};
  return widest;
}

Written GraphWriter::writtenEmbedding(const Operation &operation, SpecScope &scope) {
  Written result;
  std::string path = embedding(operation, scope), at;
  if (!operation.inputs.empty()) {
    result = flat(operation.inputs[0], scope);
    at = result.formula.text;
  } else {
    AxisList along = axes.own(operation, 2);
    std::string positions = "positions(" + axisName(along) + ")";
    char letter =
        "pqrs"[operation.integers.empty() ? StringRef("pqrs").find(operation.text[0]) : 0];
    for (char c : operation.text)
      at += c == letter ? positions : std::string(1, c);
    result.axes.push_back(along);
    auto rows = axes.size(axes.own(operation, 0)[0]).whole();
    int64_t &most = bounds.try_emplace(along[0], rows).first->second;
    most = std::min(most, rows);
  }
  for (int axis : axes.own(operation, 1))
    result.axes.push_back({axis});
  result.formula = {path + "(" + at + ")", Formula::Primary};
  return result;
}

Written GraphWriter::writtenPart(const Operation &operation, SpecScope &scope) {
  if (std::optional<Written> part = slicedParameter(operation, scope))
    return *part;
  Written x = flat(operation.inputs[0], scope);
  AxisList along = axes.at(operation.inputs[0], static_cast<size_t>(operation.integers[0]));
  if (along.empty())
    return x;
  if (along.size() > 1) {
    misfits.push_back({operation.node, "a part of an axis that is several"});
    return x;
  }
  std::string axis = axisName(along);
  int64_t first = operation.integers[1];
  std::string text = x.formula.text;
  auto *place = find(x.axes, along);
  if (place == x.axes.end()) // the same all along it
    return x;
  if (operation.kind == OperationKind::Slice) {
    AxisList made = axes.at(operation.output, static_cast<size_t>(operation.integers[0]));
    std::string end = std::to_string(first + operation.integers[2]), name = axisName(made);
    text = "slice(" + text + ", " + axis + " from " + std::to_string(first) + " to " + end +
           " as " + name + ")";
    SmallVector<AxisList, 4> after;
    for (const AxisList &group : x.axes)
      if (group != along)
        after.push_back(group);
      else
        for (int part : made)
          after.push_back({part});
    if (made.size() > 1) {
      misfits.push_back({operation.node, "a part that is taken apart"});
      return x;
    }
    return {{text, Formula::Primary}, after};
  }
  const Quantity &size = axes.size(along[0]);
  bool isLast = first == -1 || size.is(static_cast<double>(first + 1));
  text = first == 0 ? "first(" + axis + ", " + text + ")"
         : isLast   ? "last(" + axis + ", " + text + ")"
                    : "pick(" + text + ", " + axis + " at " + std::to_string(first) + ")";
  x.axes.erase(place);
  return {{text, Formula::Primary}, x.axes};
}

Written GraphWriter::writtenReduce(const Operation &operation, SpecScope &scope) {
  Written x = flat(operation.inputs[0], scope);
  std::string text = operation.text + "(";
  for (int64_t place : operation.integers)
    for (int axis : axes.at(operation.inputs[0], static_cast<size_t>(place))) {
      text += axisName(axis) + ", ";
      llvm::erase(x.axes, AxisList{axis});
    }
  if (StringRef(text).ends_with("("))
    return x;
  x.formula = {text + x.formula.text + ")", Formula::Primary};
  return x;
}

std::optional<Written> GraphWriter::written(const Operation &operation, SpecScope &scope) {
  switch (operation.kind) {
  case OperationKind::View:
  case OperationKind::Transpose:
  case OperationKind::Expand:
    return std::nullopt;
  case OperationKind::Formula:
    return writtenFormula(operation, scope);
  case OperationKind::Windows:
    return writtenWindows(operation, scope);
  case OperationKind::Embedding:
    return writtenEmbedding(operation, scope);
  case OperationKind::Reduce:
    return writtenReduce(operation, scope);
  case OperationKind::Pick:
  case OperationKind::Slice:
    return writtenPart(operation, scope);
  case OperationKind::Concat:
    return writtenConcat(operation, scope);
  case OperationKind::Attend:
    return writtenAttend(operation, scope);
  case OperationKind::Rotary:
    return writtenRotary(operation, scope);
  case OperationKind::Recurrent:
    return writtenRecurrent(operation, scope);
  default:
    break;
  }
  Written x = flat(operation.inputs[0], scope);
  if (operation.kind == OperationKind::Linear) {
    AxisList taken = axes.own(operation, 1);
    llvm::erase_if(x.axes, [&](const AxisList &group) { return is_contained(taken, group[0]); });
    for (int axis : axes.own(operation, 0))
      x.axes.push_back({axis});
    x.formula = {linear(operation, scope) + "(" + x.formula.text + ")", Formula::Primary};
  } else if (operation.kind == OperationKind::Norm) {
    x.formula = {norm(operation, scope) + "(" + x.formula.text + ")", Formula::Primary};
  } else {
    AxisList along = axes.at(operation.inputs[0], static_cast<size_t>(operation.integers[0]));
    if (along.size() != 1)
      misfits.push_back({operation.node, "a softmax along an axis that is several"});
    x.formula = {"softmax(" + axisName(along) + ", " + x.formula.text + ")", Formula::Primary};
  }
  return x;
}

void GraphWriter::writeOperation(const Operation &operation, SpecScope &scope) {
  current = operation.node;
  std::optional<Written> value = written(operation, scope);
  if (!value)
    return;
  StringRef name = "y";
  if (operation.kind == OperationKind::Norm)
    name = "n";
  else if (operation.kind == OperationKind::Attend)
    name = "a";
  else if (operation.kind == OperationKind::Embedding || operation.kind == OperationKind::Concat)
    name = "x";
  settle(operation.output, std::move(*value), name, scope);
}

void GraphWriter::settle(int value, Written written, StringRef name, SpecScope &scope) {
  size_t uses = 0,
         end = scope.layers ? scope.layers->first + scope.layers->period : operations.size();
  if (auto found = users.find(value); found != users.end())
    for (size_t user : found->second)
      uses += user < end;
  if (scope.layers)
    uses += value == scope.layers->given;
  else
    for (int output : graph.outputs)
      uses += views.rootOf(output) == value;
  constexpr size_t most = 76; // that a line holds
  if (uses > 1 || written.formula.level == Formula::Choice || written.formula.text.size() > most)
    let(value, std::move(written), name, scope);
  else
    scope.values[value] = std::move(written);
}

} // namespace attn::importer
