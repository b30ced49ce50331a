// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Concat(past, new) whose result is an output -> Push(new).
#include "compiler/import/onnx/graph/Caches.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;

namespace attn::importer {

namespace {

/// Finds the caches of a graph. It is used once.
class CacheSearch {
public:
  CacheSearch(OnnxGraph &graph, StringMap<int64_t> &sizes) : graph(graph), sizes(sizes) {}
  void run();

private:
  /// The node that gives a value; null where none does.
  OnnxNode *giverOf(StringRef value) {
    auto found = givers.find(value);
    return found == givers.end() ? nullptr : &graph.nodes[found->second];
  }
  /// The input of past keys or values that a value is, or is a part of; null where it is none.
  OnnxValue *pastOf(StringRef value);
  /// Whether a value is made of what was pushed alone, by nodes that pack it.
  bool isPresent(StringRef value, unsigned depth = 0);
  /// Whether a value is an output, or is packed into one.
  bool isGiven(StringRef value, unsigned depth = 0);
  /// Takes past inputs and present outputs out, and notes what their sizes are called.
  void takeInputs();
  /// Puts nodes in the place of masks of all positions, and of positions.
  void replaceInputs();
  /// Adds a node of one output.
  std::string add(StringRef type, std::vector<std::string> inputs, StringRef output,
                  std::vector<OnnxAttribute> attributes = {});
  /// Adds what counts the positions of the graph's first input, or says that all of them are there.
  void addPositions(const OnnxValue &input, const std::string &source);
  void addOnes(const OnnxValue &input, const std::string &source);

