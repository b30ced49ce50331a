// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one operator of a graph: its attributes, and which of the graph's tensors it takes and gives.
#include "compiler/import/onnx/attention/OnnxReader.h"

#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;

namespace attn::importer {

static constexpr StringRef scope =
    "`attn import` reads graphs of one `Attention` operator of the standard opset 23, 24 or 25";

std::string OnnxReader::nameOf(AttentionInput input) const {
  std::string name = shown(attention.inputs[input]->name);
  return onnxInputNames[input] == name ? "`" + name + "`"
                                       : "`" + name + "` (" + onnxInputNames[input].str() + ")";
}

Error OnnxReader::readNode() {
  std::string others;
  unsigned named = 0;
  for (const OnnxNode &candidate : graph.nodes) {
    bool isStandard = candidate.domain.empty() || candidate.domain == "ai.onnx";
    if (isStandard && candidate.type == "Attention") {
      node = &candidate;
      continue;
    }
    std::string name =
        "`" + (isStandard ? "" : shown(candidate.domain) + ".") + shown(candidate.type) + "`";
    if (StringRef(others).contains(name))
      continue;
    constexpr unsigned most = 8;
    if (++named <= most)
      others += (others.empty() ? "" : ", ") + name;
    else if (named == most + 1)
      others += ", …";
  }
  if (!others.empty())
    return importError("the graph has other operators: " + others, scope);
  if (graph.nodes.empty())
    return importError("the graph has no operator", scope);
  if (graph.nodes.size() > 1)
    return importError("the graph has " + Twine(graph.nodes.size()) + " operators", scope);
  if (graph.opset == 0)
    return importError("the model does not say which opset it uses", scope);
  if (graph.opset < 23 || graph.opset > 25)
    return importError("the model uses opset " + Twine(graph.opset), scope);
  attention.opset = graph.opset;
  attention.graphName = graph.name;
  return Error::success();
}

//===-- attributes --------------------------------------------------------------------------===//

Error OnnxReader::readAttribute(const OnnxAttribute &attribute) {
  std::string name = "`" + shown(attribute.name) + "`";
  auto whole = [&](int64_t least, int64_t most, auto &to) -> Error {
    auto *value = std::get_if<int64_t>(&attribute.value);
    if (!value)
      return importError("the attribute " + name + " is no whole number");
    if (*value < least || *value > most)
      return importError("the attribute " + name + " is " + Twine(*value) + ", but it is from " +
                         Twine(least) + " to " + Twine(most));
    to = static_cast<std::decay_t<decltype(to)>>(*value);
    return Error::success();
  };
  auto number = [&](auto &to) -> Error {
    auto *value = std::get_if<float>(&attribute.value);
    if (!value)
      return importError("the attribute " + name + " is no number");
    if (!std::isfinite(*value))
      return importError("the attribute " + name + " is not finite");
    to = *value;
    return Error::success();
  };
  if (attribute.name == "is_causal")
    return whole(0, 1, attention.isCausal);
  if (attribute.name == "q_num_heads")
    return whole(1, INT32_MAX, queryHeads);
  if (attribute.name == "kv_num_heads")
    return whole(1, INT32_MAX, keyHeads);
  if (attribute.name == "qk_matmul_output_mode")
    return whole(0, 3, attention.mode);
  if (attribute.name == "scale")
    return number(attention.scale);
  if (attribute.name == "softcap") {
    if (Error error = number(attention.softcap))
      return error;
    if (attention.softcap < 0)
      return importError("the attribute `softcap` is negative");
    return Error::success();
  }
  if (attribute.name == "softmax_precision") {
    if (Error error = whole(INT32_MIN, INT32_MAX, attention.precision))
      return error;
    switch (static_cast<OnnxType>(attention.precision)) {
    case OnnxType::F32:
    case OnnxType::F16:
    case OnnxType::F64:
    case OnnxType::BF16:
      return Error::success();
    default:
      return importError("the attribute `softmax_precision` is " + Twine(attention.precision) +
                         ", but it is 1, 10, 11 or 16: float32, float16, float64 or bfloat16");
    }
  }
  if (graph.opset >= 25 && attribute.name == "left_window_size")
    return whole(-1, INT32_MAX / 2, attention.left);
  if (graph.opset >= 25 && attribute.name == "right_window_size")
    return whole(-1, INT32_MAX / 2, attention.right);
  return importError("`Attention` of opset " + Twine(graph.opset) + " has no attribute " + name);
}

Error OnnxReader::readAttributes() {
  StringSet<> seen;
  for (const OnnxAttribute &attribute : node->attributes) {
    if (!seen.insert(attribute.name).second)
      return importError("the attribute `" + shown(attribute.name) + "` is given twice");
    if (Error error = readAttribute(attribute))
      return error;
  }
  return Error::success();
}

//===-- inputs and outputs ------------------------------------------------------------------===//

Error OnnxReader::readShape(const OnnxValue &value, OnnxOperand &operand) {
  std::string name = "`" + shown(value.name) + "`";
  if (!value.shape)
    return importError("the input " + name + " has no shape");
  for (auto [i, axis] : enumerate(*value.shape)) {
    int64_t size = axis.size;
    if (size < 0 && axis.name.empty())
      return importError("the size of axis " + Twine(i) + " of the input " + name +
                         " is not known");
    if (size < 0) {
      auto found = sizes.find(axis.name);
      if (found == sizes.end())
        return importError("the size `" + shown(axis.name) + "`, of axis " + Twine(i) +
                               " of the input " + name + ", is not known",
                           "give it by `--set " + shown(axis.name) + "=N`");
      usedSizes.insert(axis.name);
      size = found->second;
    }
    if (size < 1 || size > INT32_MAX)
      return importError("axis " + Twine(i) + " of the input " + name + " has the size " +
                         Twine(size) + ", but sizes are from 1 to 2147483647");
    operand.shape.push_back(size);
  }
  return Error::success();
}

Error OnnxReader::readInputs() {
  if (node->inputs.size() > AttentionInputs)
    return importError("`Attention` takes at most 7 inputs, but has " + Twine(node->inputs.size()));
  size_t most = graph.opset == 23 ? size_t(Lengths) : size_t(AttentionInputs);
  StringSet<> used;
  for (size_t i = 0; i < node->inputs.size(); ++i) {
    const std::string &name = node->inputs[i];
    if (name.empty())
      continue;
    if (i >= most)
      return importError("`Attention` of opset 23 has no input `nonpad_kv_seqlen`");
    auto found = find_if(graph.inputs, [&](const OnnxValue &value) { return value.name == name; });
    if (found == graph.inputs.end()) {
      bool isConstant =
          any_of(graph.constants, [&](const OnnxTensor &tensor) { return tensor.name == name; });
      return importError(
          "`" + shown(name) + "` is " +
              (isConstant ? "a constant of the graph" : "no input of the graph"),
          isConstant ? "all tensors are inputs of a graph that is imported: make this one an input"
                     : "");
    }
    // Self-attention may take its queries, keys and values from one tensor.
    if (!used.insert(name).second && i > V)
      return importError("the input `" + shown(name) + "` is used twice");
    OnnxOperand operand{name, found->type, {}};
    if (Error error = readShape(*found, operand))
      return error;
    attention.inputs[i] = operand;
  }
  for (AttentionInput input : {Q, K, V})
    if (!attention.has(input))
      return importError("the operator lacks its input `" + onnxInputNames[input] + "`");
  StringSet<> declared;
  for (const OnnxValue &value : graph.inputs) {
    if (!declared.insert(value.name).second)
      return importError("the graph has two inputs `" + shown(value.name) + "`");
    auto same = [&](const std::optional<OnnxOperand> &operand) {
      return operand && operand->name == value.name;
    };
    if (auto *operand = find_if(attention.inputs, same); operand != std::end(attention.inputs))
      attention.parameters.push_back(**operand);
  }
  for (const auto &size : sizes)
    if (!usedSizes.contains(size.first()))
      return importError("the model has no size `" + shown(size.first()) + "`");
  return Error::success();
}

Error OnnxReader::readOutputs() {
  if (node->outputs.size() > AttentionOutputs)
    return importError("`Attention` has at most 4 outputs, but here " +
                       Twine(node->outputs.size()));
  StringSet<> seen;
  for (const OnnxValue &value : graph.outputs) {
    auto found = find(node->outputs, value.name);
    if (found == node->outputs.end() || value.name.empty())
      return importError("the graph's output `" + shown(value.name) +
                         "` is none of the operator's");
    if (!seen.insert(value.name).second)
      return importError("the graph has two outputs `" + shown(value.name) + "`");
    attention.results.push_back(
        {value.name, static_cast<AttentionOutput>(found - node->outputs.begin())});
  }
  if (attention.results.empty())
    return importError("the graph has no output");
  return Error::success();
}

} // namespace attn::importer
