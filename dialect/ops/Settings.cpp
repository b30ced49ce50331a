// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Settings of attn.unfold: its attribute `settings`, by the rows of attn/settings.def.
#include "dialect/Settings.h"
#include <cmath>

using namespace mlir;
using namespace attn;

llvm::ArrayRef<GenerationSetting> attn::generationSettings() {
  using Kind = GenerationSetting::Kind;
  static const GenerationSetting rows[] = {
#define ATTN_NUMBER(name, field, least, most, otherwise, expected)                                 \
  {#name, Kind::Number, least, most, otherwise, ""},
#define ATTN_WHOLE(name, field, least, most, otherwise, expected)                                  \
  {#name, Kind::Whole, least, most, otherwise, ""},
#define ATTN_CHOICE(name, field, words, otherwise, expected)                                       \
  {#name, Kind::Choice, 0, double(llvm::StringRef(words).count(',')), otherwise, words},
#define ATTN_TOKENS(name, field, count) {#name, Kind::Tokens, 0, 0, 0, ""},
#define ATTN_SEQUENCES(name, field, count) {#name, Kind::Sequences, 0, 0, 0, ""},
#include "runtime/include/attn/settings.def"
  };
  return rows;
}

const GenerationSetting *attn::findSetting(llvm::StringRef name) {
  auto rows = generationSettings();
  auto found = llvm::find_if(rows, [&](const GenerationSetting &row) { return row.name == name; });
  return found == rows.end() ? nullptr : found;
}

double attn::numberOf(UnfoldOp op, const GenerationSetting &setting) {
  auto number = op.getSettings().getAs<FloatAttr>(setting.name);
  return number ? number.getValueAsDouble() : setting.otherwise;
}

llvm::SmallVector<int64_t> attn::tokensOf(UnfoldOp op, const GenerationSetting &setting) {
  auto tokens = op.getSettings().getAs<DenseI64ArrayAttr>(setting.name);
  return tokens ? llvm::SmallVector<int64_t>(tokens.asArrayRef()) : llvm::SmallVector<int64_t>();
}

LogicalResult attn::verifySettings(UnfoldOp op) {
  for (NamedAttribute said : op.getSettings()) {
    const GenerationSetting *row = findSetting(said.getName());
    if (!row)
      return op.emitOpError("expected a setting of generation, but got ") << said.getName();
    if (row->isList()) {
      if (!isa<DenseI64ArrayAttr>(said.getValue()))
        return op.emitOpError("expected tokens for ")
               << said.getName() << ", but got " << said.getValue();
      continue;
    }
    auto number = dyn_cast<FloatAttr>(said.getValue());
    double value = number ? number.getValueAsDouble() : std::nan("");
    bool isWhole = row->kind != GenerationSetting::Kind::Number;
    bool isInRange = value >= row->least && value <= row->most; // NaN is in none
    if (!isInRange || (isWhole && std::floor(value) != value))
      return op.emitOpError("expected ")
             << (isWhole ? "a whole number" : "a number") << " from " << row->least << " to "
             << row->most << " for " << said.getName() << ", but got " << said.getValue();
  }
  return success();
}
