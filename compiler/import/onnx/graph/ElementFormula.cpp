// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walk from an element of a tensor back to what it is made of.
#include "compiler/import/onnx/graph/ElementFormula.h"
#include "compiler/import/onnx/graph/ConstantFolder.h"

#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace llvm;

namespace attn::importer {

std::string floatText(double number) {
  if (std::isinf(number))
    return number < 0 ? "-inf" : "inf";
  char digits[40];
  if (number == std::floor(number) && std::fabs(number) < 1e7) {
    snprintf(digits, sizeof digits, "%.0f", number);
    return digits;
  }
  for (int count = 1; count <= 17; ++count) {
    snprintf(digits, sizeof digits, "%.*g", count, number);
    if (static_cast<float>(strtod(digits, nullptr)) == static_cast<float>(number))
      break;
  }
  StringRef text = digits;
  // 1e+05 is written 1e5.
  auto [mantissa, exponent] = text.split('e');
  if (mantissa.size() == text.size())
    return text.str();
  bool isNegative = exponent.consume_front("-");
  exponent.consume_front("+");
  return (mantissa + "e" + (isNegative ? "-" : "") + exponent.ltrim('0')).str();
}

namespace {

/// Follows one element.
class Walk {
public:
  Walk(const Graph &graph, InputReader read) : graph(graph), read(read) {}
  std::optional<Formula> element(int value, ArrayRef<Place> places);

private:
  using Result = std::optional<Formula>;
  Result ofConstant(const GraphValue &value, ArrayRef<Place> places);
  Result ofNode(const GraphNode &node, ArrayRef<Place> places);
  Result ofBinary(const GraphNode &node, ArrayRef<Place> places);
  Result ofCast(const GraphNode &node, ArrayRef<Place> places);
  Result ofChoice(const GraphNode &node, ArrayRef<Place> places);
  Result ofRange(const GraphNode &node, ArrayRef<Place> places);
  Result ofRunningSum(const GraphNode &node, ArrayRef<Place> places);
  Result ofTriangle(const GraphNode &node, ArrayRef<Place> places);
  Result ofMoved(const GraphNode &node, ArrayRef<Place> places);
  Result ofSlice(const GraphNode &node, ArrayRef<Place> places);
  Result ofReshaped(const GraphNode &node, ArrayRef<Place> places);
  /// The element of an input of a node that goes element by element.
  Result ofInput(const GraphNode &node, size_t i, ArrayRef<Place> places);

