// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes of a file's graph to others.
#include "compiler/import/onnx/graph/Rewrite.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include <set>

using namespace llvm;

namespace attn::importer {

/// The tensor of a node that is a weight; null where it is none.
static const OnnxTensor *weightOf(const OnnxNode &node) {
  bool isConstant = node.type == "Constant" && (node.domain.empty() || node.domain == "ai.onnx") &&
                    node.outputs.size() == 1 && !node.outputs[0].empty();
  if (!isConstant)
    return nullptr;
  for (const OnnxAttribute &attribute : node.attributes)
    if (auto *tensor = std::get_if<OnnxTensor>(&attribute.value)) {
      bool isOne = all_of(tensor->shape, [](int64_t size) { return size == 1; });
      return attribute.name == "value" && isFloating(tensor->type) && !isOne ? tensor : nullptr;
    }
  return nullptr;
}

void liftConstants(OnnxGraph &graph) {
  llvm::erase_if(graph.nodes, [&](const OnnxNode &node) {
    const OnnxTensor *tensor = weightOf(node);
    if (!tensor)
      return false;
    OnnxTensor constant = *tensor;
    constant.name = node.outputs[0];
    graph.constants.push_back(std::move(constant));
    return true;
  });
}

//===-- codes -------------------------------------------------------------------------------===//

/// A whole number that is an attribute; 0 where there is none.
static int64_t integerOf(const OnnxNode &node, StringRef name) {
  for (const OnnxAttribute &attribute : node.attributes)
    if (attribute.name == name)
      if (auto *value = std::get_if<int64_t>(&attribute.value))
        return *value;
  return 0;
}

/// A node of one output beside another.
static OnnxNode nodeBeside(const OnnxNode &node, StringRef type, std::vector<std::string> inputs,
                           StringRef output) {
  OnnxNode made;
  made.name = node.name;
  made.type = type.str();
  made.inputs = std::move(inputs);
  made.outputs = {output.str()};
  return made;
}

void takeCodes(OnnxGraph &graph) {
  StringMap<size_t> places;
  for (auto [i, constant] : enumerate(graph.constants))
    places.try_emplace(constant.name, i);
  auto isConstant = [&](const OnnxNode &node, size_t i) {
    return i < node.inputs.size() && places.count(node.inputs[i]);
  };
  auto isGiven = [](const OnnxNode &node, size_t i) {
    return i < node.inputs.size() && !node.inputs[i].empty();
  };
  std::vector<OnnxNode> nodes;
  for (OnnxNode &node : graph.nodes) {
    bool isProduct = node.type == "MatMulNBits" && node.domain == "com.microsoft";
    if (isProduct && isConstant(node, 1) && isConstant(node, 2) &&
        (!isGiven(node, 3) || isConstant(node, 3))) {
      if (isGiven(node, 4)) {
        node.problem = "groups whose order is given (`g_idx`)";
        nodes.push_back(std::move(node));
        continue;
      }
      OnnxTensor &codes = graph.constants[places[node.inputs[1]]];
      codes.type = OnnxType::F32;
      codes.shape = {integerOf(node, "N"), integerOf(node, "K")};
      codes.bytes.clear();
      codes.isExternal = codes.isReadable = true;
      std::string turned = node.outputs[0] + ":turned", product = node.outputs[0];
      if (isGiven(node, 5))
        product += ":product";
      nodes.push_back(nodeBeside(node, "Transpose", {node.inputs[1]}, turned));
      nodes.back().attributes.push_back({"perm", std::vector<int64_t>{1, 0}});
      nodes.push_back(nodeBeside(node, "MatMul", {node.inputs[0], turned}, product));
      if (isGiven(node, 5))
        nodes.push_back(nodeBeside(node, "Add", {product, node.inputs[5]}, node.outputs[0]));
      continue;
    }
    bool isLinear = node.type == "DequantizeLinear" && isConstant(node, 0) && isConstant(node, 1) &&
                    (!isGiven(node, 2) || isConstant(node, 2));
    constexpr auto unsigned8 = OnnxType(2), signed8 = OnnxType(3);
    OnnxType type = isLinear ? graph.constants[places[node.inputs[0]]].type : OnnxType::None;
    if ((type == unsigned8 || type == signed8) && integerOf(node, "block_size") == 0) {
      OnnxTensor numbers = graph.constants[places[node.inputs[0]]];
      numbers.name = node.outputs[0];
      numbers.type = OnnxType::F32;
      numbers.isExternal = numbers.isReadable = true;
      graph.constants.push_back(std::move(numbers));
      continue;
    }
    nodes.push_back(std::move(node));
  }
  graph.nodes = std::move(nodes);
}

//===-- branches ----------------------------------------------------------------------------===//

/// Appends the nodes of a branch, whose own values are called after the `If`.
static void appendBranch(const OnnxNode &choice, const OnnxGraph &branch, OnnxGraph &file) {
  std::string prefix = choice.outputs.empty() ? choice.name : choice.outputs[0];
  StringMap<std::string> renamed;
  auto rename = [&](const std::string &name) {
    if (!name.empty())
      renamed[name] = prefix + "/" + name;
  };
  for (const OnnxTensor &constant : branch.constants) {
    rename(constant.name);
    OnnxTensor &own = file.constants.emplace_back(constant);
    own.name = renamed[constant.name];
    own.isInBranch = true;
  }
  for (const OnnxNode &node : branch.nodes)
    for_each(node.outputs, rename);
  auto newName = [&](const std::string &name) {
    auto found = renamed.find(name);
    return found == renamed.end() ? name : found->second;
  };
  for (const OnnxNode &node : branch.nodes) {
    OnnxNode &own = file.nodes.emplace_back(node);
    transform(own.inputs, own.inputs.begin(), newName);
    transform(own.outputs, own.outputs.begin(), newName);
    for (OnnxAttribute &attribute : own.attributes)
      if (auto *tensor = std::get_if<OnnxTensor>(&attribute.value))
        tensor->isInBranch = true;
  }
  for (size_t i = 0; i < choice.outputs.size() && i < branch.outputs.size(); ++i) {
    OnnxNode copy;
    copy.name = choice.name;
    copy.type = "Identity";
    copy.inputs = {newName(branch.outputs[i].name)};
    copy.outputs = {choice.outputs[i]};
    file.nodes.push_back(std::move(copy));
  }
}

/// The graph that an `If` is where its condition is known; null where it is not, or it is none.
static const OnnxGraph *knownBranch(const Graph &graph, const GraphNode &node) {
  std::optional<double> condition = node.type() == "If" && node.source->domain.empty()
                                        ? graph.number(node.input(0))
                                        : std::nullopt;
  if (!condition)
    return nullptr;
  auto *branch = node.attribute<std::shared_ptr<const OnnxGraph>>(*condition != 0 ? "then_branch"
                                                                                  : "else_branch");
  return branch ? branch->get() : nullptr;
}

bool takeKnownBranches(const Graph &graph, OnnxGraph &file) {
  std::vector<const OnnxGraph *> branches;
  for (const GraphNode &node : graph.nodes)
    branches.push_back(knownBranch(graph, node));
  if (none_of(branches, [](const OnnxGraph *branch) { return branch != nullptr; }))
    return false;
  std::vector<OnnxNode> nodes;
  nodes.swap(file.nodes);
  for (auto [node, branch] : zip(nodes, branches))
    if (branch)
      appendBranch(node, *branch, file);
    else
      file.nodes.push_back(std::move(node));
  return true;
}

//===-- shared weights ----------------------------------------------------------------------===//

namespace {

/// Counts in how many ways each weight is used, and takes those of more than one apart.
class Separation {
public:
  Separation(Graph &graph, std::vector<Operation> &operations)
      : graph(graph), operations(operations) {}
  void run();

private:
  void count();
  bool isShared(int value) const {
    auto found = uses.find(value);
    return found != uses.end() && found->second.size() > 1;
  }
  /// Adds an operation of the result so far and a weight; what it gives.
  int combine(const Operation &of, StringRef op, int value, int weight);

