// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SkipLayerNormalization(x, y, w, b)  -> Add, LayerNormalization
// Attention(x, W, b, mask)            -> MatMul, Add, Split, Attention of the standard
//                                        (ContribAttention.cpp)
#include "compiler/import/onnx/graph/Contrib.h"
#include "compiler/import/onnx/graph/Expansion.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace attn::importer {

std::string Expansion::add(StringRef type, Values inputs, std::vector<OnnxAttribute> attributes,
                           StringRef result) {
  OnnxNode made;
  made.name = node.name;
  made.type = type.str();
  made.inputs.assign(inputs.begin(), inputs.end());
  made.attributes = std::move(attributes);
  std::string first = node.outputs.empty() ? "" : node.outputs.front();
  made.outputs = {result.empty() ? first + ":" + std::to_string(++count) : result.str()};
  nodes.push_back(std::move(made));
  return nodes.back().outputs.front();
}

std::string Expansion::number(float value) { return add("Constant", {}, {{"value_float", value}}); }

bool Expansion::skipNorm(bool isRms) {
  std::string bias = input(isRms ? 3 : 4);
  if (isUsed(1) || isUsed(2))
    return refuse("the mean or the deviation of a norm as a result");
  std::string x = input(0);
  if (!bias.empty())
    x = add("Add", {x, bias});
  x = add("Add", {x, input(1)}, {}, hasOutput(3) ? StringRef(node.outputs[3]) : StringRef());
  auto *eps = node.attribute<float>("epsilon");
  std::vector<std::string> inputs = {x, input(2)};
  if (!isRms && !input(3).empty())
    inputs.push_back(input(3));
  add(isRms ? "SimplifiedLayerNormalization" : "LayerNormalization", inputs,
      {{"epsilon", eps ? *eps : 1e-12f}}, node.outputs.front());
  return true;
}

bool Expansion::gelu(bool isTanh) {
  std::string x = input(0);
  if (!input(1).empty())
    x = add("Add", {x, input(1)});
  add("Gelu", {x}, {{"approximate", std::string(isTanh ? "tanh" : "none")}}, node.outputs.front());
  return true;
}

bool Expansion::quickGelu() {
  auto *alpha = node.attribute<float>("alpha");
  std::string scaled = add("Mul", {input(0), number(alpha ? *alpha : 1.702f)});
  add("Mul", {input(0), add("Sigmoid", {scaled})}, {}, node.outputs.front());
  return true;
}

/// A product whose last two axes are turned, times a number; one with a bias and a gelu; a bias.
bool Expansion::fusedProduct() {
  if (node.type == "BiasAdd") { // x + bias + what is skipped
    add("Add", {add("Add", {input(0), input(1)}), input(2)}, {}, node.outputs.front());
    return true;
  }
  if (node.integer("transBatchA", 0) || node.integer("transBatchB", 0))
    return refuse("axes of batches that are turned");
  std::string sides[] = {input(0), input(1)};
  for (size_t i : {0, 1}) {
    if (!node.integer(i == 0 ? "transA" : "transB", 0))
      continue;
    int rank = rankOf(sides[i]);
    if (rank < 2)
      return refuse("a side that is turned and has a number of axes that is not known");
    std::vector<int64_t> order;
    for (int axis = 0; axis < rank; ++axis)
      order.push_back(axis + 2 < rank ? axis : 2 * rank - 3 - axis);
    sides[i] = add("Transpose", {sides[i]}, {{"perm", order}});
  }
  std::string product = add("MatMul", {sides[0], sides[1]});
  auto *alpha = node.attribute<float>("alpha");
  if (alpha && *alpha != 1)
    product = add("Mul", {product, number(*alpha)});
  if (node.type == "GemmFastGelu") {
    if (!input(2).empty())
      product = add("Add", {product, input(2)});
    add("Gelu", {product}, {{"approximate", std::string("tanh")}}, node.outputs.front());
  } else {
    add("Identity", {product}, {}, node.outputs.front());
  }
  return true;
}

