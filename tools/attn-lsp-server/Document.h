// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One open spec: parsed and checked whole at every change (a spec is small), and answers about it
// in the protocol's terms, whose columns count UTF-16 units from 0.
#pragma once

#include "Declarations.h"
#include "compiler/frontend/Frontend.h"
#include "compiler/frontend/syntax/Diagnostics.h"
#include "llvm/Support/LSP/Protocol.h"

namespace attn::lsp {

/// An open spec with what was found in it. It is made anew for each version of the text.
class Document {
public:
  Document(llvm::lsp::URIForFile uri, int64_t version, std::string text);

  /// The parameters of `textDocument/publishDiagnostics`.
  llvm::json::Value diagnostics() const;
  /// One edit of the whole text; none where it is formatted already or has errors.
  std::vector<llvm::lsp::TextEdit> format() const;
  std::optional<llvm::lsp::Hover> hover(llvm::lsp::Position position) const;
  std::vector<llvm::lsp::Location> definition(llvm::lsp::Position position) const;

private:
  /// Checks what the spec means, with the `config.json` beside it; a file without a model has parts
  /// of models, which mean something only there.
  void checkModel();
  /// The type of the innermost expression at an offset.
  const frontend::ExpressionType *typeAt(uint32_t offset) const;
  /// What is declared here, and in the files that the spec uses.
  std::vector<Declaration> allDeclarations() const;
  /// The location of a place here or in a used file; none where that is no file, as those of the
  /// library.
  std::optional<llvm::lsp::Location> location(frontend::SourceRange range) const;
  llvm::lsp::Position position(uint32_t offset) const;
  /// `std/attention.attn:12`
  std::string placeText(uint32_t offset) const;
  llvm::lsp::Range range(frontend::SourceRange range) const;
  uint32_t offset(llvm::lsp::Position position) const;

  llvm::lsp::URIForFile uri;
  int64_t version;
  frontend::SourceFile source;
  frontend::DiagnosticEngine found;
  std::unique_ptr<frontend::ast::File> file;
  bool parsed; ///< Without errors of syntax.
  std::vector<frontend::ExpressionType> types;
  std::vector<std::unique_ptr<frontend::ast::File>> uses;
};

} // namespace attn::lsp
