// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types: what the words of types mean, and where a tensor of each can stand. Inside of a
// model floats are f32; f16 and bf16 are what an entry takes and gives.
#include "compiler/frontend/sema/sizes/Types.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Tensors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace attn::frontend {

using namespace ast;
using mlir::Location;

static constexpr std::pair<llvm::StringLiteral, mlir::Type (*)(mlir::OpBuilder &)> dtypes[] = {
    {"f32", [](mlir::OpBuilder &builder) -> mlir::Type { return builder.getF32Type(); }},
    {"f16", [](mlir::OpBuilder &builder) -> mlir::Type { return builder.getF16Type(); }},
    {"bf16", [](mlir::OpBuilder &builder) -> mlir::Type { return builder.getBF16Type(); }},
    {"i32", [](mlir::OpBuilder &builder) -> mlir::Type { return builder.getI32Type(); }},
    {"i64", [](mlir::OpBuilder &builder) -> mlir::Type { return builder.getI64Type(); }},
    {"bool", [](mlir::OpBuilder &builder) -> mlir::Type { return builder.getI1Type(); }},
};

std::vector<llvm::StringRef> dtypeNames() {
  std::vector<llvm::StringRef> names;
  for (const auto &[word, make] : dtypes)
    names.push_back(word);
  return names;
}

/// The element type of a word of the language; null where it is none.
static mlir::Type elementOfWord(llvm::StringRef word, mlir::OpBuilder &builder) {
  for (const auto &[dtype, make] : dtypes)
    if (word == dtype)
      return make(builder);
  return nullptr;
}

mlir::Type elementType(llvm::StringRef dtype, mlir::MLIRContext *context) {
  mlir::OpBuilder builder(context);
  return dtype == "i1" ? builder.getI1Type() : elementOfWord(dtype, builder);
}

mlir::Type elementOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getElementType();
}

/// The word of the language for an element type.
static std::string wordOf(mlir::Type element) {
  if (element.isInteger(1))
    return "bool";
  std::string text;
  llvm::raw_string_ostream(text) << element;
  return text;
}

std::string showTensor(mlir::Value value) {
  mlir::Type element = elementOf(value);
  return (element.isF32() ? "" : wordOf(element)) + showAxes(axesOfValue(value));
}

mlir::Type declaredElement(mlir::OpBuilder &builder, const Type &type) {
  if (!type.word)
    return builder.getF32Type();
  return elementOfWord(type.word->text, builder);
}

std::optional<Axes> typeAxes(Sema &sema, const Type &type, llvm::StringRef what, TypePlace place) {
  bool isKnown = declaredElement(sema.builder, type) != nullptr;
  if (type.dims.empty() && isKnown) {
    std::string one = (type.word ? type.word->text : "f32") + "[1]";
    sema.report.error(DiagCode::MissingAxis, type.range, what + " has at least one axis")
        .help("write `" + one + "` for one number", Edit{type.range, one});
    return std::nullopt;
  }
  if (!type.word)
    return axesOf(sema, type.dims, type.range);
  llvm::StringRef word = type.word->text;
  if (word == "cache") {
    sema.report
        .error(DiagCode::CacheExpected, type.word->range, what + " is a tensor, and no cache")
        .note("caches are parameters of entries, blocks and `forward`");
    return std::nullopt;
  }
  mlir::Type element = declaredElement(sema.builder, type);
  if (!element) {
    Diagnostic &diagnostic = sema.report.error(DiagCode::UnknownDtype, type.word->range,
                                               "there is no dtype `" + word + "`");
    if (auto near = nearestName(word, dtypeNames()))
      diagnostic.didYouMean(*near);
    else
      diagnostic.note("the dtypes are f32, f16, bf16, i32, i64 and bool");
    return std::nullopt;
  }
  if (place == TypePlace::Param && !element.isF32()) {
    sema.report.error(DiagCode::DtypePlace, type.word->range, what + " holds f32, and no " + word)
        .note("its tensor in the checkpoint may be f32, f16 or bf16")
        .help("leave `" + word + "` out", Edit{type.word->range, ""});
    return std::nullopt;
  }
  if (place == TypePlace::Block && (element.isF16() || element.isBF16())) {
    sema.report
        .error(DiagCode::DtypePlace, type.word->range, what + " of a block cannot be " + word)
        .note("inside of a model such numbers are f32; f16 and bf16 are what an entry takes or "
              "gives")
        .help("leave `" + word + "` out", Edit{type.word->range, ""});
    return std::nullopt;
  }
  return axesOf(sema, type.dims, type.range);
}

bool readType(Sema &sema, const Type &type, std::vector<Axes> &axes,
              llvm::SmallVectorImpl<mlir::Type> &types, llvm::StringRef what, TypePlace place) {
  std::optional<Axes> own = typeAxes(sema, type, what, place);
  mlir::RankedTensorType tensor =
      own ? tensorType(sema, *own, type.range, declaredElement(sema.builder, type)) : nullptr;
  axes.push_back(own.value_or(Axes()));
  types.push_back(tensor);
  return static_cast<bool>(tensor);
}

bool isCalculable(Reporter &report, mlir::Value value, SourceRange range) {
  mlir::Type element = elementOf(value);
  if (element.isF32())
    return true;
  bool isTruth = element.isInteger(1);
  report
      .error(DiagCode::NotCalculable, range,
             isTruth ? "truth values cannot be calculated with"
                     : "this needs numbers of f32, but gets integers")
      .says("this is " + showTensor(value))
      .help(isTruth ? "`float(x)` is 1 where x holds, and 0 elsewhere; `if x then a else b` chooses"
                    : "`float(x)` makes numbers of integers");
  return false;
}

mlir::Value convert(Sema &sema, mlir::Value value, mlir::Type element, Location loc) {
  mlir::Type from = elementOf(value);
  if (from == element)
    return value;
  if (!llvm::isa<mlir::FloatType>(from) || !llvm::isa<mlir::FloatType>(element))
    return nullptr;
  auto op =
      MapOp::create(sema.builder, loc, tensorType(sema, axesOfValue(value), {}, element), value);
  mlir::Block &block = op.getBody().emplaceBlock();
  mlir::Value x = block.addArgument(from, loc);
  mlir::OpBuilder inner(&sema.mlirContext);
  inner.setInsertionPointToEnd(&block);
  bool wider = element.getIntOrFloatBitWidth() > from.getIntOrFloatBitWidth();
  mlir::Value y = wider ? mlir::arith::ExtFOp::create(inner, loc, element, x).getResult()
                        : mlir::arith::TruncFOp::create(inner, loc, element, x).getResult();
  YieldOp::create(inner, loc, y);
  return op.getResult();
}

} // namespace attn::frontend
