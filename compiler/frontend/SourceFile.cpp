// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/frontend/SourceFile.h"

#include <algorithm>

namespace attn::frontend {

SourceFile::SourceFile(std::string name, std::string text)
    : fileName(std::move(name)), contents(std::move(text)), lineStarts{0} {
  // A line ends at "\n", "\r\n" or a lone "\r".
  for (uint32_t i = 0, e = contents.size(); i != e; ++i)
    if (contents[i] == '\n' || (contents[i] == '\r' && (i + 1 == e || contents[i + 1] != '\n')))
      lineStarts.push_back(i + 1);
}

unsigned SourceFile::line(uint32_t offset) const {
  offset = std::min<uint32_t>(offset, contents.size());
  return std::upper_bound(lineStarts.begin(), lineStarts.end(), offset) - lineStarts.begin();
}

LineColumn SourceFile::lineAndColumn(uint32_t offset) const {
  offset = std::min<uint32_t>(offset, contents.size());
  LineColumn place{line(offset), 1};
  for (uint32_t i = lineStart(place.line); i < offset; ++i)
    place.column +=
        (static_cast<unsigned char>(contents[i]) & 0xC0) != 0x80; // not a continuation byte
  return place;
}

llvm::StringRef SourceFile::lineText(unsigned line) const {
  uint32_t begin = lineStart(line);
  uint32_t end = line < lineStarts.size() ? lineStarts[line] : contents.size();
  return text().slice(begin, end).rtrim("\r\n");
}

} // namespace attn::frontend
