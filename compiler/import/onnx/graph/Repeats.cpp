// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Equal runs of operations, longest first, that are wired as layers are.
#include "compiler/import/onnx/graph/Repeats.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace llvm;

namespace attn::importer {

//===-- names -------------------------------------------------------------------------------===//

/// The parts of a name, numbers apart from what stands between them.
static std::vector<std::string> partsOf(StringRef name) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < name.size();) {
    size_t end = at;
    bool isNumber = isDigit(name[at]);
    while (end < name.size() && isDigit(name[end]) == isNumber)
      ++end;
    parts.push_back(name.slice(at, end).str());
    at = end;
  }
  return parts;
}

std::optional<std::string> layerPattern(ArrayRef<StringRef> names) {
  std::vector<std::vector<std::string>> parts;
  for (StringRef name : names)
    parts.push_back(partsOf(name));
  std::string pattern;
  bool counts = false;
  for (size_t i = 0; i < parts[0].size(); ++i) {
    for (const auto &other : parts)
      if (other.size() != parts[0].size())
        return std::nullopt;
    if (all_of(parts, [&](const auto &other) { return other[i] == parts[0][i]; })) {
      pattern += parts[0][i];
      continue;
    }
    int64_t first = 0, second = 0;
    if (StringRef(parts[0][i]).getAsInteger(10, first) ||
        StringRef(parts[1][i]).getAsInteger(10, second) || second <= first ||
        second - first > INT32_MAX)
      return std::nullopt;
    for (size_t n = 0; n < parts.size(); ++n)
      if (parts[n][i] != std::to_string(first + static_cast<int64_t>(n) * (second - first)))
        return std::nullopt;
    counts = true;
    pattern += "{n";
    pattern += second - first > 1 ? "*" + std::to_string(second - first) : "";
    pattern += first > 0 ? "+" + std::to_string(first) : "";
    pattern += "}";
  }
  return counts ? std::optional(pattern) : std::nullopt;
}

//===-- operations --------------------------------------------------------------------------===//

SmallVector<int, 4> weightsOf(const Operation &operation) {
  SmallVector<int, 4> weights;
  for (int value : {operation.weight.value, operation.bias.value, operation.recurrent.value})
    if (value >= 0)
      weights.push_back(value);
  return weights;
}

SmallVector<int, 6> takenBy(const Graph &graph, const Views &views, const Operation &operation) {
  SmallVector<int, 6> taken;
  for (int input : operation.inputs)
    taken.push_back(views.rootOf(input));
  for (const ScoreTerm &term : operation.terms) {
    if (term.isTensor) {
      taken.push_back(views.rootOf(term.value));
      continue;
    }
    Places places;
    for (size_t i = 0; i < graph[term.value].sizes->size(); ++i)
      places.push_back({"i", static_cast<int>(i)});
    auto read = [&](int value, ArrayRef<Place>) {
      if (!is_contained(taken, value))
        taken.push_back(value);
      return Formula{"x", Formula::Primary};
    };
    formulaOf(graph, term.value, places, read);
  }
  return taken;
}

namespace {

/// Looks for layers in a range of operations.
class Search {
public:
  Search(const Graph &graph, const Views &views, ArrayRef<Operation> operations);
  /// Adds the layers between two operations.
  void run(size_t begin, size_t end, std::vector<Repeat> &found);

private:
  size_t signatureOf(const Operation &operation) const;
  std::optional<Repeat> wired(Repeat repeat) const;
  /// Whether one input of a layer's operation is wired as that of the first layer.
  bool wireInput(Repeat &repeat, size_t layer, size_t place, size_t input) const;
  bool nameWeights(Repeat &repeat) const;
  /// The operation that gives a value, or as many as there are.
  size_t giverOf(int value) const {
    auto giver = givers.find(value);
    return giver == givers.end() ? operations.size() : giver->second;
  }

