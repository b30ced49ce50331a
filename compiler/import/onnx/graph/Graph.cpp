// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of an ONNX graph to numbers of values, inputs to sizes, bytes of tensors to numbers.
#include "compiler/import/onnx/graph/Graph.h"

#include "compiler/import/onnx/graph/Fold.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace attn::importer {

std::optional<double> Graph::number(int value) const {
  if (value < 0)
    return std::nullopt;
  const auto &known = (*this)[value].known;
  if (!known || known->size() != 1 || !known->front().isNumber())
    return std::nullopt;
  return known->front().factor;
}

int Graph::add(OnnxType type, const Sizes &sizes) {
  GraphValue value;
  value.type = type;
  value.sizes = sizes;
  values.push_back(std::move(value));
  return static_cast<int>(values.size()) - 1;
}

//===-- elements ----------------------------------------------------------------------------===//

template <typename T> static void appendAs(StringRef bytes, Elements &elements) {
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T element;
    memcpy(&element, bytes.data() + at, sizeof(T));
    elements.emplace_back(static_cast<double>(element));
  }
}

static void appendHalves(StringRef bytes, const fltSemantics &format, Elements &elements) {
  for (size_t at = 0; at + 2 <= bytes.size(); at += 2) {
    uint16_t bits;
    memcpy(&bits, bytes.data() + at, 2);
    APFloat number(format, APInt(16, bits));
    bool losesInfo = false;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
    elements.emplace_back(number.convertToDouble());
  }
}

Expected<Elements> elementsOf(const Graph &graph, const OnnxTensor &tensor) {
  std::string loaded;
  StringRef bytes = tensor.bytes;
  if (tensor.isExternal) {
    if (!graph.load)
      return importError("the data of the initializer `" + shown(tensor.name) +
                         "` are in another file, which is not at hand");
    Expected<std::string> found = graph.load(tensor.name);
    if (!found)
      return found.takeError();
    loaded = std::move(*found);
    bytes = loaded;
  }
  Elements elements;
  switch (tensor.type) {
  case OnnxType::F32:
    appendAs<float>(bytes, elements);
    break;
  case OnnxType::F64:
    appendAs<double>(bytes, elements);
    break;
  case OnnxType::I32:
    appendAs<int32_t>(bytes, elements);
    break;
  case OnnxType::I64:
    appendAs<int64_t>(bytes, elements);
    break;
  case OnnxType::Bool:
    appendAs<int8_t>(bytes, elements);
    break;
  case OnnxType::F16:
    appendHalves(bytes, APFloat::IEEEhalf(), elements);
    break;
  case OnnxType::BF16:
    appendHalves(bytes, APFloat::BFloat(), elements);
    break;
  case OnnxType::None:
    break;
  }
  return elements;
}

//===-- values ------------------------------------------------------------------------------===//

namespace {

/// Numbers the values of a graph.
class Numbering {
public:
  Numbering(const OnnxGraph &file, const StringMap<int64_t> &given, Graph &graph)
      : file(file), given(given), graph(graph) {}
  Error run();

private:
  Error addConstants();
  Error addInput(const OnnxValue &input);
  Error addPast(const OnnxValue &input);
  Error addNode(const OnnxNode &node);
  Error addOutputs();
  /// A new value of the file's.
  Error define(GraphValue value, const Twine &what);
  /// The size of an axis of an input.
  Expected<Quantity> sizeOf(const OnnxValue &input, const OnnxAxis &axis, size_t place);

  const OnnxGraph &file;
  const StringMap<int64_t> &given;
  Graph &graph;
  StringMap<int> numbers;
  StringMap<unsigned> sizeNumbers;
};

} // namespace

Error Numbering::define(GraphValue value, const Twine &what) {
  if (!numbers.try_emplace(value.name, static_cast<int>(graph.values.size())).second)
    return importError("two " + what + " of the graph are called `" + shown(value.name) + "`");
  graph.values.push_back(std::move(value));
  return Error::success();
}

/// Tensors up to this many elements are taken apart at once: shapes, indices, numbers of formulas.
static constexpr int64_t mostKnown = 4096;

/// A value that is a tensor of the file, with its elements where they are few and no weights.
static Expected<GraphValue> valueOf(const Graph &graph, const OnnxTensor &tensor) {
  GraphValue value;
  value.name = tensor.name;
  value.type = tensor.type;
  value.tensor = &tensor;
  value.sizes.emplace();
  int64_t count = 1;
  for (int64_t size : tensor.shape) {
    if (size < 0 || size > INT32_MAX || MulOverflow(count, size, count))
      return importError("the initializer `" + shown(tensor.name) + "` has a shape that cannot be");
    value.sizes->push_back(static_cast<double>(size));
  }
  if (!tensor.isReadable)
    return value;
  bool isFloat = tensor.type == OnnxType::F32 || tensor.type == OnnxType::F16 ||
                 tensor.type == OnnxType::BF16 || tensor.type == OnnxType::F64;
  if (count <= (isFloat ? 1 : mostKnown)) {
    Expected<Elements> elements = elementsOf(graph, tensor);
    if (!elements)
      return elements.takeError();
    value.known = std::make_shared<Elements>(std::move(*elements));
  }
  return value;
}

