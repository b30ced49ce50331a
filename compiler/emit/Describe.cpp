// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The description of a model as JSON: what `attn inspect` and `--describe` show, and what section
// .attn.description of an artifact holds.
#include "compiler/emit/Describe.h"
#include "compiler/emit/ModelInfo.h"
#include "dialect/AttnDialect.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace attn {

static llvm::json::Array describeDims(ModuleOp model) {
  llvm::json::Array dims;
  for (DimOp dim : model.getOps<DimOp>())
    dims.push_back(llvm::json::Object{{"name", dim.getSymName()},
                                      {"size", int64_t(dim.getSize())},
                                      {"dynamic", dim.getDynamic()}});
  return dims;
}

/// "1", "T" or "2*T + 1".
static std::string boundText(const AxisInfo &bound) {
  if (!bound.isDynamic())
    return std::to_string(bound.size);
  std::string text = (bound.scale == 1 ? "" : std::to_string(bound.scale) + "*") + bound.dim;
  if (bound.offset)
    text += (bound.offset < 0 ? " - " : " + ") + std::to_string(std::abs(bound.offset));
  return text;
}

static llvm::json::Object describeRange(const InputRange &range) {
  return llvm::json::Object{{"least", boundText(range.least)},
                            {"most", boundText(range.most)},
                            {"notable", llvm::json::Array(range.notable)}};
}

static llvm::json::Array describeTensors(llvm::ArrayRef<TensorInfo> tensors) {
  llvm::json::Array list;
  for (const TensorInfo &tensor : tensors) {
    llvm::json::Array axes;
    for (const AxisInfo &axis : tensor.axes)
      axes.push_back(llvm::json::Object{
          {"name", axis.name}, {"size", axis.size}, {"dynamic", axis.isDynamic()}});
    llvm::json::Object described{{"name", tensor.name},
                                 {"dtype", dtypeName(tensor.elementType)},
                                 {"axes", std::move(axes)},
                                 {"image", bool(tensor.image)},
                                 {"sound", bool(tensor.sound)}};
    if (tensor.below)
      described["below"] = tensor.below;
    if (tensor.state >= 0)
      described["state"] = true;
    if (tensor.range)
      described["random"] = describeRange(*tensor.range);
    list.push_back(std::move(described));
  }
  return list;
}

static llvm::json::Array describeCaches(llvm::ArrayRef<CacheInfo> caches) {
  llvm::json::Array list;
  for (const CacheInfo &cache : caches) {
    bool isPush = cache.use == CacheUse::Kind::Push, isFill = cache.use == CacheUse::Kind::Fill;
    list.push_back(llvm::json::Object{{"name", cache.name},
                                      {"use", isPush   ? "push"
                                              : isFill ? "fill"
                                                       : "read"},
                                      {"rows", boundText(cache.rows)}});
  }
  return list;
}

static llvm::json::Array describeEntries(ModuleOp model) {
  llvm::json::Array entries;
  for (const EntryInfo &entry : entriesOf(model)) {
    llvm::json::Object described{{"name", entry.name},
                                 {"inputs", describeTensors(entry.inputs)},
                                 {"outputs", describeTensors(entry.outputs)}};
    if (!entry.batch.empty())
      described["batch"] = entry.batch;
    if (!entry.caches.empty())
      described["caches"] = describeCaches(entry.caches);
    entries.push_back(std::move(described));
  }
  return entries;
}

/// The checkpoint's tensors, each once, by their patterns.
static llvm::json::Array describeParameters(ModuleOp model) {
  llvm::json::Array parameters;
  llvm::StringSet<> seen;
  for (ParamOp param : model.getOps<ParamOp>()) {
    SourceAttr source = param.getSource();
    if (!seen.insert(source.getPattern().getValue()).second)
      continue;
    llvm::json::Array shape;
    for (int64_t size : source.getShape())
      shape.push_back(size);
    parameters.push_back(llvm::json::Object{
        {"name", source.getPattern().getValue()},
        {"dtype", dtypeName(cast<RankedTensorType>(param.getType()).getElementType())},
        {"shape", std::move(shape)},
        {"layers", int64_t(param.getLayers().value_or(0))}});
  }
  return parameters;
}

llvm::json::Object describeModel(ModuleOp model, const CompileOptions &options) {
  llvm::json::Array targets;
  for (const CpuTarget *level : options.targets.levels)
    targets.push_back(level->name);
  for (const GpuTarget *chip : options.targets.chips)
    targets.push_back(chip->name);
  ParameterCount count = countParameters(model);
  llvm::json::Object description{{"name", modelName(model)},
                                 {"symbol", modelSymbol(model)},
                                 {"version", compilerVersion()},
                                 {"precision", stringifyPrecision(options.precision)},
                                 {"embedded", options.embedWeights},
                                 {"targets", std::move(targets)},
                                 {"dims", describeDims(model)},
                                 {"entries", describeEntries(model)},
                                 {"parameters", describeParameters(model)},
                                 {"tensors", count.tensors},
                                 {"elements", count.elements}};
  if (options.ptxas)
    description["assembler"] = options.ptxas->version;
  return description;
}

} // namespace attn
