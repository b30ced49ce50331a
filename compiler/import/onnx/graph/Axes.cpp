// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Axes that are one, axes that are taken apart, and the layouts of what operations give.
#include "compiler/import/onnx/graph/Axes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace attn::importer {

int Axes::add(const Quantity &size, StringRef hint) {
  list.push_back({size, static_cast<int>(list.size()), {}, hint.str(), -1, -1});
  return static_cast<int>(list.size()) - 1;
}

int Axes::find(int axis) const {
  while (list[static_cast<size_t>(axis)].same != axis)
    axis = list[static_cast<size_t>(axis)].same;
  return axis;
}

AxisList Axes::resolve(ArrayRef<int> axes) const {
  AxisList result;
  for (int axis : axes) {
    int found = find(axis);
    const AxisList &parts = list[static_cast<size_t>(found)].parts;
    if (parts.empty())
      result.push_back(found);
    else
      append_range(result, resolve(parts));
  }
  return result;
}

Layout &Axes::layout(int value) {
  Layout &found = layouts[value];
  if (!found.isKnown)
    layOut(value);
  return found;
}

void Axes::layOut(int value) {
  Layout &result = layouts[value];
  const GraphValue &of = graph[value];
  result.isKnown = true;
  if (!of.sizes)
    return;
  AxisList taken;
  for (size_t place = 0; place < of.sizes->size(); ++place) {
    const Quantity &size = (*of.sizes)[place];
    AxisList &axes = result.places.emplace_back();
    bool isBatch = of.isInput && place == 0;
    if (size.is(1) && !of.isInput)
      continue;
    StringRef hint = isBatch                        ? "B"
                     : of.isInput && place == 1     ? "T"
                     : of.isInput                   ? (of.sizes->size() == 3 ? "D" : "X")
                     : place + 1 < of.sizes->size() ? "M"
                                                    : "D";
    bool isNamed = size.names.size() == 1 && size.factor == 1;
    if (isNamed) {
      auto [known, isNew] = named.try_emplace(size.names[0], -1);
      if (isNew)
        known->second = add(size, hint);
      if (!is_contained(taken, known->second)) {
        taken.push_back(known->second);
        axes.push_back(known->second);
        continue;
      }
    }
    axes.push_back(add(size, hint));
  }
}

AxisList Axes::at(int value, size_t place) const {
  auto found = layouts.find(value);
  return found == layouts.end() || place >= found->second.places.size()
             ? AxisList()
             : resolve(found->second.places[place]);
}

AxisList Axes::present(int value) const {
  AxisList result;
  auto found = layouts.find(value);
  if (found == layouts.end())
    return result;
  AxisList absent = resolve(found->second.absent);
  for (const AxisList &axes : found->second.places)
    for (int axis : resolve(axes))
      if (!is_contained(absent, axis))
        result.push_back(axis);
  return result;
}

void Axes::setHint(ArrayRef<int> axes, StringRef hint) {
  for (int axis : resolve(axes))
    list[static_cast<size_t>(axis)].hint = hint.str();
}

int Axes::keysOf(int axis) {
  axis = find(axis);
  if (list[static_cast<size_t>(axis)].keys < 0) {
    int keys = add(list[static_cast<size_t>(axis)].size, "S");
    list[static_cast<size_t>(axis)].keys = keys;
    list[static_cast<size_t>(keys)].queries = axis;
  }
  return find(list[static_cast<size_t>(axis)].keys);
}

int Axes::queriesOf(int axis) const {
  int queries = list[static_cast<size_t>(find(axis))].queries;
  return queries < 0 ? -1 : find(queries);
}

AxisList Axes::own(const Operation &operation, size_t i) const {
  auto found = owned.find(operation.output);
  return found == owned.end() || i >= found->second.size() ? AxisList() : resolve(found->second[i]);
}

//===-- one axis ----------------------------------------------------------------------------===//

bool Axes::refine(int axis, const Quantity &outer) {
  axis = find(axis);
  Quantity size = list[static_cast<size_t>(axis)].size;
  std::optional<Quantity> inner = quotient(size, outer);
  if (!inner || list[static_cast<size_t>(axis)].queries >= 0 ||
      list[static_cast<size_t>(axis)].keys >= 0)
    return false;
  std::string hint = list[static_cast<size_t>(axis)].hint;
  int first = add(outer, hint), second = add(*inner, hint);
  list[static_cast<size_t>(axis)].parts = {first, second};
  return true;
}

/// How much the hint of an axis says; more is better.
static int weightOf(StringRef hint) {
  return StringSwitch<int>(hint)
      .Cases({"X", "M"}, 0)
      .Cases({"F", "R"}, 1)
      .Case("D", 2)
      .Case("N", 3)
      .Case("T", 4)
      .Default(5);
}

void Axes::nameResults(int value) {
  AxisList all = present(value);
  if (!all.empty() && hint(all.back()) == "F")
    setHint(all.back(), "K");
}

bool Axes::makeSame(int a, int b) {
  const Layout one = layout(a), other = layout(b);
  if (one.places.size() != other.places.size())
    return false;
  for (size_t place = 0; place < one.places.size(); ++place)
    if (!unify(one.places[place], other.places[place]))
      return false;
  return true;
}

