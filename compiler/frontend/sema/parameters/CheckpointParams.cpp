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

/// The parameter of a name, where its block was built before; without a type after an error,
/// nothing where it is new.
static std::optional<ParamRef> knownParam(Sema &sema, llvm::StringRef key,
                                          mlir::RankedTensorType type, SourceAttr source,
                                          SourceRange range) {
  auto known = sema.checkpoint.params.find(key);
  if (known == sema.checkpoint.params.end())
    return std::nullopt;
  if (known->second.type == type && known->second.source == source)
    return known->second;
  sema.report
      .error(DiagCode::ParameterOfTwoShapes, range,
             "`" + key + "` has two shapes, since its block is applied to different sizes")
      .note("a parameter has one shape: declare it in dims of the model");
  return ParamRef();
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
  sema.checkpoint.params[key] = param;
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
  if (std::optional<ParamRef> known = knownParam(sema, key, type, source, range))
    return *known;
  auto [place, first] =
      sema.checkpoint.bindings.insert({{pattern.text, offset}, {path.str(), range}});
  const auto &[otherPath, otherRange] = place->second;
  if (!first && !sema.report.unapplied) {
    sema.report
        .error(DiagCode::SharedBinding, range,
               "`" + path + "` is bound to the tensor `" + pattern.text + "`, as `" + otherPath +
                   "` is")
        .at(otherRange, "bound to it here")
        .help("where both are one parameter, write `= tied(" +
              llvm::StringRef(otherPath).rsplit('.').first + ")`");
    return {};
  }
  return addParam(sema, key, type, source, pattern.levels, pattern.layers, optional, range);
}

ParamRef tiedParam(Sema &sema, const Owner &owner, llvm::StringRef path, llvm::ArrayRef<Axis> axes,
                   const ParamRef &target, bool optional, SourceRange range) {
  mlir::RankedTensorType type = tensorType(sema, axes, range);
  if (!type)
    return {};
  std::string key = (owner.symbolPrefix + path).str();
  if (std::optional<ParamRef> known = knownParam(sema, key, type, target.source, range))
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
