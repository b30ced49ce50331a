// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The attentions of com.microsoft. Past keys and values become a Concat with the new ones, as
// exporters without this domain write it.
#include "compiler/import/onnx/graph/Expansion.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace attn::importer {

int Expansion::rankOf(StringRef value) const {
  for (const OnnxValue &input : graph.inputs)
    if (input.name == value)
      return input.shape ? static_cast<int>(input.shape->size()) : -1;
  for (const OnnxTensor &constant : graph.constants)
    if (constant.name == value)
      return static_cast<int>(constant.shape.size());
  return -1;
}

std::string Expansion::integers(std::vector<int64_t> list) {
  return add("Constant", {}, {{"value_ints", std::move(list)}});
}

std::string Expansion::apart(const std::string &value, int64_t heads) {
  std::string four = add("Reshape", {value, integers({0, 0, heads, -1})});
  return add("Transpose", {four}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
}

std::string Expansion::pushed(const std::string &past, const std::string &value, size_t output) {
  std::string name = hasOutput(output) ? node.outputs[output] : "";
  if (past.empty())
    return name.empty() ? value : add("Identity", {value}, {}, name);
  return add("Concat", {past, value}, {{"axis", int64_t(2)}}, name);
}

std::string Expansion::lengthsAsMask(const std::string &lengths) {
  if (rankOf(lengths) != 1)
    return lengths;
  auto constant = [&](int64_t value) { return add("Constant", {}, {{"value_int", value}}); };
  std::string count = add("Gather", {add("Shape", {input(0)}), constant(1)}),
              places = add("Range", {constant(0), count, constant(1)}),
              row = add("Unsqueeze", {places}, {{"axes", std::vector<int64_t>{0}}}),
              column = add("Unsqueeze", {add("Cast", {lengths}, {{"to", int64_t(OnnxType::I64)}})},
                           {{"axes", std::vector<int64_t>{1}}});
  return add("Less", {row, column});
}

std::string Expansion::mask(const std::string &ofKeys, const std::string &bias) {
  if (ofKeys.empty())
    return bias;
  auto *fill = node.attribute<float>("mask_filter_value");
  std::string floats = add("Cast", {lengthsAsMask(ofKeys)}, {{"to", int64_t(OnnxType::F32)}});
  std::string added =
      add("Mul", {add("Sub", {number(1), floats}), number(fill ? *fill : -10000.0f)});
  // [B, S], [B, T, S] or [B, 1, T, S]
  int rank = rankOf(ofKeys);
  if (rank < 3)
    added = add("Unsqueeze", {added}, {{"axes", std::vector<int64_t>{1, 2}}});
  else if (rank == 3)
    added = add("Unsqueeze", {added}, {{"axes", std::vector<int64_t>{1}}});
  return bias.empty() ? added : add("Add", {added, bias});
}

void Expansion::attend(Values parts, const std::string &added,
                       std::vector<OnnxAttribute> attributes) {
  std::vector<std::string> inputs(parts.begin(), parts.end());
  if (!added.empty())
    inputs.push_back(added);
  if (auto *scale = node.attribute<float>("scale"); scale && *scale != 0)
    attributes.push_back({"scale", *scale});
  attributes.push_back({"is_causal", node.integer("unidirectional", 0)});
  attributes.push_back({"counts_past", int64_t(1)});
  add("Attention", inputs, std::move(attributes), node.outputs.front());
}

void Expansion::attendApart(Values parts, const std::string &added,
                            std::vector<OnnxAttribute> attributes) {
  attend(parts, added, std::move(attributes));
  std::string result = node.outputs.front(), four = result + ":heads";
  nodes.back().outputs = {four};
  std::string turned = add("Transpose", {four}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  add("Reshape", {turned, integers({0, 0, -1})}, {}, result);
}

bool Expansion::attention() {
  auto *widths = node.attribute<std::vector<int64_t>>("qkv_hidden_sizes");
  if (node.integer("do_rotary", 0))
    return refuse("`do_rotary`, whose angles are not said");
  if (node.integer("past_present_share_buffer", 0) || !input(6).empty())
    return refuse("past and present keys in one buffer");
  if (widths && widths->size() != 3)
    return refuse("`qkv_hidden_sizes` that are not three");
  std::string packed = add("MatMul", {input(0), input(1)});
  if (!input(2).empty())
    packed = add("Add", {packed, input(2)});
  std::vector<std::string> parts;
  for (StringRef part : {":q", ":k", ":v"})
    parts.push_back(node.outputs.front() + part.str());
  std::vector<std::string> split = {packed};
  if (widths)
    split.push_back(integers(*widths));
  add("Split", split, {{"axis", int64_t(2)}}, parts[0]);
  nodes.back().outputs = parts;
  int64_t heads = node.integer("num_heads", 0);
  std::string added = mask(input(3), input(5));
  if (input(4).empty() && !hasOutput(1)) {
    attend(parts, added, {{"q_num_heads", heads}, {"kv_num_heads", heads}});
    return true;
  }
  // `past` is [2, B, H, P, E].
  std::vector<std::string> four;
  for (const std::string &part : parts)
    four.push_back(apart(part, heads));
  std::string packs[2];
  for (size_t i : {0, 1}) {
    std::string past;
    if (!input(4).empty())
      past = add("Gather", {input(4), add("Constant", {}, {{"value_int", int64_t(i)}})});
    four[1 + i] = pushed(past, four[1 + i], node.outputs.size());
    packs[i] = add("Unsqueeze", {four[1 + i]}, {{"axes", std::vector<int64_t>{0}}});
  }
  if (hasOutput(1))
    add("Concat", {packs[0], packs[1]}, {{"axis", int64_t(0)}}, node.outputs[1]);
  attendApart(four, added, {});
  return true;
}

bool Expansion::multiHeadAttention() {
  if (!input(8).empty() || !input(9).empty() || hasOutput(3))
    return refuse("past and present keys in one buffer, or scores as a result");
  bool isPacked = input(1).empty(), hasPast = !input(6).empty() || hasOutput(1) || hasOutput(2);
  if (!isPacked && input(2).empty())
    return refuse("keys and values that are packed");
  if (isPacked && !input(3).empty())
    return refuse("queries, keys and values that are packed, with a bias");
  int64_t heads = node.integer("num_heads", 0);
  std::string added = mask(input(4), input(5));
  std::vector<std::string> parts = {input(0), input(1), input(2)};
  if (isPacked) { // [B, T, H, 3, E]
    for (auto [i, part] : enumerate(parts)) {
      std::string four = add("Gather", {input(0), add("Constant", {}, {{"value_int", int64_t(i)}})},
                             {{"axis", int64_t(3)}});
      part = add("Transpose", {four}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    }
  }
  bool areApart = rankOf(input(1)) == 4; // the keys of an encoder, [B, H, S, E]
  if (!input(3).empty()) {
    std::vector<std::string> biases;
    for (StringRef part : {":bq", ":bk", ":bv"})
      biases.push_back(node.outputs.front() + part.str());
    add("Split", {input(3)}, {{"axis", int64_t(0)}}, biases[0]);
    nodes.back().outputs = biases;
    for (auto [i, part] : enumerate(parts))
      if (i == 0 || !areApart)
        part = add("Add", {part, biases[i]});
  }
  if (!isPacked && !areApart && !hasPast) {
    attend(parts, added, {{"q_num_heads", heads}, {"kv_num_heads", heads}});
    return true;
  }
  for (auto [i, part] : enumerate(parts))
    if (!isPacked && (i == 0 || !areApart))
      part = apart(part, heads);
  for (size_t i : {1, 2})
    parts[i] = pushed(input(5 + i), parts[i], i);
  attendApart(parts, added, {});
  return true;
}

/// Rotary positions are those behind the past, which are counted.
bool Expansion::groupQueryAttention() {
  if (node.integer("smooth_softmax", 0) > 0 || !input(11).empty())
    return refuse("a sink, which takes a part of each softmax");
  if (node.integer("qk_output", 0) || hasOutput(3))
    return refuse("scores as a result");
  if (!input(12).empty() || node.integer("kv_cache_bit_width", 0))
    return refuse("keys and values of a cache that are quantised");
  int64_t heads = node.integer("num_heads", 0), groups = node.integer("kv_num_heads", 0);
  std::vector<std::string> parts = {input(0), input(1), input(2)};
  if (parts[1].empty()) { // queries, keys and values side by side
    int64_t width = -1;
    for (const OnnxValue &value : graph.inputs)
      if (value.name == input(3) && value.shape && value.shape->size() == 4)
        width = value.shape->back().size;
    if (width < 1)
      return refuse("queries, keys and values that are packed, of heads of unknown size");
    parts.clear();
    for (StringRef part : {":q", ":k", ":v"})
      parts.push_back(node.outputs.front() + part.str());
    add("Split", {input(0), integers({heads * width, groups * width, groups * width})},
        {{"axis", int64_t(2)}}, parts[0]);
    nodes.back().outputs = parts;
  }
  if (node.integer("do_rotary", 0))
    for (size_t i : {0, 1})
      parts[i] = add("RotaryEmbedding", {parts[i], input(7), input(8), input(9)},
                     {{"num_heads", i == 0 ? heads : groups},
                      {"interleaved", node.integer("rotary_interleaved", 0)}});
  for (size_t i : {0, 1, 2})
    parts[i] = apart(parts[i], i == 0 ? heads : groups);
  for (size_t i : {1, 2})
    parts[i] = pushed(input(2 + i), parts[i], i);
  std::vector<OnnxAttribute> attributes;
  // The window counts the query's own key.
  if (int64_t window = node.integer("local_window_size", -1); window > 0)
    attributes.push_back({"left_window_size", window - 1});
  if (auto *cap = node.attribute<float>("softcap"); cap && *cap != 0)
    attributes.push_back({"softcap", *cap});
  attendApart(parts, input(10), std::move(attributes));
  for (OnnxNode &made : nodes)
    if (made.type == "Attention" && made.outputs[0] == node.outputs[0] + ":heads")
      for (OnnxAttribute &attribute : made.attributes)
        if (attribute.name == "is_causal")
          attribute.value = int64_t(1);
  return true;
}

} // namespace attn::importer
