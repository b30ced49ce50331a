// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Axes by their names, and values with the axes that an operation needs.
#include "compiler/import/onnx/graph/GraphWriter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace attn::importer {

std::string GraphWriter::axisName(int axis) {
  AxisList resolved = axes.resolve(axis);
  if (resolved.size() != 1)
    return axisName(resolved);
  auto [found, isNew] = axisNames.try_emplace(resolved[0]);
  if (!isNew)
    return found->second;
  const Quantity &size = axes.size(resolved[0]);
  bool isComposed = !size.isNumber() && (size.names.size() != 1 || size.factor != 1);
  if (isComposed && size.names.size() == 1 && axes.ofName(size.names[0]) >= 0) {
    std::string whole = axisName(axes.ofName(size.names[0]));
    return found->second = floatText(size.factor) + "*" + whole;
  }
  std::string name = names.dim(axes.hint(resolved[0]));
  axisNames[resolved[0]] = name;
  axisOrder.push_back(resolved[0]);
  return name;
}

std::string GraphWriter::axisName(ArrayRef<int> list) {
  std::string text;
  for (int axis : axes.resolve(list))
    text += (text.empty() ? "" : "*") + axisName(axis);
  return text.empty() ? "1" : text;
}

std::string GraphWriter::typeOf(ArrayRef<AxisList> places) {
  std::string text;
  for (const AxisList &place : places)
    text += (text.empty() ? "" : ", ") + axisName(place);
  return "[" + text + "]";
}

Written GraphWriter::valueOf(int value, SpecScope &scope) {
  int root = views.rootOf(value);
  auto found = scope.values.find(root);
  Written result;
  if (found != scope.values.end())
    result = found->second;
  else if (graph[root].isWeight())
    result = parameter(root, scope);
  else if (misfits.empty())
    misfits.push_back({graph.producer(root), "it gives what is needed where it is not known"});
  for (AxisList &group : result.axes)
    group = axes.resolve(group);
  return result;
}

Written GraphWriter::flat(int value, SpecScope &scope) {
  Written result = valueOf(value, scope);
  SmallVector<AxisList, 4> apart;
  for (int axis : result.all())
    apart.push_back({axis});
  bool isFlat = apart.size() == result.axes.size();
  if (isFlat)
    return result;
  result.formula = {arranged(result, apart), Formula::Primary};
  result.axes = apart;
  return result;
}

Written GraphWriter::repeated(Written value, ArrayRef<int> wanted) {
  AxisList there = value.all();
  std::string missing;
  for (int axis : wanted)
    if (!is_contained(there, axis)) {
      missing += ", " + axisName(axis);
      value.axes.push_back({axis});
    }
  if (!missing.empty())
    value.formula = {"repeat(" + value.formula.text + missing + ")", Formula::Primary};
  return value;
}

std::string GraphWriter::arranged(Written value, ArrayRef<AxisList> wanted) {
  AxisList all;
  SmallVector<AxisList, 4> after;
  for (const AxisList &group : wanted) {
    after.push_back(axes.resolve(group));
    append_range(all, after.back());
  }
  value = repeated(std::move(value), all);
  if (ArrayRef<AxisList>(value.axes) == ArrayRef<AxisList>(after))
    return value.formula.text;
  auto side = [&](ArrayRef<AxisList> groups) {
    std::string text;
    for (const AxisList &group : groups) {
      std::string words;
      for (int axis : group)
        words += (words.empty() ? "" : " ") + StringRef(axisName(axis)).lower();
      text += text.empty() ? "" : " ";
      text += group.size() > 1 ? "(" + words + ")" : group.empty() ? "1" : words;
    }
    return text;
  };
  return "split(" + value.formula.text + ", \"" + side(value.axes) + " -> " + side(after) + "\")";
}

void GraphWriter::let(int value, Written written, StringRef name, SpecScope &scope) {
  std::string unique = scope.names.fresh(name);
  std::string line = "let " + unique + " = " + written.formula.text;
  if (current)
    origins.push_back({line, labelOf(*current->source)});
  scope.body += line + "\n";
  written.formula = {unique, Formula::Primary};
  scope.values[value] = std::move(written);
}

} // namespace attn::importer