  const Graph &graph;
  InputReader read;
  unsigned left = 4096; ///< nodes that may still be looked at
  unsigned depth = 0;
};

} // namespace

std::optional<Formula> formulaOf(const Graph &graph, int value, ArrayRef<Place> places,
                                 InputReader read) {
  return Walk(graph, read).element(value, places);
}

std::optional<Formula> Walk::element(int value, ArrayRef<Place> places) {
  if (value < 0 || left == 0 || depth > 200 || !graph[value].sizes ||
      graph[value].sizes->size() != places.size())
    return std::nullopt;
  --left;
  const GraphValue &of = graph[value];
  if (of.isInput)
    return read(value, places);
  if (of.known || of.tensor)
    return ofConstant(of, places);
  const GraphNode *node = graph.producer(value);
  if (!node || !node->problem.empty() || node->outputs[0] != value)
    return std::nullopt;
  ++depth;
  Result result = ofNode(*node, places);
  --depth;
  return result;
}

static Formula numberFormula(double number, OnnxType type) {
  if (type == OnnxType::Bool)
    return {number != 0 ? "true" : "false", Formula::Primary};
  return {floatText(number), number < 0 ? Formula::Minus : Formula::Primary};
}

/// The number that a formula is; nothing where it is more.
static std::optional<double> numberOf(const Formula &formula) {
  double number = 0;
  if (formula.text == "inf" || formula.text == "-inf")
    return formula.text == "inf" ? INFINITY : -INFINITY;
  return StringRef(formula.text).getAsDouble(number) ? std::nullopt : std::optional(number);
}

/// What an operator makes of two numbers; nothing of others.
static std::optional<Formula> computed(StringRef type, const Formula &a, const Formula &b) {
  std::optional<double> x = numberOf(a), y = numberOf(b);
  if (!x || !y)
    return std::nullopt;
  auto number = [](double value) -> std::optional<Formula> {
    if (std::isnan(value))
      return std::nullopt;
    return numberFormula(value, OnnxType::F32);
  };
  auto truth = [](bool value) { return numberFormula(value, OnnxType::Bool); };
  if (type == "Add")
    return number(*x + *y);
  if (type == "Sub")
    return number(*x - *y);
  if (type == "Mul")
    return number(*x * *y);
  if (type == "Min" || type == "Max")
    return number(type == "Min" ? std::min(*x, *y) : std::max(*x, *y));
  if (type == "Equal")
    return truth(*x == *y);
  if (type == "Less" || type == "GreaterOrEqual")
    return truth((*x < *y) == (type == "Less"));
  if (type == "Greater" || type == "LessOrEqual")
    return truth((*x > *y) == (type == "Greater"));
  return std::nullopt;
}

/// `first + by * place`, without what is 0 or 1.
static Formula counted(const Place &place, double first, double by) {
  Formula along{place.text, StringRef(place.text).contains(' ') ? Formula::Sum : Formula::Primary};
  if (by == 0)
    along = {"0", Formula::Primary};
  else if (by != 1)
    along = {along.at(Formula::Product) + " * " + floatText(by), Formula::Product};
  if (first == 0)
    return along;
  return {along.at(Formula::Sum) + (first < 0 ? " - " : " + ") + floatText(std::fabs(first)),
          Formula::Sum};
}

std::optional<Formula> Walk::ofConstant(const GraphValue &value, ArrayRef<Place> places) {
  std::shared_ptr<const Elements> elements = value.known;
  if (!elements) {
    if (countOf(*value.sizes).factor > 1 << 22)
      return std::nullopt;
    Expected<Elements> loaded = elementsOf(graph, *value.tensor);
    if (!loaded) {
      consumeError(loaded.takeError());
      return std::nullopt;
    }
    elements = std::make_shared<Elements>(std::move(*loaded));
  }
  if (elements->empty() || !all_of(*elements, [](const Quantity &e) { return e.isNumber(); }))
    return std::nullopt;
  const Elements &all = *elements;
  double first = all[0].factor;
  if (all_of(all, [&](const Quantity &e) { return e.factor == first; }))
    return numberFormula(first, value.type);
  // Axes of more than one element, of which a pattern is looked for.
  SmallVector<size_t, 4> axes;
  for (size_t i = 0; i < places.size(); ++i)
    if (!(*value.sizes)[i].is(1))
      axes.push_back(i);
  if (axes.size() == 1 && value.type != OnnxType::Bool) {
    double by = all[1].factor - first;
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i].factor != first + static_cast<double>(i) * by)
        return std::nullopt;
    return counted(places[axes[0]], first, by);
  }
  if (axes.size() != 2)
    return std::nullopt;
  // Two values, of which one stands where the key is not behind the query.
  auto columns = static_cast<size_t>((*value.sizes)[axes[1]].whole());
  double before = all[0].factor, behind = all[1].factor;
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].factor != (i % columns <= i / columns ? before : behind))
      return std::nullopt;
  std::string condition = places[axes[1]].text + " <= " + places[axes[0]].text;
  if (value.type == OnnxType::Bool)
    return before != 0
               ? Formula{condition, Formula::Comparison}
               : Formula{places[axes[1]].text + " > " + places[axes[0]].text, Formula::Comparison};
  return Formula{"if " + condition + " then " + floatText(before) + " else " + floatText(behind),
                 Formula::Choice};
}

std::optional<Formula> Walk::ofInput(const GraphNode &node, size_t i, ArrayRef<Place> places) {
  int value = node.input(i);
  if (value < 0 || !graph[value].sizes || graph[value].sizes->size() > places.size())
    return std::nullopt;
  const Sizes &sizes = *graph[value].sizes;
  Places own;
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    const Place &place = places[places.size() - sizes.size() + axis];
    own.push_back(sizes[axis].is(1) ? Place{"0", -1} : place);
  }
  return element(value, own);
}

