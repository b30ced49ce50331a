// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The declarations of a document as an outline: models, blocks, entries and hooks with what is
// declared in each.
#include "Features.h"

namespace attn::lsp {

using namespace attn::frontend;
using llvm::lsp::SymbolKind;

static SymbolKind kindOf(const Declaration &declaration) {
  switch (declaration.kind) {
  case Declaration::Kind::Model:
    return SymbolKind::Module;
  case Declaration::Kind::Dim:
    return SymbolKind::Constant;
  case Declaration::Kind::Linear:
  case Declaration::Kind::Embedding:
  case Declaration::Kind::Norm:
  case Declaration::Kind::Param:
    return SymbolKind::Field;
  case Declaration::Kind::Stack:
  case Declaration::Kind::Part:
    return SymbolKind::Object;
  case Declaration::Kind::Block:
    return SymbolKind::Class;
  case Declaration::Kind::Entry:
    return SymbolKind::Method;
  case Declaration::Kind::Hook:
    return SymbolKind::Function;
  case Declaration::Kind::Cache:
    return SymbolKind::Property;
  case Declaration::Kind::Table:
    return SymbolKind::Array;
  case Declaration::Kind::Let:
  case Declaration::Kind::Input:
  case Declaration::Kind::Static:
    return SymbolKind::Variable;
  }
  llvm_unreachable("covered");
}

/// Adds the declarations from `next` on that are inside of `scope`, which come in the order of a
/// walk over the tree.
static void addSymbols(const Document &document, SourceRange scope, size_t &next,
                       std::vector<llvm::lsp::DocumentSymbol> &symbols) {
  llvm::ArrayRef<Declaration> all = document.declarations();
  while (next < all.size() && !document.checked().isUsed(all[next].where.begin)) {
    const Declaration &declaration = all[next];
    if (declaration.where.begin < scope.begin || scope.end < declaration.where.end)
      return;
    ++next;
    bool isOwner = declaration.hasBody();
    // A name in a list has its own range, so that no two symbols are in each other.
    SourceRange range = isOwner ? declaration.item->range : declaration.where;
    llvm::lsp::DocumentSymbol symbol(declaration.name, kindOf(declaration), document.range(range),
                                     document.range(declaration.where));
    symbol.detail = llvm::json::fixUTF8(declaration.text);
    if (isOwner)
      addSymbols(document, range, next, symbol.children);
    symbols.push_back(std::move(symbol));
  }
}

std::vector<llvm::lsp::DocumentSymbol> symbols(const Document &document) {
  std::vector<llvm::lsp::DocumentSymbol> all;
  size_t next = 0;
  addSymbols(document, {0, UINT32_MAX}, next, all);
  return all;
}

} // namespace attn::lsp
