// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A text to its tree, types and declarations, and byte offsets to the protocol's positions and
// back.
#include "Document.h"

#include "compiler/frontend/syntax/Parser.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace attn::lsp {

using namespace attn::frontend;

/// UTF-16 units of the character whose first UTF-8 byte this is; 0 for its further bytes.
static int unitsOf(char c) {
  auto byte = static_cast<unsigned char>(c);
  return (byte & 0xC0) == 0x80 ? 0 : byte >= 0xF0 ? 2 : 1;
}

constexpr uint32_t unitBlock = 1024;

Document::Document(llvm::lsp::URIForFile uri, int64_t version, std::string text,
                   const Document *before)
    : uri(std::move(uri)), version(version), source(this->uri.file().str(), std::move(text)),
      found(source), file(parse(source, found)) {
  uint32_t units = 0;
  for (uint32_t at = 0, end = this->text().size(); at <= end; ++at) {
    if (at % unitBlock == 0)
      blocks.push_back(units);
    units += at < end ? unitsOf(this->text()[at]) : 0;
  }
  if (!found.hasErrors()) {
    checkModel(source, found);
  } else {
    blankErrors();
    DiagnosticEngine unsaid(*blanked); // about names that did not parse
    checkModel(*blanked, unsaid);
    if (before)
      keepTypes(*before);
  }
  declared = declarationsOf(*file, source);
  for (const auto &used : uses)
    for (Declaration &declaration : declarationsOf(*used, checked()))
      declared.push_back(std::move(declaration));
}

void Document::keepTypes(const Document &before) {
  llvm::StringRef now = text(), then = before.text();
  size_t shorter = std::min(now.size(), then.size()), front = 0, back = 0;
  while (front < shorter && now[front] == then[front])
    ++front;
  while (back < shorter - front && now[now.size() - 1 - back] == then[then.size() - 1 - back])
    ++back;
  auto key = [](SourceRange range) { return uint64_t(range.begin) << 32 | range.end; };
  llvm::DenseSet<uint64_t> known;
  for (const ExpressionType &type : types)
    known.insert(key(type.range));
  for (const ExpressionType &type : before.types) {
    // What touches the change may be another word now.
    bool isBefore = type.range.end<front, isBehind = type.range.begin> then.size() - back;
    uint32_t shift = isBefore ? 0 : now.size() - then.size();
    SourceRange range{type.range.begin + shift, type.range.end + shift};
    if ((isBefore || isBehind) && known.insert(key(range)).second)
      types.push_back({range, type.text});
  }
}

/// Makes the line of an error blank; a brace that is not closed is closed at the end instead.
static void blankError(const SourceFile &source, const Diagnostic &error, std::string &text) {
  if (error.code == DiagCode::MissingClosingBrace) {
    text += '}';
    return;
  }
  SourceRange line = source.lineAt(error.range->begin);
  for (uint32_t at = line.begin; at < line.end; ++at)
    text[at] = ' ';
}

void Document::blankErrors() {
  constexpr unsigned mostRounds = 20;
  std::string text = source.text().str();
  for (unsigned round = 0; round < mostRounds; ++round) {
    blanked = std::make_unique<SourceFile>(source.name().str(), text);
    DiagnosticEngine errors(*blanked);
    parse(*blanked, errors);
    if (!errors.hasErrors())
      return;
    for (const Diagnostic *error : errors.sorted())
      if (error->range && error->severity == Severity::Error)
        blankError(*blanked, *error, text);
  }
}

void Document::checkModel(SourceFile &source, DiagnosticEngine &findings) {
  if (llvm::none_of(file->items, [](auto &item) { return llvm::isa<ast::ModelDecl>(*item); }))
    return;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  FrontendOptions options;
  std::string config = beside("config.json");
  if (llvm::sys::fs::exists(config))
    options.config = config;
  options.types = &types;
  options.uses = &uses;
  buildModel(source, options, context, findings);
}

std::string Document::beside(llvm::StringRef name) const {
  llvm::SmallString<128> path(uri.file());
  llvm::sys::path::remove_filename(path);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

uint32_t Document::unitsBefore(uint32_t offset) const {
  uint32_t block = offset / unitBlock, units = blocks[block];
  for (char c : text().slice(block * unitBlock, offset))
    units += unitsOf(c);
  return units;
}

llvm::lsp::Position Document::position(uint32_t offset) const {
  if (offset <= text().size()) {
    uint32_t start = source.lineAt(offset).begin;
    return {static_cast<int>(source.line(offset)) - 1,
            static_cast<int>(unitsBefore(offset) - unitsBefore(start))};
  }
  int column = 0;
  for (char c : checked().text({checked().lineAt(offset).begin, offset}))
    column += unitsOf(c);
  return {static_cast<int>(checked().line(offset)) - 1, column};
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

SourceRange Document::bytes(llvm::lsp::Range range) const {
  return {offset(range.start), offset(range.end)};
}

std::optional<llvm::lsp::Location> Document::location(SourceRange place) const {
  if (!checked().isUsed(place.begin))
    return llvm::lsp::Location(uri, range(place));
  llvm::StringRef name = checked().nameAt(place.begin);
  auto other = llvm::sys::path::is_absolute(name) ? llvm::lsp::URIForFile::fromFile(name)
                                                  : llvm::createStringError("no file");
  if (other)
    return llvm::lsp::Location(*other, range(place));
  llvm::consumeError(other.takeError());
  return std::nullopt;
}

std::string Document::placeText(uint32_t offset) const {
  return (checked().nameAt(offset) + ":" + llvm::Twine(checked().line(offset))).str();
}

} // namespace attn::lsp
