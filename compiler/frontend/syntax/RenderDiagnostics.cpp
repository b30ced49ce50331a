// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Diagnostics as text for a person:
//
//   error[A0108]: `attn.proj` has no `->` between its axes
//     --> vit.attn:17:31
//      17 |     linear attn.proj: H, E D bias
//         |                            ^ the axes that come out
//      = help: write `H, E -> D`
//
// and as one JSON object a line. Columns are display columns: a tab is four, a wide character two.
#include "compiler/frontend/syntax/Diagnostics.h"

#include "compiler/support/Printable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Unicode.h"

namespace attn::frontend {
namespace {

constexpr unsigned tabWidth = 4;
constexpr unsigned longestLine = 140; ///< Display columns; longer lines are shown around the place.
constexpr unsigned contextBefore = 50;

/// The part around `offset` of an absurdly long line, somewhat more than is shown.
SourceRange partAround(const SourceFile &file, SourceRange line, uint32_t offset) {
  constexpr uint32_t before = 200, after = 600;
  if (line.size() <= before + after)
    return line;
  auto isInside = [&](uint32_t at) {
    return at < line.end && (file.text({at, at + 1}).front() & 0xC0) == 0x80;
  };
  SourceRange part{offset - std::min(before, offset - line.begin),
                   offset + std::min(after, line.end - offset)};
  while (part.begin < offset && isInside(part.begin))
    ++part.begin;
  while (isInside(part.end))
    ++part.end;
  return part;
}

/// A line of the source as it is shown, or a part of it, with the display column of each byte.
struct ShownLine {
  std::string text;
  std::vector<unsigned> columns; ///< Of byte i of the line; one more for the end.
  bool isCutBefore, isCutBehind; ///< It is a part.

  ShownLine(llvm::StringRef line, bool isCutBefore, bool isCutBehind)
      : isCutBefore(isCutBefore), isCutBehind(isCutBehind) {
    unsigned column = 0;
    for (size_t i = 0; i < line.size();) {
      size_t length = llvm::getNumBytesForUTF8(static_cast<llvm::UTF8>(line[i]));
      llvm::StringRef character = line.substr(i, length);
      auto bytes = reinterpret_cast<const llvm::UTF8 *>(character.data());
      bool valid = character.size() == length && llvm::isLegalUTF8Sequence(bytes, bytes + length);
      int width = valid ? llvm::sys::unicode::columnWidthUTF8(character) : -1;
      if (!valid)
        length = 1;
      columns.insert(columns.end(), length, column);
      if (line[i] == '\t') {
        text.append(tabWidth, ' ');
        column += tabWidth;
      } else if (width < 0) { // not text, or not printable
        text += "\uFFFD";
        column += 1;
      } else {
        text += character;
        column += width;
      }
      i += length;
    }
    columns.push_back(column);
  }

  unsigned column(size_t byte) const { return columns[std::min(byte, columns.size() - 1)]; }

  /// Leaves what surrounds `column`, with `…` where something was cut; for absurdly long lines.
  void cutAround(unsigned column) {
    if (columns.back() <= longestLine && !isCutBefore && !isCutBehind)
      return;
    unsigned first = column > contextBefore ? column - contextBefore : 0;
    std::string kept;
    unsigned at = 0;
    for (size_t i = 0; i < text.size() && at < first + longestLine;) {
      size_t length = llvm::getNumBytesForUTF8(static_cast<llvm::UTF8>(text[i]));
      llvm::StringRef character = llvm::StringRef(text).substr(i, length);
      if (at >= first)
        kept += character;
      at += std::max(0, llvm::sys::unicode::columnWidthUTF8(character));
      i += length;
    }
    bool hasMore = first || isCutBefore;
    text = (hasMore ? "…" : "") + kept + (at < columns.back() || isCutBehind ? "…" : "");
    for (unsigned &c : columns)
      c = std::min(c < first ? 0 : c - first + hasMore, longestLine);
  }
};

class Renderer {
public:
  Renderer(llvm::raw_ostream &os, const SourceFile &file, RenderOptions options)
      : os(os), file(file), colour(options.colour) {}

