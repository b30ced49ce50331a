// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules of declarations and statements. Each begins at the word that begins the item.
#pragma once

#include "compiler/frontend/syntax/ParserImpl.h"

namespace attn::frontend {

/// `use`.
ast::ItemPtr parseUse(Parser &parser);

/// `model`.
ast::ItemPtr parseModel(Parser &parser);

/// `dim`.
ast::ItemPtr parseDim(Parser &parser);

/// `dyn`.
ast::ItemPtr parseDyn(Parser &parser);

/// A linear map up to its binding.
std::unique_ptr<ast::LinearDecl> parseLinearHead(Parser &parser);

/// `linear`.
ast::ItemPtr parseLinear(Parser &parser);

/// `embedding`.
ast::ItemPtr parseEmbedding(Parser &parser);

/// The groups of a `param`, `state` or `input`: names, a type, a binding.
void parseParamGroups(Parser &parser, ast::ParamDecl &param, bool inHook);

/// `param`.
ast::ItemPtr parseParam(Parser &parser);

/// `state`.
ast::ItemPtr parseState(Parser &parser);

/// `layernorm`, `rmsnorm` or `l2norm`.
ast::ItemPtr parseNorm(Parser &parser);

/// `stack`.
ast::ItemPtr parseStack(Parser &parser);

/// `part`.
ast::ItemPtr parsePart(Parser &parser);

/// `block` or `cell`.
ast::ItemPtr parseBlock(Parser &parser);

/// `ignore`.
ast::ItemPtr parseIgnore(Parser &parser);
ast::ItemPtr parseWeights(Parser &parser);

/// `precision`.
ast::ItemPtr parsePrecision(Parser &parser);

/// `image`.
ast::ItemPtr parseImage(Parser &parser);

/// `sound`.
ast::ItemPtr parseSound(Parser &parser);

/// `entry`.
ast::ItemPtr parseEntry(Parser &parser);

/// `forward`.
ast::ItemPtr parseForward(Parser &parser);

/// `cache`.
ast::ItemPtr parseCache(Parser &parser);

/// `table`.
ast::ItemPtr parseTable(Parser &parser);

/// `let`.
ast::ItemPtr parseLet(Parser &parser);

/// `return`.
ast::ItemPtr parseReturn(Parser &parser);

} // namespace attn::frontend
