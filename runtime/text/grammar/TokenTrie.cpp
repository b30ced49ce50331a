// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tokens stand for, by the tokenizer's own decoder: what a text becomes longer by.
#include "text/grammar/TokenTrie.h"
#include "base/Sort.h"
#include <algorithm>

using namespace attn;
using namespace attn::grammar;

bool TokenTrie::isStop(int32_t token) const {
  return std::find(stops.begin(), stops.end(), token) != stops.end();
}

/// Whether a step makes of a token the same whatever stands around it, but at the beginning of a
/// text.
static bool isLocal(const Decoder &step) {
  switch (step.kind) {
  case Decoder::ByteLevel:
  case Decoder::Metaspace:
  case Decoder::ByteFallback:
  case Decoder::Fuse:
  case Decoder::Strip:
  case Decoder::Replace:
  case Decoder::Lead:
    return true;
  default:
    return false;
  }
}

/// Appends what a token stands for behind a letter; false where memory is lacking or a decoder
/// fails.
static bool appendText(const Tokenizer &tokenizer, Slice token, Strings &strings, Strings &scratch,
                       Vector<char> &to) {
  Growth growth(Growth::decoded, 16, tokenizer.decoders.size());
  strings.clear();
  if (!strings.push(Slice("a")) || !strings.push(token) ||
      !decodeStrings(tokenizer.decoders, false, strings, scratch, growth))
    return false;
  Slice text(strings.bytes);
  return append(to, text.from(text.startsWith(Slice("a")) ? 1 : 0));
}

attn_status TokenTrie::readBytes(Error &error) {
  for (const Decoder &step : tokenizer->decoders)
    if (!isLocal(step) || tokenizer->collapses)
      return error.set(ATTN_BAD_INPUT, "R0710",
                       "structured text needs a tokenizer whose tokens stand for the same "
                       "characters wherever they are; that of WordPiece, CTC or one that cleans "
                       "texts up is not one");
  if (!tokenizer->hasDecoder)
    return error.set(ATTN_BAD_INPUT, "R0710",
                     "structured text needs a tokenizer with a decoder; without one, tokens are "
                     "joined with spaces");
  Strings strings, scratch;
  size_t count = tokenizer->size();
  if (!begins.reserve(count + 1) || !begins.push(0))
    return error.outOfMemory("a vocabulary");
  for (size_t id = 0; id < count; ++id) {
    Slice token = tokenizer->token(int64_t(id));
    size_t before = bytes.size();
    bool isText = token.data && !tokenizer->added.isSpecial(int64_t(id)) && !isStop(int32_t(id)) &&
                  !(tokenizer->unknownText.data && int64_t(id) == tokenizer->model.unknown);
    if (isText && !appendText(*tokenizer, token, strings, scratch, bytes))
      return error.outOfMemory("a vocabulary");
    if (bytes.size() - before > longestToken && !bytes.resize(before))
      return error.outOfMemory("a vocabulary");
    if (!begins.push(bytes.size()))
      return error.outOfMemory("a vocabulary");
    longest = std::max(longest, bytes.size() - before);
  }
  return ATTN_OK;
}

attn_status TokenTrie::fill(const Tokenizer &from, const int32_t *ids, size_t count, Error &error) {
  tokenizer = &from;
  for (size_t i = 0; i < count; ++i)
    if (ids[i] < 0 || size_t(ids[i]) >= from.size())
      return error.set(ATTN_BAD_INPUT, "R0710", "%d cannot be a stop: tokens are 0 to %zu",
                       int(ids[i]), from.size() - 1);
  if (!stops.append(ids, count))
    return error.outOfMemory("a vocabulary");
  if (readBytes(error))
    return error.status;
  return build() ? ATTN_OK : error.outOfMemory("a vocabulary");
}

bool TokenTrie::build() {
  size_t count = begins.size() - 1;
  Vector<int32_t> order;
  if (!same.resize(count) || !order.reserve(count))
    return false;
  for (size_t id = 0; id < count; ++id) {
    same[id] = -1;
    if (bytesOf(int32_t(id)).size && !order.push(int32_t(id)))
      return false;
  }
  sortValues(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    Slice x = bytesOf(a), y = bytesOf(b);
    int result = memcmp(x.data, y.data, std::min(x.size, y.size));
    return result ? result < 0 : x.size != y.size ? x.size < y.size : a < b;
  });
  Vector<uint32_t> open; // nodes on the way to the last token
  auto close = [&](size_t depth) {
    for (; open.size() > depth; open.pop())
      nodes[open.back()].end = uint32_t(nodes.size());
  };
  Slice last;
  for (int32_t id : order) {
    Slice token = bytesOf(id);
    size_t shared = 0;
    while (shared < last.size && shared < token.size && last.data[shared] == token.data[shared])
      ++shared;
    close(shared);
    for (size_t i = shared; i < token.size; ++i)
      if (!open.push(uint32_t(nodes.size())) ||
          !nodes.push({0, -1, static_cast<uint8_t>(token.data[i]), uint8_t(i)}))
        return false;
    int32_t &here = nodes[open.back()].token;
    same[size_t(id)] = here;
    here = id;
    last = token;
  }
  close(0);
  uint32_t node = 0;
  for (unsigned byte = 0; byte < 257; ++byte) {
    while (node < nodes.size() && nodes[node].byte < byte)
      node = nodes[node].end;
    roots[byte] = node;
  }
  return true;
}

bool TokenTrie::beginsToken(Slice text) const {
  uint32_t at = 0, end = uint32_t(nodes.size());
  for (size_t i = 0; i < text.size; ++i) {
    auto byte = static_cast<uint8_t>(text.data[i]);
    while (at < end && nodes[at].byte != byte)
      at = nodes[at].end;
    if (at >= end)
      return false;
    end = nodes[at].end;
    ++at;
  }
  return at < end;
}
