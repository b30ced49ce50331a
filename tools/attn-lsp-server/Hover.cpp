// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The word under a cursor to what it is, and to the place of its declaration.
#include "Features.h"
#include "LibraryFiles.h"
#include "Place.h"
#include "Reference.h"
#include "Uses.h"

#include "compiler/frontend/syntax/Lexer.h"

namespace attn::lsp {

using namespace attn::frontend;

/// The type of the innermost expression at an offset.
static const ExpressionType *typeAt(const Document &document, uint32_t offset) {
  const ExpressionType *best = nullptr;
  for (const ExpressionType &type : document.expressionTypes())
    if (type.range.begin <= offset && offset <= type.range.end &&
        (!best || type.range.size() < best->range.size()))
      best = &type;
  return best;
}

/// The word of the text at an offset, outside of comments and strings; none where there is none.
static std::optional<SourceRange> wordAt(const Document &document, uint32_t offset) {
  DiagnosticEngine ignored(document.original());
  for (const Token &token : lex(document.original(), ignored).tokens)
    if (token.is(TokenKind::Word) && !token.inPath() && token.range.begin <= offset &&
        offset <= token.range.end)
      return token.range;
  return std::nullopt;
}

/// What an editor shows of a type: `` `y`: `[B, D]` ``.
static std::string typeText(const Document &document, const ExpressionType &type) {
  std::string what = document.checked().text(type.range).str();
  bool isShort = what.size() <= 60 && what.find('\n') == std::string::npos;
  return "`" + (isShort ? what + "`: `" : std::string()) + type.text + "`";
}

/// What the reference says of a word; its section `return` is about attentions alone.
static std::string saidOf(const Document &document, SourceRange word) {
  llvm::StringRef text = document.text().slice(word.begin, word.end);
  bool isStatement = text == "return" && placeAt(document, word.begin).scopes;
  return isStatement ? "" : referenceOf(text);
}

std::optional<llvm::lsp::Hover> hover(const Document &document, llvm::lsp::Position position) {
  uint32_t at = document.offset(position);
  std::optional<Use> use = useAt(document, at);
  const Declaration *declaration = use ? use->meaning : nullptr;
  std::optional<SourceRange> word = wordAt(document, at);
  std::string said;
  if (word && !declaration)
    said = saidOf(document, *word);
  // Of the words inside of an expression, its type is that of the first alone.
  const ExpressionType *type = typeAt(document, at);
  if (type && word && !declaration && type->range.begin != word->begin)
    type = nullptr;
  if (!declaration && !type && said.empty())
    return std::nullopt;
  llvm::lsp::Hover hover(document.range(declaration     ? use->range
                                        : !said.empty() ? *word
                                                        : type->range));
  std::string &text = hover.contents.value;
  if (declaration)
    text = "```attn\n" + declaration->text + "\n```";
  if (type)
    text += (text.empty() ? "" : "\n") + typeText(document, *type);
  if (!said.empty())
    text += (text.empty() ? "" : "\n\n") + said;
  text = llvm::json::fixUTF8(text);
  return hover;
}

/// The place in a copy of a file of the library.
static std::optional<llvm::lsp::Location> inLibrary(const Document &document, SourceRange place) {
  std::optional<std::string> path = libraryFile(document.checked().nameAt(place.begin));
  if (!path)
    return std::nullopt;
  auto uri = llvm::lsp::URIForFile::fromFile(*path);
  if (uri)
    return llvm::lsp::Location(*uri, document.range(place));
  llvm::consumeError(uri.takeError());
  return std::nullopt;
}

std::vector<llvm::lsp::Location> definition(const Document &document,
                                            llvm::lsp::Position position) {
  std::optional<Use> use = useAt(document, document.offset(position));
  if (!use || !use->meaning)
    return {};
  std::optional<llvm::lsp::Location> where = document.location(use->meaning->where);
  if (!where)
    where = inLibrary(document, use->meaning->where);
  return where ? std::vector{*where} : std::vector<llvm::lsp::Location>();
}

} // namespace attn::lsp
