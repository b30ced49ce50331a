// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the server says of a document: a function for each request. A position where there is
// nothing has no answer, which is no error.
#pragma once

#include "Document.h"
#include "llvm/Support/Error.h"

namespace attn::lsp {

/// The parameters of `textDocument/publishDiagnostics`.
llvm::json::Value diagnostics(const Document &document);
/// The mends of what was found in a range that are edits, each a `CodeAction` that fixes it.
llvm::json::Array codeActions(const Document &document, llvm::lsp::Range range);
/// One edit of the whole text; none where it is formatted already or has errors of syntax.
std::vector<llvm::lsp::TextEdit> format(const Document &document);

/// What the word at a position is: its declaration or what the reference says of it, and the type
/// of the value.
std::optional<llvm::lsp::Hover> hover(const Document &document, llvm::lsp::Position position);
/// Where the name at a position is declared; of the library, in a copy of its file.
std::vector<llvm::lsp::Location> definition(const Document &document, llvm::lsp::Position position);
/// What may be written at a position.
llvm::lsp::CompletionList completion(const Document &document, llvm::lsp::Position position);
/// The types of the `let`s in a range, behind their names.
std::vector<llvm::lsp::InlayHint> inlayHints(const Document &document, llvm::lsp::Range range);
/// An outline: what is declared in models, blocks and entries.
std::vector<llvm::lsp::DocumentSymbol> symbols(const Document &document);
/// Where the name at a position is used, in this text.
std::vector<llvm::lsp::Location> references(const Document &document, llvm::lsp::Position position,
                                            bool withDeclaration);
/// The name at a position, where it can be another one.
std::optional<llvm::lsp::Range> renameable(const Document &document, llvm::lsp::Position position);
/// The edits that give the name at a position another text, and keep the tensors of the checkpoint
/// that are called by it. An LSPError with the reason for a name that is declared elsewhere, and
/// for a new one that is no name, is declared already or makes the spec wrong.
llvm::Expected<llvm::lsp::WorkspaceEdit> rename(const Document &document,
                                                llvm::lsp::Position position, llvm::StringRef name);
/// The names of a text by what they mean, as `SemanticTokens.data`, and what its numbers stand for.
llvm::json::Array semanticTokens(const Document &document);
llvm::json::Object semanticTokensLegend();

} // namespace attn::lsp
