// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linear maps, norms and activations, as operators of their own or taken apart:
//
//   MatMul + Add                                           -> linear
//   ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div, Mul  -> layernorm
//   Div, Erf, Add, Mul, Mul                                -> gelu
#include "compiler/import/onnx/graph/Matcher.h"

#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;

namespace attn::importer {

//===-- linear maps -------------------------------------------------------------------------===//

/// A matrix of a MatMul, which is [in, out] unless a node transposes it.
static Weight asMatrix(Weight weight) {
  weight.isTransposed = !weight.isTransposed;
  return weight;
}

bool Matcher::matchLinear(const GraphNode &node) {
  const GraphNode *product = node.type() == "MatMul" ? &node : nullptr;
  std::optional<Weight> bias;
  if (node.type() == "Add")
    for (size_t i : {0, 1}) {
      const GraphNode *candidate = from(node.input(i), "MatMul");
      if (!candidate || !graph[candidate->outputs[0]].sizes)
        continue;
      bias = vectorOf(node.input(1 - i), graph[candidate->outputs[0]].sizes->back());
      if (bias && weightOf(candidate->input(1))) {
        product = candidate;
        break;
      }
    }
  if (!product)
    return false;
  std::optional<Weight> weight = weightOf(product->input(1));
  if (!weight || graph[weight->value].rank() != 2)
    return false;
  Operation &linear = add(OperationKind::Linear, node, {product->input(0)});
  linear.weight = asMatrix(*weight);
  linear.bias = bias.value_or(Weight());
  return true;
}

bool Matcher::matchGemm(const GraphNode &node) {
  if (node.type() != "Gemm")
    return false;
  for (StringRef name : {"alpha", "beta"})
    if (auto *number = node.attribute<float>(name); number && *number != 1) {
      refuse(node, "an `" + name + "` other than 1");
      return false;
    }
  std::optional<Weight> weight = weightOf(node.input(1)), bias;
  if (!weight || graph[weight->value].rank() != 2 || node.integer("transA", 0)) {
    refuse(node, "a matrix that is no initializer, or a turned input");
    return false;
  }
  if (node.input(2) >= 0) {
    bias = vectorOf(node.input(2), graph[node.outputs[0]].sizes->back());
    if (!bias) {
      refuse(node, "a bias that is no initializer of one axis");
      return false;
    }
  }
  Operation &linear = add(OperationKind::Linear, node, {node.input(0)});
  linear.weight = node.integer("transB", 0) ? *weight : asMatrix(*weight);
  linear.bias = bias.value_or(Weight());
  return true;
}

bool Matcher::matchConvolution(const GraphNode &node) {
  if (node.type() != "Conv")
    return false;
  std::optional<Weight> weight = weightOf(node.input(1)), bias;
  if (!weight || weight->isTransposed) {
    refuse(node, "a kernel that is no initializer");
    return false;
  }
  const Sizes &kernel = *graph[weight->value].sizes, &x = *graph[node.input(0)].sizes;
  if (node.input(2) >= 0 && !(bias = vectorOf(node.input(2), kernel[0]))) {
    refuse(node, "a bias that is no initializer");
    return false;
  }
  if (node.integer("group", 1) != 1 || !x[1].isNumber() || kernel[1] != x[1]) {
    refuse(node, "groups of channels");
    return false;
  }
  size_t rank = kernel.size() - 2;
  auto list = [&](StringRef name, size_t count, int64_t otherwise) {
    auto *given = node.attribute<std::vector<int64_t>>(name);
    return given ? *given : std::vector<int64_t>(count, otherwise);
  };
  std::vector<int64_t> strides = list("strides", rank, 1), pads = list("pads", 2 * rank, 0),
                       dilations = list("dilations", rank, 1);
  for (size_t i = 0; i < rank; ++i)
    if (pads[i] != pads[rank + i] || dilations[i] != 1 || rank > 2) {
      refuse(node, "borders that differ, dilations, or three axes");
      return false;
    }
  Operation &windows = add(OperationKind::Windows, node, {node.input(0)});
  windows.weight = *weight;
  windows.bias = bias.value_or(Weight());
  for (size_t i = 0; i < rank; ++i) {
    windows.integers.push_back(strides[i]);
    windows.integers.push_back(pads[i]);
  }
  return true;
}

//===-- norms -------------------------------------------------------------------------------===//

bool Matcher::matchNorm(const GraphNode &node) {
  int scaled = node.outputs[0];
  std::optional<Weight> bias, weight;
  if (!graph[scaled].sizes || graph[scaled].sizes->empty())
    return false;
  const Quantity width = graph[scaled].sizes->back();
  if (node.type() == "Add")
    for (size_t i : {0, 1})
      if (!bias && (bias = vectorOf(node.input(i), width)))
        scaled = strip(node.input(1 - i));
  std::optional<Normed> inner;
  if (const GraphNode *product = from(scaled, "Mul"))
    for (size_t i : {0, 1})
      if (auto vector = vectorOf(product->input(i), width); vector && !inner)
        if ((inner = normed(product->input(1 - i))))
          weight = vector;
  if (!inner && !bias)
    inner = normed(scaled);
  if (!inner || (bias && !weight) || (bias && inner->isRms))
    return false;
  Operation &norm = add(OperationKind::Norm, node, {inner->x});
  norm.weight = weight.value_or(Weight());
  norm.bias = bias.value_or(Weight());
  norm.eps = inner->eps;
  norm.isRms = inner->isRms;
  norm.integers.push_back(1);
  return true;
}

bool Matcher::matchNormNode(const GraphNode &node) {
  bool isRms = node.type() == "RMSNormalization" || node.type() == "SimplifiedLayerNormalization";
  if (!isRms && node.type() != "LayerNormalization")
    return false;
  const Sizes &sizes = *graph[node.input(0)].sizes;
  auto rank = static_cast<int64_t>(sizes.size()), axis = node.integer("axis", -1);
  if ((axis < 0 ? axis + rank : axis) != rank - 1) {
    refuse(node, "an `axis` other than the last one");
    return false;
  }
  std::optional<Weight> weight = vectorOf(node.input(1), sizes.back()), bias;
  if (node.input(2) >= 0)
    bias = vectorOf(node.input(2), sizes.back());
  if (!weight || (node.input(2) >= 0 && !bias)) {
    refuse(node, "a scale or bias that is no initializer of the last axis");
    return false;
  }
  for (size_t i = 1; i < node.outputs.size(); ++i)
    if (node.outputs[i] >= 0)
      graph[node.outputs[i]].sizes.reset();
  Operation &norm = add(OperationKind::Norm, node, {node.input(0)});
  norm.weight = *weight;
  norm.bias = bias.value_or(Weight());
  auto *eps = node.attribute<float>("epsilon");
  norm.eps = eps ? *eps : 1e-5;
  norm.isRms = isRms;
  norm.integers.push_back(1);
  return true;
}

//===-- activations -------------------------------------------------------------------------===//

bool Matcher::matchGelu(const GraphNode &node) {
  if (node.type() == "Gelu") {
    auto *form = node.attribute<std::string>("approximate");
    add(OperationKind::Formula, node, {node.input(0)}).text =
        form && *form == "tanh" ? "gelu_tanh" : "gelu";
    return true;
  }
  if (node.type() != "Mul")
    return false;
  Product product = productOf(node.outputs[0]);
  if (product.factors.size() != 2 || !isNear(product.number, 0.5))
    return false;
  for (size_t i : {0, 1}) {
    int x = product.factors[1 - i];
    const GraphNode *sum = from(product.factors[i], "Add");
    int inner = sum ? besideNumber(*sum, 1) : -1;
    if (inner < 0)
      continue;
    if (const GraphNode *erf = from(inner, "Erf")) {
      Product argument = productOf(erf->input(0));
      if (argument.factors.size() == 1 && areSame(argument.factors[0], x) &&
          isNear(argument.number, std::sqrt(0.5))) {
        add(OperationKind::Formula, node, {x}).text = "gelu";
        return true;
      }
    }
    if (const GraphNode *tanh = from(inner, "Tanh"); tanh && isTanhArgument(tanh->input(0), x)) {
      add(OperationKind::Formula, node, {x}).text = "gelu_tanh";
      return true;
    }
  }
  return false;
}

bool Matcher::matchSilu(const GraphNode &node) {
  if (node.type() == "Swish") {
    auto *alpha = node.attribute<float>("alpha");
    if (alpha && *alpha != 1) {
      refuse(node, "an `alpha` other than 1");
      return false;
    }
    add(OperationKind::Formula, node, {node.input(0)}).text = "silu";
    return true;
  }
  if (node.type() != "Mul")
    return false;
  for (size_t i : {0, 1})
    if (const GraphNode *gate = from(node.input(i), "Sigmoid");
        gate && areSame(gate->input(0), node.input(1 - i))) {
      add(OperationKind::Formula, node, {strip(node.input(1 - i))}).text = "silu";
      return true;
    }
  return false;
}

} // namespace attn::importer
