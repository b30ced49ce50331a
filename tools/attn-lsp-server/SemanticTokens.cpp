// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The names of a text by what they mean, as numbers: of each its distance from the one before in
// lines and columns, its length, its type and whether it is declared there.
#include "Features.h"
#include "Uses.h"

namespace attn::lsp {

using namespace attn::frontend;

/// The types of the protocol, in the order of the legend.
static constexpr llvm::StringLiteral tokenTypes[] = {
    "namespace", "type", "function", "class", "method", "property", "variable", "parameter"};

static llvm::StringRef tokenType(Declaration::Kind kind) {
  switch (kind) {
  case Declaration::Kind::Model:
    return "namespace";
  case Declaration::Kind::Dim:
    return "type";
  case Declaration::Kind::Linear:
  case Declaration::Kind::Embedding:
  case Declaration::Kind::Norm:
  case Declaration::Kind::Stack:
  case Declaration::Kind::Part:
  case Declaration::Kind::Hook:
    return "function";
  case Declaration::Kind::Block:
    return "class";
  case Declaration::Kind::Entry:
    return "method";
  case Declaration::Kind::Param:
  case Declaration::Kind::Cache:
  case Declaration::Kind::Table:
    return "property";
  case Declaration::Kind::Let:
    return "variable";
  case Declaration::Kind::Input:
  case Declaration::Kind::Static:
    return "parameter";
  }
  llvm_unreachable("covered");
}

llvm::json::Object semanticTokensLegend() {
  return llvm::json::Object{{"tokenTypes", llvm::json::Array(tokenTypes)},
                            {"tokenModifiers", llvm::json::Array{"declaration"}}};
}

llvm::json::Array semanticTokens(const Document &document) {
  llvm::json::Array data;
  llvm::lsp::Position last{0, 0};
  for (const Use &use : usesIn(document)) {
    llvm::lsp::Range place = document.range(use.range);
    if (!use.meaning || place.start.line != place.end.line)
      continue;
    int column = place.start.character - (place.start.line == last.line ? last.character : 0);
    const auto *type = llvm::find(tokenTypes, tokenType(use.meaning->kind));
    for (int64_t number :
         {int64_t(place.start.line - last.line), int64_t(column),
          int64_t(place.end.character - place.start.character), int64_t(type - tokenTypes),
          int64_t(use.meaning->where.begin == use.range.begin)})
      data.push_back(number);
    last = place.start;
  }
  return data;
}

} // namespace attn::lsp
