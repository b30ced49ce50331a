// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text of one spec, and places in it. Everything in the front end speaks of places as byte
// offsets; lines and columns are computed only where a person or an editor reads them.
#ifndef ATTN_COMPILER_FRONTEND_SOURCEFILE_H
#define ATTN_COMPILER_FRONTEND_SOURCEFILE_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>
#include <vector>

namespace attn::frontend {

/// Bytes [begin, end) of a source file.
struct SourceRange {
  uint32_t begin = 0;
  uint32_t end = 0;

  uint32_t size() const { return end - begin; }
  bool empty() const { return end <= begin; }
  /// The smallest range that covers both.
  SourceRange to(SourceRange last) const { return {begin, last.end > begin ? last.end : end}; }
};

/// A place as people count it: both start at 1, `column` counts characters (UTF-8 code points), a
/// tab is one.
struct LineColumn {
  unsigned line = 1;
  unsigned column = 1;
};

/// The text of a spec and its line table. `name` is what diagnostics print, as the user wrote it.
class SourceFile {
public:
  SourceFile(std::string name, std::string text);

  llvm::StringRef name() const { return fileName; }
  llvm::StringRef text() const { return contents; }
  llvm::StringRef text(SourceRange range) const { return text().slice(range.begin, range.end); }

  /// Line and column of a byte offset; an offset past the end counts as the end.
  LineColumn lineAndColumn(uint32_t offset) const;
  /// Line number (from 1) of a byte offset.
  unsigned line(uint32_t offset) const;
  unsigned lineCount() const { return lineStarts.size(); }
  /// Offset of the first byte of a line (from 1).
  uint32_t lineStart(unsigned line) const { return lineStarts[line - 1]; }
  /// The text of a line (from 1) without its line ending.
  llvm::StringRef lineText(unsigned line) const;

private:
  std::string fileName;
  std::string contents;
  std::vector<uint32_t> lineStarts;
};

} // namespace attn::frontend

#endif // ATTN_COMPILER_FRONTEND_SOURCEFILE_H