std::optional<Formula> Walk::ofBinary(const GraphNode &node, ArrayRef<Place> places) {
  struct Operator {
    StringRef text;
    Formula::Level level;
  };
  Operator op = StringSwitch<Operator>(node.type())
                    .Case("Add", {" + ", Formula::Sum})
                    .Case("Sub", {" - ", Formula::Sum})
                    .Case("Mul", {" * ", Formula::Product})
                    .Case("Div", {" / ", Formula::Product})
                    .Case("Equal", {" == ", Formula::Comparison})
                    .Case("Less", {" < ", Formula::Comparison})
                    .Case("LessOrEqual", {" <= ", Formula::Comparison})
                    .Case("Greater", {" > ", Formula::Comparison})
                    .Case("GreaterOrEqual", {" >= ", Formula::Comparison})
                    .Case("And", {" and ", Formula::And})
                    .Case("Or", {" or ", Formula::Or})
                    .Case("Min", {"min", Formula::Primary})
                    .Case("Max", {"max", Formula::Primary})
                    .Default({"", Formula::Primary});
  Result a = op.text.empty() ? std::nullopt : ofInput(node, 0, places),
         b = a ? ofInput(node, 1, places) : std::nullopt;
  if (!a || !b)
    return std::nullopt;
  if (std::optional<Formula> both = computed(node.type(), *a, *b))
    return both;
  if (op.level == Formula::Primary)
    return Formula{(op.text + "(" + a->text + ", " + b->text + ")").str(), Formula::Primary};
  // What is always so, or never, leaves the rest.
  if (node.type() == "And" || node.type() == "Or") {
    StringRef neutral = node.type() == "And" ? "true" : "false",
              settled = node.type() == "And" ? "false" : "true";
    if (a->text == settled || b->text == settled)
      return Formula{settled.str(), Formula::Primary};
    if (a->text == neutral)
      return b;
    if (b->text == neutral)
      return a;
  }
  if ((node.type() == "Add" && a->text == "0") || (node.type() == "Mul" && a->text == "1"))
    return b;
  if ((node.type() == "Add" && b->text == "0") || (node.type() == "Mul" && b->text == "1"))
    return a;
  // Of `p + 1`, less 1, the place stays: positions that are counted of a mask of ones.
  if (node.type() == "Sub" && a->level == Formula::Sum &&
      StringRef(a->text).ends_with(" + " + b->text) && numberOf(*b))
    return Formula{StringRef(a->text).drop_back(b->text.size() + 3).str(), Formula::Sum};
  bool isTruth = graph[node.input(0)].type == OnnxType::Bool;
  if (op.level == Formula::Comparison && isTruth)
    return std::nullopt;
  auto next = static_cast<Formula::Level>(op.level + 1);
  bool isOrdered = op.level == Formula::Comparison || node.type() == "Sub" || node.type() == "Div";
  return Formula{a->at(op.level == Formula::Comparison ? next : op.level) + op.text.str() +
                     b->at(isOrdered ? next : op.level),
                 op.level};
}

std::optional<Formula> Walk::ofCast(const GraphNode &node, ArrayRef<Place> places) {
  Result inner = ofInput(node, 0, places);
  if (!inner)
    return std::nullopt;
  OnnxType before = graph[node.input(0)].type, after = graph[node.outputs[0]].type;
  bool wasTruth = before == OnnxType::Bool, isTruth = after == OnnxType::Bool;
  if (wasTruth && !isTruth && (inner->text == "true" || inner->text == "false"))
    return Formula{inner->text == "true" ? "1" : "0", Formula::Primary};
  if (std::optional<double> number = numberOf(*inner); number && isTruth && !wasTruth)
    return numberFormula(*number != 0, OnnxType::Bool);
  if (wasTruth && !isTruth)
    return Formula{"if " + inner->text + " then 1 else 0", Formula::Choice};
  if (isTruth && !wasTruth)
    return Formula{inner->at(Formula::Sum) + " != 0", Formula::Comparison};
  bool wasFloat = before != OnnxType::I32 && before != OnnxType::I64 && !wasTruth;
  bool isFloat = after != OnnxType::I32 && after != OnnxType::I64 && !isTruth;
  return wasFloat && !isFloat ? std::nullopt : inner;
}

