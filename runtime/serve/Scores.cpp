// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// /rerank and /predict: pairs and texts to scores.
#include "base/Json.h"
#include "base/Slice.h"
#include "main/Report.h"
#include "serve/Fields.h"
#include "serve/TextRequest.h"
#include <cmath>
#include <cstdlib>

namespace attn {

bool TextRequest::addDocument(size_t place) {
  size_t text = place;
  if (exchange.body[place] == '{') {
    bool hasText = false;
    const Field fields[] = {{"text", Field::Place, &text, nullptr, &hasText}};
    if (!readFields(exchange, place, "a document", fields, 1))
      return false;
    if (!hasText)
      return fail("a document has no `text`");
  }
  // The query comes first in each pair, and its bytes are there once.
  if (!addText(text, isOfCohere ? "an element of `documents`" : "an element of `texts`", pairs))
    return false;
  return texts.push({0, texts.begin()[0].size}) || exchange.failWithoutMemory();
}

void TextRequest::readRerank() {
  Vector<char> model;
  size_t query = 0, documents = 0, list = 0;
  bool hasQuery = false, hasDocuments = false, hasTexts = false, returnsDocuments = false;
  const Field fields[] = {{"model", Field::String, &model},
                          {"query", Field::Place, &query, nullptr, &hasQuery},
                          {"documents", Field::Place, &documents, nullptr, &hasDocuments},
                          {"texts", Field::Place, &list, nullptr, &hasTexts},
                          {"top_n", Field::Whole, &top},
                          {"return_documents", Field::Truth, &returnsDocuments},
                          {"return_text", Field::Truth, &wantsTexts},
                          {"raw_scores", Field::Truth, &wantsRaw},
                          {"truncate", Field::Truth, &truncates}};
  if (!readFields(exchange, 0, "the request", fields, sizeof fields / sizeof *fields))
    return;
  if (!hasQuery || hasDocuments == hasTexts) {
    fail(!hasQuery ? "`query` is missing"
                   : "expected one of `documents` (as Cohere has it) and `texts` (as "
                     "text-embeddings-inference has it)");
    return;
  }
  isOfCohere = hasDocuments;
  wantsTexts |= returnsDocuments;
  if (exchange.body[hasDocuments ? documents : list] != '[') {
    fail(isOfCohere ? "`documents` is no list" : "`texts` is no list");
    return;
  }
  if (!addText(query, "`query`", texts))
    return;
  auto take = [](void *self, size_t place) {
    return static_cast<TextRequest *>(self)->addDocument(place);
  };
  if (!forEachElement(exchange, hasDocuments ? documents : list, take, this))
    return;
  if (pairs.empty()) {
    fail(isOfCohere ? "`documents` is empty" : "`texts` is empty");
    return;
  }
  texts.resize(pairs.size());
  if (makeParts(model, TextUse::Scores) && width != 1)
    exchange.fail(400, "`%s` gives %lld scores, expected one: it classifies (POST /predict)",
                  exchange.target->name, static_cast<long long>(width));
}

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

bool TextRequest::readScores(size_t index, Vector<double> &scores) const {
  const float *row = values.begin() + index * size_t(width);
  double largest = row[0], sum = 0;
  for (int64_t i = 0; i < width; ++i)
    largest = row[i] > largest ? double(row[i]) : largest;
  for (int64_t i = 0; i < width; ++i)
    sum += exp(double(row[i]) - largest);
  bool isSoftmax = width > 1 && labels->function() == ATTN_LABELS_SOFTMAX;
  bool isRaw = wantsRaw || (width > 1 && labels->function() == ATTN_LABELS_NONE);
  scores.clear();
  for (int64_t i = 0; i < width; ++i)
    if (!scores.push(isRaw       ? double(row[i])
                     : isSoftmax ? exp(double(row[i]) - largest) / sum
                                 : sigmoid(double(row[i]))))
      return false;
  return true;
}

/// Appends a number with the digits of f32; false for what JSON has no word for.
static bool appendScore(double value, Text &text) {
  text.append("%.9g", value);
  return std::isfinite(value);
}

/// The places of numbers, the largest first; NaN last, those that are equal in their order.
static bool sortDown(const Vector<double> &numbers, Vector<size_t> &order) {
  order.clear();
  for (size_t i = 0; i < numbers.size(); ++i)
    if (!order.push(i))
      return false;
  struct Comparison {
    static int compare(const void *a, const void *b, void *user) {
      size_t i = *static_cast<const size_t *>(a), j = *static_cast<const size_t *>(b);
      const double *values = static_cast<const double *>(user);
      double x = values[i], y = values[j];
      if (x != y && !(std::isnan(x) && std::isnan(y)))
        return x > y || std::isnan(y) ? -1 : 1;
      return i < j ? -1 : 1;
    }
  };
  qsort_r(order.data(), order.size(), sizeof(size_t), Comparison::compare,
          const_cast<double *>(numbers.begin()));
  return true;
}

void TextRequest::answerRerank() {
  Vector<double> scores, row;
  Vector<size_t> order;
  for (size_t i = 0; i < tokens.size(); ++i)
    if (!readScores(i, row) || !scores.push(row[0]))
      return void(exchange.failWithoutMemory());
  if (!sortDown(scores, order))
    return void(exchange.failWithoutMemory());
  Text text;
  int64_t count = 0;
  text.append(isOfCohere ? "{\"model\": \"%s\", \"results\": [" : "[", exchange.target->name);
  for (size_t index : order) {
    if (top >= 0 && count == top)
      break;
    text.append("%s{\"index\": %zu, \"%s\": ", count ? ", " : "", index,
                isOfCohere ? "relevance_score" : "score");
    ++count;
    if (!appendScore(scores[index], text))
      return exchange.fail(422, "the score of text %zu is NaN or infinite", index);
    if (wantsTexts) {
      const Span &span = pairs[index];
      Vector<char> quoted;
      appendJsonString(Slice(bytes.data() + span.begin, span.size), quoted);
      text.append(isOfCohere ? ", \"document\": {\"text\": " : ", \"text\": ");
      text.append("%.*s", int(quoted.size()), quoted.data());
      text.append(isOfCohere ? "}" : "");
    }
    text.append("}");
  }
  text.append(isOfCohere ? "]}" : "]");
  setAnswer(text);
}

bool TextRequest::addPredicted(size_t place) {
  size_t before = texts.size();
  auto take = [](void *given, size_t text) {
    auto *self = static_cast<TextRequest *>(given);
    return self->addText(text, "an element of `inputs`", self->texts);
  };
  if (!forEachElement(exchange, place, take, this))
    return false;
  size_t count = texts.size() - before;
  if (count != 1 && count != 2)
    return fail("an element of `inputs` is no list of one text, or of two that belong together");
  Span pair = {0, SIZE_MAX};
  if (count == 2) {
    pair = texts.back();
    texts.pop();
  }
  return pairs.push(pair) || exchange.failWithoutMemory();
}

void TextRequest::readPredict() {
  Vector<char> model;
  size_t inputs = 0;
  bool hasInputs = false;
  const Field fields[] = {{"model", Field::String, &model},
                          {"inputs", Field::Place, &inputs, nullptr, &hasInputs},
                          {"raw_scores", Field::Truth, &wantsRaw},
                          {"truncate", Field::Truth, &truncates}};
  if (!readFields(exchange, 0, "the request", fields, sizeof fields / sizeof *fields))
    return;
  if (!hasInputs) {
    fail("`inputs` is missing: a text, [a text, another that belongs to it], or a list of lists");
    return;
  }
  const char *begin = exchange.body.data() + inputs;
  size_t inner = *begin == '[' ? 1 + strspn(begin + 1, " \t\r\n") : 0;
  isShort = begin[inner] != '[';
  auto take = [](void *self, size_t place) {
    return static_cast<TextRequest *>(self)->addPredicted(place);
  };
  if (isShort ? addPredicted(inputs) : forEachElement(exchange, inputs, take, this))
    makeParts(model, TextUse::Scores);
}

void TextRequest::answerPredict() {
  Vector<double> scores;
  Vector<size_t> order;
  Text text;
  text.append(isShort ? "" : "[");
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!readScores(i, scores) || !sortDown(scores, order))
      return void(exchange.failWithoutMemory());
    text.append(i ? ", [" : "[");
    for (size_t place = 0; place < order.size(); ++place) {
      auto number = int64_t(order[place]);
      text.append(place ? ", {\"score\": " : "{\"score\": ");
      if (!appendScore(scores[order[place]], text))
        return exchange.fail(422, "a score of text %zu is NaN or infinite", i);
      text.append(", \"label\": ");
      if (labels->size() == width)
        appendJsonString(text, labels->name(number));
      else
        text.append("\"LABEL_%lld\"", static_cast<long long>(number));
      text.append("}");
    }
    text.append("]");
  }
  text.append(isShort ? "" : "]");
  setAnswer(text);
}

} // namespace attn