  const Graph &graph;
  ArrayRef<Operation> operations;
  std::vector<size_t> signatures;
  std::vector<SmallVector<int, 6>> taken;
  std::map<int, size_t> givers;
  Users users;
  std::set<int> given; ///< what the graph gives
  /// Steps that may still be taken, about a second's: where layers are in layers a thousand times
  /// over, the last ones are written one by one.
  mutable size_t left = 500 * 1000 * 1000;
};

} // namespace

Search::Search(const Graph &graph, const Views &views, ArrayRef<Operation> operations)
    : graph(graph), operations(operations), users(usersOf(operations, views)) {
  for (auto [i, operation] : enumerate(operations)) {
    taken.push_back(takenBy(graph, views, operation));
    givers[operation.output] = i;
    signatures.push_back(signatureOf(operation));
  }
  for (int output : graph.outputs)
    given.insert(views.rootOf(output));
}

size_t Search::signatureOf(const Operation &operation) const {
  std::string text;
  raw_string_ostream os(text);
  auto sizes = [&](int value) {
    if (value < 0 || !graph[value].sizes)
      return;
    for (const Quantity &size : *graph[value].sizes) {
      os << size.factor;
      for (unsigned name : size.names)
        os << 's' << name;
      os << ',';
    }
  };
  os << static_cast<int>(operation.kind) << operation.text << join(operation.numbers, "|") << '|';
  for (int64_t number : operation.integers)
    os << number << ',';
  os << operation.keeps << operation.isRms << operation.isCausal << operation.eps << '|'
     << operation.isCached << operation.window << operation.past << '|' << operation.scale << '|'
     << operation.cap << '|' << operation.weight.isTransposed << operation.part.index << '/'
     << operation.part.count << operation.part.isInside;
  for (int weight : weightsOf(operation))
    sizes(weight);
  for (const ScoreTerm &term : operation.terms)
    os << term.factor << term.isCondition << term.keepsWhere << term.fill << term.isTensor << '|';
  if (operation.kind == OperationKind::Recurrent)
    os << operation.output; // layers of which are written one by one
  sizes(operation.output);
  return hash_value(text);
}

bool Search::wireInput(Repeat &repeat, size_t layer, size_t place, size_t input) const {
  size_t first = repeat.first + place, own = first + layer * repeat.period;
  int value = taken[own][input], model = taken[first][input];
  size_t begin = repeat.first + layer * repeat.period, giver = giverOf(value);
  bool isInside = giver != operations.size() && giver >= begin && giver < begin + repeat.period;
  size_t firstGiver = giverOf(model);
  bool wasInside = firstGiver != operations.size() && firstGiver >= repeat.first &&
                   firstGiver < repeat.first + repeat.period;
  if (isInside || wasInside)
    return isInside && wasInside && giver - begin == firstGiver - repeat.first;
  if (graph[value].isWeight() && graph[model].isWeight() && value != model)
    return true; // a parameter of the layer
  if (value == model) {
    if (model == repeat.taken && layer > 0)
      return false;
    if (!is_contained(repeat.outer, model) && layer + 1 == repeat.count)
      repeat.outer.push_back(model);
    return true;
  }
  // What the layer before gives.
  bool isBefore = giver != operations.size() && giver + repeat.period >= begin && giver < begin;
  if (!isBefore)
    return false;
  int given = operations[giver - (layer - 1) * repeat.period].output;
  if (repeat.given < 0) {
    repeat.given = given;
    repeat.taken = model;
  }
  return repeat.given == given && repeat.taken == model;
}

