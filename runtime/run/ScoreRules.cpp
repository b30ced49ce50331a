// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules over the scores of the next token of one row.
#include "run/ScoreRules.h"
#include <cmath>

using namespace attn;

static void exclude(int64_t token, float *scores, int64_t vocabulary) {
  if (token >= 0 && token < vocabulary)
    scores[token] = -INFINITY;
}

static void excludeAll(const int64_t *tokens, int32_t count, float *scores, int64_t vocabulary) {
  for (int32_t i = 0; i < count; ++i)
    exclude(tokens[i], scores, vocabulary);
}

/// Leaves these tokens, each as likely as the others.
static void leaveOnly(const int64_t *tokens, int32_t count, float *scores, int64_t vocabulary) {
  for (int64_t i = 0; i < vocabulary; ++i)
    scores[i] = -INFINITY;
  for (int32_t i = 0; i < count; ++i)
    if (tokens[i] >= 0 && tokens[i] < vocabulary)
      scores[tokens[i]] = 0;
}

/// Excludes what would make the last tokens of a row, with it `size` of them, come again that stand
/// in `text`.
static void excludeRepeated(const TokenSpan &row, const TokenSpan &text, int64_t size,
                            float *scores, int64_t vocabulary) {
  int64_t before = size - 1;
  if (size < 1 || row.count < before)
    return;
  const int32_t *last = row.tokens + row.count - before;
  for (int64_t at = 0; at + before < text.count; ++at) {
    int64_t same = 0;
    while (same < before && text.tokens[at + same] == last[same])
      ++same;
    if (same == before)
      exclude(text.tokens[at + before], scores, vocabulary);
  }
}

bool ScoreRules::readsRow() const {
  return numbers.sampling.repetition != 1 || numbers.noRepeat > 0 || numbers.sourceNoRepeat > 0 ||
         numbers.badWordsCount > 0;
}

bool ScoreRules::isStop(int64_t token) const {
  for (int32_t i = 0; i < numbers.stopCount; ++i)
    if (numbers.stops[i] == token)
      return true;
  return false;
}

void attn::penalise(const TokenSpan &tokens, float factor, float *scores, Vector<uint8_t> &marks) {
  if (factor == 1)
    return;
  auto isToken = [&](int32_t token) { return token >= 0 && size_t(token) < marks.size(); };
  for (int64_t i = 0; i < tokens.count; ++i) {
    int32_t token = tokens.tokens[i];
    if (!isToken(token) || marks[size_t(token)])
      continue;
    marks[size_t(token)] = 1;
    scores[token] = scores[token] < 0 ? scores[token] * factor : scores[token] / factor;
  }
  for (int64_t i = 0; i < tokens.count; ++i)
    if (isToken(tokens.tokens[i]))
      marks[size_t(tokens.tokens[i])] = 0;
}

void ScoreRules::excludeWords(const TokenSpan &row, float *scores, int64_t vocabulary) const {
  const int64_t *word = numbers.badWords, *end = word + numbers.badWordsCount;
  for (; word < end; word += 1 + word[0]) {
    int64_t size = word[0], same = 0;
    // A sequence longer than the row is passed over, and so is a stop.
    if (size > 1 ? size > row.count : isStop(word[1]))
      continue;
    while (same < size - 1 && row.tokens[row.count - (size - 1) + same] == word[1 + same])
      ++same;
    if (same == size - 1)
      exclude(word[size], scores, vocabulary);
  }
}

void ScoreRules::apply(const TokenSpan &row, const TokenSpan &source, int64_t chosen, int64_t most,
                       int64_t length, float *scores, int64_t vocabulary) {
  if (numbers.forceLastCount > 0 && chosen == most - 1)
    return leaveOnly(numbers.forcedLast, numbers.forceLastCount, scores, vocabulary);
  if (chosen < numbers.forceCount)
    return leaveOnly(numbers.forced + chosen, 1, scores, vocabulary);
  penalise(source, 1 / numbers.sourceRepetition, scores, marks);
  penalise(row, numbers.sampling.repetition, scores, marks);
  if (numbers.noRepeat > 0)
    excludeRepeated(row, row, numbers.noRepeat, scores, vocabulary);
  if (numbers.sourceNoRepeat > 0)
    excludeRepeated(row, source, numbers.sourceNoRepeat, scores, vocabulary);
  if (numbers.badWordsCount > 0)
    excludeWords(row, scores, vocabulary);
  if (length < numbers.minLength || chosen < numbers.minTokens)
    excludeAll(numbers.stops, numbers.stopCount, scores, vocabulary);
  if (int64_t behind = chosen - numbers.decayFrom; numbers.decay != 1 && behind > 0)
    for (int32_t i = 0; i < numbers.stopCount; ++i)
      if (int64_t stop = numbers.stops[i]; stop < vocabulary && scores[stop] > -INFINITY)
        scores[stop] +=
            std::fabs(scores[stop]) * float(std::pow(double(numbers.decay), double(behind)) - 1);
  excludeAll(numbers.suppressed, numbers.suppressCount, scores, vocabulary);
  if (chosen == numbers.forceCount)
    excludeAll(numbers.suppressedFirst, numbers.suppressFirstCount, scores, vocabulary);
}
