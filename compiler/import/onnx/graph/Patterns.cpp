// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Looks behind values.
#include "compiler/import/onnx/graph/Patterns.h"

#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;

namespace attn::importer {

/// The value that a node copies to `value`; -1 where it does something.
static int copied(const Graph &looked, int value) {
  const GraphNode *node = looked.producer(value);
  if (!node)
    return -1;
  bool isNothing = node->type() == "Identity" ||
                   (node->type() == "Dropout" && node->outputs[0] == value) ||
                   (node->type() == "Cast" && node->input(0) >= 0 &&
                    isFloating(looked[value].type) && isFloating(looked[node->input(0)].type));
  return isNothing ? node->input(0) : -1;
}

int Patterns::strip(int value) const {
  if (value < 0)
    return value;
  stripped.resize(std::max(stripped.size(), looked.values.size()), -1);
  auto known = [&](int of) -> int & { return stripped[static_cast<size_t>(of)]; };
  int root = value;
  while (known(root) < 0) {
    int before = copied(looked, root);
    if (before < 0)
      known(root) = root;
    else
      root = before;
  }
  root = known(root);
  // Each value of a chain is passed once, whoever asks.
  for (int at = value; known(at) < 0; at = copied(looked, at))
    known(at) = root;
  return root;
}

const GraphNode *Patterns::from(int value, StringRef type) const {
  return value < 0 ? nullptr : looked.producer(strip(value), type);
}

const GraphNode *Patterns::pushBehind(int value) const {
  for (unsigned depth = 0; depth < 32; ++depth) {
    const GraphNode *node = value < 0 ? nullptr : looked.producer(strip(value));
    if (!node || node->type() == "Push")
      return node;
    bool isView = node->type() == "Transpose" || node->type() == "Reshape" ||
                  node->type() == "Unsqueeze" || node->type() == "Squeeze" ||
                  node->type() == "Expand";
    value = isView ? node->input(0) : -1;
  }
  return nullptr;
}

std::optional<Weight> Patterns::weightOf(int value) const {
  if (value < 0)
    return std::nullopt;
  Weight weight{strip(value), false};
  if (const GraphNode *turn = looked.producer(weight.value, "Transpose")) {
    auto *order = turn->attribute<std::vector<int64_t>>("perm");
    bool isSwap = looked[weight.value].rank() == 2 && (!order || (*order)[0] == 1);
    weight = {isSwap ? strip(turn->input(0)) : -1, true};
  }
  if (weight.value < 0 || !looked[weight.value].isWeight() ||
      !isFloating(looked[weight.value].type))
    return std::nullopt;
  return weight;
}

std::optional<Weight> Patterns::vectorOf(int value, const Quantity &size) const {
  std::optional<Weight> weight = weightOf(value);
  if (!weight || weight->isTransposed)
    return std::nullopt;
  const Sizes &sizes = *looked[weight->value].sizes;
  bool isVector = !sizes.empty() && sizes.back() == size && countOf(sizes) == size;
  return isVector ? weight : std::nullopt;
}

int Patterns::besideNumber(const GraphNode &node, double number) const {
  for (size_t i : {0, 1})
    if (auto found = looked.number(node.input(i));
        found && std::fabs(*found - number) <= 1e-4 * std::fabs(number))
      return node.input(1 - i);
  return -1;
}

Patterns::Product Patterns::productOf(int value, unsigned depth) const {
  Product product;
  if (auto number = looked.number(value)) {
    product.number = *number;
    return product;
  }
  const GraphNode *node = depth < 8 ? from(value, "Mul") : nullptr;
  if (node && node->inputs.size() == 2) {
    for (int input : node->inputs) {
      Product part = productOf(input, depth + 1);
      product.number *= part.number;
      append_range(product.factors, part.factors);
    }
    return product;
  }
  node = depth < 8 ? from(value, "Div") : nullptr;
  if (node)
    if (auto divisor = looked.number(node->input(1)); divisor && *divisor != 0) {
      product = productOf(node->input(0), depth + 1);
      product.number /= *divisor;
      return product;
    }
  product.factors.push_back(strip(value));
  return product;
}

bool Patterns::areSame(int a, int b) const {
  a = strip(a);
  b = strip(b);
  if (a == b)
    return true;
  const GraphNode *one = looked.producer(a), *other = looked.producer(b);
  return one && other && one->type() == other->type() && one->inputs == other->inputs &&
         (one->type() == "Sub" || one->type() == "Mul");
}

/// Whether a node reduces the last axis alone, which stays with one element.
static bool isOfLast(const Graph &looked, const GraphNode &node) {
  if (node.input(0) < 0 || !looked[node.input(0)].sizes || !looked[node.outputs[0]].sizes)
    return false;
  const Sizes &before = *looked[node.input(0)].sizes, &after = *looked[node.outputs[0]].sizes;
  return before.size() == after.size() && !before.empty() && after.back().is(1) &&
         ArrayRef<Quantity>(before).drop_back() == ArrayRef<Quantity>(after).drop_back();
}

std::pair<int, int> Patterns::dividedByRoot(int value) const {
  auto rootBehind = [&](int divisor) {
    const GraphNode *node = from(divisor, "Sqrt");
    return node ? node->input(0) : -1;
  };
  if (const GraphNode *division = from(value, "Div"))
    return {division->input(0), rootBehind(division->input(1))};
  const GraphNode *product = from(value, "Mul");
  if (!product)
    return {-1, -1};
  for (size_t i : {0, 1}) {
    int inverse = -1;
    if (const GraphNode *node = from(product->input(i), "Reciprocal"))
      inverse = rootBehind(node->input(0));
    else if (const GraphNode *node = from(product->input(i), "Div"))
      inverse = looked.number(node->input(0)) == 1.0 ? rootBehind(node->input(1)) : -1;
    else if (const GraphNode *node = from(product->input(i), "Pow"))
      inverse = looked.number(node->input(1)) == -0.5 ? node->input(0) : -1;
    if (inverse >= 0)
      return {product->input(1 - i), inverse};
  }
  return {-1, -1};
}

std::optional<Patterns::Normed> Patterns::normed(int value) const {
  auto [centred, root] = dividedByRoot(value);
  const GraphNode *variance = root < 0 ? nullptr : from(root, "Add");
  if (!variance)
    return std::nullopt;
  for (size_t i : {0, 1}) {
    std::optional<double> eps = looked.number(variance->input(i));
    const GraphNode *mean = from(variance->input(1 - i), "ReduceMean");
    if (!eps || !mean || !isOfLast(looked, *mean))
      continue;
    int squared = -1;
    if (const GraphNode *power = from(mean->input(0), "Pow"))
      squared = looked.number(power->input(1)) == 2.0 ? power->input(0) : -1;
    else if (const GraphNode *product = from(mean->input(0), "Mul"))
      squared = areSame(product->input(0), product->input(1)) ? product->input(0) : -1;
    if (squared < 0 || !areSame(squared, centred))
      continue;
    if (const GraphNode *difference = from(centred, "Sub"))
      if (const GraphNode *middle = from(difference->input(1), "ReduceMean"))
        if (areSame(middle->input(0), difference->input(0)) && isOfLast(looked, *middle))
          return Normed{strip(difference->input(0)), *eps, false};
    return Normed{strip(centred), *eps, true};
  }
  return std::nullopt;
}

bool Patterns::leadsToProduct(int value) const {
  unsigned left = 256;
  return leadsToProduct(value, left);
}

bool Patterns::leadsToProduct(int value, unsigned &left) const {
  while (left > 0) {
    --left;
    const GraphNode *node = looked.producer(strip(value));
    if (!node)
      return false;
    if (node->type() == "MatMul")
      return !weightOf(node->input(1)) && !weightOf(node->input(0));
    if (node->type() == "Where") {
      if (leadsToProduct(node->input(1), left))
        return true;
      value = node->input(2);
    } else if (node->type() == "Add" || node->type() == "Mul" || node->type() == "Div") {
      if (leadsToProduct(node->input(0), left))
        return true;
      value = node->input(1);
    } else if (node->type() == "Tanh") {
      value = node->input(0);
    } else {
      return false;
    }
  }
  return false;
}

bool Patterns::isPower(const Product &product, int x, unsigned power, double number) const {
  if (!isNear(product.number, number))
    return false;
  unsigned total = 0;
  for (int factor : product.factors) {
    const GraphNode *node = from(factor, "Pow");
    int base = node ? node->input(0) : factor;
    std::optional<double> exponent = node ? looked.number(node->input(1)) : 1.0;
    if (!exponent || *exponent < 1 || *exponent > 3 || !areSame(base, x))
      return false;
    total += static_cast<unsigned>(*exponent);
  }
  return total == power;
}

bool Patterns::isTanhArgument(int value, int x) const {
  Product outer = productOf(value);
  if (!isNear(outer.number, std::sqrt(2 / M_PI)))
    return false;
  // sqrt(2 / pi) * (x + 0.044715 * x ** 3), or sqrt(2 / pi) * x * (1 + 0.044715 * x ** 2)
  for (int factor : outer.factors) {
    const GraphNode *sum = from(factor, "Add");
    if (!sum)
      continue;
    Product a = productOf(sum->input(0)), b = productOf(sum->input(1));
    for (const auto &[small, large] : {std::pair(a, b), std::pair(b, a)}) {
      bool isCube =
          outer.factors.size() == 1 && isPower(small, x, 1, 1) && isPower(large, x, 3, 0.044715);
      bool isSquare = outer.factors.size() == 2 && small.factors.empty() && small.number == 1 &&
                      isPower(large, x, 2, 0.044715) &&
                      areSame(outer.factors[outer.factors[0] == factor ? 1 : 0], x);
      if (isCube || isSquare)
        return true;
    }
  }
  return false;
}

} // namespace attn::importer