std::optional<Repeat> Search::wired(Repeat repeat) const {
  left -= std::min(left, repeat.count * repeat.period);
  for (size_t layer = 1; layer < repeat.count; ++layer)
    for (size_t place = 0; place < repeat.period; ++place) {
      const auto &own = taken[repeat.first + layer * repeat.period + place];
      if (own.size() != taken[repeat.first + place].size())
        return std::nullopt;
      for (size_t input = 0; input < own.size(); ++input)
        if (!wireInput(repeat, layer, place, input))
          return std::nullopt;
    }
  if (repeat.given < 0 || is_contained(repeat.outer, repeat.taken))
    return std::nullopt;
  size_t givenPlace = giverOf(repeat.given) - repeat.first;
  repeat.result = operations[repeat.first + (repeat.count - 1) * repeat.period + givenPlace].output;
  // Nothing else of the layers is used outside of them.
  size_t end = repeat.first + repeat.count * repeat.period;
  for (size_t i = repeat.first; i < end; ++i) {
    int value = operations[i].output;
    if (value == repeat.result)
      continue;
    size_t next = repeat.first + ((i - repeat.first) / repeat.period + 1) * repeat.period;
    bool isGiven = (i - repeat.first) % repeat.period == givenPlace;
    size_t last = isGiven ? next + repeat.period : next;
    auto found = users.find(value);
    if (found != users.end() &&
        any_of(found->second, [&](size_t user) { return user >= std::min(last, end); }))
      return std::nullopt;
    if (given.count(value))
      return std::nullopt;
  }
  return nameWeights(repeat) ? std::optional(repeat) : std::nullopt;
}

bool Search::nameWeights(Repeat &repeat) const {
  size_t same = 0, different = 0;
  auto name = [&](ArrayRef<int> values) {
    if (all_of(values, [&](int value) { return value == values[0]; })) {
      ++same;
      return true;
    }
    ++different;
    std::vector<StringRef> names;
    for (int value : values)
      names.push_back(graph[value].name);
    std::optional<std::string> pattern = layerPattern(names);
    if (pattern)
      repeat.patterns[values[0]] = *pattern;
    return pattern.has_value();
  };
  for (size_t place = 0; place < repeat.period; ++place) {
    std::vector<SmallVector<int, 4>> weights;
    for (size_t layer = 0; layer < repeat.count; ++layer) {
      size_t at = repeat.first + layer * repeat.period + place;
      weights.push_back(weightsOf(operations[at]));
      for (int value : taken[at])
        if (graph[value].isWeight() && !is_contained(repeat.outer, value))
          weights.back().push_back(value);
    }
    for (size_t i = 0; i < weights[0].size(); ++i) {
      SmallVector<int, 8> values;
      for (const auto &list : weights)
        values.push_back(list[i]);
      if (!name(values))
        return false;
    }
  }
  repeat.isShared = different == 0;
  return same == 0 || different == 0;
}

void Search::run(size_t begin, size_t end, std::vector<Repeat> &found) {
  size_t steps = (end - begin) * (end - begin) / 2;
  if (end - begin < 4 || end - begin > 20000 || steps > left)
    return;
  left -= steps;
  struct Candidate {
    size_t begin, matches, period;
    size_t covered() const { return (matches / period + 1) * period; }
  };
  std::vector<Candidate> candidates;
  for (size_t period = 2; period <= (end - begin) / 2; ++period)
    for (size_t i = begin; i + period < end; ++i) {
      size_t matches = 0;
      while (i + matches + period < end &&
             signatures[i + matches] == signatures[i + matches + period])
        ++matches;
      if (matches >= period)
        candidates.push_back({i, matches, period});
      i += matches;
    }
  sort(candidates, [](const Candidate &a, const Candidate &b) {
    return a.covered() != b.covered() ? a.covered() > b.covered()
                                      : std::tie(a.period, a.begin) < std::tie(b.period, b.begin);
  });
  for (const Candidate &candidate : ArrayRef(candidates).take_front(64)) {
    size_t count = candidate.matches / candidate.period + 1,
           slack = candidate.matches % candidate.period;
    for (size_t shift = 0; shift <= slack && left > 0; ++shift) {
      Repeat repeat;
      repeat.first = candidate.begin + shift;
      repeat.period = candidate.period;
      repeat.count = count;
      std::optional<Repeat> layers = wired(repeat);
      if (!layers)
        continue;
      run(begin, layers->first, found);
      found.push_back(*layers);
      run(layers->first + layers->period * layers->count, end, found);
      return;
    }
  }
}

std::vector<Repeat> findRepeats(const Graph &graph, const Views &views,
                                ArrayRef<Operation> operations) {
  std::vector<Repeat> found;
  Search(graph, views, operations).run(0, operations.size(), found);
  return found;
}

} // namespace attn::importer
