// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators that calculate: the sizes of their results, and numbers of what is computed from
// shapes and constants, such as the scale of an attention.
#include "compiler/import/onnx/graph/ConstantFolder.h"

#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace llvm;

namespace attn::importer {

/// A function of one number; nothing where it has no meaning here.
static std::optional<double> apply(StringRef type, double x) {
  double result = StringSwitch<double>(type)
                      .Case("Sqrt", std::sqrt(x))
                      .Case("Neg", -x)
                      .Case("Abs", std::fabs(x))
                      .Case("Floor", std::floor(x))
                      .Case("Ceil", std::ceil(x))
                      .Case("Reciprocal", 1 / x)
                      .Case("Exp", std::exp(x))
                      .Case("Log", std::log(x))
                      .Case("Sin", std::sin(x))
                      .Case("Cos", std::cos(x))
                      .Case("Not", x == 0 ? 1 : 0)
                      .Default(std::nan(""));
  return std::isfinite(result) ? std::optional(result) : std::nullopt;
}

/// A function of two numbers or sizes; nothing where it cannot be told.
static std::optional<Quantity> apply(StringRef type, const Quantity &a, const Quantity &b,
                                     bool areWhole) {
  if (type == "Add")
    return sum(a, b);
  if (type == "Mul")
    return a * b;
  if (type == "Sub") {
    Quantity negated = b;
    negated.factor = -negated.factor;
    return sum(a, negated);
  }
  if (type == "Div" && (!a.isNumber() || !b.isNumber()))
    return quotient(a, b);
  if (type == "Equal" && (!a.isNumber() || !b.isNumber())) {
    if (a == b)
      return Quantity(1);
    // A size is at least 1: it is neither 0 nor -1.
    bool isLess = (a.isNumber() && a.factor < 1) || (b.isNumber() && b.factor < 1);
    return isLess ? std::optional(Quantity(0)) : std::nullopt;
  }
  if (!a.isNumber() || !b.isNumber())
    return std::nullopt;
  double x = a.factor, y = b.factor;
  double result = StringSwitch<double>(type)
                      .Case("Div", areWhole ? std::trunc(x / y) : x / y)
                      .Case("Pow", std::pow(x, y))
                      .Case("Min", std::min(x, y))
                      .Case("Max", std::max(x, y))
                      .Case("Equal", x == y)
                      .Case("Less", x < y)
                      .Case("LessOrEqual", x <= y)
                      .Case("Greater", x > y)
                      .Case("GreaterOrEqual", x >= y)
                      .Case("And", x != 0 && y != 0)
                      .Case("Or", x != 0 || y != 0)
                      .Case("Mod", y == 0 ? std::nan("") : x - y * std::floor(x / y))
                      .Default(std::nan(""));
  return std::isnan(result) ? std::nullopt : std::optional(Quantity(result));
}

bool ConstantFolder::isCount(int value) const {
  for (unsigned depth = 0; value >= 0 && depth < 64; ++depth) {
    const GraphNode *giver = graph.producer(value);
    if (!giver)
      return false;
    if (giver->type() == "ReduceSum" || giver->type() == "ReduceMax" ||
        giver->type() == "ReduceMin")
      return isInteger(graph[giver->input(0)].type);
    bool passes = giver->type() == "Cast" || giver->type() == "Sub" || giver->type() == "Add" ||
                  giver->type() == "Squeeze" || giver->type() == "Unsqueeze";
    value = passes ? giver->input(0) : -1;
  }
  return false;
}

std::string ConstantFolder::sameSizes() {
  StringRef type = node->type();
  if (!sizes(0))
    return "a node without its first input";
  OnnxType result = in(0)->type;
  if (type == "Cast")
    result = static_cast<OnnxType>(node->integer("to", 0));
  else if (type == "CastLike" && in(1))
    result = in(1)->type;
  else if (type == "Not" || type == "IsNaN")
    result = OnnxType::Bool;
  // Of whole numbers that are counted as numbers, these stay such.
  if (isInteger(result) && isFloating(in(0)->type) && isCount(node->input(0)))
    result = OnnxType::F32;
  std::shared_ptr<Elements> elements;
  bool isCopy = type == "Identity" || type == "Dropout" || type == "Cast" || type == "CastLike";
  if (const Elements *from = known(0)) {
    elements = std::make_shared<Elements>();
    for (const Quantity &element : *from) {
      std::optional<Quantity> made;
      if (isCopy)
        made = isInteger(result) && element.isNumber() ? Quantity(std::trunc(element.factor))
               : result == OnnxType::Bool              ? Quantity(element.factor != 0)
                                                       : element;
      else if (element.isNumber())
        if (std::optional<double> number = apply(type, element.factor))
          made = Quantity(*number);
      if (made)
        elements->push_back(*made);
    }
    if (elements->size() != from->size())
      elements = nullptr;
  }
  give(0, result, *sizes(0), elements);
  if (type == "Dropout")
    give(1, OnnxType::Bool, *sizes(0));
  return "";
}

/// The place in a tensor of these sizes that goes with a place in a larger one.
static int64_t broadcastPlace(ArrayRef<int64_t> place, const Sizes &sizes) {
  SmallVector<int64_t, 6> own;
  size_t skipped = place.size() - sizes.size();
  for (size_t i = 0; i < sizes.size(); ++i)
    own.push_back(sizes[i].is(1) ? 0 : place[skipped + i]);
  return flatPlace(own, sizes);
}

std::string ConstantFolder::elementwise() {
  bool isChoice = node->type() == "Where";
  if (!sizes(0) || !sizes(1) || (isChoice && !sizes(2)))
    return "a node without its inputs";
  if (node->inputs.size() > (isChoice ? 3u : 2u))
    return "more than two inputs";
  std::optional<Sizes> all = broadcast(*sizes(0), *sizes(1));
  if (all && isChoice)
    all = broadcast(*all, *sizes(2));
  if (!all)
    return "inputs whose shapes do not fit";
  bool isTruth =
      StringSwitch<bool>(node->type())
          .Cases({"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or"}, true)
          .Default(false);
  OnnxType one = in(isChoice ? 1 : 0)->type, other = in(isChoice ? 2 : 1)->type;
  OnnxType type = isTruth ? OnnxType::Bool : isInteger(one) && isFloating(other) ? other : one;
  bool isKnown =
      known(0) && known(1) && (!isChoice || known(2)) && areNumbers(*all) && isSmall(*all);
  std::shared_ptr<Elements> elements;
  if (isKnown) {
    elements = std::make_shared<Elements>();
    auto at = [&](size_t i, ArrayRef<int64_t> place) -> const Quantity & {
      return (*known(i))[static_cast<size_t>(broadcastPlace(place, *sizes(i)))];
    };
    forEachPlace(*all, [&](ArrayRef<int64_t> place) {
      std::optional<Quantity> made;
      if (!isChoice)
        made = apply(node->type(), at(0, place), at(1, place), isInteger(in(0)->type));
      else if (at(0, place).isNumber())
        made = at(0, place).factor != 0 ? at(1, place) : at(2, place);
      if (made)
        elements->push_back(*made);
    });
    if (elements->size() != static_cast<size_t>(countOf(*all).whole()))
      elements = nullptr;
  }
  give(0, type, *all, elements);
  return "";
}

/// Whether two sizes may be one.
static bool mayBeSame(const Quantity &a, const Quantity &b) {
  return a == b || !a.isNumber() || !b.isNumber();
}

std::string ConstantFolder::matmul() {
  if (!sizes(0) || !sizes(1) || sizes(0)->empty() || sizes(1)->empty())
    return "inputs without axes";
  Sizes a = *sizes(0), b = *sizes(1);
  if (a.size() < 2 || b.size() < 2)
    return "an input of one axis";
  if (!mayBeSame(a.back(), b[b.size() - 2]))
    return "matrices whose shapes do not fit";
  Sizes frontA(a.begin(), a.end() - 2), frontB(b.begin(), b.end() - 2);
  std::optional<Sizes> after = broadcast(frontA, frontB);
  if (!after)
    return "matrices whose shapes do not fit";
  after->push_back(a[a.size() - 2]);
  after->push_back(b.back());
  give(0, in(0)->type, *after);
  return "";
}

std::string ConstantFolder::gemm() {
  if (!sizes(0) || !sizes(1) || sizes(0)->size() != 2 || sizes(1)->size() != 2)
    return "inputs that are no matrices";
  bool turnsA = node->integer("transA", 0), turnsB = node->integer("transB", 0);
  const Sizes &a = *sizes(0), &b = *sizes(1);
  if (!mayBeSame(a[turnsA ? 0 : 1], b[turnsB ? 1 : 0]))
    return "matrices whose shapes do not fit";
  give(0, in(0)->type, {a[turnsA ? 1 : 0], b[turnsB ? 0 : 1]});
  return "";
}

std::string ConstantFolder::convolution() {
  if (!sizes(0) || !sizes(1) || sizes(0)->size() != sizes(1)->size() || sizes(0)->size() < 3)
    return "inputs whose shapes do not fit";
  const Sizes &x = *sizes(0), &w = *sizes(1);
  size_t rank = x.size() - 2;
  auto list = [&](StringRef name, size_t count, int64_t otherwise) {
    auto *given = node->attribute<std::vector<int64_t>>(name);
    return given ? *given : std::vector<int64_t>(count, otherwise);
  };
  std::vector<int64_t> strides = list("strides", rank, 1), pads = list("pads", 2 * rank, 0),
                       dilations = list("dilations", rank, 1);
  if (strides.size() != rank || pads.size() != 2 * rank || dilations.size() != rank)
    return "strides, borders or dilations of other axes";
  if (auto *pad = node->attribute<std::string>("auto_pad");
      pad && *pad != "NOTSET" && *pad != "VALID")
    return "borders by `auto_pad`";
  Sizes after = {x[0], w[0]};
  for (size_t i = 0; i < rank; ++i) {
    const Quantity &size = x[2 + i], &kernel = w[2 + i];
    bool isFar = std::max({strides[i], dilations[i], pads[i], pads[rank + i]}) > INT32_MAX;
    if (isFar || strides[i] < 1 || dilations[i] < 1 || pads[i] < 0 || pads[rank + i] < 0 ||
        !kernel.isNumber())
      return "strides, borders or dilations that cannot be";
    if (!size.isNumber()) {
      bool isPatch =
          kernel.is(static_cast<double>(strides[i])) && pads[i] == 0 && pads[rank + i] == 0;
      std::optional<Quantity> count = isPatch ? quotient(size, kernel) : std::nullopt;
      if (!count)
        return "an axis whose size is only named, of which windows cannot be counted: give it by "
               "`--set`";
      after.push_back(*count);
      continue;
    }
    double span = static_cast<double>(dilations[i]) * (kernel.factor - 1) + 1;
    double count = std::floor((size.factor + static_cast<double>(pads[i] + pads[rank + i]) - span) /
                              static_cast<double>(strides[i])) +
                   1;
    if (count < 1)
      return "windows that are larger than the axis";
    after.emplace_back(count);
  }
  give(0, in(0)->type, after);
  return "";
}

std::string ConstantFolder::reduce() {
  if (!sizes(0))
    return "a node without its first input";
  bool isGiven = false;
  auto axes = integers("axes", 1, isGiven);
  if (!axes)
    return "axes that are not known";
  const Sizes &before = *sizes(0);
  SmallVector<bool, 8> isGone(before.size(), axes->empty());
  for (int64_t axis : *axes) {
    int at = axisOf(axis, before.size());
    if (at < 0)
      return "an axis that is not there";
    isGone[static_cast<size_t>(at)] = true;
  }
  bool keeps = node->integer("keepdims", 1);
  Sizes after;
  for (size_t i = 0; i < before.size(); ++i)
    if (!isGone[i])
      after.push_back(before[i]);
    else if (keeps)
      after.emplace_back(1);
  std::shared_ptr<Elements> elements;
  if (const Elements *from = known(0); from && node->type() == "ReduceProd" && after.empty()) {
    Quantity product(1);
    for (const Quantity &element : *from)
      product = product * element;
    elements = std::make_shared<Elements>(1, product);
  }
  // What is not known is computed as numbers, of which whole ones are exact up to 2^24.
  give(0, elements || !isInteger(in(0)->type) ? in(0)->type : OnnxType::F32, after, elements);
  return "";
}

std::string ConstantFolder::argmax() {
  const Sizes *before = sizes(0);
  int axis = before ? axisOf(node->integer("axis", 0), before->size()) : -1;
  if (axis < 0)
    return "an axis that is not there";
  Sizes after = *before;
  if (node->integer("keepdims", 1))
    after[static_cast<size_t>(axis)] = Quantity(1);
  else
    after.erase(after.begin() + axis);
  give(0, OnnxType::I64, after);
  return "";
}

std::string ConstantFolder::recurrent() {
  if (!sizes(0) || !sizes(1) || !sizes(2) || sizes(0)->size() != 3 || sizes(1)->size() != 3)
    return "inputs or weights of other than three axes";
  const Sizes &x = *sizes(0);
  Quantity directions = (*sizes(1))[0], width = sizes(2)->back();
  if (node->integer("layout", 0)) { // rows of a batch first
    give(0, in(0)->type, {x[0], x[1], directions, width});
    for (size_t i : {1, 2})
      give(i, in(0)->type, {x[0], directions, width});
    return "";
  }
  give(0, in(0)->type, {x[0], directions, x[1], width});
  for (size_t i : {1, 2})
    give(i, in(0)->type, {directions, x[1], width});
  return "";
}

/// `Attention` of the opsets 23 and later.
std::string ConstantFolder::attention() {
  if (!sizes(0) || !sizes(1) || !sizes(2))
    return "a node without queries, keys or values";
  const Sizes &q = *sizes(0), &k = *sizes(1), &v = *sizes(2);
  if (q.size() != k.size() || q.size() != v.size() || (q.size() != 3 && q.size() != 4))
    return "queries, keys and values of other than three or four axes";
  Sizes after = q;
  if (q.size() == 4) {
    after[3] = v[3];
    give(0, in(0)->type, after);
    return "";
  }
  auto heads = static_cast<double>(node->integer("q_num_heads", 0)),
       groups = static_cast<double>(node->integer("kv_num_heads", 0));
  std::optional<Quantity> width = groups < 1 ? std::nullopt : quotient(v[2], groups);
  if (heads < 1 || !width)
    return "numbers of heads that do not fit";
  after[2] = *width * Quantity(heads);
  give(0, in(0)->type, after);
  return "";
}

} // namespace attn::importer
