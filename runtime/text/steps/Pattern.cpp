// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Searches: strings by memmem, expressions by pcre2, compiled to machine code where the system
// allows it.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "text/steps/Pattern.h"
#include <cstring>
#include <pcre2.h>

using namespace attn;

/// The place of the `&&` of an intersection of sets, which pcre2 reads as two characters; SIZE_MAX
/// where there is none.
static size_t findIntersection(Slice expression) {
  int depth = 0;
  for (size_t i = 0; i + 1 < expression.size; ++i) {
    char c = expression.data[i];
    if (c == '\\')
      ++i;
    else if (c == '[')
      ++depth;
    else if (c == ']' && depth > 0)
      --depth;
    else if (c == '&' && expression.data[i + 1] == '&' && depth > 0)
      return i;
  }
  return SIZE_MAX;
}

/// Whether \p{NAME} names characters of a script, of those that share characters with others: pcre2
/// takes the shared ones, too, and Oniguruma does not.
static bool isScript(Slice rest) {
  static const char *const names[] = {"Han",    "Hiragana", "Katakana",   "Bopomofo",
                                      "Hangul", "Arabic",   "Devanagari", "Bengali",
                                      "Latin",  "Greek",    "Cyrillic"};
  for (const char *name : names) {
    size_t length = strlen(name);
    if (rest.startsWith(Slice(name)) && rest.size > length && rest.data[length] == '}')
      return true;
  }
  return false;
}

/// Appends an expression with White_Space written out for \s: pcre2 takes U+180E for one, too, and
/// Oniguruma does not. Likewise it spells scripts.
static bool appendSpelled(Slice expression, Vector<char> &to) {
  static const char spaces[] =
      R"(\t-\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
  bool isInSet = false;
  for (size_t i = 0; i < expression.size; ++i) {
    Slice taken = expression.between(i, i + 1);
    char c = expression.data[i];
    char escaped = c == '\\' && i + 1 < expression.size ? expression.data[i + 1] : char(0);
    bool isSpelled = escaped == 's' || (escaped == 'S' && !isInSet);
    if (isSpelled && !(isInSet || append(to, Slice(escaped == 's' ? "[" : "[^"))))
      return false;
    if (escaped)
      taken = isSpelled ? Slice(spaces) : expression.between(i, i + 2);
    if (!append(to, taken) || (isSpelled && !isInSet && !to.push(']')))
      return false;
    if ((escaped == 'p' || escaped == 'P') && i + 3 < expression.size &&
        expression.data[i + 2] == '{' && isScript(expression.from(i + 3))) {
      if (!append(to, Slice("{sc:")))
        return false;
      ++i;
    }
    if (!escaped)
      isInSet = c == '[' || (isInSet && c != ']');
    i += escaped != 0;
  }
  return true;
}

static pcre2_code *compileBytes(Slice expression, int &code, size_t &at) {
  return pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data), expression.size,
                       PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C | PCRE2_MULTILINE, &code,
                       &at, nullptr);
}

attn_status attn::compileRegex(Slice expression, const char *place, Pattern &pattern,
                               Error &error) {
  Text written;
  written.appendQuoted(expression.data, expression.size);
  if (size_t at = findIntersection(expression); at != SIZE_MAX)
    return error.set(
        ATTN_BAD_INPUT, "R0703",
        "%s: the regular expression `%.600s` has an intersection of sets, `&&`, at %zu, "
        "which is not read",
        place, written.c_str(), at);
  Vector<char> spelled;
  if (!appendSpelled(expression, spelled))
    return error.outOfMemory("a regular expression");
  int code = 0;
  size_t at = 0;
  pattern.kind = Pattern::Regex;
  pattern.string = expression;
  pattern.code = compileBytes(Slice(spelled), code, at);
  if (!pattern.code && code == PCRE2_ERROR_HEAP_FAILED)
    return error.outOfMemory("a regular expression");
  if (!pattern.code) {
    PCRE2_UCHAR why[128];
    pcre2_code_free(compileBytes(expression, code, at)); // where it is wrong as it was written
    pcre2_get_error_message(code, why, sizeof why);
    return error.set(ATTN_BAD_INPUT, "R0703",
                     "%s: the regular expression `%.600s` is wrong at %zu: %s", place,
                     written.c_str(), at, reinterpret_cast<char *>(why));
  }
  pcre2_jit_compile(pattern.code, PCRE2_JIT_COMPLETE); // without it the same, slower
  return ATTN_OK;
}

void attn::freeRegex(Pattern &pattern) {
  pcre2_code_free(pattern.code);
  pattern.code = nullptr;
}

Matcher::Matcher(const Pattern &pattern, Slice text) : pattern(pattern), text(text) {
  if (pattern.kind != Pattern::Regex)
    return;
  data = pcre2_match_data_create(1, nullptr);
  isFailed = data == nullptr;
}

Matcher::~Matcher() { pcre2_match_data_free(static_cast<pcre2_match_data *>(data)); }

bool Matcher::next(size_t &begin, size_t &end) {
  if (isFailed || at > text.size)
    return false;
  switch (pattern.kind) {
  case Pattern::Regex:
    return nextRegex(begin, end);
  case Pattern::String: {
    if (pattern.string.size == 0 || at == text.size)
      return false;
    const void *found =
        memmem(text.data + at, text.size - at, pattern.string.data, pattern.string.size);
    if (!found)
      return false;
    begin = size_t(static_cast<const char *>(found) - text.data);
    at = end = begin + pattern.string.size;
    return true;
  }
  case Pattern::Set:
    while (at < text.size) {
      size_t length;
      Char c = decodeUtf8(text.data + at, length);
      begin = at;
      at = end = begin + length;
      if (pattern.contains ? pattern.contains(c) : c == pattern.character)
        return true;
    }
  }
  return false;
}

bool Matcher::nextRegex(size_t &begin, size_t &end) {
  auto *match = static_cast<pcre2_match_data *>(data);
  auto subject = reinterpret_cast<PCRE2_SPTR>(text.data ? text.data : "");
  uint32_t options = PCRE2_NO_UTF_CHECK;
  int count = pcre2_match(pattern.code, subject, text.size, at, options, match, nullptr);
  if (count == PCRE2_ERROR_JIT_STACKLIMIT)
    count =
        pcre2_match(pattern.code, subject, text.size, at, options | PCRE2_NO_JIT, match, nullptr);
  if (count < 0) {
    isFailed = count != PCRE2_ERROR_NOMATCH;
    return false;
  }
  const PCRE2_SIZE *found = pcre2_get_ovector_pointer(match);
  begin = found[0];
  end = found[1] > begin ? found[1] : begin;
  at = end;
  if (begin == end) { // goes on behind the next character
    size_t length = 1;
    if (at < text.size)
      decodeUtf8(text.data + at, length);
    at += length;
  }
  return true;
}
