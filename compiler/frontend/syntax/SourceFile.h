// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text of one spec, and places in it. Everything in the front end speaks of places as byte
// offsets; lines and columns are computed only where a person or an editor reads them. The files
// that a spec uses stand behind it: their offsets go on where the spec's end.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attn::frontend {

/// Bytes [begin, end) of a source file.
struct SourceRange {
  uint32_t begin = 0;
  uint32_t end = 0;

  /// The number of bytes.
  uint32_t size() const { return end - begin; }
  /// Whether there are none.
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

/// Larger than any spec a person or an importer writes; keeps offsets and token counts small.
constexpr size_t largestFile = 16u << 20;

/// The text of a spec and its line table. `name` is what diagnostics print, as the user wrote it.
class SourceFile {
public:
  SourceFile(std::string name, std::string text);

  /// The name and the text of the spec itself.
  llvm::StringRef name() const { return files.front().name; }
  llvm::StringRef text() const { return text(files.front().range); }
  /// The text of a range, in this file or one that it uses.
  llvm::StringRef text(SourceRange range) const {
    return llvm::StringRef(contents).slice(range.begin, range.end);
  }

  /// Puts a file that this one uses behind all others; the range of its text.
  SourceRange use(std::string name, llvm::StringRef text);
  /// The names of this file and those that it uses, with their texts.
  std::vector<std::pair<llvm::StringRef, llvm::StringRef>> allFiles() const {
    std::vector<std::pair<llvm::StringRef, llvm::StringRef>> all;
    for (const File &file : files)
      all.push_back({file.name, text(file.range)});
    return all;
  }
  /// Bytes of all files together.
  size_t size() const { return contents.size(); }
  /// Whether an offset lies in a file that the spec uses.
  bool isUsed(uint32_t offset) const { return offset > files.front().range.end; }
  /// The name of the file that an offset lies in.
  llvm::StringRef nameAt(uint32_t offset) const { return fileAt(offset).name; }

  /// Line and column of a byte offset in its file; an offset past the end counts as the end.
  LineColumn lineAndColumn(uint32_t offset) const;
  /// The byte offset of a place in the file of this name; nothing where there is none.
  std::optional<uint32_t> offsetOf(llvm::StringRef file, LineColumn place) const;
  /// Line number (from 1) of a byte offset in its file.
  unsigned line(uint32_t offset) const;
  /// The line that an offset lies in, without its line ending.
  SourceRange lineAt(uint32_t offset) const;
  /// The number of lines of this file, without those of the files it uses.
  unsigned lineCount() const;
  /// Offset of the first byte of a line (from 1) of this file.
  uint32_t lineStart(unsigned line) const { return lineStarts[line - 1]; }
  /// The text of a line (from 1) of this file without its line ending.
  llvm::StringRef lineText(unsigned line) const { return text(lineAt(lineStart(line))); }

private:
  /// One of the files, and where its text lies among all.
  struct File {
    std::string name;
    SourceRange range;
    size_t firstLine; ///< In `lineStarts`.
  };
  /// The text from `begin` on is that of another file.
  SourceRange addFile(std::string name, uint32_t begin);
  const File &fileAt(uint32_t offset) const;
  /// In `lineStarts`, of the line that an offset lies in.
  size_t lineIndex(uint32_t offset) const;

  /// How many characters of all files stand before an offset.
  uint32_t charactersBefore(uint32_t offset) const;

  std::string contents; ///< Of all files.
  /// The characters before each KiB of `contents`: lines may be as long as a file.
  std::vector<uint32_t> blocks;
  std::vector<File> files;
  std::vector<uint32_t> lineStarts;
};

} // namespace attn::frontend
