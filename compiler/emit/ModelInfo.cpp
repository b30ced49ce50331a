// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/emit/ModelInfo.h"

#include "dialect/AttnDialect.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace attn {

llvm::StringRef compilerVersion() { return ATTN_VERSION; }

llvm::StringRef modelName(ModuleOp model) {
  auto name = model->getAttrOfType<StringAttr>("attn.model");
  return name ? name.getValue() : "model";
}

bool takesImage(ModuleOp model) {
  bool found = false;
  model.walk([&](FunctionOpInterface function) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      found |= function.getArgAttr(i, "attn.image") != nullptr;
  });
  return found;
}

llvm::StringRef dtypeName(Type type) {
  if (type.isF32())
    return "f32";
  if (type.isF16())
    return "f16";
  if (type.isBF16())
    return "bf16";
  if (type.isF64())
    return "f64";
  if (type.isInteger(1))
    return "bool";
  if (type.isInteger(8))
    return "u8";
  if (type.isInteger(32))
    return "i32";
  return type.isInteger(64) ? "i64" : "?";
}

/// The largest value of "B", "2*T", "T + 1" or "2*T + 1".
static int64_t largestSize(ModuleOp model, llvm::StringRef expression) {
  int64_t scale = 1, offset = 0;
  auto [product, sum] = expression.split(" + ");
  sum.getAsInteger(10, offset);
  auto [factor, dimName] = product.split('*');
  if (dimName.empty())
    dimName = factor;
  else
    factor.getAsInteger(10, scale);
  for (DimOp dim : model.getOps<DimOp>())
    if (dim.getSymName() == dimName)
      return scale * static_cast<int64_t>(dim.getSize()) + offset;
  return 0;
}

llvm::SmallVector<AxisInfo> axesOf(ModuleOp model, Type type) {
  llvm::SmallVector<AxisInfo> axes;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return axes;
  auto names = dyn_cast_or_null<AxesAttr>(tensor.getEncoding());
  for (int64_t i = 0; i < tensor.getRank(); ++i) {
    AxisInfo axis;
    axis.name = names ? names.getNames()[i].str() : std::to_string(i);
    axis.isDynamic = tensor.isDynamicDim(i);
    axis.size = axis.isDynamic ? largestSize(model, axis.name) : tensor.getDimSize(i);
    axes.push_back(std::move(axis));
  }
  return axes;
}

ParameterCount countParameters(ModuleOp model) {
  ParameterCount count;
  llvm::StringSet<> seen;
  for (ParamOp param : model.getOps<ParamOp>()) {
    SourceAttr source = param.getSource();
    if (!seen.insert(source.getPattern().getValue()).second)
      continue;
    int64_t tensors = param.getLayers().value_or(1), elements = tensors;
    for (int64_t size : source.getShape())
      elements *= size;
    count.tensors += tensors;
    count.elements += elements;
  }
  return count;
}

// A capital letter begins a word where a small letter follows it: "ViT" is one word, "FashionViT"
// two.
std::string snakeCase(llvm::StringRef name) {
  std::string text;
  for (size_t i = 0; i < name.size(); ++i) {
    bool beginsWord = llvm::isUpper(name[i]) && i + 1 < name.size() && llvm::isLower(name[i + 1]);
    if (beginsWord && i > 0 && name[i - 1] != '_')
      text += '_';
    text += llvm::toLower(name[i]);
  }
  return text;
}

} // namespace attn
