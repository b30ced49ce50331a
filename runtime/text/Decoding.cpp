// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The window of tokens that decides what a new one adds to the text.
#include "text/Decoding.h"
#include "base/Utf8.h"

using namespace attn;

/// Tokens without a complete character between them after which what there is is handed over.
static constexpr size_t longestWindow = 64;

/// Tokens with text of a prompt that what follows it depends on: four bytes of a character, and the
/// token before them.
static constexpr int64_t followed = 5;

/// Bytes up to a character that is not complete, but could be by bytes to come.
static size_t completeSize(Slice text) {
  for (size_t back = 1; back <= 3 && back <= text.size; ++back) {
    size_t at = text.size - back;
    auto byte = static_cast<unsigned char>(text.data[at]);
    if ((byte & 0xc0) == 0x80)
      continue;
    size_t whole = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 1;
    bool isBeginning = back < whole && byte < 0xf5 && invalidLength(text.data + at, back) == back;
    return isBeginning ? at : text.size;
  }
  return text.size;
}

/// Appends text as valid UTF-8 with a NUL behind it.
static bool handOver(Slice text, Vector<char> &ready) {
  ready.clear();
  for (size_t at = 0; at < text.size;) {
    size_t length = utf8Length(text.data + at, text.size - at);
    if (length ? !append(ready, Slice(text.data + at, length))
               : !append(ready, Slice("\xef\xbf\xbd")))
      return false;
    at += length ? length : invalidLength(text.data + at, text.size - at);
  }
  return ready.push(0);
}

attn_status Decoding::follow(const int32_t *ids, int64_t count, Error &error) {
  window.clear();
  whole.clear();
  handed = 0;
  // The last ones that are text; more do not change what comes behind them.
  int64_t begin = count;
  for (int64_t texts = 0; begin > 0 && texts < followed; --begin)
    texts += !isLeftOut(ids[begin - 1]);
  for (int64_t i = begin; i < count; ++i)
    if (!isLeftOut(ids[i]) && !window.push(ids[i]))
      return error.outOfMemory("a text");
  if (attn_status status =
          tokenizer.decode(window.data(), window.size(), skipsSpecial, false, whole, error)) {
    window.clear();
    return status;
  }
  handed = whole.size();
  return ATTN_OK;
}

attn_status Decoding::add(int32_t id, Error &error) {
  // It matters alone where the next one is the one before it.
  bool isBlank = tokenizer.isBlank(id);
  blank = isBlank ? id : blank;
  if (isBlank || isLeftOut(id))
    return handOver(Slice(), ready) ? ATTN_OK : error.outOfMemory("a text");
  if (!window.reserve(window.size() + 3) || (blank >= 0 && !window.push(blank)) || !window.push(id))
    return error.outOfMemory("a text");
  blank = -1;
  whole.clear();
  attn_status status =
      tokenizer.decode(window.data(), window.size(), skipsSpecial, false, whole, error);
  if (status) {
    window.pop();
    return status;
  }
  // A decoder may take spaces back; what has been handed over stays.
  size_t end = completeSize(Slice(whole));
  if (tokenizer.cleansUp)
    end -= openSpaces(Slice(whole).between(0, end));
  end = window.size() > longestWindow ? whole.size() : end;
  size_t begin = handed < end ? handed : end;
  if (!handOver(Slice(whole).between(begin, end), ready)) {
    window.pop();
    return error.outOfMemory("a text");
  }
  handed = end > handed ? end : handed;
  if (end < whole.size() || handed > end)
    return ATTN_OK;
  return shrink(id, error);
}

attn_status Decoding::shrink(int32_t last, Error &error) {
  // The last token alone tells what is behind something, or, where it has no text by itself, with
  // the first one before it.
  int32_t first = window[0];
  whole.clear();
  attn_status status = tokenizer.decode(&last, 1, skipsSpecial, false, whole, error);
  // Of delimiters between words of letters in frames the number counts.
  if (!status && whole.empty() && tokenizer.collapses && window.size() <= longestWindow)
    return ATTN_OK;
  window.clear();
  if (status)
    return status;
  if (whole.empty()) {
    const int32_t both[] = {first, last};
    if (!window.append(both, 2)) // does not fail: there was room
      return error.outOfMemory("a text");
    status = tokenizer.decode(both, 2, skipsSpecial, false, whole, error);
  } else if (!window.push(last)) {
    return error.outOfMemory("a text");
  }
  handed = whole.size();
  return status;
}

attn_status Decoding::finish(Error &error) {
  whole.clear();
  attn_status status = ATTN_OK;
  if (!window.empty())
    status = tokenizer.decode(window.data(), window.size(), skipsSpecial, false, whole, error);
  if (status)
    return status;
  size_t begin = handed < whole.size() ? handed : whole.size();
  if (!handOver(Slice(whole).from(begin), ready))
    return error.outOfMemory("a text");
  window.clear();
  handed = 0;
  return ATTN_OK;
}
