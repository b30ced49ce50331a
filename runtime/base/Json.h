// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JSON as the headers of safetensors files, indices of shards and tokenizers hold it.
#pragma once

#include "base/Error.h"
#include "base/Slice.h"
#include "base/Text.h"

namespace attn {

/// Reads JSON (RFC 8259) from front to back, strictly: no comments, no trailing commas, UTF-8 only.
/// The first error sticks: `isGood` turns false, `problem` and `position` say what and where, and
/// every later call returns false.
class JsonReader {
public:
  JsonReader(const char *text, size_t size) : text(text), size(size) {}

  /// Objects: enterObject, then nextKey until it is false; after each key read one value.
  bool enterObject();
  bool nextKey(Vector<char> &key);
  /// The same, with the key appended as `appendString` does.
  bool appendNextKey(Vector<char> &keys);
  /// Arrays: enterArray, then nextElement until it is false; after each true read one value.
  bool enterArray();
  bool nextElement();
  /// The unescaped string with a NUL after it, not counted; strings that hold a NUL are refused.
  bool readString(Vector<char> &value);
  /// Appends the unescaped string to `value`, with nothing after it; it may hold a NUL.
  bool appendString(Vector<char> &value);
  /// An integer of 0 to 2^63 - 1, without sign, fraction or exponent.
  bool readSize(int64_t &value);
  /// Passes over a number; it stands between the position before, behind white space, and after.
  bool skipNumber();
  /// Takes `true`, `false` or `null`, whichever `word` is.
  bool skipWord(const char *word);
  /// Any value, down to a depth of 32.
  bool skipValue();
  /// True where only white space is left.
  bool atEnd();
  /// The next character that is not white space, 0 at the end.
  char peek();

  /// Whether there has been no error.
  bool isGood() const { return problem == nullptr; }
  /// Makes this the first error unless there is one; returns false.
  bool fail(const char *why);

  const char *problem = nullptr;
  size_t position = 0;

private:
  /// Takes the next character that is not white space, which has to be `c`.
  bool expect(char c);
  /// Takes what stands before a key; false, without an error, at the end of the object.
  bool beginKey();
  /// Takes the characters of a string up to its end, which is passed, too.
  bool takeString(Vector<char> &value, bool allowsNul);
  /// Takes what follows a backslash in a string, and appends it as UTF-8.
  bool readEscape(Vector<char> &value, bool allowsNul);
  /// Takes the four hexadecimal digits of \u.
  bool readHex(unsigned &code);

  const char *text;
  size_t size;
  /// Whether the object or array entered last has had no element yet.
  bool isFirst = false;
  int depth = 0;
};

/// The letter behind a backslash that stands for a character in a string of JSON; 0 where there is
/// none.
char jsonLetter(uint32_t c);

/// Appends a text as a string of JSON, in quotes, with U+FFFD for what is not UTF-8; false where
/// memory is lacking.
bool appendJsonString(Slice text, Vector<char> &json);
void appendJsonString(Text &text, const char *value); ///< The same, as `append` of texts.

} // namespace attn
