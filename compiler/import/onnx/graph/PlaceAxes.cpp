// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What each kind of operation makes of the axes that it takes.
#include "compiler/import/onnx/graph/Axes.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace attn::importer {

bool Axes::placeElements(const Operation &operation, Layout &result) {
  const Sizes &after = *graph[operation.output].sizes;
  result.places.resize(after.size());
  for (size_t place = 0; place < after.size(); ++place)
    for (int input : operation.inputs) {
      const Layout &own = layout(input);
      size_t skipped = after.size() - own.places.size();
      if (place < skipped)
        continue;
      const AxisList axes = own.places[place - skipped];
      // An axis of one element that an input of the graph has is no axis beside a longer one.
      bool isOne = (*graph[input].sizes)[place - skipped].is(1) && !after[place].is(1);
      if (isOne && !axes.empty())
        return false;
      if (!join(result.places[place], axes))
        return false;
    }
  settleAbsent(result, operation.inputs);
  return true;
}

bool Axes::placeWindows(const Operation &operation, Layout &result) {
  const Layout before = layout(operation.inputs[0]);
  const Sizes &kernel = *graph[operation.weight.value].sizes,
              &after = *graph[operation.output].sizes, &x = *graph[operation.inputs[0]].sizes;
  size_t rank = kernel.size() - 2;
  int given = add(kernel[0], "D");
  result.places = {before.places[0], {given}};
  AxisList taken = before.places[1], windows;
  setHint(before.places[1], "C");
  static constexpr StringRef lengths[] = {"P", "Q"}, counts[] = {"Y", "X"};
  for (size_t i = 0; i < rank; ++i) {
    const Quantity &length = kernel[2 + i], &count = after[2 + i];
    bool isPatch = length * count == x[2 + i] && operation.integers[2 * i + 1] == 0 &&
                   length.is(static_cast<double>(operation.integers[2 * i]));
    if (isPatch) {
      AxisList all = resolve(before.places[2 + i]);
      if (all.size() == 1 && !refine(all[0], count))
        return false;
      all = resolve(before.places[2 + i]);
      if (all.size() != 2 || size(all[0]) != count)
        return false;
      setHint(all[0], rank == 1 ? "T" : counts[i]);
      setHint(all[1], lengths[i]);
      result.places.push_back({all[0]});
      taken.push_back(all[1]);
    } else {
      int places = add(count, rank == 1 ? "T" : counts[i]), inside = add(length, lengths[i]);
      result.places.push_back({places});
      taken.push_back(inside);
    }
  }
  owned[operation.output] = {{given}, taken};
  return true;
}

bool Axes::placeEmbedding(const Operation &operation, Layout &result) {
  const Sizes &table = *graph[operation.weight.value].sizes;
  const Sizes &after = *graph[operation.output].sizes;
  int rows = add(operation.integers.empty() ? table[0]
                                            : table[static_cast<size_t>(operation.integers[0])],
                 operation.inputs.empty() ? "L" : "V"),
      width = add(table.back(), "D");
  owned[operation.output] = {{rows}, {width}};
  if (!operation.inputs.empty()) {
    result = layout(operation.inputs[0]);
    result.places.push_back({width});
    return true;
  }
  // Of positions alone, which are along one axis.
  static constexpr StringRef letters = "pqrs";
  size_t along = operation.integers.empty() ? letters.find(operation.text[0])
                                            : static_cast<size_t>(operation.integers[0]);
  for (size_t place = 0; place + 1 < after.size(); ++place) {
    AxisList &axes = result.places.emplace_back();
    if (after[place].is(1))
      continue;
    axes.push_back(add(after[place], "T"));
    if (place != along)
      result.absent.push_back(axes[0]);
    else
      owned[operation.output].push_back(axes);
  }
  result.places.push_back({width});
  return owned[operation.output].size() == 3;
}

