// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A text to diagnostics, types and declarations, and byte offsets to the protocol's positions and
// back.
#include "Document.h"

#include "compiler/frontend/format/Formatter.h"
#include "compiler/frontend/syntax/Parser.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace attn::lsp {

using namespace attn::frontend;

/// UTF-16 units of the character whose first UTF-8 byte this is; 0 for its further bytes.
static int unitsOf(char c) {
  auto byte = static_cast<unsigned char>(c);
  return (byte & 0xC0) == 0x80 ? 0 : byte >= 0xF0 ? 2 : 1;
}

Document::Document(llvm::lsp::URIForFile uri, int64_t version, std::string text)
    : uri(std::move(uri)), version(version), source(this->uri.file().str(), std::move(text)),
      found(source), file(parse(source, found)), parsed(!found.hasErrors()) {
  if (parsed)
    checkModel();
}

void Document::checkModel() {
  if (llvm::none_of(file->items, [](auto &item) { return llvm::isa<ast::ModelDecl>(*item); }))
    return;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  FrontendOptions options;
  llvm::SmallString<128> config(uri.file());
  llvm::sys::path::remove_filename(config);
  llvm::sys::path::append(config, "config.json");
  if (llvm::sys::fs::exists(config))
    options.config = config.str().str();
  options.types = &types;
  options.uses = &uses;
  buildModel(source, options, context, found);
}

const ExpressionType *Document::typeAt(uint32_t offset) const {
  const ExpressionType *best = nullptr;
  for (const ExpressionType &type : types)
    if (type.range.begin <= offset && offset <= type.range.end &&
        (!best || type.range.size() < best->range.size()))
      best = &type;
  return best;
}

llvm::lsp::Position Document::position(uint32_t offset) const {
  int column = 0;
  for (char c : source.text({source.lineAt(offset).begin, offset}))
    column += unitsOf(c);
  return {static_cast<int>(source.line(offset)) - 1, column};
}

std::vector<Declaration> Document::allDeclarations() const {
  std::vector<Declaration> all = declarations(*file, source);
  SourceRange own{0, static_cast<uint32_t>(source.text().size())};
  for (const auto &used : uses)
    for (const ast::ItemPtr &item : used->items)
      for (Declaration &declaration : declarationsOf(*item, own, source))
        if (declaration.scope.begin == own.begin) // the others are seen only there
          all.push_back(std::move(declaration));
  return all;
}

std::optional<llvm::lsp::Location> Document::location(SourceRange place) const {
  if (!source.isUsed(place.begin))
    return llvm::lsp::Location(uri, range(place));
  llvm::StringRef name = source.nameAt(place.begin);
  auto other = llvm::sys::path::is_absolute(name) ? llvm::lsp::URIForFile::fromFile(name)
                                                  : llvm::createStringError("no file");
  if (other)
    return llvm::lsp::Location(*other, range(place));
  llvm::consumeError(other.takeError());
  return std::nullopt;
}

std::string Document::placeText(uint32_t offset) const {
  return (source.nameAt(offset) + ":" + llvm::Twine(source.line(offset))).str();
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
    SourceRange place = diagnostic->range.value_or(SourceRange{});
    bool isElsewhere = source.isUsed(place.begin);
    if (isElsewhere) // shown where the first file is used
      for (const ast::ItemPtr &item : llvm::reverse(file->items))
        if (llvm::isa<ast::UseDecl>(*item))
          shown.range = range(item->range);
    if (!isElsewhere)
      shown.range = range(place);
    bool isError = diagnostic->severity == Severity::Error;
    shown.severity =
        isError ? llvm::lsp::DiagnosticSeverity::Error : llvm::lsp::DiagnosticSeverity::Warning;
    shown.source = "attn";
    shown.message = (isElsewhere ? placeText(place.begin) + ": " : "") + diagnostic->message;
    for (const std::string &line : diagnostic->lines)
      shown.message += "\n" + line;
    for (const std::string &note : diagnostic->notes)
      shown.message += "\nnote: " + note;
    for (const std::string &help : diagnostic->helps)
      shown.message += "\nhelp: " + help;
    std::vector<llvm::lsp::DiagnosticRelatedInformation> related;
    for (const Label &label : diagnostic->secondary)
      if (auto where = location(label.range))
        related.push_back({*where, label.text});
      else
        shown.message += "\nnote: " + placeText(label.range.begin) + ": " + label.text;
    shown.message = llvm::json::fixUTF8(shown.message);
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
  if (!parsed)
    return {};
  std::string text = frontend::format(*file, source);
  if (text == source.text())
    return {};
  return {{range({0, static_cast<uint32_t>(source.text().size())}), text}};
}

std::optional<llvm::lsp::Hover> Document::hover(llvm::lsp::Position position) const {
  uint32_t at = offset(position);
  std::optional<Use> use = useAt(source, at);
  std::vector<Declaration> all = allDeclarations();
  const Declaration *declaration = use ? resolve(all, *use) : nullptr;
  const ExpressionType *type = typeAt(at);
  if (!declaration && !type)
    return std::nullopt;
  llvm::lsp::Hover hover(range(declaration ? use->range : type->range));
  if (declaration)
    hover.contents.value = "```attn\n" + declaration->text + "\n```";
  if (type) {
    std::string what = source.text(type->range).str();
    bool isShort = what.size() <= 60 && what.find('\n') == std::string::npos;
    hover.contents.value += (declaration ? "\n" : "") +
                            ("`" + (isShort ? what + "`: `" : std::string()) + type->text + "`");
  }
  return hover;
}

std::vector<llvm::lsp::Location> Document::definition(llvm::lsp::Position position) const {
  std::optional<Use> use = useAt(source, offset(position));
  std::vector<Declaration> all = allDeclarations();
  const Declaration *declaration = use ? resolve(all, *use) : nullptr;
  std::optional<llvm::lsp::Location> where =
      declaration ? location(declaration->where) : std::nullopt;
  return where ? std::vector{*where} : std::vector<llvm::lsp::Location>();
}

} // namespace attn::lsp
