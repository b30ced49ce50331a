// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Byte pair encoding (Sennrich et al. 2016): of all neighbours, those of the lowest rank become one
// symbol, the leftmost first, until none is in the table. A heap holds the candidates, a list the
// symbols, so a word of n symbols takes n log n steps.
#include "text/steps/TokenModel.h"
#include "text/steps/Unicode.h"

using namespace attn;

namespace {

using Symbol = ModelScratch::Symbol;
using Candidate = ModelScratch::Candidate;

/// Whether `a` is merged before `b`: the lower rank, then the one further left.
bool isBefore(const Candidate &a, const Candidate &b) {
  return a.rank != b.rank ? a.rank < b.rank : a.left < b.left;
}

/// Puts a candidate on the heap; false where memory is lacking.
bool pushHeap(Vector<Candidate> &heap, const Candidate &candidate) {
  if (!heap.push(candidate))
    return false;
  size_t at = heap.size() - 1;
  for (; at > 0 && isBefore(candidate, heap[(at - 1) / 2]); at = (at - 1) / 2)
    heap[at] = heap[(at - 1) / 2];
  heap[at] = candidate;
  return true;
}

/// Takes the first candidate from the heap.
Candidate popHeap(Vector<Candidate> &heap) {
  Candidate top = heap[0], last = heap.back();
  heap.pop();
  size_t at = 0;
  for (size_t child = 1; child < heap.size(); child = 2 * at + 1) {
    if (child + 1 < heap.size() && isBefore(heap[child + 1], heap[child]))
      ++child;
    if (!isBefore(heap[child], last))
      break;
    heap[at] = heap[child];
    at = child;
  }
  if (!heap.empty())
    heap[at] = last;
  return top;
}

/// The encoding of one word.
class BpeWord {
public:
  BpeWord(const Model &model, Slice word, ModelScratch &scratch)
      : model(model), word(word), scratch(scratch), symbols(scratch.symbols), heap(scratch.heap) {}

  Outcome begin();
  bool merge();
  Outcome finish(Vector<Token> &tokens);

private:
  bool add(int32_t id, size_t begin, size_t end, bool isWhole = false);
  bool addCharacter(size_t begin, size_t end);
  bool addUnknown(size_t begin, size_t end);
  bool flushUnknown();
  bool consider(int32_t left, int32_t right);
  bool find(size_t begin, size_t end, int32_t &id);
  bool finishSymbol(const Symbol &symbol, int depth, Vector<Token> &tokens);
  bool resegment(const Symbol &symbol, Vector<Token> &tokens);