bool Axes::placeRecurrent(const Operation &operation, Layout &result) {
  const Layout x = layout(operation.inputs[0]);
  bool isBatchFirst = operation.node->integer("layout", 0);
  AxisList steps = x.places[isBatchFirst ? 1 : 0], rows = x.places[isBatchFirst ? 0 : 1];
  auto [found, isNew] = states.try_emplace(operation.node, -1);
  if (isNew)
    found->second = add(graph[operation.recurrent.value].sizes->back(), "U");
  AxisList state = {found->second};
  setHint(steps, "T");
  for (int given : ArrayRef(operation.inputs).drop_front()) {
    const Layout own = layout(given);
    AxisList batch = own.places[isBatchFirst ? 0 : 1];
    if (!join(rows, batch) || !unify(state, own.places[2]))
      return false;
  }
  AxisList one;
  bool isAll = operation.integers[0] == 0;
  if (isBatchFirst)
    result.places = isAll ? SmallVector<AxisList, 4>{rows, steps, one, state}
                          : SmallVector<AxisList, 4>{rows, one, state};
  else
    result.places = isAll ? SmallVector<AxisList, 4>{steps, one, rows, state}
                          : SmallVector<AxisList, 4>{one, rows, state};
  owned[operation.output] = {steps, x.places[2], state};
  return true;
}

bool Axes::placeConcat(const Operation &operation, Layout &result) {
  const Sizes &after = *graph[operation.output].sizes;
  auto along = static_cast<size_t>(operation.integers[0]);
  result.places.resize(after.size());
  for (size_t place = 0; place < after.size(); ++place)
    for (int input : operation.inputs)
      if (place != along && !join(result.places[place], layout(input).places[place]))
        return false;
  result.places[along] = {add(after[along], "N")};
  settleAbsent(result, operation.inputs);
  // The packed axis is there, though no part has it.
  llvm::erase(result.absent, result.places[along][0]);
  owned[operation.output] = {result.places[along]};
  return true;
}

bool Axes::placeTerm(const ScoreTerm &term, ArrayRef<AxisList> scores) {
  const Sizes sizes = *graph[term.value].sizes;
  size_t skipped = scores.size() - sizes.size(), last = scores.size() - 1;
  if (sizes.size() > scores.size())
    return false;
  auto unifyPlaces = [&](int value, ArrayRef<Place> places) {
    bool hasQueries = any_of(
        places, [&](const Place &place) { return place.axis == static_cast<int>(last) - 1; });
    const Layout own = layout(value);
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i].axis < 0 || own.places[i].empty())
        continue;
      AxisList whole = resolve(scores[static_cast<size_t>(places[i].axis)]);
      AxisList queries = resolve(scores[last - 1]);
      bool isKeys = places[i].axis == static_cast<int>(last) && hasQueries && whole == queries;
      if (isKeys && whole.size() != 1)
        return false;
      if (!unify(isKeys ? AxisList{keysOf(whole[0])} : whole, own.places[i]))
        return false;
    }
    return true;
  };
  Places places;
  for (size_t i = 0; i < sizes.size(); ++i)
    places.push_back({"i", sizes[i].is(1) ? -1 : static_cast<int>(skipped + i)});
  if (term.isTensor)
    return layout(term.value).isKnown && unifyPlaces(term.value, places);
  bool isRight = true;
  auto read = [&](int value, ArrayRef<Place> at) -> std::optional<Formula> {
    isRight = isRight && unifyPlaces(value, at);
    return Formula{"x", Formula::Primary};
  };
  return formulaOf(graph, term.value, places, read) && isRight;
}

bool Axes::placeAttend(const Operation &operation, Layout &result) {
  const Layout q = layout(operation.inputs[0]), k = layout(operation.inputs[1]),
               v = layout(operation.inputs[2]);
  size_t rank = q.places.size();
  if (k.places.size() != rank || v.places.size() != rank || rank < 2)
    return false;
  SmallVector<AxisList, 4> scores;
  for (size_t place = 0; place + 2 < rank; ++place) {
    AxisList axes = q.places[place], keys = k.places[place];
    // Heads that share keys: of each key as many as there are queries for it.
    Quantity heads = countOf(sizesOf(axes)), groups = countOf(sizesOf(keys));
    if (heads != groups && !keys.empty() && !axes.empty()) {
      std::optional<Quantity> each = quotient(heads, groups);
      if (!each || !refine(resolve(axes)[0], groups))
        return false;
      AxisList parts = resolve(axes);
      setHint(parts[0], "G");
      setHint(parts[1], "H");
      axes = {parts[0]};
      if (!unify(axes, keys) || !unify(axes, v.places[place]))
        return false;
      axes = parts;
    } else if (!join(axes, keys) || !join(axes, v.places[place])) {
      return false;
    }
    scores.push_back(axes);
  }
  if (!unify(q.places[rank - 1], k.places[rank - 2]) ||
      !unify(k.places[rank - 1], v.places[rank - 2]))
    return false;
  scores.push_back(q.places[rank - 2]);
  scores.push_back(k.places[rank - 1]);
  result.places.assign(scores.begin(), scores.end() - 1);
  result.places.push_back(v.places[rank - 1]);
  settleAbsent(result, operation.inputs);
  if (rank == 4) {
    AxisList heads = resolve(scores[1]);
    if (heads.size() == 1)
      setHint(heads, "H");
    if (heads.size() == 2) {
      setHint(heads[0], "G");
      setHint(heads[1], "H");
    }
    setHint(q.places[3], "E");
    setHint(v.places[3], "E");
  }
  owned[operation.output] = {scores[rank - 2], scores[rank - 1], q.places[rank - 1]};
  return all_of(operation.terms, [&](const ScoreTerm &term) { return placeTerm(term, scores); });
}