  OnnxGraph &graph;
  StringMap<int64_t> &sizes;
  StringMap<size_t> givers;
  StringMap<SmallVector<size_t, 2>> takers;
  StringSet<> pasts, pushed, pastSizes, totals;
  std::vector<OnnxNode> added;
};

} // namespace

OnnxValue *CacheSearch::pastOf(StringRef value) {
  for (unsigned depth = 0; depth < 4; ++depth) {
    auto input = find_if(graph.inputs, [&](const OnnxValue &of) { return of.name == value; });
    if (input != graph.inputs.end()) {
      bool isOpen = input->shape && input->shape->size() >= 4 && isFloating(input->type) &&
                    (*input->shape)[input->shape->size() - 2].size < 0;
      return isOpen ? &*input : nullptr;
    }
    OnnxNode *giver = giverOf(value);
    bool isPart = giver && !giver->inputs.empty() &&
                  (giver->type == "Gather" || giver->type == "Squeeze" || giver->type == "Split" ||
                   giver->type == "Slice" || giver->type == "Identity");
    if (!isPart)
      return nullptr;
    value = giver->inputs[0];
  }
  return nullptr;
}

bool CacheSearch::isPresent(StringRef value, unsigned depth) {
  if (pushed.contains(value))
    return true;
  OnnxNode *giver = depth < 4 ? giverOf(value) : nullptr;
  if (!giver)
    return false;
  if (giver->type == "Unsqueeze" || giver->type == "Identity")
    return isPresent(giver->inputs[0], depth + 1);
  return giver->type == "Concat" && all_of(giver->inputs, [&](const std::string &input) {
           return isPresent(input, depth + 1);
         });
}

bool CacheSearch::isGiven(StringRef value, unsigned depth) {
  if (any_of(graph.outputs, [&](const OnnxValue &output) { return output.name == value; }))
    return true;
  auto found = takers.find(value);
  return depth < 4 && found != takers.end() &&
         any_of(
             found->second,
             [&](size_t taker) {
               const OnnxNode &node = graph.nodes[taker];
               bool packs =
                   node.type == "Unsqueeze" || node.type == "Concat" || node.type == "Identity";
               return packs && !node.outputs.empty() && isGiven(node.outputs[0], depth + 1);
             });
}

void CacheSearch::takeInputs() {
  auto note = [&](StringSet<> &names, const OnnxValue &value) {
    if (value.shape && value.shape->size() >= 4)
      names.insert((*value.shape)[value.shape->size() - 2].name);
  };
  llvm::erase_if(graph.outputs, [&](const OnnxValue &output) {
    bool isGone = isPresent(output.name);
    if (isGone)
      note(totals, output);
    return isGone;
  });
  llvm::erase_if(graph.inputs, [&](OnnxValue &input) {
    if (!pasts.contains(input.name))
      return false;
    note(pastSizes, input);
    (*input.shape)[input.shape->size() - 2] = {0, ""};
    graph.pasts.push_back(std::move(input));
    return true;
  });
  totals.erase("");
  pastSizes.erase("");
  pastSizes.insert("past");
}

std::string CacheSearch::add(StringRef type, std::vector<std::string> inputs, StringRef output,
                             std::vector<OnnxAttribute> attributes) {
  OnnxNode node;
  node.name = output.str();
  node.type = type.str();
  node.inputs = std::move(inputs);
  node.outputs = {output.str()};
  node.attributes = std::move(attributes);
  added.push_back(std::move(node));
  return output.str();
}

void CacheSearch::addOnes(const OnnxValue &input, const std::string &source) {
  OnnxTensor one;
  one.type = OnnxType::I64;
  one.shape = {1};
  one.bytes = std::string("\1\0\0\0\0\0\0\0", 8);
  std::string shape = add("Shape", {source}, input.name + ":shape",
                          {{"start", int64_t(0)}, {"end", int64_t(2)}}),
              ones = add("ConstantOfShape", {shape}, input.name + ":ones", {{"value", one}});
  add("Cast", {ones}, input.name, {{"to", static_cast<int64_t>(input.type)}});
}

void CacheSearch::addPositions(const OnnxValue &input, const std::string &source) {
  std::string shape = add("Shape", {source}, input.name + ":shape",
                          {{"start", int64_t(0)}, {"end", int64_t(2)}}),
              zero = add("Constant", {}, input.name + ":zero", {{"value_int", int64_t(0)}}),
              one = add("Constant", {}, input.name + ":one", {{"value_int", int64_t(1)}}),
              length = add("Gather", {shape, one}, input.name + ":length"),
              range = add("Range", {zero, length, one}, input.name + ":range"),
              row = add("Unsqueeze", {range}, input.name + ":row",
                        {{"axes", std::vector<int64_t>{0}}}),
              all = add("Expand", {row, shape}, input.name + ":all");
  add("Cast", {all}, input.name, {{"to", static_cast<int64_t>(input.type)}});
}

void CacheSearch::replaceInputs() {
  auto isMask = [&](const OnnxValue &input) {
    return input.shape && input.shape->size() == 2 &&
           (StringRef(input.name).contains("mask") || totals.contains((*input.shape)[1].name));
  };
  auto arePlaces = [&](const OnnxValue &input) {
    return input.shape && input.shape->size() == 2 && isInteger(input.type) &&
           StringRef(input.name).contains("position");
  };
  auto source = find_if(graph.inputs, [&](const OnnxValue &input) {
    return input.shape && input.shape->size() >= 2 && input.shape->size() <= 3 && !isMask(input) &&
           !arePlaces(input);
  });
  if (source == graph.inputs.end())
    return;
  // A decoder that was exported for one token takes any number of them.
  if ((*source->shape)[1].size == 1)
    (*source->shape)[1] = {-1, "sequence_length"};
  std::string name = source->name;
  llvm::erase_if(graph.inputs, [&](const OnnxValue &input) {
    bool isGone = input.name != name && (isMask(input) || arePlaces(input));
    if (isGone && isMask(input))
      addOnes(input, name);
    else if (isGone)
      addPositions(input, name);
    if (isGone)
      graph.assumed.push_back("`" + shown(input.name) + "` is " +
                              (isMask(input) ? "1 everywhere" : "0, 1, 2, …"));
    return isGone;
  });
}

void CacheSearch::run() {
  for (auto [i, node] : enumerate(graph.nodes)) {
    for (const std::string &output : node.outputs)
      givers.try_emplace(output, i);
    for (const std::string &input : node.inputs)
      takers[input].push_back(i);
  }
  std::vector<std::pair<OnnxNode *, std::string>> found;
  for (OnnxNode &node : graph.nodes) {
    OnnxValue *past = node.type == "Concat" && node.inputs.size() == 2 && node.outputs.size() == 1
                          ? pastOf(node.inputs[0])
                          : nullptr;
    if (past && isGiven(node.outputs[0]))
      found.push_back({&node, past->name});
  }
  if (found.empty())
    return;
  for (auto &[node, past] : found) {
    pasts.insert(past);
    pushed.insert(node->outputs[0]);
    node->type = "Push";
    node->domain = ownDomain.str();
    node->inputs = {node->inputs[1]};
    node->attributes.clear();
  }
  takeInputs();
  replaceInputs();
  graph.nodes.insert(graph.nodes.begin(), added.begin(), added.end());
  graph.capacity = 2048;
  for (const auto &name : pastSizes)
    if (auto given = sizes.find(name.first()); given != sizes.end()) {
      graph.capacity = given->second;
      sizes.erase(given);
    }
}

void takeCaches(OnnxGraph &graph, StringMap<int64_t> &sizes) { CacheSearch(graph, sizes).run(); }

} // namespace attn::importer
