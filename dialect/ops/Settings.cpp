// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Settings of attn.unfold: attributes of its definition, or `attn.<name>` beside them.
#include "dialect/Settings.h"

using namespace mlir;
using namespace attn;

llvm::ArrayRef<GenerationSetting> attn::generationSettings() {
  using Kind = GenerationSetting::Kind;
  static constexpr GenerationSetting rows[] = {
#define ATTN_NUMBER(name, field, least, most, otherwise, expected)                                 \
  {#name, Kind::Number, least, most, otherwise, ""},
#define ATTN_WHOLE(name, field, least, most, otherwise, expected)                                  \
  {#name, Kind::Whole, least, most, otherwise, ""},
#define ATTN_CHOICE(name, field, words, otherwise, expected)                                       \
  {#name, Kind::Choice, 0, 0, otherwise, words},
#define ATTN_TOKENS(name, field, count) {#name, Kind::Tokens, 0, 0, 0, ""},
#define ATTN_SEQUENCES(name, field, count) {#name, Kind::Sequences, 0, 0, 0, ""},
#include "runtime/include/attn/settings.def"
  };
  return rows;
}

static std::string besideDefinition(llvm::StringRef name) { return ("attn." + name).str(); }

static Attribute attributeOf(UnfoldOp op, llvm::StringRef name) {
  Attribute own = op->getAttr(name);
  return own ? own : op->getAttr(besideDefinition(name));
}

void attn::addNumber(UnfoldOp op, llvm::StringRef name, double value) {
  if (!op->getAttr(name))
    op->setAttr(besideDefinition(name), FloatAttr::get(Float64Type::get(op.getContext()), value));
}

void attn::addTokens(UnfoldOp op, llvm::StringRef name, llvm::ArrayRef<int64_t> tokens) {
  if (!op->getAttr(name) && !tokens.empty())
    op->setAttr(besideDefinition(name), DenseI64ArrayAttr::get(op.getContext(), tokens));
}

double attn::numberOf(UnfoldOp op, const GenerationSetting &setting) {
  Attribute attribute = attributeOf(op, setting.name);
  if (auto number = dyn_cast_or_null<FloatAttr>(attribute))
    return number.getValueAsDouble();
  if (auto number = dyn_cast_or_null<IntegerAttr>(attribute))
    return double(number.getInt());
  return setting.otherwise;
}

llvm::SmallVector<int64_t> attn::tokensOf(UnfoldOp op, const GenerationSetting &setting) {
  if (auto tokens = dyn_cast_or_null<DenseI64ArrayAttr>(attributeOf(op, setting.name)))
    return llvm::SmallVector<int64_t>(tokens.asArrayRef());
  return {};
}
