// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rotary positions: the operator of the opsets from 23 on, and what transformers writes,
//
//   x * cos + Concat(-x[E / 2:], x[:E / 2]) * sin
//
// whose cosines and sines are tables of the file, or computed of frequencies and positions. They
// are rotary positions where the frequencies are those of a base.
#include "compiler/import/onnx/graph/ElementFormula.h"
#include "compiler/import/onnx/graph/Matcher.h"

#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;

namespace attn::importer {

int Patterns::behindViews(int value) const {
  for (unsigned steps = 0; steps < 32; ++steps) {
    value = strip(value);
    const GraphNode *node = looked.producer(value);
    if (!node)
      return value;
    StringRef type = node->type();
    bool isView = type == "Unsqueeze" || type == "Squeeze" || type == "Reshape" ||
                  type == "Expand" || type == "Slice" || type == "Transpose";
    if (type == "Mul" && besideNumber(*node, 1) >= 0) {
      value = besideNumber(*node, 1);
      continue;
    }
    if (type == "Gather" && node->input(1) >= 0 && looked[node->input(1)].sizes) {
      // Rows at the positions themselves.
      Places places;
      for (size_t i = 0; i < looked[node->input(1)].sizes->size(); ++i)
        places.push_back({"p", static_cast<int>(i)});
      auto none = [](int, ArrayRef<Place>) { return std::nullopt; };
      std::optional<Formula> at = formulaOf(looked, node->input(1), places, none);
      isView = at && at->text == "p";
    }
    if (!isView)
      return value;
    value = node->input(0);
  }
  return value;
}

/// Numbers of an initializer or a constant; empty where it is none.
static Elements numbersOf(const Graph &graph, int value) {
  if (value < 0)
    return {};
  const GraphValue &of = graph[value];
  if (of.known)
    return *of.known;
  if (!of.tensor || !isFloating(of.type) || countOf(*of.sizes).factor > 1 << 22)
    return {};
  Expected<Elements> elements = elementsOf(graph, *of.tensor);
  if (!elements) {
    consumeError(elements.takeError());
    return {};
  }
  return std::move(*elements);
}

/// The frequencies of tables [positions, pairs], which may say each pair twice: that of position 1.
static std::vector<double> frequenciesOf(const Elements &cosines, const Elements &sines,
                                         size_t width, size_t pairs) {
  size_t rows = width ? cosines.size() / width : 0;
  if (rows < 2 || pairs == 0 || sines.size() != cosines.size() ||
      (width != pairs && width != 2 * pairs))
    return {};
  std::vector<double> frequencies;
  for (size_t p = 0; p < pairs; ++p)
    frequencies.push_back(std::atan2(sines[width + p].factor, cosines[width + p].factor));
  for (size_t t = 0; t < rows; ++t)
    for (size_t i = 0; i < width; ++i) {
      double angle = static_cast<double>(t) * frequencies[i % pairs];
      double bound = 1e-4 + 1e-6 * static_cast<double>(t);
      if (!(std::fabs(cosines[t * width + i].factor - std::cos(angle)) <= bound) ||
          !(std::fabs(sines[t * width + i].factor - std::sin(angle)) <= bound))
        return {};
    }
  return frequencies;
}

std::vector<double> Patterns::computedFrequencies(int angles, size_t pairs) const {
  angles = behindViews(angles);
  if (const GraphNode *both = looked.producer(angles, "Concat"))
    angles = both->inputs.size() == 2 && both->input(0) == both->input(1)
                 ? behindViews(both->input(0))
                 : -1;
  const GraphNode *product = looked.producer(angles);
  if (!product || (product->type() != "MatMul" && product->type() != "Mul"))
    return {};
  for (size_t i : {0, 1}) {
    Elements numbers = numbersOf(looked, behindViews(product->input(i)));
    int positions = strip(product->input(1 - i));
    if (numbers.size() != pairs || positions < 0 || !looked[positions].sizes)
      continue;
    // Of the axes of positions, one counts.
    Places places;
    for (size_t axis = 0; axis < looked[positions].sizes->size(); ++axis)
      places.push_back(
          {(*looked[positions].sizes)[axis].is(1) ? "0" : "p", static_cast<int>(axis)});
    auto none = [](int, ArrayRef<Place>) { return std::nullopt; };
    std::optional<Formula> at = formulaOf(looked, positions, places, none);
    if (!at || at->text != "p")
      continue;
    std::vector<double> frequencies;
    for (const Quantity &number : numbers)
      frequencies.push_back(number.factor);
    return frequencies;
  }
  return {};
}

std::optional<double> Patterns::rotaryBase(int cosines, int sines, size_t pairs) const {
  cosines = behindViews(cosines);
  sines = behindViews(sines);
  std::vector<double> frequencies;
  const GraphNode *cosine = looked.producer(cosines, "Cos"), *sine = looked.producer(sines, "Sin");
  if (cosine && sine && behindViews(cosine->input(0)) == behindViews(sine->input(0))) {
    frequencies = computedFrequencies(cosine->input(0), pairs);
  } else if (cosines >= 0 && sines >= 0 && looked[cosines].sizes &&
             !looked[cosines].sizes->empty() && looked[sines].sizes == looked[cosines].sizes) {
    Elements c = numbersOf(looked, cosines), s = numbersOf(looked, sines);
    auto width = static_cast<size_t>(looked[cosines].sizes->back().whole());
    frequencies = frequenciesOf(c, s, width, pairs);
  }
  if (frequencies.size() != pairs || pairs == 0 || std::fabs(frequencies[0] - 1) > 1e-5)
    return std::nullopt;
  if (pairs == 1)
    return 10000;
  auto count = static_cast<double>(pairs);
  double base = std::pow(frequencies.back(), -count / (count - 1));
  if (!(base > 1 && base < 1e12))
    return std::nullopt;
  // As it was written: with few digits.
  double unit = std::pow(10, std::floor(std::log10(base)) - 3),
         rounded = std::round(base / unit) * unit;
  for (size_t p = 0; p < pairs; ++p) {
    double expected = std::pow(rounded, -static_cast<double>(p) / count);
    if (std::fabs(frequencies[p] - expected) > 2e-5 * expected)
      return std::nullopt;
  }
  return rounded;
}

int Patterns::turnedOf(int value) const {
  const GraphNode *both = from(value, "Concat");
  const GraphNode *negated =
      both && both->inputs.size() == 2 ? from(both->input(0), "Neg") : nullptr;
  if (!negated)
    return -1;
  // The second half, and the first one.
  auto half = [&](int part, bool isSecond) {
    part = strip(part);
    int node = part < 0 ? -1 : looked[part].node;
    if (node < 0 || !looked[part].sizes)
      return -1;
    const GraphNode &cut = looked.nodes[static_cast<size_t>(node)];
    int x = cut.input(0);
    if (x < 0 || !looked[x].sizes || looked[x].sizes->empty() ||
        looked[part].rank() != looked[x].rank() ||
        looked[x].sizes->back() != looked[part].sizes->back() * Quantity(2))
      return -1;
    if (cut.type() == "Split" && cut.outputs.size() == 2)
      return cut.outputs[isSecond] == part ? strip(x) : -1;
    auto start = cut.type() == "Slice" ? looked.number(cut.input(1)) : std::nullopt;
    double first = isSecond ? looked[part].sizes->back().factor : 0;
    return start && *start == first ? strip(x) : -1;
  };
  int x = half(negated->input(0), true);
  return x >= 0 && x == half(both->input(1), false) ? x : -1;
}

bool Matcher::matchRotary(const GraphNode &node) {
  if (node.type() != "Add")
    return false;
  for (size_t i : {0, 1}) {
    const GraphNode *plain = from(node.input(i), "Mul"), *turned = from(node.input(1 - i), "Mul");
    if (!plain || !turned)
      continue;
    for (size_t a : {0, 1})
      for (size_t b : {0, 1}) {
        int x = turnedOf(turned->input(a));
        if (x < 0 || strip(plain->input(b)) != x || graph[x].rank() != 4)
          continue;
        auto pairs = static_cast<size_t>(graph[x].sizes->back().whole() / 2);
        std::optional<double> base = rotaryBase(plain->input(1 - b), turned->input(1 - a), pairs);
        if (!base)
          return false;
        Operation &rotary = add(OperationKind::Rotary, node, {x});
        rotary.scale = *base;
        return true;
      }
  }
  return false;
}

bool Matcher::matchRotaryNode(const GraphNode &node) {
  if (node.type() != "RotaryEmbedding")
    return false;
  const Sizes x = *graph[node.input(0)].sizes;
  auto heads = static_cast<double>(node.integer("num_heads", 0));
  bool isFlat = x.size() == 3;
  // Where the heads are not counted, a table says how wide they are.
  if (const GraphValue &table = graph[node.input(1)];
      isFlat && heads == 0 && table.rank() > 0 && table.sizes->back().isNumber())
    if (auto count = quotient(x[2], table.sizes->back() * Quantity(2)); count && count->isNumber())
      heads = count->factor;
  if ((isFlat && !quotient(x[2], heads)) || (!isFlat && x.size() != 4)) {
    refuse(node,
           "an input of other than three or four axes, or a number of heads that does not fit");
    return false;
  }
  Quantity features = isFlat ? *quotient(x[2], heads) : x[3];
  int64_t turned = node.integer("rotary_embedding_dim", 0);
  // A table of fewer pairs turns the first features alone.
  if (const Sizes &table = *graph[node.input(1)].sizes; turned == 0 && !table.empty() &&
                                                        table.back().isNumber() &&
                                                        2 * table.back().factor < features.factor)
    turned = 2 * table.back().whole();
  auto pairs = static_cast<size_t>((turned > 0 ? turned : features.whole()) / 2);
  bool arePositions = true;
  if (node.input(3) >= 0) {
    Places places;
    for (size_t i = 0; i < graph[node.input(3)].sizes->size(); ++i)
      places.push_back({i == 1 ? "p" : "b", static_cast<int>(i)});
    auto none = [](int, ArrayRef<Place>) { return std::nullopt; };
    std::optional<Formula> at = formulaOf(graph, node.input(3), places, none);
    arePositions = at && at->text == "p";
  }
  std::optional<double> base = rotaryBase(node.input(1), node.input(2), pairs);
  if (!arePositions || !base) {
    refuse(node, arePositions ? "cosines and sines that are not those of a base"
                              : "positions that are not 0, 1, 2, …");
    return false;
  }
  Operation rotary;
  rotary.kind = OperationKind::Rotary;
  rotary.node = &node;
  rotary.output = node.outputs[0];
  rotary.scale = *base;
  rotary.isInterleaved = node.integer("interleaved", 0);
  if (turned > 0 && turned != features.whole())
    rotary.integers.push_back(turned);
  std::vector<Operation> behind;
  behind.swap(operations);
  rotary.inputs = {addHeads(node, node.input(0), heads, false)};
  behind.swap(operations);
  if (isFlat)
    rotary.output = addJoined(node, rotary.output, heads, features);
  operations.push_back(std::move(rotary));
  append_range(operations, behind);
  return true;
}

} // namespace attn::importer
