// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// linear D -> 3, H, E; then [0], [1], [2] along the first   -> three linears D -> H, E
// linear D -> F; then slices of F                           -> a linear for each slice
#include "compiler/import/onnx/graph/Packed.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace attn::importer {

static bool isView(const Operation &operation) {
  return operation.kind == OperationKind::View || operation.kind == OperationKind::Transpose ||
         operation.kind == OperationKind::Expand;
}

Views::Views(ArrayRef<Operation> operations) {
  for (const Operation &operation : operations)
    if (isView(operation))
      roots[operation.output] = rootOf(operation.inputs[0]);
}

int Views::rootOf(int value) const {
  auto found = roots.find(value);
  return found == roots.end() ? value : found->second;
}

Users usersOf(ArrayRef<Operation> operations, const Views &views) {
  Users users;
  for (auto [i, operation] : enumerate(operations)) {
    if (isView(operation))
      continue;
    for (int input : operation.inputs)
      users[views.rootOf(input)].push_back(i);
    for (const ScoreTerm &term : operation.terms)
      if (term.isTensor)
        users[views.rootOf(term.value)].push_back(i);
  }
  return users;
}

namespace {

/// Looks at one packed linear map.
class Unpacking {
public:
  Unpacking(std::vector<Operation> &operations, Axes &axes, const Operation &linear,
            ArrayRef<size_t> users)
      : operations(operations), axes(axes), linear(linear), users(users) {}
  /// The maps of the parts in their order; empty where it is not packed.
  std::vector<Operation> run(int group);

private:
  /// The axis that all users choose an element of; -1 where they do not.
  int pickedAxis() const;
  /// Whether the users are slices that make up the axis, in any order; sorts them.
  bool areSlices();
  /// The axis that an operation cuts.
  AxisList cut(const Operation &operation) const {
    return axes.at(operation.inputs[0], static_cast<size_t>(operation.integers[0]));
  }

  std::vector<Operation> &operations;
  Axes &axes;
  const Operation &linear;
  SmallVector<size_t, 4> users;
};

} // namespace

int Unpacking::pickedAxis() const {
  AxisList given = axes.own(linear, 0);
  int axis = -1;
  for (size_t user : users) {
    const Operation &pick = operations[user];
    if (pick.kind != OperationKind::Pick)
      return -1;
    AxisList along = cut(pick);
    if (along.size() != 1 || !is_contained(given, along[0]) || (axis >= 0 && axis != along[0]))
      return -1;
    axis = along[0];
  }
  size_t place = static_cast<size_t>(find(given, axis) - given.begin());
  bool isFirst = place == 0 || (place == 1 && given.size() == 3);
  return isFirst && given.size() > 1 && axes.size(axis).is(static_cast<double>(users.size())) ? axis
                                                                                              : -1;
}

bool Unpacking::areSlices() {
  AxisList given = axes.own(linear, 0);
  for (size_t user : users)
    if (operations[user].kind != OperationKind::Slice || cut(operations[user]) != given)
      return false;
  sort(users,
       [&](size_t a, size_t b) { return operations[a].integers[1] < operations[b].integers[1]; });
  int64_t next = 0;
  for (size_t user : users) {
    if (operations[user].integers[1] != next)
      return false;
    next += operations[user].integers[2];
  }
  return given.size() == 1 && users.size() > 1 && axes.size(given[0]).is(static_cast<double>(next));
}

std::vector<Operation> Unpacking::run(int group) {
  int picked = users.empty() ? -1 : pickedAxis();
  if (picked < 0 && !areSlices())
    return {};
  if (picked >= 0)
    sort(users,
         [&](size_t a, size_t b) { return operations[a].integers[1] < operations[b].integers[1]; });
  std::vector<Operation> parts;
  for (auto [index, user] : enumerate(users)) {
    const Operation &cutting = operations[user];
    if (picked >= 0 && cutting.integers[1] != static_cast<int64_t>(index))
      return {};
    Operation part = linear;
    part.output = cutting.output;
    AxisList given = picked < 0 ? axes.own(cutting, 0) : axes.own(linear, 0);
    part.part = {group, index, users.size(), picked >= 0 && given[0] != picked};
    llvm::erase(given, picked);
    AxisList taken = axes.own(linear, 1);
    axes.setOwn(part, {given, taken});
    parts.push_back(std::move(part));
  }
  return parts;
}

void splitPacked(const Graph &graph, std::vector<Operation> &operations, Axes &axes) {
  Views views(operations);
  Users users = usersOf(operations, views);
  std::vector<bool> isGone(operations.size(), false);
  std::map<size_t, std::vector<Operation>> parts;
  int groups = 0;
  for (size_t i = 0; i < operations.size(); ++i) {
    const Operation &operation = operations[i];
    bool isResult =
        any_of(graph.outputs, [&](int output) { return views.rootOf(output) == operation.output; });
    if (operation.kind != OperationKind::Linear || isResult)
      continue;
    ArrayRef<size_t> own = users[operation.output];
    std::vector<Operation> made = Unpacking(operations, axes, operation, own).run(groups);
    if (made.empty())
      continue;
    ++groups;
    isGone[i] = true;
    for (size_t user : own)
      isGone[user] = true;
    parts[i] = std::move(made);
  }
  std::vector<Operation> all;
  for (auto [i, operation] : enumerate(operations)) {
    if (auto found = parts.find(i); found != parts.end())
      all.insert(all.end(), found->second.begin(), found->second.end());
    if (!isGone[i])
      all.push_back(std::move(operation));
  }
  operations = std::move(all);
}

} // namespace attn::importer
