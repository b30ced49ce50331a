// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// /v1/embeddings: texts or tokens to vectors.
#include "base/Json.h"
#include "main/Report.h"
#include "serve/Fields.h"
#include "serve/TensorData.h"
#include "serve/TextRequest.h"
#include <cstdlib>

namespace attn {

bool TextRequest::addToken(size_t place) {
  JsonReader reader(exchange.body.data() + place, exchange.bodySize - place);
  char first = reader.peek();
  int64_t id = 0;
  if (first < '0' || first > '9' || !reader.readSize(id) || id > INT32_MAX)
    return fail("`input` holds something else than texts and tokens");
  attn_tokens &own = tokens.back();
  own.ids[own.count++] = int32_t(id);
  return true;
}

bool TextRequest::addTokens(size_t place) {
  if (!hasRoom(tokens.size()))
    return false;
  // As many as there are commas, at most.
  JsonReader reader(exchange.body.data() + place, exchange.bodySize - place);
  reader.skipValue();
  size_t most = 1;
  for (size_t i = 0; i < reader.position; ++i)
    most += exchange.body[place + i] == ',';
  attn_tokens own = {};
  own.ids = static_cast<int32_t *>(calloc(most, sizeof *own.ids));
  own.types = static_cast<int32_t *>(calloc(most, sizeof *own.types));
  own.begins = static_cast<int64_t *>(calloc(most, sizeof *own.begins));
  own.ends = static_cast<int64_t *>(calloc(most, sizeof *own.ends));
  own.origins = static_cast<uint8_t *>(calloc(most, sizeof *own.origins));
  bool isWhole = own.ids && own.types && own.begins && own.ends && own.origins;
  if (!isWhole || !tokens.push(own)) {
    attn_tokens_free(&own);
    return exchange.failWithoutMemory();
  }
  auto take = [](void *self, size_t token) {
    return static_cast<TextRequest *>(self)->addToken(token);
  };
  if (!forEachElement(exchange, place, take, this))
    return false;
  return tokens.back().count > 0 || fail("`input` holds an empty list of tokens");
}

bool TextRequest::addInput(size_t place) {
  char first = exchange.body[place];
  if (first == '[')
    return addTokens(place);
  return addText(place, "an element of `input`", texts);
}

void TextRequest::readEmbeddings() {
  Vector<char> model, format;
  size_t input = 0;
  bool hasInput = false;
  int64_t dimensions = 0;
  const Field fields[] = {{"model", Field::String, &model},
                          {"input", Field::Place, &input, nullptr, &hasInput},
                          {"encoding_format", Field::String, &format},
                          {"dimensions", Field::Whole, &dimensions},
                          {"truncate", Field::Truth, &truncates},
                          {"user", Field::Ignored}};
  if (!readFields(exchange, 0, "the request", fields, sizeof fields / sizeof *fields))
    return;
  if (!hasInput) {
    fail("`input` is missing: a text, a list of texts, or tokens");
    return;
  }
  if (!format.empty() && strcmp(format.data(), "float") != 0 &&
      strcmp(format.data(), "base64") != 0) {
    exchange.fail(400, "`encoding_format` is `%.32s`, expected float or base64", format.data());
    return;
  }
  isBase64 = !format.empty() && format[0] == 'b';
  // [1, 2] is one input of tokens, [[1, 2], [3]] are two, ["a", "b"] two texts.
  const char *begin = exchange.body.data() + input;
  size_t inner = *begin == '[' ? 1 + strspn(begin + 1, " \t\r\n") : 0;
  bool isRead = false;
  if (inner && begin[inner] >= '0' && begin[inner] <= '9')
    isRead = addTokens(input);
  else
    isRead = forEachElement(
        exchange, input,
        [](void *self, size_t place) { return static_cast<TextRequest *>(self)->addInput(place); },
        this);
  if (!isRead)
    return;
  if (!texts.empty() && !tokens.empty()) {
    fail("`input` mixes texts and tokens");
    return;
  }
  if (texts.empty() && tokens.empty()) {
    fail("`input` is empty");
    return;
  }
  if (!makeParts(model, TextUse::Vectors) || dimensions == 0 || dimensions == width)
    return;
  exchange.fail(400, "`dimensions` is %lld, and vectors of `%s` have %lld",
                static_cast<long long>(dimensions), exchange.target->name,
                static_cast<long long>(width));
}

/// Appends base64, with its padding (RFC 4648); false without memory.
static bool appendBase64(const unsigned char *bytes, size_t size, Vector<char> &text) {
  static constexpr char letters[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  bool isWhole = true;
  for (size_t i = 0; i < size; i += 3) {
    size_t left = size - i;
    unsigned group = unsigned(bytes[i]) << 16 | (left > 1 ? unsigned(bytes[i + 1]) << 8 : 0) |
                     (left > 2 ? unsigned(bytes[i + 2]) : 0);
    const char four[] = {letters[group >> 18], letters[group >> 12 & 63],
                         left > 1 ? letters[group >> 6 & 63] : '=',
                         left > 2 ? letters[group & 63] : '='};
    isWhole &= text.append(four, sizeof four);
  }
  return isWhole;
}

bool TextRequest::appendEmbedding(const float *vector, Text &text, Text &problem) const {
  if (isBase64) {
    Vector<char> letters;
    if (!appendBase64(reinterpret_cast<const unsigned char *>(vector),
                      size_t(width) * sizeof *vector, letters))
      return false;
    text.append("\"%.*s\"", int(letters.size()), letters.data());
    return true;
  }
  attn_tensor tensor = {};
  tensor.data = const_cast<float *>(vector);
  tensor.dtype = ATTN_F32;
  tensor.rank = 1;
  tensor.shape[0] = width;
  writeTensorData(tensor, text, problem);
  return true;
}

void TextRequest::answerEmbeddings() {
  Text text, problem;
  text.append("{\"object\": \"list\", \"data\": [");
  int64_t count = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    text.append("%s{\"object\": \"embedding\", \"index\": %zu, \"embedding\": ", i ? ", " : "", i);
    if (!appendEmbedding(values.data() + i * size_t(width), text, problem))
      return void(exchange.failWithoutMemory());
    text.append("}");
    count += tokens[i].count;
    if (problem.size())
      return exchange.fail(422, "vector %zu %s, which JSON has no word for: ask for `base64`", i,
                           problem.c_str());
  }
  text.append("], \"model\": ");
  appendJsonString(text, exchange.target->name);
  text.append(", \"usage\": {\"prompt_tokens\": %lld, \"total_tokens\": %lld}}",
              static_cast<long long>(count), static_cast<long long>(count));
  setAnswer(text);
}

} // namespace attn
