// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes of an ONNX file to an OnnxGraph, by way of protobuf (Onnx.proto). Whatever the bytes
// are, the result is a graph or an error.
#include "compiler/import/OnnxFile.h"

#include "compiler/import/Onnx.pb.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <limits>

using namespace llvm;

namespace attn::importer {

char ImportError::ID = 0;

void ImportError::log(raw_ostream &os) const {
  os << message;
  if (!help.empty())
    os << " (" << help << ')';
}

Error importError(const Twine &message, const Twine &help) {
  return make_error<ImportError>(message.str(), help.str());
}

std::string shown(StringRef name) {
  constexpr size_t longest = 64;
  std::string text;
  raw_string_ostream os(text);
  printEscapedString(name.take_front(longest), os);
  return name.size() > longest ? text + "…" : text;
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

static OnnxNode nodeOf(const onnx::Node &node) {
  enum { Float = 1, Integer = 2 };
  OnnxNode result;
  result.name = node.name();
  result.type = node.op_type();
  result.domain = node.domain();
  result.inputs.assign(node.input().begin(), node.input().end());
  result.outputs.assign(node.output().begin(), node.output().end());
  for (const onnx::Attribute &attribute : node.attribute()) {
    OnnxAttribute &read = result.attributes.emplace_back();
    read.name = attribute.name();
    if (attribute.type() == Float && !attribute.has_ref_attr_name())
      read.value = attribute.f();
    else if (attribute.type() == Integer && !attribute.has_ref_attr_name())
      read.value = attribute.i();
  }
  return result;
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
  OnnxGraph graph;
  graph.name = model.graph().name();
  for (const onnx::Opset &opset : model.opset_import())
    if (opset.domain().empty() || opset.domain() == "ai.onnx")
      graph.opset = opset.version();
  for (const onnx::Node &node : model.graph().node())
    graph.nodes.push_back(nodeOf(node));
  for (const onnx::Value &value : model.graph().input())
    graph.inputs.push_back(valueOf(value));
  for (const onnx::Value &value : model.graph().output())
    graph.outputs.push_back(valueOf(value));
  for (const onnx::Constant &constant : model.graph().initializer())
    graph.constants.push_back(constant.name());
  for (const onnx::SparseConstant &constant : model.graph().sparse_initializer())
    graph.constants.push_back(constant.values().name());
  return graph;
}

} // namespace attn::importer
