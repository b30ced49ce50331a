// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Document.h"

#include "compiler/frontend/Formatter.h"
#include "compiler/frontend/Parser.h"

namespace attn::lsp {

using namespace attn::frontend;

/// UTF-16 units of the character whose first UTF-8 byte this is; 0 for its further bytes.
static int unitsOf(char c) {
  auto byte = static_cast<unsigned char>(c);
  return (byte & 0xC0) == 0x80 ? 0 : byte >= 0xF0 ? 2 : 1;
}

Document::Document(llvm::lsp::URIForFile uri, int64_t version, std::string text)
    : uri(std::move(uri)), version(version), source(this->uri.file().str(), std::move(text)),
      found(source), file(parse(source, found)) {}

llvm::lsp::Position Document::position(uint32_t offset) const {
  unsigned line = source.line(offset);
  int column = 0;
  for (char c : source.text({source.lineStart(line), offset}))
    column += unitsOf(c);
  return {static_cast<int>(line) - 1, column};
}

llvm::lsp::Range Document::range(SourceRange range) const {
  return {position(range.begin), position(range.end)};
}

uint32_t Document::offset(llvm::lsp::Position position) const {
  if (position.line < 0)
    return 0;
  if (static_cast<unsigned>(position.line) >= source.lineCount())
    return source.text().size();
  uint32_t start = source.lineStart(position.line + 1);
  llvm::StringRef line = source.lineText(position.line + 1);
  uint32_t byte = 0;
  for (int column = 0;
       byte < line.size() && (column < position.character || unitsOf(line[byte]) == 0); ++byte)
    column += unitsOf(line[byte]);
  return start + byte;
}

llvm::json::Value Document::diagnostics() const {
  llvm::json::Array list;
  for (const Diagnostic *diagnostic : found.sorted()) {
    llvm::lsp::Diagnostic shown;
    shown.range = range(diagnostic->range.value_or(SourceRange{}));
    bool isError = diagnostic->severity == Severity::Error;
    shown.severity =
        isError ? llvm::lsp::DiagnosticSeverity::Error : llvm::lsp::DiagnosticSeverity::Warning;
    shown.source = "attn";
    shown.message = diagnostic->message;
    for (const std::string &line : diagnostic->lines)
      shown.message += "\n" + line;
    for (const std::string &note : diagnostic->notes)
      shown.message += "\nnote: " + note;
    for (const std::string &help : diagnostic->helps)
      shown.message += "\nhelp: " + help;
    shown.message = llvm::json::fixUTF8(shown.message);
    std::vector<llvm::lsp::DiagnosticRelatedInformation> related;
    for (const Label &label : diagnostic->secondary)
      related.push_back({llvm::lsp::Location(uri, range(label.range)), label.text});
    if (!related.empty())
      shown.relatedInformation = std::move(related);
    llvm::json::Value value = toJSON(shown);
    value.getAsObject()->insert(
        {"code", codeText(diagnostic->code)}); // the library's struct has no such field
    list.push_back(std::move(value));
  }
  return llvm::json::Object{{"uri", uri}, {"version", version}, {"diagnostics", std::move(list)}};
}

std::vector<llvm::lsp::TextEdit> Document::format() const {
  if (found.hasErrors())
    return {};
  std::string text = frontend::format(*file, source);
  if (text == source.text())
    return {};
  return {{range({0, static_cast<uint32_t>(source.text().size())}), text}};
}

std::optional<llvm::lsp::Hover> Document::hover(llvm::lsp::Position position) const {
  std::optional<Use> use = useAt(source, offset(position));
  if (!use)
    return std::nullopt;
  std::vector<Declaration> all = declarations(*file, source);
  const Declaration *declaration = resolve(all, *use);
  if (!declaration)
    return std::nullopt;
  llvm::lsp::Hover hover(range(use->range));
  hover.contents.value = "```attn\n" + declaration->text + "\n```";
  return hover;
}

std::vector<llvm::lsp::Location> Document::definition(llvm::lsp::Position position) const {
  std::optional<Use> use = useAt(source, offset(position));
  std::vector<Declaration> all = declarations(*file, source);
  const Declaration *declaration = use ? resolve(all, *use) : nullptr;
  if (!declaration)
    return {};
  return {llvm::lsp::Location(uri, range(declaration->where))};
}

} // namespace attn::lsp