/// Of ids, segments, three tables, a norm's weight and bias, a mask and positions.
bool Expansion::embedNorm() {
  if (isUsed(1) && input(7).empty())
    return refuse("lengths of a mask that is not given, as a result");
  if (isUsed(1)) {
    std::string counts = add("Cast", {input(7)}, {{"to", int64_t(OnnxType::I32)}});
    add("ReduceSum", {counts}, {{"axes", std::vector<int64_t>{1}}, {"keepdims", int64_t(0)}},
        node.outputs[1]);
  }
  std::string x = add("Gather", {input(2), input(0)}), positions = input(8);
  if (positions.empty()) {
    std::string length =
        add("Gather", {add("Shape", {input(0)}), add("Constant", {}, {{"value_int", int64_t(1)}})});
    positions = add("Range", {add("Constant", {}, {{"value_int", int64_t(0)}}), length,
                              add("Constant", {}, {{"value_int", int64_t(1)}})});
    positions = add("Unsqueeze", {positions}, {{"axes", std::vector<int64_t>{0}}});
  }
  x = add("Add", {x, add("Gather", {input(3), positions})});
  if (!input(1).empty() && !input(4).empty())
    x = add("Add", {x, add("Gather", {input(4), input(1)})});
  if (hasOutput(2)) // the sum before the norm
    add("Identity", {x}, {}, node.outputs[2]);
  auto *eps = node.attribute<float>("epsilon");
  add("LayerNormalization", {x, input(5), input(6)}, {{"epsilon", eps ? *eps : 1e-12f}},
      node.outputs.front());
  return true;
}

/// Positions stand before the tables.
bool Expansion::rotary() {
  if (node.integer("is_packed_batching", 0))
    return false;
  std::vector<OnnxAttribute> attributes;
  for (const OnnxAttribute &attribute : node.attributes)
    if (attribute.name == "interleaved" || attribute.name == "num_heads" ||
        attribute.name == "rotary_embedding_dim")
      attributes.push_back(attribute);
  add("RotaryEmbedding", {input(0), input(2), input(3), input(1)}, attributes,
      node.outputs.front());
  return true;
}

bool Expansion::run() {
  if (node.domain != "com.microsoft" || node.outputs.empty() || node.outputs.front().empty())
    return false;
  StringRef type = node.type;
  if (type == "Attention")
    return attention();
  if (type == "MultiHeadAttention")
    return multiHeadAttention();
  if (type == "GroupQueryAttention")
    return groupQueryAttention();
  if (type == "SkipLayerNormalization" || type == "SkipSimplifiedLayerNormalization")
    return skipNorm(type == "SkipSimplifiedLayerNormalization");
  if (type == "EmbedLayerNormalization")
    return embedNorm();
  if (type == "Gelu" || type == "BiasGelu" || type == "FastGelu")
    return gelu(type == "FastGelu");
  if (type == "QuickGelu")
    return quickGelu();
  if (type == "FusedMatMul" || type == "GemmFastGelu" || type == "BiasAdd")
    return fusedProduct();
  return type == "RotaryEmbedding" && rotary();
}

void expandContrib(OnnxGraph &graph) {
  std::vector<OnnxNode> nodes;
  StringSet<> used;
  for (const OnnxNode &node : graph.nodes) {
    used.insert(node.inputs.begin(), node.inputs.end());
    for (const std::string &outer : node.outerValues())
      used.insert(outer);
  }
  for (const OnnxValue &output : graph.outputs)
    used.insert(output.name);
  for (OnnxNode &node : graph.nodes) {
    size_t before = nodes.size();
    Expansion expansion(graph, used, node, nodes);
    if (expansion.run())
      continue;
    nodes.resize(before);
    node.problem = expansion.problem;
    nodes.push_back(std::move(node));
  }
  graph.nodes = std::move(nodes);
}

} // namespace attn::importer
