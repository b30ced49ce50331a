// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes of an ONNX file -> a spec, through all stages: constants and sizes, patterns, axes, layers,
// text.
#include "compiler/import/onnx/NodeOrder.h"
#include "compiler/import/onnx/attention/OnnxAttention.h"
#include "compiler/import/onnx/graph/Caches.h"
#include "compiler/import/onnx/graph/Contrib.h"
#include "compiler/import/onnx/graph/GraphWriter.h"
#include "compiler/import/onnx/graph/Rewrite.h"

#include "compiler/frontend/format/Formatter.h"
#include "compiler/frontend/syntax/Parser.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace attn::importer {

/// The error that lists all nodes that do not fit.
static Error misfitError(ArrayRef<Misfit> misfits) {
  std::string text = misfits.size() == 1 ? "a node does not fit:"
                                         : std::to_string(misfits.size()) + " nodes do not fit:";
  constexpr size_t most = 1000;
  for (const Misfit &misfit : misfits.take_front(most)) {
    text += "\n  ";
    if (misfit.node) {
      text += labelOf(*misfit.node->source) + ": ";
    }
    text += misfit.why;
  }
  if (misfits.size() > most)
    text += "\n  and " + std::to_string(misfits.size() - most) + " more";
  return importError(text, "`attn import` reads graphs that are made of the patterns listed in "
                           "compiler/import/README.md");
}

/// The graph of a file whose nodes have become those that patterns are made of.
static Expected<Graph> prepared(OnnxGraph &file, StringMap<int64_t> &sizes,
                                const TensorLoader &load) {
  liftConstants(file);
  takeCodes(file);
  expandContrib(file);
  takeCaches(file, sizes);
  if (Error error = sortNodes(file))
    return std::move(error);
  return readGraph(file, sizes, load);
}

/// The formatted spec of a graph. The error lists all nodes that do not fit.
static Expected<OnnxSpec> importGraph(OnnxGraph &file, StringMap<int64_t> sizes,
                                      const OnnxSource &source) {
  if (file.opset < 7 || file.opset > 25)
    return importError(file.opset == 0 ? "the model does not say which opset it uses"
                                       : "the model uses opset " + Twine(file.opset),
                       "opsets from 7 to 25 are read");
  file.stops = source.stops;
  // Of a decoder in both forms, the one that takes past keys and values.
  for (const OnnxValue &input : file.inputs)
    if (input.name == "use_cache_branch" && sizes.try_emplace(input.name, 1).second)
      file.assumed.push_back("`use_cache_branch` is true");
  Expected<Graph> graph = prepared(file, sizes, source.load);
  while (graph && takeKnownBranches(*graph, file))
    graph = prepared(file, sizes, source.load);
  if (!graph)
    return graph.takeError();
  for (const auto &size : sizes)
    if (!graph->usedSizes.contains(size.first()))
      return importError("the model has no size `" + shown(size.first()) + "`");
  std::vector<Misfit> misfits;
  std::vector<Operation> operations = matchGraph(*graph, misfits);
  if (!misfits.empty())
    return misfitError(misfits);
  separateShared(*graph, operations);
  for (int output : graph->outputs)
    if (!(*graph)[output].sizes)
      return importError("the sizes of the output `" + shown((*graph)[output].name) +
                         "` are not known");
  Axes axes(*graph, misfits);
  axes.run(operations);
  if (!misfits.empty())
    return misfitError(misfits);
  Views views(operations);
  splitPacked(*graph, operations, axes);
  std::vector<OnnxOrigin> origins;
  std::string text = GraphWriter(*graph, axes, views, std::move(operations), misfits, origins)
                         .write(source.weights);
  if (!misfits.empty())
    return misfitError(misfits);
  frontend::SourceFile spec("<import>", text);
  frontend::DiagnosticEngine diagnostics(spec);
  auto parsed = frontend::parse(spec, diagnostics);
  if (diagnostics.hasErrors())
    return importError("the graph has names that a spec cannot have");
  std::vector<std::string> notes;
  for (const std::string &assumed : file.assumed)
    notes.push_back(assumed + ", since the cache is in the place of past keys and values");
  return OnnxSpec{frontend::format(*parsed, spec), !file.constants.empty(), std::move(origins),
                  std::move(notes)};
}

/// Whether a graph is one Attention operator that computes of the graph's inputs alone.
static bool isOneAttention(const OnnxGraph &graph) {
  if (graph.nodes.size() != 1 || !graph.constants.empty())
    return false;
  const OnnxNode &node = graph.nodes.front();
  return node.type == "Attention" && (node.domain.empty() || node.domain == "ai.onnx");
}

/// A line without what the formatter may change.
static std::string withoutSpaces(StringRef line) {
  std::string text;
  for (char c : line)
    if (!isSpace(c))
      text += c;
  return text;
}

std::string OnnxSpec::nodeOf(StringRef line) const {
  std::string wanted = withoutSpaces(line);
  for (const OnnxOrigin &origin : origins)
    if (!wanted.empty() && StringRef(withoutSpaces(origin.line)).starts_with(wanted))
      return origin.node;
  return "";
}

Expected<OnnxSpec> importOnnx(StringRef bytes, const StringMap<int64_t> &sizes,
                              const OnnxSource &source) {
  auto graph = readOnnx(bytes);
  if (!graph)
    return graph.takeError();
  if (graph->nodes.empty())
    return importError("the graph has no node: it computes nothing");
  if (!isOneAttention(*graph)) {
    return importGraph(*graph, sizes, source);
  }
  auto attention = readAttention(*graph, sizes);
  if (!attention)
    return attention.takeError();
  return OnnxSpec{writeSpec(*attention), false, {}, {}};
}

} // namespace attn::importer