std::optional<Formula> Walk::ofChoice(const GraphNode &node, ArrayRef<Place> places) {
  Result condition = ofInput(node, 0, places),
         a = condition ? ofInput(node, 1, places) : std::nullopt,
         b = a ? ofInput(node, 2, places) : std::nullopt;
  if (!b)
    return std::nullopt;
  if (condition->text == "true" || condition->text == "false")
    return condition->text == "true" ? a : b;
  return Formula{"if " + condition->text + " then " + a->at(Formula::Or) + " else " + b->text,
                 Formula::Choice};
}

std::optional<Formula> Walk::ofRange(const GraphNode &node, ArrayRef<Place> places) {
  std::optional<double> first = graph.number(node.input(0)), by = graph.number(node.input(2));
  return first && by ? std::optional(counted(places[0], *first, *by)) : std::nullopt;
}

/// Of what is the same everywhere, such as a mask of ones.
std::optional<Formula> Walk::ofRunningSum(const GraphNode &node, ArrayRef<Place> places) {
  std::optional<double> along = graph.number(node.input(1));
  int axis = along ? axisOf(static_cast<int64_t>(*along), places.size()) : -1;
  Result inner =
      axis < 0 || node.integer("reverse", 0) ? std::nullopt : element(node.input(0), places);
  std::optional<double> each = inner ? numberOf(*inner) : std::nullopt;
  if (!each)
    return std::nullopt;
  return counted(places[static_cast<size_t>(axis)], node.integer("exclusive", 0) ? 0 : *each,
                 *each);
}

std::optional<Formula> Walk::ofTriangle(const GraphNode &node, ArrayRef<Place> places) {
  double diagonal = 0;
  if (node.input(1) >= 0) {
    std::optional<double> number = graph.number(node.input(1));
    if (!number)
      return std::nullopt;
    diagonal = *number;
  }
  Result inner = element(node.input(0), places);
  if (!inner || places.size() < 2)
    return std::nullopt;
  // What stays is up to a diagonal, or behind the one before it.
  bool isUpper = node.integer("upper", 1);
  Formula row = counted(places[places.size() - 2], isUpper ? diagonal - 1 : diagonal, 1);
  std::string upTo = places.back().text + " <= " + row.text,
              behind = places.back().text + " > " + row.text;
  if (graph[node.outputs[0]].type != OnnxType::Bool)
    return isUpper ? Formula{"if " + upTo + " then 0 else " + inner->text, Formula::Choice}
                   : Formula{"if " + upTo + " then " + inner->at(Formula::Or) + " else 0",
                             Formula::Choice};
  std::string condition = isUpper ? behind : upTo;
  return inner->text == "true"
             ? Formula{condition, Formula::Comparison}
             : Formula{condition + " and " + inner->at(Formula::And), Formula::And};
}

std::optional<Formula> Walk::ofReshaped(const GraphNode &node, ArrayRef<Place> places) {
  const Sizes &before = *graph[node.input(0)].sizes, &after = *graph[node.outputs[0]].sizes;
  Places own, rest;
  SmallVector<Quantity, 4> sizes;
  for (size_t i = 0; i < after.size(); ++i)
    if (!after[i].is(1)) {
      rest.push_back(places[i]);
      sizes.push_back(after[i]);
    }
  size_t next = 0;
  for (const Quantity &size : before) {
    if (size.is(1)) {
      own.push_back({"0", -1});
      continue;
    }
    if (next >= rest.size() || sizes[next] != size)
      return std::nullopt;
    own.push_back(rest[next++]);
  }
  return next == rest.size() ? element(node.input(0), own) : std::nullopt;
}

