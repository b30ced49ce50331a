// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parameters of a module to the tensors of a checkpoint that they are read from.
#include "Weights.h"

#include "attn/attn.h"
#include "dialect/AttnDialect.h"
#include "dialect/Locations.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringSet.h"

namespace attn::tool {

static int32_t dtypeOf(mlir::Type type) {
  if (type.isF16())
    return ATTN_F16;
  if (type.isBF16())
    return ATTN_BF16;
  if (type.isF64())
    return ATTN_F64;
  if (type.isInteger(1))
    return ATTN_BOOL;
  if (type.isInteger(32))
    return ATTN_I32;
  if (type.isInteger(64))
    return ATTN_I64;
  return ATTN_F32;
}

std::vector<WantedTensor> wantedTensors(mlir::ModuleOp model) {
  std::vector<WantedTensor> wanted;
  llvm::StringSet<> seen, multiplied;
  model.walk([&](LinearOp linear) {
    for (mlir::Value weight : linear.getWeights())
      if (auto get = weight.getDefiningOp<GetOp>())
        multiplied.insert(get.getParam());
  });
  for (ParamOp param : model.getOps<ParamOp>()) {
    SourceAttr source = param.getSource();
    if (!seen.insert(source.getPattern().getValue()).second) {
      for (WantedTensor &known : wanted)
        known.isMultiplied |= known.pattern == source.getPattern().getValue() &&
                              multiplied.contains(param.getSymName());
      continue;
    }
    WantedTensor tensor;
    tensor.pattern = source.getPattern().str();
    tensor.location = shortPlaceText(param.getLoc());
    tensor.dtype = dtypeOf(mlir::cast<mlir::RankedTensorType>(param.getType()).getElementType());
    tensor.layers = int32_t(param.getLayers().value_or(0));
    tensor.isOptional = param.getOptional();
    tensor.isMultiplied = multiplied.contains(param.getSymName());
    tensor.shape.assign(source.getShape().begin(), source.getShape().end());
    wanted.push_back(std::move(tensor));
  }
  return wanted;
}

std::vector<std::string> ignoredPatterns(mlir::ModuleOp model) {
  std::vector<std::string> patterns;
  if (auto list = model->getAttrOfType<mlir::ArrayAttr>(attributes::ignore))
    for (mlir::Attribute pattern : list)
      patterns.push_back(mlir::cast<mlir::StringAttr>(pattern).str());
  return patterns;
}

} // namespace attn::tool
