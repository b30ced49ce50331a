// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One open spec: parsed and checked whole at every change (a spec is small), and places in it in
// the protocol's terms, whose columns count UTF-16 units from 0. What is answered about it is in
// Features.h.
#pragma once

#include "Declarations.h"
#include "compiler/frontend/Frontend.h"
#include "compiler/frontend/syntax/Diagnostics.h"
#include "llvm/Support/LSP/Protocol.h"

namespace attn::lsp {

/// An open spec with what was found in it. It is made anew for each version of the text.
class Document {
public:
  /// `before` is the version that was changed to this one, null for a text that is new.
  Document(llvm::lsp::URIForFile uri, int64_t version, std::string text,
           const Document *before = nullptr);

  /// Where it is, and the version that the client gave its text.
  const llvm::lsp::URIForFile uri;
  const int64_t version;

  /// The text, with the files that it uses behind it. Of a text with errors of syntax, the lines
  /// that have them are blank here; the places are the same.
  const frontend::SourceFile &checked() const { return blanked ? *blanked : source; }
  /// The text as it is.
  const frontend::SourceFile &original() const { return source; }
  llvm::StringRef text() const { return source.text(); }
  /// What is wrong with it: errors of syntax alone where there are any.
  const frontend::DiagnosticEngine &findings() const { return found; }
  /// The tree of the text as it is, without what did not parse.
  const frontend::ast::File &tree() const { return *file; }
  /// Whether it has no errors of syntax.
  bool isParsed() const { return !blanked; }
  /// The types of expressions, in the order in which they were found. Behind those of a text with
  /// errors of syntax stand further ones that it had before, where it is the same still.
  llvm::ArrayRef<frontend::ExpressionType> expressionTypes() const { return types; }
  /// What is declared here, and in the files that the spec uses.
  llvm::ArrayRef<Declaration> declarations() const { return declared; }
  /// The folder of a file beside the text; empty for a text that is no file.
  std::string beside(llvm::StringRef name) const;

  /// Positions and ranges of the protocol for byte offsets of this text or a used one, and back.
  llvm::lsp::Position position(uint32_t offset) const;
  llvm::lsp::Range range(frontend::SourceRange range) const;
  uint32_t offset(llvm::lsp::Position position) const;
  frontend::SourceRange bytes(llvm::lsp::Range range) const;
  /// The location of a place here or in a used file; none where that is no file, as those of the
  /// library.
  std::optional<llvm::lsp::Location> location(frontend::SourceRange range) const;
  /// `std/attention.attn:12`
  std::string placeText(uint32_t offset) const;

private:
  /// Checks what the spec means, with the `config.json` beside it; a file without a model has parts
  /// of models, which mean something only there. Findings go to `findings`.
  void checkModel(frontend::SourceFile &source, frontend::DiagnosticEngine &findings);
  /// Adds the types of the version before that are not found in this one, of parts of the text that
  /// have not changed.
  void keepTypes(const Document &before);
  /// Makes `blanked`: the text without the lines that have errors of syntax.
  void blankErrors();

  /// UTF-16 units of the text before an offset.
  uint32_t unitsBefore(uint32_t offset) const;

  frontend::SourceFile source;
  std::vector<uint32_t> blocks; ///< Those before each KiB of the text: lines may be as long as it.
  frontend::DiagnosticEngine found;
  std::unique_ptr<frontend::ast::File> file;
  std::unique_ptr<frontend::SourceFile> blanked; ///< Null for a text without errors of syntax.
  std::vector<frontend::ExpressionType> types;
  std::vector<std::unique_ptr<frontend::ast::File>> uses;
  std::vector<Declaration> declared;
};

} // namespace attn::lsp
