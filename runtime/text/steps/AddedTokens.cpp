// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The search for added tokens: at each place the longest one, from front to back.
#include "text/steps/AddedTokens.h"

using namespace attn;

bool AddedTokens::add(const AddedToken &token) {
  if (size_t(token.id) >= byId.size() && !byId.resize(size_t(token.id) + 1))
    return false;
  if (!contents.add(token.id, token.content))
    return false;
  if (int32_t place = byId[size_t(token.id)]) {
    tokens[size_t(place - 1)] = token;
    return true;
  }
  if (!tokens.push(token))
    return false;
  byId[size_t(token.id)] = int32_t(tokens.size());
  return true;
}

void AddedTokens::showAll() {
  for (AddedToken &token : tokens)
    token.isHidden = false;
}

bool AddedTokens::read(ComponentReader &reader, JsonValue value) {
  if (!value.isSet())
    return true;
  if (!value.isArray())
    return reader.fail(value, "expected an array");
  for (JsonValue one = value.first(); one.exists(); one = one.next()) {
    AddedToken token;
    int64_t id = 0;
    if (!one.isObject())
      return reader.fail(one, "expected an object");
    JsonValue normalized = one.find("normalized");
    if (!reader.readInteger(one, "id", 0, maxTokens - 1, id) ||
        !reader.readText(one, "content", token.content) ||
        !reader.readFlag(one, "special", token.isSpecial) ||
        !reader.readFlag(one, "single_word", token.isSingleWord) ||
        !reader.readFlag(one, "lstrip", token.stripsLeft) ||
        !reader.readFlag(one, "rstrip", token.stripsRight))
      return false;
    token.isNormalized = !token.isSpecial;
    if (normalized.isSet() && !reader.readFlag(one, "normalized", token.isNormalized))
      return false;
    token.id = int32_t(id);
    if (!add(token))
      return reader.failMemory();
  }
  return true;
}

bool AddedTokens::finish(ComponentReader &reader, const Vector<Normalizer> &normalizers) {
  AlignedText content, scratch;
  size_t given = 0;
  plain = ByteTrie();
  normalized = ByteTrie();
  for (const AddedToken &token : tokens)
    given += token.content.size;
  Growth growth(Growth::mostAdded, given, normalizers.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    const AddedToken &token = tokens[i];
    if (token.content.size == 0 || token.isHidden)
      continue;
    if (!token.isNormalized) {
      if (!plain.add(token.content, int32_t(i)))
        return reader.failMemory();
      continue;
    }
    content.assign(token.content);
    if (!normalize(normalizers, content, scratch, growth) && growth.isSpent())
      return growth.report(reader.error) == ATTN_OK;
    if (!content.isGood || (content.size() && !normalized.add(content.slice(), int32_t(i))))
      return reader.failMemory();
  }
  return true;
}

const AddedToken *AddedTokens::find(int64_t id) const {
  if (id < 0 || size_t(id) >= byId.size() || byId[size_t(id)] == 0)
    return nullptr;
  return &tokens[size_t(byId[size_t(id)] - 1)];
}

bool AddedTokens::isSpecial(int64_t id) const {
  const AddedToken *token = find(id);
  return token && token->isSpecial;
}

/// Whether the text from `begin` to before `end` stands by itself as a word.
static bool isWordAlone(Slice text, size_t begin, size_t end) {
  size_t length;
  return (begin == 0 || !isWord(decodeBefore(text.data, begin, length))) &&
         (end == text.size || !isWord(decodeUtf8(text.data + end, length)));
}

bool AddedTokens::split(Slice text, size_t offset, bool areNormalized, bool areSpecialText,
                        Vector<Piece> &pieces) const {
  const ByteTrie &trie = areNormalized ? normalized : plain;
  size_t done = 0, length = 0;
  for (size_t at = 0; at < text.size && !trie.empty();) {
    int32_t found = -1;
    if (trie.begins(static_cast<unsigned char>(text.data[at])))
      found = trie.longest(text.from(at), length);
    if (found < 0) {
      ++at;
      continue;
    }
    const AddedToken &token = tokens[size_t(found)];
    size_t begin = at, end = at + length;
    at = end;
    if ((token.isSpecial && areSpecialText) ||
        (token.isSingleWord && !isWordAlone(text, begin, end)))
      continue;
    while (token.stripsLeft && begin > done && isSpace(decodeBefore(text.data, begin, length)) &&
           begin - length >= done)
      begin -= length;
    while (token.stripsRight && end < text.size && isSpace(decodeUtf8(text.data + end, length)))
      end += length;
    at = end;
    if ((begin > done && !pieces.push({offset + done, offset + begin, -1})) ||
        !pieces.push({offset + begin, offset + end, token.id}))
      return false;
    done = end;
  }
  return done == text.size || pieces.push({offset + done, offset + text.size, -1});
}
