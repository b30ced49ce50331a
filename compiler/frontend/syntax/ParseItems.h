// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules of the file and of bodies: which items may stand where.
#pragma once

#include "compiler/frontend/syntax/ParserImpl.h"

namespace attn::frontend {

/// Where an item stands, and so which ones may stand there. Bits of a mask.
enum ItemScope : unsigned { InFile = 1, InModel = 2, InBlock = 4, InEntry = 8 };

/// A word that begins an item, where it may stand, and the rule that reads it.
struct ItemRule {
  llvm::StringLiteral word;
  unsigned scopes;
  ast::ItemPtr (*parse)(Parser &parser);
};

/// The item that a word begins; null where it begins none.
const ItemRule *findRule(const Token &token);

/// The words that begin items which may stand there.
std::vector<llvm::StringRef> itemWords(unsigned scopes);

/// `{ items }`; the place of the closing brace.
SourceRange parseBody(Parser &parser, ItemScope scope, std::vector<ast::ItemPtr> &items);

} // namespace attn::frontend