bool Axes::unifyOne(int a, int b) {
  a = find(a);
  b = find(b);
  if (a == b)
    return true;
  Axis &one = list[static_cast<size_t>(a)], &other = list[static_cast<size_t>(b)];
  if (one.size.isNumber() && other.size.isNumber() && one.size != other.size)
    return false;
  if (other.keys >= 0 || other.queries >= 0)
    return one.keys < 0 && one.queries < 0 && unifyOne(b, a);
  if (!one.size.isNumber() && other.size.isNumber())
    one.size = other.size;
  if (weightOf(other.hint) > weightOf(one.hint))
    one.hint = other.hint;
  other.same = a;
  return true;
}

bool Axes::unify(ArrayRef<int> a, ArrayRef<int> b) {
  for (unsigned steps = 0; steps < 64; ++steps) {
    AxisList x = resolve(a), y = resolve(b);
    size_t i = 0;
    while (i < x.size() && i < y.size() &&
           (x[i] == y[i] || size(x[i]) == size(y[i]) || (x.size() == 1 && y.size() == 1)))
      ++i;
    if (i == x.size() && i == y.size()) {
      bool isRight = true;
      for (size_t k = 0; k < i; ++k)
        isRight = isRight && unifyOne(x[k], y[k]);
      return isRight;
    }
    if (i == x.size() || i == y.size())
      return false;
    bool isLarger = quotient(size(x[i]), size(y[i])).has_value();
    Quantity part = size(isLarger ? y[i] : x[i]);
    if (!refine(isLarger ? x[i] : y[i], part))
      return false;
  }
  return false;
}

bool Axes::join(AxisList &to, ArrayRef<int> from) {
  if (from.empty() || to.empty()) {
    if (to.empty())
      to.assign(from.begin(), from.end());
    return true;
  }
  return unify(to, from);
}

bool Axes::view(const Layout &before, const Sizes &after, Layout &result) {
  AxisList rest;
  for (const AxisList &axes : before.places)
    append_range(rest, resolve(axes));
  std::reverse(rest.begin(), rest.end());
  for (const Quantity &wanted : after) {
    AxisList &axes = result.places.emplace_back();
    Quantity count(1);
    if (wanted.is(1) && !rest.empty() && size(rest.back()).is(1)) {
      axes.push_back(rest.pop_back_val());
      continue;
    }
    while (count != wanted) {
      if (rest.empty())
        return false;
      int next = rest.pop_back_val();
      std::optional<Quantity> needed = quotient(wanted, count);
      if (!needed)
        return false;
      if (!quotient(*needed, size(next))) {
        if (!refine(next, *needed))
          return false;
        const AxisList parts = list[static_cast<size_t>(find(next))].parts;
        rest.push_back(parts[1]);
        next = parts[0];
      }
      axes.push_back(next);
      count = count * size(next);
    }
  }
  for (int axis : rest)
    if (!size(axis).is(1) || result.places.empty())
      return false;
    else
      result.places.back().push_back(axis);
  result.absent = before.absent;
  return true;
}

void Axes::settleAbsent(Layout &result, ArrayRef<int> inputs) {
  SmallSet<int, 8> there;
  for (int input : inputs)
    for (int axis : present(input))
      there.insert(axis);
  for (const AxisList &axes : result.places)
    for (int axis : resolve(axes))
      if (!there.count(axis))
        result.absent.push_back(axis);
}

//===-- all ---------------------------------------------------------------------------------===//

void Axes::run(ArrayRef<Operation> operations) {
  for (int input : graph.inputs)
    layout(input);
  for (const Operation &operation : operations) {
    for (int input : operation.inputs)
      layout(input);
    if (!place(operation)) {
      misfits.push_back({operation.node, "its axes are not those that the pattern has"});
      return;
    }
  }
}

void Axes::merge(ArrayRef<Operation> operations) {
  std::vector<AxisList> together;
  for (const auto &[value, layout] : layouts)
    together.push_back(present(value));
  for (const Operation &operation : operations) {
    AxisList all;
    for (size_t i = 0; i < 4; ++i)
      append_range(all, own(operation, i));
    if (operation.kind != OperationKind::Linear)
      together.push_back(all);
  }
  AxisList known;
  for (size_t axis = 0; axis < list.size(); ++axis) {
    AxisList all = resolve(static_cast<int>(axis));
    if (all.size() != 1 || all[0] != static_cast<int>(axis) || !list[axis].size.isNumber() ||
        list[axis].keys >= 0 || list[axis].queries >= 0)
      continue;
    for (int other : known) {
      const Axis &one = list[static_cast<size_t>(other)];
      if (one.size != list[axis].size || one.hint != list[axis].hint)
        continue;
      bool isApart = none_of(together, [&](ArrayRef<int> axes) {
        return is_contained(axes, other) && is_contained(axes, static_cast<int>(axis));
      });
      if (!isApart)
        continue;
      list[axis].same = other;
      for (AxisList &axes : together)
        std::replace(axes.begin(), axes.end(), static_cast<int>(axis), other);
      break;
    }
    if (list[axis].same == static_cast<int>(axis))
      known.push_back(static_cast<int>(axis));
  }
}

} // namespace attn::importer