  void render(const Diagnostic &diagnostic) {
    bool isError = diagnostic.severity == Severity::Error;
    auto tone = isError ? llvm::raw_ostream::RED : llvm::raw_ostream::MAGENTA;
    paint(tone, (isError ? "error[" : "warning[") + codeText(diagnostic.code).str() + "]");
    paint(llvm::raw_ostream::SAVEDCOLOR, ": " + printable(diagnostic.message));
    os << '\n';
    if (diagnostic.range) {
      LineColumn place = file.lineAndColumn(diagnostic.range->begin);
      paint(llvm::raw_ostream::BLUE, "  --> ");
      os << printable(file.nameAt(diagnostic.range->begin)) << ':' << place.line << ':'
         << place.column << '\n';
      renderPlaces(diagnostic, tone);
    }
    for (const std::string &line : diagnostic.lines)
      os << "   " << printable(line) << '\n';
    for (const std::string &note : diagnostic.notes)
      renderRemark("note", printable(note));
    for (const Help &help : diagnostic.helps)
      renderRemark("help", printable(help.text));
  }

private:
  struct Mark {
    SourceRange range;
    llvm::StringRef text;
    bool primary;
  };

  void renderPlaces(const Diagnostic &diagnostic, llvm::raw_ostream::Colors tone) {
    std::vector<Mark> marks{{*diagnostic.range, diagnostic.label, true}};
    for (const Label &label : diagnostic.secondary)
      marks.push_back({label.range, label.text, false});
    // Places in other files come behind those in the file of the error.
    llvm::StringRef shownFile = file.nameAt(diagnostic.range->begin);
    auto isElsewhere = [&](const Mark &mark) { return file.nameAt(mark.range.begin) != shownFile; };
    llvm::sort(marks, [&](const Mark &a, const Mark &b) {
      return std::tuple(isElsewhere(a), a.range.begin, !a.primary, a.text) <
             std::tuple(isElsewhere(b), b.range.begin, !b.primary, b.text);
    });
    std::optional<uint32_t> shownLine;
    for (const Mark &mark : marks) {
      SourceRange where = file.lineAt(mark.range.begin);
      SourceRange part = partAround(file, where, mark.range.begin);
      uint32_t start = part.begin;
      ShownLine line(file.text(part), where.begin < part.begin, part.end < where.end);
      line.cutAround(line.column(mark.range.begin - start));
      if (llvm::StringRef name = file.nameAt(start); name != shownFile) {
        LineColumn place = file.lineAndColumn(mark.range.begin);
        paint(llvm::raw_ostream::BLUE, "  ::: ");
        os << printable(name) << ':' << place.line << ':' << place.column << '\n';
        shownFile = name;
      }
      if (shownLine != start || where.size() > longestLine) {
        paint(llvm::raw_ostream::BLUE, llvm::formatv("{0,5} | ", file.line(start)).str());
        os << line.text << '\n';
        shownLine = start;
      }
      // A place that goes on in later lines is underlined to the end of its first.
      unsigned begin = line.column(mark.range.begin - start);
      unsigned end = line.column(std::max(mark.range.begin, mark.range.end) - start);
      paint(llvm::raw_ostream::BLUE, "      | ");
      os.indent(begin);
      std::string underline(std::max(1u, end - begin), mark.primary ? '^' : '-');
      if (!mark.text.empty())
        underline += " " + printable(mark.text);
      paint(mark.primary ? tone : llvm::raw_ostream::CYAN, underline);
      os << '\n';
    }
  }

  void renderRemark(llvm::StringRef kind, llvm::StringRef text) {
    paint(llvm::raw_ostream::BLUE, "   = ");
    paint(llvm::raw_ostream::SAVEDCOLOR, kind.str() + ": ");
    // Further lines of a remark stand under its first.
    for (size_t i = 0; i < text.size(); ++i) {
      os << text[i];
      if (text[i] == '\n')
        os.indent(5 + kind.size() + 2);
    }
    os << '\n';
  }

