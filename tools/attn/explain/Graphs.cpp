// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The flow that the planner has noted to nodes and edges. Kernels that passes after it have put
// into one step are one node.
#include "Graphs.h"

#include "ExplanationText.h"
#include "dialect/AttnDialect.h"
#include "dialect/Attributes.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

using namespace llvm;

namespace attn::tool {

namespace {

/// The graph of one function while it is made.
class Graph {
public:
  Graph(ArrayRef<FunctionStep> steps, const GraphContext &context)
      : steps(steps), context(context), module(context.module) {}

  void addNodes(mlir::ArrayAttr flow);
  void addEdges(mlir::ArrayAttr flow);
  json::Object describe(StringRef function);

private:
  void addStep(const FunctionStep &step, mlir::DictionaryAttr node);
  std::string textOf(const FunctionStep &step, mlir::DictionaryAttr node);

  ArrayRef<FunctionStep> steps;
  const GraphContext &context;
  mlir::ModuleOp module;
  json::Array nodes;
  SmallVector<int64_t> idOf; ///< of the planner's nodes; -1 where one is no step
  json::Array edges;
};

} // namespace

/// Words for a node; long formulas are cut.
static std::string shortened(StringRef words) {
  constexpr size_t most = 48;
  return words.size() <= most ? words.str() : words.take_front(most).str() + "...";
}

std::string Graph::textOf(const FunctionStep &step, mlir::DictionaryAttr node) {
  if (step.isBlock)
    return step.function;
  for (const json::Object *kernel : objects(&context.kernels)) {
    const json::Object *facts = kernel->getObject("facts");
    if (memberText(*kernel, "function") != step.function || !facts)
      continue;
    if (StringRef mask = memberText(*facts, "mask"); !mask.empty())
      return "attention, " + shortened(mask);
    break;
  }
  auto cost = module.lookupSymbol<CostOp>(node.getAs<mlir::StringAttr>("cost"));
  return shortened(cost.getTitle());
}

void Graph::addStep(const FunctionStep &step, mlir::DictionaryAttr node) {
  json::Object described{{"id", int64_t(nodes.size())},
                         {"kind", step.isBlock ? "call" : "kernel"},
                         {"function", step.function},
                         {"text", json::fixUTF8(textOf(step, node))},
                         {"calls", nullptr}};
  if (step.calls)
    described["calls"] = *step.calls;
  nodes.push_back(std::move(described));
}

void Graph::addNodes(mlir::ArrayAttr flow) {
  size_t next = 0; // of the steps
  SmallVector<mlir::StringAttr> weights;
  for (auto node : flow.getAsRange<mlir::DictionaryAttr>()) {
    idOf.push_back(int64_t(nodes.size()));
    for (StringRef kind : {"input", "cache", "output"})
      if (auto name = node.getAs<mlir::StringAttr>(kind))
        nodes.push_back(json::Object{
            {"id", idOf.back()}, {"kind", kind}, {"text", json::fixUTF8(name.getValue())}});
    if (auto own = node.getAs<mlir::ArrayAttr>("weights"))
      for (auto slot : own.getAsRange<mlir::StringAttr>())
        if (!is_contained(weights, slot))
          weights.push_back(slot);
    if (auto cost = node.getAs<mlir::StringAttr>("cost")) {
      if (!module.lookupSymbol<CostOp>(cost))
        continue; // a part of the next step
      addStep(steps[next++], node);
      json::Array slots;
      for (mlir::StringAttr slot : weights)
        slots.push_back(slot.getValue());
      if (!slots.empty())
        (*nodes.back().getAsObject())["weights"] = std::move(slots);
      weights.clear();
    } else if (auto callee = node.getAs<mlir::StringAttr>("call")) {
      bool isStep =
          next < steps.size() && steps[next].isBlock && steps[next].function == callee.getValue();
      if (isStep)
        addStep(steps[next++], node);
      else
        idOf.back() = -1;
    }
  }
}

void Graph::addEdges(mlir::ArrayAttr flow) {
  std::map<std::tuple<int64_t, int64_t>, json::Object> joined; // of nodes that are one by now
  for (auto edge : flow.getAsRange<mlir::DictionaryAttr>()) {
    auto end = [&](StringRef name) {
      return idOf[size_t(edge.getAs<mlir::IntegerAttr>(name).getInt())];
    };
    int64_t from = end("from"), to = end("to");
    if (from < 0 || to < 0 || from == to)
      continue;
    bool isLater = edge.get("later") != nullptr;
    auto [known, isNew] = joined.try_emplace({from, to});
    json::Object &own = known->second;
    if (mlir::Attribute bytes = edge.get("bytes"))
      own["bytes"] = own.getInteger("bytes").value_or(0) + context.sizeOf(bytes);
    if (isNew && isLater)
      own["later"] = true;
    else if (!isLater)
      own.erase("later");
  }
  for (auto &[ends, edge] : joined)
    edges.push_back(json::Array{std::get<0>(ends), std::get<1>(ends), std::move(edge)});
}

json::Object Graph::describe(StringRef function) {
  return json::Object{
      {"function", function}, {"nodes", std::move(nodes)}, {"edges", std::move(edges)}};
}

json::Object describeGraph(mlir::func::FuncOp function, ArrayRef<FunctionStep> steps,
                           const GraphContext &context) {
  auto flow = function->getAttrOfType<mlir::DictionaryAttr>(attributes::flow);
  if (!flow)
    return {};
  Graph graph(steps, context);
  graph.addNodes(flow.getAs<mlir::ArrayAttr>("nodes"));
  graph.addEdges(flow.getAs<mlir::ArrayAttr>("edges"));
  return graph.describe(function.getSymName());
}

} // namespace attn::tool
