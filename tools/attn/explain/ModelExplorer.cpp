// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An entry's steps, block in block, to nodes whose namespaces are paths: "Gpt2Layer/attn.q.2".
#include "ModelExplorer.h"

#include "ExplanationText.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;

namespace attn::tool {

namespace {

/// Nodes that edges into a step end at, or that edges out of it begin at.
using Ids = std::vector<std::string>;

/// Where data goes into a step and comes out of it: both are the step itself, but of a block.
struct Ends {
  Ids in, out;
};

/// One entry while it becomes a graph.
class EntryGraph {
public:
  explicit EntryGraph(const json::Object &target);
  json::Object describe(std::string id, const json::Object &entry);

private:
  Ends addFunction(StringRef name, const std::string &path, const json::Array *steps);
  Ends addStep(const json::Object &step, StringRef around, const std::string &path);
  std::string addNode(const std::string &path, StringRef name, std::string label,
                      json::Array attributes);
  void connect(const Ids &from, const Ids &to);

  StringMap<const json::Object *> kernels, graphs; ///< of the target, by functions
  std::vector<json::Object> nodes;
  StringMap<size_t> numbers; ///< of nodes, by ids
  StringSet<> taken;         ///< ids and namespaces
  json::Object groups;       ///< what namespaces say of themselves
};

} // namespace

/// "attn.q" of "Gpt2Layer.attn.q" in "Gpt2Layer".
static StringRef shortName(StringRef name, StringRef around) {
  StringRef rest = name;
  return rest.consume_front(around) && rest.consume_front(".") ? rest : name;
}

static std::string joined(const std::string &path, StringRef name) {
  return path.empty() ? name.str() : path + "/" + name.str();
}

/// How often a step runs, in words.
static std::string callsText(const json::Object &step) {
  auto calls = step.getInteger("calls");
  return calls ? std::to_string(*calls) : "as often as a run decides";
}

static void addAttribute(json::Array &attributes, StringRef key, std::string value) {
  if (!value.empty())
    attributes.push_back(json::Object{{"key", key}, {"value", std::move(value)}});
}

/// What a kernel is and costs. Numbers are those of one call, but for time.
static json::Array attributesOf(const json::Object &kernel, const json::Object &step) {
  json::Array attributes;
  addAttribute(attributes, "function", memberText(kernel, "function").str());
  addAttribute(attributes, "what was done", memberText(kernel, "text").str());
  addAttribute(attributes, "place", memberText(kernel, "at").str());
  addAttribute(attributes, "calls", callsText(step));
  for (auto [member, key] : {std::pair("flop", "operations"), std::pair("bytes", "bytes")})
    if (auto number = kernel.getInteger(member))
      addAttribute(attributes, key, std::to_string(*number));
  if (auto seconds = kernel.getNumber("seconds"))
    addAttribute(attributes, "seconds of all calls", std::to_string(*seconds));
  return attributes;
}

EntryGraph::EntryGraph(const json::Object &target) {
  for (const json::Object *kernel : objects(target.getArray("kernels")))
    kernels[memberText(*kernel, "function")] = kernel;
  for (const json::Object *graph : objects(target.getArray("graphs")))
    graphs[memberText(*graph, "function")] = graph;
}

std::string EntryGraph::addNode(const std::string &path, StringRef name, std::string label,
                                json::Array attributes) {
  std::string wanted = joined(path, name), id = wanted;
  for (int number = 2; !taken.insert(id).second; ++number)
    id = wanted + " " + std::to_string(number);
  numbers[id] = nodes.size();
  nodes.push_back(json::Object{{"id", id},
                               {"label", std::move(label)},
                               {"namespace", path},
                               {"incomingEdges", json::Array()},
                               {"attrs", std::move(attributes)}});
  return id;
}

void EntryGraph::connect(const Ids &from, const Ids &to) {
  for (const std::string &end : to) {
    json::Array &edges = *nodes[numbers.lookup(end)].getArray("incomingEdges");
    for (const std::string &begin : from) {
      std::string input = std::to_string(edges.size());
      edges.push_back(json::Object{
          {"sourceNodeId", begin}, {"sourceNodeOutputId", "0"}, {"targetNodeInputId", input}});
    }
  }
}

Ends EntryGraph::addStep(const json::Object &step, StringRef around, const std::string &path) {
  StringRef function = memberText(step, "function"), name = shortName(function, around);
  if (const json::Object *kernel = kernels.lookup(function)) {
    StringRef title = memberText(*kernel, "kernel");
    std::string id =
        addNode(path, name, title.empty() ? name.str() : title.str(), attributesOf(*kernel, step));
    return {{id}, {id}};
  }
  std::string wanted = joined(path, name), inside = wanted;
  for (int number = 2; !taken.insert(inside).second; ++number)
    inside = wanted + " " + std::to_string(number);
  groups[inside] = json::Object{{"function", function}, {"calls", callsText(step)}};
  return addFunction(function, inside, step.getArray("steps"));
}

/// Without a graph of the function, its steps one after the other.
Ends EntryGraph::addFunction(StringRef name, const std::string &path, const json::Array *steps) {
  std::vector<const json::Object *> rest = objects(steps);
  const json::Object *graph = graphs.lookup(name);
  Ends whole;
  if (!graph) {
    for (auto [i, step] : enumerate(rest)) {
      Ends own = addStep(*step, name, path);
      connect(whole.out, own.in);
      if (i == 0)
        whole.in = own.in;
      whole.out = own.out;
    }
    return whole;
  }
  DenseMap<int64_t, Ends> ends;
  for (const json::Object *node : objects(graph->getArray("nodes"))) {
    Ends &own = ends[node->getInteger("id").value_or(0)];
    StringRef kind = memberText(*node, "kind"), function = memberText(*node, "function");
    if (function.empty()) {
      std::string id = addNode(path, (kind + " " + memberText(*node, "text")).str(),
                               memberText(*node, "text").str(), {});
      own = {{id}, {id}};
      if (kind == "input")
        whole.in.push_back(id);
      if (kind == "output")
        whole.out.push_back(id);
      continue;
    }
    // A step has the steps of the block that it calls.
    auto step = find_if(
        rest, [&](const json::Object *one) { return memberText(*one, "function") == function; });
    own = addStep(step == rest.end() ? *node : **step, name, path);
    if (step != rest.end())
      rest.erase(step);
  }
  for (const json::Value &value : *graph->getArray("edges")) {
    const json::Array &edge = *value.getAsArray();
    connect(ends[edge[0].getAsInteger().value_or(0)].out,
            ends[edge[1].getAsInteger().value_or(0)].in);
  }
  return whole;
}

json::Object EntryGraph::describe(std::string id, const json::Object &entry) {
  StringRef name = memberText(entry, "name");
  addFunction(name, "", entry.getArray("steps"));
  json::Array described;
  for (json::Object &node : nodes)
    described.push_back(std::move(node));
  return json::Object{{"id", std::move(id)},
                      {"nodes", std::move(described)},
                      {"groupNodeAttributes", std::move(groups)}};
}

json::Object modelExplorerGraphs(const json::Object &explanation) {
  const json::Object *model = explanation.getObject("model");
  std::vector<const json::Object *> targets = objects(explanation.getArray("targets"));
  json::Array graphs;
  for (const json::Object *target : targets)
    for (const json::Object *entry : objects(target->getArray("entries"))) {
      std::string id = memberText(*entry, "name").str();
      if (targets.size() > 1)
        id += (" for " + memberText(*target, "name")).str();
      graphs.push_back(EntryGraph(*target).describe(std::move(id), *entry));
    }
  return json::Object{{"label", model ? memberText(*model, "name") : StringRef()},
                      {"graphs", std::move(graphs)}};
}

} // namespace attn::tool
