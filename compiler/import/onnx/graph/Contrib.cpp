// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SkipLayerNormalization(x, y, w, b)  -> Add, LayerNormalization
// Attention(x, W, b, mask)            -> MatMul, Add, Split, Attention of the standard
#include "compiler/import/onnx/graph/Contrib.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace attn::importer {

namespace {

/// Writes the nodes in the place of one.
class Expansion {
public:
  Expansion(const OnnxNode &node, std::vector<OnnxNode> &nodes) : node(node), nodes(nodes) {}
  /// Whether the node is known, and has been replaced.
  bool run();

private:
  using Values = ArrayRef<std::string>;
  bool skipNorm(bool isRms);
  bool gelu(bool isTanh);
  bool quickGelu();
  bool attention();
  bool multiHeadAttention();
  bool embedNorm();
  bool rotary();
  /// Adds a node; its output, which is called `result` where that is given.
  std::string add(StringRef type, Values inputs, std::vector<OnnxAttribute> attributes = {},
                  StringRef result = "");
  std::string number(float value);
  /// What is added to scores: a mask of keys, 1 where a key is seen, and a bias.
  std::string mask(const std::string &ofKeys, const std::string &bias);
  /// The attention itself.
  void attend(Values parts, const std::string &added);
  std::string input(size_t i) const { return i < node.inputs.size() ? node.inputs[i] : ""; }
  bool hasOutput(size_t i) const { return i < node.outputs.size() && !node.outputs[i].empty(); }
  template <typename T> const T *attribute(StringRef name) const {
    for (const OnnxAttribute &candidate : node.attributes)
      if (candidate.name == name)
        return std::get_if<T>(&candidate.value);
    return nullptr;
  }
  int64_t integer(StringRef name, int64_t otherwise) const {
    auto *value = attribute<int64_t>(name);
    return value ? *value : otherwise;
  }

  const OnnxNode &node;
  std::vector<OnnxNode> &nodes;
  unsigned count = 0;
};

} // namespace

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

std::string Expansion::mask(const std::string &ofKeys, const std::string &bias) {
  if (ofKeys.empty())
    return bias;
  auto *fill = attribute<float>("mask_filter_value");
  std::string floats = add("Cast", {ofKeys}, {{"to", int64_t(OnnxType::F32)}});
  std::string added =
      add("Mul", {add("Sub", {number(1), floats}), number(fill ? *fill : -10000.0f)});
  added = add("Unsqueeze", {added}, {{"axes", std::vector<int64_t>{1, 2}}});
  return bias.empty() ? added : add("Add", {added, bias});
}

void Expansion::attend(Values parts, const std::string &added) {
  std::vector<std::string> inputs(parts.begin(), parts.end());
  if (!added.empty())
    inputs.push_back(added);
  int64_t heads = integer("num_heads", 0);
  std::vector<OnnxAttribute> attributes = {
      {"q_num_heads", heads}, {"kv_num_heads", heads}, {"is_causal", integer("unidirectional", 0)}};
  if (auto *scale = attribute<float>("scale"); scale && *scale != 0)
    attributes.push_back({"scale", *scale});
  add("Attention", inputs, attributes, node.outputs.front());
}

bool Expansion::attention() {
  auto *widths = attribute<std::vector<int64_t>>("qkv_hidden_sizes");
  if (!input(4).empty() || hasOutput(1) || integer("do_rotary", 0) || widths)
    return false;
  std::string packed = add("MatMul", {input(0), input(1)});
  if (!input(2).empty())
    packed = add("Add", {packed, input(2)});
  std::vector<std::string> parts;
  for (StringRef part : {":q", ":k", ":v"})
    parts.push_back(node.outputs.front() + part.str());
  add("Split", {packed}, {{"axis", int64_t(2)}}, parts[0]);
  nodes.back().outputs = parts;
  attend(parts, mask(input(3), input(5)));
  return true;
}

bool Expansion::multiHeadAttention() {
  bool hasPast = any_of(ArrayRef(node.inputs).drop_front(std::min<size_t>(node.inputs.size(), 6)),
                        [](const std::string &name) { return !name.empty(); });
  if (input(1).empty() || input(2).empty() || hasPast || hasOutput(1))
    return false;
  std::vector<std::string> parts = {input(0), input(1), input(2)};
  if (!input(3).empty()) {
    std::vector<std::string> biases;
    for (StringRef part : {":bq", ":bk", ":bv"})
      biases.push_back(node.outputs.front() + part.str());
    add("Split", {input(3)}, {{"axis", int64_t(0)}}, biases[0]);
    nodes.back().outputs = biases;
    for (auto [part, bias] : zip(parts, biases))
      part = add("Add", {part, bias});
  }
  attend(parts, mask(input(4), input(5)));
  return true;
}

bool Expansion::skipNorm(bool isRms) {
  std::string bias = input(isRms ? 3 : 4);
  if (hasOutput(1) || hasOutput(2))
    return false;
  std::string x = input(0);
  if (!bias.empty())
    x = add("Add", {x, bias});
  x = add("Add", {x, input(1)}, {}, hasOutput(3) ? StringRef(node.outputs[3]) : StringRef());
  auto *eps = attribute<float>("epsilon");
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
  auto *alpha = attribute<float>("alpha");
  std::string scaled = add("Mul", {input(0), number(alpha ? *alpha : 1.702f)});
  add("Mul", {input(0), add("Sigmoid", {scaled})}, {}, node.outputs.front());
  return true;
}

/// Of ids, segments, three tables, a norm's weight and bias, a mask and positions.
bool Expansion::embedNorm() {
  if (hasOutput(1) || hasOutput(2))
    return false;
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
  auto *eps = attribute<float>("epsilon");
  add("LayerNormalization", {x, input(5), input(6)}, {{"epsilon", eps ? *eps : 1e-12f}},
      node.outputs.front());
  return true;
}

/// Positions stand before the tables.
bool Expansion::rotary() {
  if (integer("is_packed_batching", 0))
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
  if (type == "SkipLayerNormalization" || type == "SkipSimplifiedLayerNormalization")
    return skipNorm(type == "SkipSimplifiedLayerNormalization");
  if (type == "EmbedLayerNormalization")
    return embedNorm();
  if (type == "Gelu" || type == "BiasGelu" || type == "FastGelu")
    return gelu(type == "FastGelu");
  if (type == "QuickGelu")
    return quickGelu();
  return type == "RotaryEmbedding" && rotary();
}

void expandContrib(OnnxGraph &graph) {
  std::vector<OnnxNode> nodes;
  for (OnnxNode &node : graph.nodes) {
    size_t before = nodes.size();
    if (Expansion(node, nodes).run())
      continue;
    nodes.resize(before);
    nodes.push_back(std::move(node));
  }
  graph.nodes = std::move(nodes);
}

} // namespace attn::importer
