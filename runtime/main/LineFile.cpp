// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lines found by their newlines, a megabyte at a time.
#include "main/LineFile.h"
#include <sys/stat.h>

using namespace attn;

static constexpr uint64_t pieceBytes = 1 << 20;
static constexpr int64_t linesOfMark = 1024;
static constexpr size_t mostBytes = size_t(INT32_MAX); ///< of a pipe, and of lines read together

attn_status LineFile::open(const char *path, Error &error) {
  struct stat info;
  isInMemory = strcmp(path, "-") == 0 || (stat(path, &info) == 0 && !S_ISREG(info.st_mode));
  if (isInMemory ? readFile(path, mostBytes, memory, error) : file.open(path, error))
    return error.status;
  Vector<char> piece;
  bool isInLine = false;
  for (uint64_t offset = 0; offset < size(); offset += piece.size()) {
    piece.clear();
    if (attn_status status = append(offset, piece, error))
      return status;
    for (size_t at = 0; at < piece.size();) {
      if (!isInLine && count++ % linesOfMark == 0 && !marks.push(offset + at))
        return error.outOfMemory("lines");
      auto *end = static_cast<char *>(memchr(piece.data() + at, '\n', piece.size() - at));
      isInLine = !end;
      at = end ? size_t(end - piece.data()) + 1 : piece.size();
    }
  }
  return ATTN_OK;
}

attn_status LineFile::append(uint64_t offset, Vector<char> &bytes, Error &error) const {
  uint64_t left = size() - offset, taken = left < pieceBytes ? left : pieceBytes;
  size_t before = bytes.size();
  if (isInMemory)
    return bytes.append(memory.data() + offset, taken) ? ATTN_OK : error.outOfMemory("lines");
  if (!bytes.resize(before + taken))
    return error.outOfMemory("lines");
  return file.read(offset, taken, bytes.data() + before) ? ATTN_OK : file.cannotRead(error);
}

void LineFile::seek(int64_t line) {
  bool isThere = line < count;
  position = isThere ? marks[size_t(line / linesOfMark)] : size();
  skipped = isThere ? line % linesOfMark : 0;
}

attn_status LineFile::read(int64_t wanted, Vector<char> &bytes, Vector<Slice> &lines,
                           Error &error) {
  bytes.clear();
  lines.clear();
  Vector<size_t> ends;
  size_t scanned = 0;
  for (int64_t missing = skipped + wanted; missing > 0;) {
    auto *end = static_cast<char *>(memchr(bytes.data() + scanned, '\n', bytes.size() - scanned));
    if (!end && position + bytes.size() < size()) {
      scanned = bytes.size();
      if (scanned > mostBytes)
        return error.set(ATTN_BAD_INPUT, "R0219", "%lld lines have more than %zu bytes together",
                         static_cast<long long>(wanted), mostBytes);
      if (attn_status status = append(position + scanned, bytes, error))
        return status;
      continue;
    }
    scanned = end ? size_t(end - bytes.data()) + 1 : bytes.size();
    if (!ends.push(scanned))
      return error.outOfMemory("lines");
    --missing;
  }
  Slice rest(bytes);
  for (size_t i = 0; i < ends.size(); ++i) {
    Slice line = rest.takeLine();
    if (int64_t(i) >= skipped && !lines.push(line))
      return error.outOfMemory("lines");
  }
  position += scanned;
  skipped = 0;
  return ATTN_OK;
}

attn_status LineFile::checkUnchanged(Error &error) const {
  return isInMemory ? ATTN_OK : file.checkUnchanged(error);
}