  const Model &model;
  Slice word;
  ModelScratch &scratch;
  Vector<Symbol> &symbols;
  Vector<Candidate> &heap;
  Symbol pending = {}; ///< an unknown symbol that may grow
  bool isPending = false, hasNoToken = false;
};

bool BpeWord::add(int32_t id, size_t begin, size_t end, bool isWhole) {
  int32_t self = int32_t(symbols.size());
  return symbols.push({uint32_t(begin), uint32_t(end), id, self - 1, self + 1, isWhole});
}

/// The token of a symbol as it stands in the vocabulary, with prefix and suffix, or -1. False where
/// memory is lacking.
bool BpeWord::find(size_t begin, size_t end, int32_t &id) {
  bool hasPrefix = model.prefix.size && begin > 0;
  bool hasSuffix = model.suffix.size && end == word.size;
  Slice bytes = word.between(begin, end);
  id = model.vocabulary.find(bytes);
  if (!hasPrefix && !hasSuffix)
    return true;
  Vector<char> &whole = scratch.bytes;
  whole.clear();
  if ((hasPrefix && !append(whole, model.prefix)) || !append(whole, bytes) ||
      (hasSuffix && !append(whole, model.suffix)))
    return false;
  id = model.vocabulary.find(Slice(whole));
  return true;
}

bool BpeWord::flushUnknown() {
  bool isGood = !isPending || add(pending.id, pending.begin, pending.end);
  isPending = false;
  return isGood;
}

bool BpeWord::addUnknown(size_t begin, size_t end) {
  if (model.unknown < 0) {
    hasNoToken = true; // it is left out
    return true;
  }
  if (isPending && model.fusesUnknown) {
    pending.end = uint32_t(end);
    return true;
  }
  if (!flushUnknown())
    return false;
  pending = {uint32_t(begin), uint32_t(end), model.unknown, -1, -1, false};
  isPending = true;
  return true;
}

bool BpeWord::addCharacter(size_t begin, size_t end) {
  int32_t id;
  if (!find(begin, end, id))
    return false;
  if (id >= 0)
    return flushUnknown() && add(id, begin, end);
  if (!model.fallsBackToBytes)
    return addUnknown(begin, end);
  for (size_t i = begin; i < end; ++i)
    if (model.byteTokens[static_cast<unsigned char>(word.data[i])] < 0)
      return addUnknown(begin, end);
  for (size_t i = begin; i < end; ++i)
    if (!add(model.byteTokens[static_cast<unsigned char>(word.data[i])], begin, end))
      return false;
  return true;
}

/// Puts a pair on the heap, where the table has it.
bool BpeWord::consider(int32_t left, int32_t right) {
  const Symbol &a = symbols[size_t(left)], &b = symbols[size_t(right)];
  PairTable::Merge merge;
  if (model.ranks.empty()) {
    merge = model.merges.find(a.id, b.id);
  } else if (!a.isWhole && !b.isWhole) {
    merge.id = model.vocabulary.find(word.between(a.begin, b.end));
    if (merge.id >= 0)
      merge.rank = model.ranks[size_t(merge.id)];
    if (merge.rank == UINT32_MAX)
      merge.id = -1;
  }
  if (merge.id < 0)
    return true;
  return pushHeap(heap, {merge.rank, left, right, merge.id, b.end - a.begin});
}

Outcome BpeWord::begin() {
  symbols.clear();
  heap.clear();
  for (size_t at = 0; at < word.size;) {
    size_t length = 1;
    bool isGood;
    if (!model.ranks.empty() && model.trie.longest(word.from(at), length) >= 0) {
      isGood = add(model.vocabulary.find(word.between(at, at + length)), at, at + length, true);
    } else {
      if (!model.isOfBytes)
        decodeUtf8(word.data + at, length);
      isGood = model.ranks.empty()
                   ? addCharacter(at, at + length)
                   : add(model.vocabulary.find(word.between(at, at + length)), at, at + length);
    }
    if (!isGood)
      return Outcome::NoMemory;
    at += length;
  }
  if (!flushUnknown())
    return Outcome::NoMemory;
  if (!symbols.empty())
    symbols.back().next = -1;
  return Outcome::Good;
}

bool BpeWord::merge() {
  for (size_t i = 1; i < symbols.size(); ++i)
    if (!consider(int32_t(i - 1), int32_t(i)))
      return false;
  while (!heap.empty()) {
    Candidate top = popHeap(heap);
    Symbol &left = symbols[size_t(top.left)], &right = symbols[size_t(top.right)];
    // Symbols that have been merged otherwise meanwhile are longer, or gone.
    if (left.next != top.right || left.begin == left.end || right.begin == right.end)
      continue;
    if (model.ranks.empty() ? model.merges.find(left.id, right.id).id != top.id
                            : right.end - left.begin != top.size)
      continue;
    left.end = right.end;
    left.id = top.id;
    left.next = right.next;
    right.begin = right.end;
    if (left.next >= 0)
      symbols[size_t(left.next)].previous = top.left;
    if ((left.previous >= 0 && !consider(left.previous, top.left)) ||
        (left.next >= 0 && !consider(top.left, left.next)))
      return false;
  }
  return true;
}

/// A symbol without a token becomes bytes, or the unknown token.
bool BpeWord::finishSymbol(const Symbol &symbol, int depth, Vector<Token> &tokens) {
  if (symbol.id >= 0 && !model.types.empty() &&
      model.types[size_t(symbol.id)] == TokenType::Unused && depth == 0)
    return resegment(symbol, tokens);
  if (symbol.id >= 0)
    return tokens.push({symbol.id, symbol.begin, symbol.end});
  if (model.fallsBackToBytes) {
    for (uint32_t i = symbol.begin; i < symbol.end; ++i)
      if (!tokens.push({model.byteTokens[static_cast<unsigned char>(word.data[i])], symbol.begin,
                        symbol.end}))
        return false;
    return true;
  }
  if (model.unknown < 0) {
    hasNoToken = true;
    return true;
  }
  bool joins = model.fusesUnknown && !tokens.empty() && tokens.back().id == model.unknown &&
               tokens.back().end == symbol.begin;
  if (!joins)
    return tokens.push({model.unknown, symbol.begin, symbol.end});
  tokens.back().end = symbol.end;
  return true;
}

/// A token that is not used is given back as its characters.
bool BpeWord::resegment(const Symbol &symbol, Vector<Token> &tokens) {
  for (uint32_t at = symbol.begin; at < symbol.end;) {
    size_t length;
    decodeUtf8(word.data + at, length);
    uint32_t end = at + uint32_t(length);
    if (!finishSymbol({at, end, model.vocabulary.find(word.between(at, end)), -1, -1, false}, 1,
                      tokens))
      return false;
    at = end;
  }
  return true;
}

Outcome BpeWord::finish(Vector<Token> &tokens) {
  for (int32_t at = symbols.empty() ? -1 : 0; at >= 0; at = symbols[size_t(at)].next)
    if (!finishSymbol(symbols[size_t(at)], 0, tokens))
      return Outcome::NoMemory;
  return hasNoToken && !model.ranks.empty() ? Outcome::NoToken : Outcome::Good;
}

} // namespace

Outcome attn::encodeBpe(const Model &model, Slice word, ModelScratch &scratch,
                        Vector<Token> &tokens) {
  if (model.ignoresMerges) {
    int32_t id = model.vocabulary.find(word);
    if (id >= 0)
      return tokens.push({id, 0, uint32_t(word.size)}) ? Outcome::Good : Outcome::NoMemory;
  }
  BpeWord encoder(model, word, scratch);
  if (Outcome outcome = encoder.begin(); outcome != Outcome::Good)
    return outcome;
  return encoder.merge() ? encoder.finish(tokens) : Outcome::NoMemory;
}