std::optional<Formula> Walk::ofSlice(const GraphNode &node, ArrayRef<Place> places) {
  const Sizes &before = *graph[node.input(0)].sizes;
  Places own(places);
  auto list = [&](StringRef name, size_t i) -> std::optional<Elements> {
    if (auto *given = node.attribute<std::vector<int64_t>>(name)) {
      Elements elements;
      for (int64_t number : *given)
        elements.emplace_back(static_cast<double>(number));
      return elements;
    }
    int value = node.input(i);
    return value >= 0 && graph[value].known ? std::optional(*graph[value].known) : std::nullopt;
  };
  std::optional<Elements> starts = list("starts", 1), axes = list("axes", 3),
                          steps = list("steps", 4);
  if (!starts || (steps && !all_of(*steps, [](const Quantity &step) { return step.is(1); })))
    return std::nullopt;
  for (size_t i = 0; i < starts->size(); ++i) {
    int axis = axisOf(axes ? (*axes)[i].whole() : static_cast<int64_t>(i), before.size());
    if (axis < 0 || !(*starts)[i].isNumber() || (*starts)[i].factor < 0)
      return std::nullopt;
    Place &place = own[static_cast<size_t>(axis)];
    place.text = counted(place, (*starts)[i].factor, 1).text;
  }
  return element(node.input(0), own);
}

std::optional<Formula> Walk::ofMoved(const GraphNode &node, ArrayRef<Place> places) {
  const Sizes &before = *graph[node.input(0)].sizes;
  Places own;
  if (node.type() == "Transpose") {
    own.resize(places.size(), Place{"0", -1});
    auto *order = node.attribute<std::vector<int64_t>>("perm");
    for (size_t i = 0; i < places.size(); ++i)
      own[order ? static_cast<size_t>((*order)[i]) : places.size() - 1 - i] = places[i];
    return element(node.input(0), own);
  }
  if (node.type() == "Expand")
    return ofInput(node, 0, places);
  // Gather at one place that is known.
  int axis = axisOf(node.integer("axis", 0), before.size());
  std::optional<double> at = graph.number(node.input(1));
  if (axis < 0 || !at || *at < 0 || graph[node.input(1)].rank() != 0)
    return std::nullopt;
  own.assign(places.begin(), places.end());
  own.insert(own.begin() + axis, Place{floatText(*at), -1});
  return element(node.input(0), own);
}

std::optional<Formula> Walk::ofNode(const GraphNode &node, ArrayRef<Place> places) {
  StringRef type = node.type();
  if (type == "Identity" || type == "Dropout")
    return ofInput(node, 0, places);
  if (type == "Cast" || type == "CastLike")
    return ofCast(node, places);
  if (type == "Where")
    return ofChoice(node, places);
  if (type == "Range")
    return ofRange(node, places);
  if (type == "Trilu")
    return ofTriangle(node, places);
  if (type == "CumSum")
    return ofRunningSum(node, places);
  if (type == "Slice")
    return ofSlice(node, places);
  if (type == "Unsqueeze" || type == "Squeeze" || type == "Reshape" || type == "Flatten")
    return ofReshaped(node, places);
  if (type == "Transpose" || type == "Expand" || type == "Gather")
    return ofMoved(node, places);
  if (type == "ConstantOfShape") {
    auto *tensor = node.attribute<OnnxTensor>("value");
    if (!tensor)
      return Formula{"0", Formula::Primary};
    Expected<Elements> elements = elementsOf(graph, *tensor);
    if (elements && elements->size() == 1)
      return numberFormula(elements->front().factor, tensor->type);
    if (!elements)
      consumeError(elements.takeError());
    return std::nullopt;
  }
  if (type == "Not" || type == "Neg" || type == "Abs") {
    Result inner = ofInput(node, 0, places);
    if (!inner)
      return std::nullopt;
    if (std::optional<double> number = numberOf(*inner); number && type != "Not")
      return numberFormula(type == "Abs" ? std::fabs(*number) : -*number, OnnxType::F32);
    if (type == "Not" && (inner->text == "true" || inner->text == "false"))
      return Formula{inner->text == "true" ? "false" : "true", Formula::Primary};
    if (type == "Abs")
      return Formula{"abs(" + inner->text + ")", Formula::Primary};
    return type == "Not" ? Formula{"not " + inner->at(Formula::Not), Formula::Not}
                         : Formula{"-" + inner->at(Formula::Minus), Formula::Minus};
  }
  return node.inputs.size() == 2 ? ofBinary(node, places) : std::nullopt;
}

} // namespace attn::importer