  void paint(llvm::raw_ostream::Colors tone, const std::string &text) {
    if (colour)
      os << (tone == llvm::raw_ostream::RED       ? "\033[1;31m"
             : tone == llvm::raw_ostream::MAGENTA ? "\033[1;35m"
             : tone == llvm::raw_ostream::BLUE    ? "\033[34m"
             : tone == llvm::raw_ostream::CYAN    ? "\033[36m"
                                                  : "\033[1m")
         << text << "\033[0m";
    else
      os << text;
  }

  llvm::raw_ostream &os;
  const SourceFile &file;
  bool colour;
};

llvm::json::Object jsonPlace(const SourceFile &file, uint32_t offset) {
  LineColumn place = file.lineAndColumn(offset);
  return llvm::json::Object{{"line", place.line}, {"column", place.column}, {"offset", offset}};
}

llvm::json::Object jsonRange(const SourceFile &file, SourceRange range) {
  return llvm::json::Object{{"start", jsonPlace(file, range.begin)},
                            {"end", jsonPlace(file, range.end)}};
}

llvm::json::Array jsonStrings(llvm::ArrayRef<std::string> texts) {
  llvm::json::Array array;
  for (const std::string &text : texts)
    array.push_back(llvm::json::fixUTF8(text));
  return array;
}

/// The texts of all helps, and the edits of those that have one.
void addHelps(llvm::json::Object &object, const SourceFile &file, const Diagnostic &diagnostic) {
  llvm::json::Array helps, edits;
  for (const Help &help : diagnostic.helps) {
    helps.push_back(llvm::json::fixUTF8(help.text));
    if (!help.edit)
      continue;
    llvm::json::Object edit{{"help", llvm::json::fixUTF8(help.text)},
                            {"range", jsonRange(file, help.edit->range)},
                            {"text", llvm::json::fixUTF8(help.edit->text)}};
    if (llvm::StringRef name = file.nameAt(help.edit->range.begin);
        name != *object.getString("file"))
      edit["file"] = llvm::json::fixUTF8(name);
    edits.push_back(std::move(edit));
  }
  if (!helps.empty())
    object["helps"] = std::move(helps);
  if (!edits.empty())
    object["edits"] = std::move(edits);
}

} // namespace

void DiagnosticEngine::render(llvm::raw_ostream &os, RenderOptions options) const {
  Renderer renderer(os, file, options);
  bool first = true;
  for (const Diagnostic *diagnostic : sorted()) {
    if (!first)
      os << '\n';
    first = false;
    renderer.render(*diagnostic);
  }
}

std::vector<llvm::json::Object> DiagnosticEngine::toJson() const {
  std::vector<llvm::json::Object> objects;
  for (const Diagnostic *diagnostic : sorted()) {
    llvm::json::Object object{
        {"severity", diagnostic->severity == Severity::Error ? "error" : "warning"},
        {"code", codeText(diagnostic->code)},
        {"message", llvm::json::fixUTF8(diagnostic->message)},
        {"file",
         llvm::json::fixUTF8(file.nameAt(diagnostic->range ? diagnostic->range->begin : 0))}};
    if (diagnostic->range)
      object["range"] = jsonRange(file, *diagnostic->range);
    if (!diagnostic->label.empty())
      object["label"] = llvm::json::fixUTF8(diagnostic->label);
    llvm::json::Array secondary;
    for (const Label &label : diagnostic->secondary) {
      llvm::json::Object place{{"range", jsonRange(file, label.range)},
                               {"label", llvm::json::fixUTF8(label.text)}};
      if (llvm::StringRef name = file.nameAt(label.range.begin); name != *object.getString("file"))
        place["file"] = llvm::json::fixUTF8(name);
      secondary.push_back(std::move(place));
    }
    if (!secondary.empty())
      object["secondary"] = std::move(secondary);
    if (!diagnostic->lines.empty())
      object["lines"] = jsonStrings(diagnostic->lines);
    if (!diagnostic->notes.empty())
      object["notes"] = jsonStrings(diagnostic->notes);
    addHelps(object, file, *diagnostic);
    objects.push_back(std::move(object));
  }
  return objects;
}

void DiagnosticEngine::renderJson(llvm::raw_ostream &os) const {
  for (llvm::json::Object &object : toJson())
    os << llvm::json::Value(std::move(object)) << '\n';
}

} // namespace attn::frontend
