// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text that grows, on malloc: printf formats, quoted bytes of hostile files, shapes.
#pragma once

#include "base/Vector.h"

namespace attn {

/// Text under construction. Once memory is lacking it stays as it is (`failed`).
class Text {
public:
  /// Appends as printf does.
  void append(const char *format, ...) __attribute__((format(printf, 2, 3)));
  /// Appends `size` bytes; control characters, marks that turn the direction of writing and invalid
  /// UTF-8 become "\xNN", so that a hostile file cannot write to a terminal.
  void appendQuoted(const char *bytes, size_t size);
  /// The same of a text of several lines: line feeds and tabs stay.
  void appendLines(const char *bytes, size_t size);
  /// Appends "[2304, 768]".
  void appendShape(const int64_t *shape, int32_t rank);
  const char *c_str() const { return bytes.empty() ? "" : bytes.data(); }
  size_t size() const { return bytes.empty() ? 0 : bytes.size() - 1; }
  bool failed() const { return isFailed; }
  /// Says that memory was lacking for a part of it.
  void fail() { isFailed = true; }
  /// Gives the text away; null where memory was lacking.
  char *release();
  void clear() { bytes.clear(); }

private:
  void appendShown(const char *bytes, size_t size, bool isOfLines); ///< one or the other
  Vector<char> bytes;                                               // with its NUL where not empty
  bool isFailed = false;
};

} // namespace attn