Expected<GraphValue> constantOf(const Graph &graph, const OnnxTensor &tensor) {
  return valueOf(graph, tensor);
}

Error Numbering::addConstants() {
  for (const OnnxTensor &tensor : file.constants) {
    Expected<GraphValue> value = valueOf(graph, tensor);
    if (!value)
      return value.takeError();
    if (Error error = define(std::move(*value), "initializers"))
      return error;
  }
  return Error::success();
}

Expected<Quantity> Numbering::sizeOf(const OnnxValue &input, const OnnxAxis &axis, size_t place) {
  if (axis.size < 0) {
    std::string name = axis.name.empty() ? input.name + "_" + std::to_string(place) : axis.name;
    if (auto found = given.find(name); found != given.end()) {
      graph.usedSizes.insert(name);
      return Quantity(static_cast<double>(found->second));
    }
    auto [number, isNew] =
        sizeNumbers.try_emplace(name, static_cast<unsigned>(graph.sizeNames.size()));
    if (isNew)
      graph.sizeNames.push_back(name);
    return Quantity::named(number->second);
  }
  if (axis.size < 1 || axis.size > INT32_MAX)
    return importError("axis " + Twine(place) + " of the input `" + shown(input.name) +
                       "` has the size " + Twine(axis.size) +
                       ", but sizes are from 1 to 2147483647");
  return Quantity(static_cast<double>(axis.size));
}

Error Numbering::addInput(const OnnxValue &input) {
  if (numbers.count(input.name)) // files of before IR version 4 list initializers as inputs, too
    return Error::success();
  if (!input.shape)
    return importError("the input `" + shown(input.name) + "` has no shape");
  GraphValue value;
  value.name = input.name;
  value.type = input.type;
  value.isInput = true;
  value.sizes.emplace();
  for (size_t place = 0; place < input.shape->size(); ++place) {
    Expected<Quantity> size = sizeOf(input, (*input.shape)[place], place);
    if (!size)
      return size.takeError();
    value.sizes->push_back(*size);
  }
  // An input that only chooses, such as `use_cache_branch`, may be given its value.
  if (auto found = given.find(input.name); found != given.end() && countOf(*value.sizes).is(1)) {
    graph.usedSizes.insert(input.name);
    value.isInput = false;
    value.known = std::make_shared<Elements>(1, Quantity(static_cast<double>(found->second)));
    return define(std::move(value), "inputs");
  }
  graph.inputs.push_back(static_cast<int>(graph.values.size()));
  return define(std::move(value), "inputs");
}

/// Past keys or values, which nothing may be computed of but their sizes.
Error Numbering::addPast(const OnnxValue &input) {
  GraphValue value;
  value.name = input.name;
  value.type = input.type;
  value.sizes.emplace();
  for (size_t place = 0; place < input.shape->size(); ++place) {
    const OnnxAxis &axis = (*input.shape)[place];
    Expected<Quantity> size = axis.size == 0 ? Quantity(0) : sizeOf(input, axis, place);
    if (!size)
      return size.takeError();
    value.sizes->push_back(*size);
  }
  return define(std::move(value), "inputs");
}

Error Numbering::addNode(const OnnxNode &node) {
  GraphNode added{&node, {}, {}, {}};
  std::string label = "the node `" + shown(node.name) + "` (" + shown(node.type) + ")";
  for (const std::string &name : node.inputs) {
    auto found = numbers.find(name);
    if (!name.empty() && found == numbers.end())
      return importError(label + " takes `" + shown(name) + "`, which nothing gives");
    added.inputs.push_back(name.empty() ? -1 : found->second);
  }
  for (const std::string &name : node.outputs) {
    added.outputs.push_back(name.empty() ? -1 : static_cast<int>(graph.values.size()));
    if (name.empty())
      continue;
    GraphValue value;
    value.name = name;
    value.node = static_cast<int>(graph.nodes.size());
    if (Error error = define(std::move(value), "tensors"))
      return error;
  }
  graph.nodes.push_back(std::move(added));
  return Error::success();
}

Error Numbering::addOutputs() {
  StringSet<> seen;
  for (const OnnxValue &output : file.outputs) {
    auto found = numbers.find(output.name);
    if (found == numbers.end())
      return importError("the graph's output `" + shown(output.name) + "` is given by no node");
    if (!seen.insert(output.name).second)
      return importError("the graph has two outputs `" + shown(output.name) + "`");
    graph.outputs.push_back(found->second);
  }
  return graph.outputs.empty() ? importError("the graph has no output") : Error::success();
}

Error Numbering::run() {
  if (Error error = addConstants())
    return error;
  for (const OnnxValue &input : file.inputs)
    if (Error error = addInput(input))
      return error;
  for (const OnnxValue &past : file.pasts)
    if (Error error = addPast(past))
      return error;
  for (const OnnxNode &node : file.nodes)
    if (Error error = addNode(node))
      return error;
  return addOutputs();
}

Expected<Graph> readGraph(const OnnxGraph &file, const StringMap<int64_t> &sizes,
                          TensorLoader load) {
  Graph graph;
  graph.file = &file;
  graph.opset = file.opset;
  graph.load = std::move(load);
  if (Error error = Numbering(file, sizes, graph).run())
    return std::move(error);
  fold(graph);
  return graph;
}

} // namespace attn::importer
