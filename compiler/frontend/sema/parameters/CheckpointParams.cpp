// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A parameter's name, shape and place in the checkpoint -> attn.param, once for all that the block
// is applied to, and attn.get where it is read.
#include "compiler/frontend/sema/parameters/CheckpointParams.h"
#include "compiler/frontend/sema/Output.h"
#include "compiler/frontend/sema/parameters/LayerNames.h"
#include "compiler/frontend/sema/parameters/Params.h"
#include "compiler/frontend/sema/sizes/Tensors.h"

namespace attn::frontend {

constexpr int64_t mostTensors = 1 << 20;

/// The parameter of a name, where its block was built before; nothing where it is new.
static std::optional<ParamRef> knownParam(Sema &sema, llvm::StringRef key,
                                          mlir::RankedTensorType type, SourceAttr source) {
  for (const ParamRef &known : sema.checkpoint.params[key])
    if (known.type == type && known.source == source)
      return known;
  return std::nullopt;
}

/// Requires that no layer reads both a new parameter and one of the same name, which has another
/// shape.
static void keepApart(Sema &sema, llvm::StringRef key, const ParamRef &param, SourceRange range) {
  for (const ParamRef &other : sema.checkpoint.params[key]) {
    auto report = [&sema, key = key.str(), range] {
      sema.report
          .error(DiagCode::ParameterOfTwoShapes, range,
                 "`" + key + "` has two shapes, since its block is applied to different sizes")
          .note("a parameter has one shape: declare it in dims of the model");
    };
    if (param.levels.empty())
      return report();
    sema.checkpoint.apart.push_back({other.symbol, param.symbol, report});
  }
}

/// Requires that no layer reads both a new parameter and one that is bound to the same tensor.
static void bindTo(Sema &sema, llvm::StringRef pattern, int64_t offset,
                   const Checkpoint::Bound &param, bool isInStack) {
  std::vector<Checkpoint::Bound> &all = sema.checkpoint.bindings[{pattern.str(), offset}];
  for (const Checkpoint::Bound &other : all) {
    auto report = [&sema, pattern = pattern.str(), param, other] {
      sema.report
          .error(DiagCode::SharedBinding, param.range,
                 "`" + param.path + "` is bound to the tensor `" + pattern + "`, as `" +
                     other.path + "` is")
          .at(other.range, "bound to it here")
          .help("where both are one parameter, write `= tied(" +
                llvm::StringRef(other.path).rsplit('.').first + ")`");
    };
    if (!isInStack)
      return report();
    if (other.path != param.path || other.range.begin != param.range.begin)
      sema.checkpoint.apart.push_back({other.symbol, param.symbol, report});
  }
  all.push_back(param);
}

/// Declares a parameter that is not known yet.
static ParamRef addParam(Sema &sema, llvm::StringRef key, mlir::RankedTensorType type,
                         SourceAttr source, llvm::ArrayRef<size_t> levels, int64_t layers,
                         bool optional, SourceRange range) {
  sema.checkpoint.tensors += layers;
  if (sema.checkpoint.tensors > mostTensors) {
    sema.report.error(DiagCode::SizeOverflow, range, "the parameters of this model are too many")
        .note("a model has at most " + llvm::Twine(mostTensors) +
              " tensors, those of each layer of a stack counted");
    return {};
  }
  ParamRef param{uniqueSymbol(sema.output, key), type, llvm::SmallVector<size_t, 2>(levels),
                 source};
  headerHere(sema.output);
  mlir::OpBuilder &header = sema.output.header;
  auto op = ParamOp::create(header, locate(sema, range, key), header.getStringAttr(param.symbol),
                            mlir::TypeAttr::get(type), source,
                            levels.empty() ? mlir::IntegerAttr() : header.getI64IntegerAttr(layers),
                            optional ? header.getUnitAttr() : mlir::UnitAttr(), PrecisionAttr());
  sema.output.lastHeader = op;
  keepApart(sema, key, param, range);
  sema.checkpoint.params[key].push_back(param);
  return param;
}

ParamRef makeParam(Sema &sema, const Owner &owner, llvm::StringRef path, llvm::ArrayRef<Axis> axes,
                   llvm::StringRef name, llvm::ArrayRef<int64_t> shape, int64_t offset,
                   llvm::ArrayRef<int64_t> strides, bool optional, SourceRange range) {
  mlir::RankedTensorType type = tensorType(sema, axes, range);
  if (!type)
    return {};
  LayerPattern pattern = patternOf(owner, name);
  std::string key = (owner.symbolPrefix + path).str();
  auto source = SourceAttr::get(&sema.mlirContext, sema.output.header.getStringAttr(pattern.text),
                                shape, offset, strides);
  if (std::optional<ParamRef> known = knownParam(sema, key, type, source))
    return *known;
  ParamRef param =
      addParam(sema, key, type, source, pattern.levels, pattern.layers, optional, range);
  if (param.type && !sema.report.unapplied)
    bindTo(sema, pattern.text, offset, {path.str(), param.symbol, range}, !param.levels.empty());
  return param;
}

ParamRef tiedParam(Sema &sema, const Owner &owner, llvm::StringRef path, llvm::ArrayRef<Axis> axes,
                   const ParamRef &target, bool optional, SourceRange range) {
  mlir::RankedTensorType type = tensorType(sema, axes, range);
  if (!type)
    return {};
  std::string key = (owner.symbolPrefix + path).str();
  if (std::optional<ParamRef> known = knownParam(sema, key, type, target.source))
    return *known;
  auto tied = sema.output.module->lookupSymbol<ParamOp>(target.symbol);
  return addParam(sema, key, type, target.source, target.levels,
                  static_cast<int64_t>(tied.getLayers().value_or(1)), optional, range);
}

mlir::Value getParam(Sema &sema, const ParamRef &param, mlir::Location loc) {
  return GetOp::create(sema.builder, loc, param.type,
                       mlir::FlatSymbolRefAttr::get(&sema.mlirContext, param.symbol),
                       layerOf(sema, param.levels, loc));
}

} // namespace attn::frontend