  Graph &graph;
  std::vector<Operation> &operations;
  std::map<int, std::set<std::string>> uses; ///< what binds each weight
  std::vector<Operation> made;
};

} // namespace

void Separation::count() {
  for (const Operation &operation : operations) {
    std::string key = std::to_string(static_cast<int>(operation.kind)) + ":" +
                      std::to_string(operation.weight.value) + ":" +
                      std::to_string(operation.bias.value) + ":" + std::to_string(operation.isRms) +
                      ":" + std::to_string(operation.eps);
    bool isNorm = operation.kind == OperationKind::Norm;
    if (isNorm && operation.weight.value >= 0)
      uses[operation.weight.value].insert(key + ":weight");
    if (operation.bias.value >= 0)
      uses[operation.bias.value].insert(key + ":bias");
    for (int input : operation.inputs)
      if (graph[input].isWeight())
        uses[input].insert("input");
  }
}

int Separation::combine(const Operation &of, StringRef op, int value, int weight) {
  Operation &added = made.emplace_back();
  added.kind = OperationKind::Formula;
  added.node = of.node;
  added.inputs = {value, weight};
  added.text = op.str();
  added.numbers = {"", ""};
  added.output = graph.add(graph[of.output].type, *graph[of.output].sizes);
  return added.output;
}

void Separation::run() {
  count();
  for (Operation &operation : operations) {
    bool isNorm = operation.kind == OperationKind::Norm,
         isKnown = isNorm || operation.kind == OperationKind::Linear;
    bool takesWeight = isNorm && isShared(operation.weight.value),
         takesBias = isKnown && (takesWeight || isShared(operation.bias.value)) &&
                     operation.bias.value >= 0;
    int weight = operation.weight.value, bias = operation.bias.value, output = operation.output;
    if (!takesWeight && !takesBias) {
      made.push_back(std::move(operation));
      continue;
    }
    if (takesWeight)
      operation.weight = {};
    operation.bias = {};
    operation.output = graph.add(graph[output].type, *graph[output].sizes);
    made.push_back(operation);
    int value = operation.output;
    if (takesWeight)
      value = combine(operation, "*", value, weight);
    if (takesBias)
      combine(operation, "+", value, bias);
    made.back().output = output;
  }
  operations = std::move(made);
}

void separateShared(Graph &graph, std::vector<Operation> &operations) {
  Separation(graph, operations).run();
}

} // namespace attn::importer