Sizes Axes::sizesOf(ArrayRef<int> axes) const {
  Sizes sizes;
  for (int axis : axes)
    sizes.push_back(size(axis));
  return sizes;
}

void Axes::placeExpand(const Operation &operation, const Layout &before, Layout &result) {
  const Sizes &after = *graph[operation.output].sizes;
  size_t skipped = after.size() - before.places.size();
  result.absent = before.absent;
  for (size_t place = 0; place < after.size(); ++place) {
    AxisList list = place < skipped ? AxisList() : before.places[place - skipped];
    if (list.empty() && !after[place].is(1)) {
      list.push_back(add(after[place], "R"));
      result.absent.push_back(list[0]);
    }
    result.places.push_back(list);
  }
}

bool Axes::placeReduced(const Operation &operation, const Layout &before, Layout &result) {
  ArrayRef<int64_t> gone = operation.integers;
  if (operation.kind == OperationKind::Pick)
    gone = gone.take_front(1);
  AxisList absent = resolve(before.absent);
  bool isRight = true;
  for (size_t place = 0; place < before.places.size(); ++place) {
    bool isGone = is_contained(gone, static_cast<int64_t>(place));
    if (!isGone)
      result.places.push_back(before.places[place]);
    else if (operation.keeps)
      result.places.emplace_back();
    isRight &= !isGone || none_of(resolve(before.places[place]),
                                  [&](int axis) { return is_contained(absent, axis); });
  }
  result.absent = before.absent;
  return isRight;
}

bool Axes::place(const Operation &operation) {
  Layout result;
  const Layout *first = operation.inputs.empty() ? nullptr : &layout(operation.inputs[0]);
  result.isKnown = true;
  bool isRight = true;
  switch (operation.kind) {
  case OperationKind::View:
    isRight = view(*first, *graph[operation.output].sizes, result);
    break;
  case OperationKind::Transpose:
    for (int64_t axis : operation.integers)
      result.places.push_back(first->places[static_cast<size_t>(axis)]);
    result.absent = first->absent;
    break;
  case OperationKind::Expand:
    placeExpand(operation, *first, result);
    break;
  case OperationKind::Linear: {
    result = *first;
    const Sizes &matrix = *graph[operation.weight.value].sizes;
    int given = add(matrix[operation.weight.isTransposed ? 1 : 0], "F");
    owned[operation.output] = {{given}, first->places.back()};
    result.places.back() = {given};
    break;
  }
  case OperationKind::Norm:
  case OperationKind::Softmax:
  case OperationKind::Rotary:
    result = *first;
    if (operation.kind == OperationKind::Norm)
      setHint(first->places.back(), "D");
    break;
  case OperationKind::Formula:
    isRight = placeElements(operation, result);
    break;
  case OperationKind::Windows:
    isRight = placeWindows(operation, result);
    break;
  case OperationKind::Embedding:
    isRight = placeEmbedding(operation, result);
    break;
  case OperationKind::Concat:
    isRight = placeConcat(operation, result);
    break;
  case OperationKind::Recurrent:
    isRight = placeRecurrent(operation, result);
    break;
  case OperationKind::Attend:
    isRight = placeAttend(operation, result);
    break;
  case OperationKind::Reduce:
  case OperationKind::Pick:
    isRight = placeReduced(operation, *first, result);
    break;
  case OperationKind::Slice: {
    result = *first;
    auto place = static_cast<size_t>(operation.integers[0]);
    int made =
        add((*graph[operation.output].sizes)[place], resolve(first->places[place]).size() == 1
                                                         ? hint(resolve(first->places[place])[0])
                                                         : StringRef("D"));
    result.places[place] = {made};
    owned[operation.output] = {{made}};
    break;
  }
  }
  if (isRight)
    layouts[operation.output] = std::move(result);
  return isRight;
}

} // namespace attn::importer
