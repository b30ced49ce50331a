// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds lines and columns of byte offsets by a table of line starts.
#include "compiler/frontend/syntax/SourceFile.h"

#include <algorithm>

namespace attn::frontend {

constexpr size_t blockSize = 1024;

static bool beginsCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

SourceFile::SourceFile(std::string name, std::string text) : contents(std::move(text)) {
  addFile(std::move(name), 0);
}

SourceRange SourceFile::use(std::string name, llvm::StringRef text) {
  contents += '\n'; // the end of a file is not the beginning of the next
  uint32_t begin = contents.size();
  contents += text;
  return addFile(std::move(name), begin);
}

SourceRange SourceFile::addFile(std::string name, uint32_t begin) {
  files.push_back(
      {std::move(name), {begin, static_cast<uint32_t>(contents.size())}, lineStarts.size()});
  lineStarts.push_back(begin);
  // A line ends at "\n", "\r\n" or a lone "\r".
  for (uint32_t i = begin, e = contents.size(); i != e; ++i)
    if (contents[i] == '\n' || (contents[i] == '\r' && (i + 1 == e || contents[i + 1] != '\n')))
      lineStarts.push_back(i + 1);
  while (blocks.size() * blockSize <= contents.size()) {
    uint32_t count = 0;
    if (!blocks.empty()) {
      auto from = contents.begin() + (blocks.size() - 1) * blockSize;
      count = blocks.back() + std::count_if(from, from + blockSize, beginsCharacter);
    }
    blocks.push_back(count);
  }
  return files.back().range;
}

uint32_t SourceFile::charactersBefore(uint32_t offset) const {
  uint32_t block = offset / blockSize;
  auto begin = contents.begin() + block * blockSize, end = contents.begin() + offset;
  return blocks[block] + std::count_if(begin, end, beginsCharacter);
}

const SourceFile::File &SourceFile::fileAt(uint32_t offset) const {
  auto after = std::upper_bound(files.begin(), files.end(), offset,
                                [](uint32_t o, const File &file) { return o < file.range.begin; });
  return *std::prev(after);
}

size_t SourceFile::lineIndex(uint32_t offset) const {
  offset = std::min(offset, fileAt(offset).range.end);
  return std::upper_bound(lineStarts.begin(), lineStarts.end(), offset) - lineStarts.begin() - 1;
}

unsigned SourceFile::line(uint32_t offset) const {
  return lineIndex(offset) - fileAt(offset).firstLine + 1;
}

SourceRange SourceFile::lineAt(uint32_t offset) const {
  size_t line = lineIndex(offset);
  uint32_t begin = lineStarts[line], end = fileAt(offset).range.end;
  if (line + 1 < lineStarts.size())
    end = std::min(end, lineStarts[line + 1]);
  return {begin, begin + static_cast<uint32_t>(text({begin, end}).rtrim("\r\n").size())};
}

unsigned SourceFile::lineCount() const {
  return files.size() == 1 ? lineStarts.size() : files[1].firstLine;
}

LineColumn SourceFile::lineAndColumn(uint32_t offset) const {
  offset = std::min(offset, fileAt(offset).range.end);
  uint32_t start = lineStarts[lineIndex(offset)];
  return {line(offset), charactersBefore(offset) - charactersBefore(start) + 1};
}

std::optional<uint32_t> SourceFile::offsetOf(llvm::StringRef file, LineColumn place) const {
  for (const File &own : files) {
    size_t line = own.firstLine + place.line - 1;
    if (own.name != file || place.line < 1 || line >= lineStarts.size())
      continue;
    uint32_t offset = lineStarts[line];
    for (unsigned column = 1; column < place.column && offset < own.range.end; ++column)
      while (++offset < own.range.end && !beginsCharacter(contents[offset]))
        ;
    return offset;
  }
  return std::nullopt;
}

} // namespace attn::frontend
