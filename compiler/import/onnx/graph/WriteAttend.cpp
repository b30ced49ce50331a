// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An attention with its lines: score, bias, cap, mask.
#include "compiler/import/onnx/graph/GraphWriter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace llvm;

namespace attn::importer {

std::string GraphWriter::scoreLine(const Operation &operation) {
  Quantity features = countOf(axes.sizesOf(axes.own(operation, 2)));
  double usual = 1 / std::sqrt(features.factor);
  bool capsInside = operation.cap != 0 && any_of(operation.terms, [](const ScoreTerm &term) {
                      return !term.isCondition;
                    });
  bool isUsual = std::fabs(operation.scale - usual) <= 1e-6 * usual, isPlain = operation.scale == 1;
  if (!capsInside && (isUsual || isPlain))
    return isUsual ? "scaled_dot" : "dot";
  std::string formula = "dot(q, k)";
  if (isUsual)
    formula += " * rsqrt(dim(q))";
  else if (!isPlain)
    formula += " * " + floatText(operation.scale);
  if (capsInside) // the cap of an attention comes behind its bias
    formula =
        floatText(operation.cap) + " * tanh(" + formula + " / " + floatText(operation.cap) + ")";
  auto [found, isNew] = scores.try_emplace(formula);
  if (isNew)
    found->second = names.fresh("scaled");
  return found->second;
}

std::optional<std::string> GraphWriter::termText(const ScoreTerm &term, const Operation &operation,
                                                 SpecScope &scope, bool &isMask) {
  AxisList queries = axes.own(operation, 0), keys = axes.own(operation, 1);
  size_t rank = graph[operation.output].sizes->size();
  auto letter = [&](int axis) {
    bool isQuery = is_contained(queries, axis);
    bool isKey = is_contained(keys, axis) ||
                 (axes.queriesOf(axis) >= 0 && is_contained(queries, axes.queriesOf(axis)));
    return isQuery ? std::string("i") : isKey ? "j" : StringRef(axisName(axis)).lower();
  };
  const Sizes sizes = *graph[term.value].sizes;
  Formula formula;
  if (term.isTensor) {
    Written value = flat(term.value, scope);
    int root = views.rootOf(term.value);
    if (!all_of(value.formula.text, [](char c) { return isAlnum(c) || c == '_' || c == '.'; })) {
      let(root, value, "m", scope);
      value = flat(term.value, scope);
    }
    std::string text = value.formula.text + "[";
    for (const AxisList &group : value.axes)
      text += (StringRef(text).ends_with("[") ? "" : ", ") + letter(group[0]);
    formula = {text + "]", Formula::Primary};
  } else {
    size_t skipped = rank - sizes.size();
    Places places;
    for (size_t i = 0; i < sizes.size(); ++i) {
      size_t at = skipped + i;
      std::string text = "0";
      if (at + 2 >= rank) {
        text = at + 1 == rank ? "j" : "i";
      } else {
        AxisList lead = axes.at(operation.output, at);
        if (!lead.empty())
          text = StringRef(axisName(lead[0])).lower();
        for (int axis : ArrayRef(lead).drop_front(lead.empty() ? 0 : 1))
          text += " * " + axisName(axis) + " + " + StringRef(axisName(axis)).lower();
      }
      places.push_back(sizes[i].is(1) ? Place{"0", -1} : Place{text, static_cast<int>(at)});
    }
    auto read = [&](int value, ArrayRef<Place> at) -> std::optional<Formula> {
      std::string text = valueOf(value, scope).formula.text + "[";
      for (size_t i = 0; i < at.size(); ++i)
        text += (i == 0 ? "" : ", ") + at[i].text;
      return Formula{text + "]", Formula::Primary};
    };
    std::optional<Formula> found = formulaOf(graph, term.value, places, read);
    if (!found)
      return std::nullopt;
    formula = *found;
  }
  if (term.isCondition) {
    if (!term.keepsWhere)
      formula = formula.text == "j > i"
                    ? Formula{"j <= i", Formula::Comparison}
                    : Formula{"not " + formula.at(Formula::Comparison), Formula::Not};
    isMask = std::isinf(term.fill) || formula.text == "j <= i";
    if (isMask)
      return formula.text == "j <= i" ? "causal" : formula.at(Formula::And);
    return "if " + formula.text + " then 0 else " + floatText(term.fill);
  }
  // What is far below all scores leaves a key no weight, and its own key a query always sees.
  StringRef rest = formula.text;
  double behind = 0;
  if (rest.consume_front("if j <= i then 0 else ") &&
      (rest == "-inf" || !rest.getAsDouble(behind)) &&
      (rest == "-inf" || behind * term.factor <= -1e4)) {
    isMask = true;
    return "causal";
  }
  rest = formula.text;
  if (rest.consume_front("if j > i then ") && rest.consume_back(" else 0") &&
      (rest == "-inf" || !rest.getAsDouble(behind)) &&
      (rest == "-inf" || behind * term.factor <= -1e4)) {
    isMask = true;
    return "causal";
  }
  return term.factor == 1 ? formula.at(Formula::Sum)
                          : formula.at(Formula::Product) + " * " + floatText(term.factor);
}

Written GraphWriter::ending(int value, ArrayRef<int> last, SpecScope &scope) {
  Written x = flat(value, scope);
  SmallVector<AxisList, 4> order;
  for (const AxisList &group : x.axes)
    if (!is_contained(last, group[0]))
      order.push_back(group);
  order.emplace_back(last.begin(), last.end());
  x.formula = {arranged(x, order), Formula::Primary};
  x.axes = order;
  return x;
}

Written GraphWriter::writtenRotary(const Operation &operation, SpecScope &scope) {
  AxisList features = axes.at(operation.inputs[0], 3), along = axes.at(operation.inputs[0], 2);
  Written x = ending(operation.inputs[0], features, scope);
  if (along.size() != 1 || features.size() != 1) {
    misfits.push_back({operation.node, "positions or features along several axes"});
    return x;
  }
  std::string text = "rotary(" + x.formula.text + ", " + axisName(along) +
                     (operation.isInterleaved ? ", interleaved" : ", half");
  if (operation.scale != 10000)
    text += ", base = " + floatText(operation.scale);
  if (!operation.integers.empty())
    text += ", features = " + std::to_string(operation.integers[0]);
  x.formula = {text + ")", Formula::Primary};
  return x;
}

/// Whether a term is made of more than positions.
static bool readsInputs(const Graph &graph, const ScoreTerm &term) {
  if (term.isTensor)
    return true;
  bool reads = false;
  Places places;
  for (size_t i = 0; i < graph[term.value].sizes->size(); ++i)
    places.push_back({"i", static_cast<int>(i)});
  auto read = [&](int, ArrayRef<Place>) {
    reads = true;
    return Formula{"x", Formula::Primary};
  };
  return !formulaOf(graph, term.value, places, read) || reads;
}

std::optional<Written> GraphWriter::writtenAttend(const Operation &operation, SpecScope &scope) {
  AxisList queries = axes.own(operation, 0), keys = axes.own(operation, 1);
  size_t rank = graph[operation.output].sizes->size();
  // The features that are compared, or given, are the last axis.
  Written q = ending(operation.inputs[0], axes.own(operation, 2), scope),
          k = ending(operation.inputs[1], axes.own(operation, 2), scope),
          v = ending(operation.inputs[2], axes.at(operation.inputs[2], rank - 1), scope);
  std::string along;
  bool isSelf = queries == keys;
  for (int axis : keys) {
    along += (along.empty() ? "" : ", ") + axisName(axis);
    if (isSelf)
      along += " as " + (operation.isCached ? cachedKeys : axisName(axes.keysOf(axis)));
  }
  if (operation.isCached && (!isSelf || keys.size() != 1)) {
    misfits.push_back({operation.node, "a cache whose positions are not those of the queries"});
    return std::nullopt;
  }
  if (keys.size() != 1 || queries.size() != 1)
    along = "(" + along + ")";
  std::string lines, biases, masks = operation.isCausal ? "causal" : "";
  if (operation.window >= 0)
    masks = operation.isCausal && operation.past == 0
                ? "window(" + std::to_string(operation.window) + ", 0)"
                : "i + " + std::to_string(operation.past - operation.window) + " <= j";
  if (operation.past != 0 && operation.isCausal)
    masks = "j <= i + " + std::to_string(operation.past) +
            (operation.window >= 0 ? " and " + masks : "");
  for (const ScoreTerm &term : operation.terms) {
    bool isMask = false;
    if (operation.isCached && readsInputs(graph, term)) {
      misfits.push_back({operation.node, "a mask of a cache that is read of inputs"});
      return std::nullopt;
    }
    std::optional<std::string> text = termText(term, operation, scope, isMask);
    if (!text) {
      misfits.push_back({operation.node, "a mask that is made of more than positions and inputs"});
      return std::nullopt;
    }
    std::string &to = isMask ? masks : biases;
    if (*text != "0" && !(isMask && *text == "true") && !(isMask && to == *text))
      to += (to.empty() ? "" : isMask ? " and " : " + ") + *text;
  }
  std::string score = scoreLine(operation);
  if (score != "scaled_dot")
    lines += "score " + score + "\n";
  if (!biases.empty())
    lines += "bias " + biases + "\n";
  if (operation.cap != 0 && biases.empty())
    lines += "cap " + floatText(operation.cap) + "\n";
  if (!masks.empty() || operation.isCached)
    lines += "mask " + (masks.empty() ? "none" : masks) + "\n";
  if (lines.empty())
    lines = "score scaled_dot\n";
  Written result;
  result.axes = q.axes;
  result.axes.back() = v.axes.back();
  // Axes that keys have and the query lacks come first.
  for (const AxisList &group : reverse(k.axes))
    if (!is_contained(keys, group[0]) && !is_contained(q.axes, group) && group != k.axes.back())
      result.axes.insert(result.axes.begin(), group);
  std::string over = k.formula.at(Formula::Primary) + ", " + v.formula.at(Formula::Primary);
  if (operation.isCached) // an entry comes to each cache once, or once for each layer
    caches.push_back(names.fresh("kv"));
  if (operation.isCached)
    over = caches.back() + ".push(" + k.formula.text + ", " + v.formula.text + ")";
  result.formula = {"attend " + q.formula.at(Formula::Primary) + " over " + over + " along " +
                        along + " {\n" + lines + "}",
                    Formula::Choice};
  return result;
}

} // namespace attn::importer
