// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes of an ONNX file to an OnnxGraph, by way of protobuf (Onnx.proto). Whatever the bytes
// are, the result is a graph or an error.
#include "compiler/import/onnx/OnnxFile.h"

#include "compiler/import/Onnx.pb.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <limits>

using namespace llvm;

namespace attn::importer {

std::string shown(StringRef name) {
  constexpr size_t longest = 64;
  std::string text;
  raw_string_ostream os(text);
  printEscapedString(name.take_front(longest), os);
  return name.size() > longest ? text + "…" : text;
}

std::string labelOf(const OnnxNode &node) {
  bool isStandard = node.domain.empty() || node.domain == "ai.onnx";
  return "`" + shown(node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name) +
         "` (" + (isStandard ? "" : shown(node.domain) + ".") + shown(node.type) + ")";
}

static OnnxValue valueOf(const onnx::Value &value) {
  OnnxValue result;
  result.name = value.name();
  const onnx::TensorType &tensor = value.type().tensor_type();
  result.type = static_cast<OnnxType>(tensor.elem_type());
  if (!tensor.has_shape())
    return result;
  result.shape.emplace();
  for (const onnx::Axis &axis : tensor.shape().dim())
    result.shape->push_back({axis.has_dim_value() ? axis.dim_value() : -1, axis.dim_param()});
  return result;
}

/// Bytes of an element; 0 for types that are not read.
static int64_t widthOf(OnnxType type) {
  switch (type) {
  case OnnxType::F32:
  case OnnxType::I32:
    return 4;
  case OnnxType::I64:
  case OnnxType::F64:
    return 8;
  case OnnxType::F16:
  case OnnxType::BF16:
    return 2;
  case OnnxType::Bool:
    return 1;
  case OnnxType::None:
    return 0;
  }
  return 0;
}

/// Appends numbers as elements of `width` bytes.
template <typename Numbers>
static void appendNumbers(const Numbers &numbers, int64_t width, std::string &bytes) {
  for (auto number : numbers)
    bytes.append(reinterpret_cast<const char *>(&number), static_cast<size_t>(width));
}

static OnnxTensor tensorOf(const onnx::Constant &constant) {
  OnnxTensor tensor;
  tensor.name = constant.name();
  tensor.type = static_cast<OnnxType>(constant.data_type());
  tensor.shape.assign(constant.dims().begin(), constant.dims().end());
  tensor.isExternal = constant.data_location() == 1;
  int64_t width = widthOf(tensor.type), bytes = width;
  tensor.isReadable = width > 0;
  for (int64_t size : tensor.shape)
    tensor.isReadable &= size >= 0 && !MulOverflow(bytes, size, bytes);
  if (tensor.isExternal || !tensor.isReadable)
    return tensor;
  tensor.bytes = constant.raw_data();
  if (tensor.bytes.empty()) {
    appendNumbers(constant.float_data(), 4, tensor.bytes);
    appendNumbers(constant.int32_data(), std::min<int64_t>(width, 4), tensor.bytes);
    appendNumbers(constant.int64_data(), 8, tensor.bytes);
    appendNumbers(constant.double_data(), 8, tensor.bytes);
  }
  tensor.isReadable = static_cast<int64_t>(tensor.bytes.size()) == bytes;
  return tensor;
}

static OnnxGraph graphOf(const onnx::Graph &graph);

static void readAttribute(const onnx::Attribute &attribute, OnnxAttribute &read) {
  enum {
    Float = 1,
    Integer = 2,
    Text = 3,
    Tensor = 4,
    Graph = 5,
    Floats = 6,
    Integers = 7,
    Texts = 8
  };
  if (attribute.has_ref_attr_name())
    return;
  switch (attribute.type()) {
  case Float:
    read.value = attribute.f();
    break;
  case Integer:
    read.value = attribute.i();
    break;
  case Text:
    read.value = attribute.s();
    break;
  case Tensor:
    read.value = tensorOf(attribute.t());
    break;
  case Graph:
    read.value = std::make_shared<const OnnxGraph>(graphOf(attribute.g()));
    break;
  case Floats:
    read.value = std::vector<float>(attribute.floats().begin(), attribute.floats().end());
    break;
  case Texts:
    read.value = std::vector<std::string>(attribute.strings().begin(), attribute.strings().end());
    break;
  case Integers:
    read.value = std::vector<int64_t>(attribute.ints().begin(), attribute.ints().end());
    break;
  default:
    break;
  }
}

static OnnxNode nodeOf(const onnx::Node &node) {
  OnnxNode result;
  result.name = node.name();
  result.type = node.op_type();
  result.domain = node.domain();
  result.inputs.assign(node.input().begin(), node.input().end());
  result.outputs.assign(node.output().begin(), node.output().end());
  for (const onnx::Attribute &attribute : node.attribute()) {
    OnnxAttribute &read = result.attributes.emplace_back();
    read.name = attribute.name();
    readAttribute(attribute, read);
  }
  return result;
}

static OnnxGraph graphOf(const onnx::Graph &graph) {
  OnnxGraph result;
  result.name = graph.name();
  for (const onnx::Node &node : graph.node())
    result.nodes.push_back(nodeOf(node));
  for (const onnx::Value &value : graph.input())
    result.inputs.push_back(valueOf(value));
  for (const onnx::Value &value : graph.output())
    result.outputs.push_back(valueOf(value));
  for (const onnx::Constant &constant : graph.initializer())
    result.constants.push_back(tensorOf(constant));
  for (const onnx::SparseConstant &constant : graph.sparse_initializer())
    result.constants.push_back(tensorOf(constant.values()));
  return result;
}

std::vector<std::string> OnnxNode::outerValues() const {
  std::vector<std::string> outer;
  for (const OnnxAttribute &attribute : attributes) {
    auto *graph = std::get_if<std::shared_ptr<const OnnxGraph>>(&attribute.value);
    if (!graph)
      continue;
    StringSet<> own;
    for (const OnnxTensor &constant : (*graph)->constants)
      own.insert(constant.name);
    for (const OnnxValue &input : (*graph)->inputs)
      own.insert(input.name);
    for (const OnnxNode &node : (*graph)->nodes)
      for (const std::string &output : node.outputs)
        own.insert(output);
    auto add = [&](const std::string &name) {
      if (!name.empty() && !own.contains(name))
        outer.push_back(name);
    };
    for (const OnnxNode &node : (*graph)->nodes) {
      for_each(node.inputs, add);
      for_each(node.outerValues(), add);
    }
    for (const OnnxValue &output : (*graph)->outputs)
      add(output.name);
  }
  return outer;
}

Expected<OnnxGraph> readOnnx(StringRef bytes) {
  // Protobuf counts in int; what is wrong is said here, not on its own log.
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max()))
    return importError("the file is larger than an ONNX file can be (2 GiB)");
  google::protobuf::SetLogHandler(nullptr);
  onnx::Model model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return importError("this is no ONNX file, or one that is cut off",
                       "expected a serialised ModelProto");
  if (!model.has_graph() || !model.has_ir_version())
    return importError("this is no ONNX file: it holds no graph",
                       "expected a serialised ModelProto");
  OnnxGraph graph = graphOf(model.graph());
  for (const onnx::Opset &opset : model.opset_import())
    if (opset.domain().empty() || opset.domain() == "ai.onnx")
      graph.opset = opset.version();
  return graph;
}

} // namespace attn::importer
