// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A request of the paths that take texts: a byte that says which path, and the body. What is
// answered, in one piece or as events, is JSON.
#include "serve/Texts.h"
#include "Targets.h"
#include "base/Json.h"
#include "base/Utf8.h"
#include "serve/AnswerReader.h"
#include "serve/Http.h"
#include "text/steps/Unicode.h"

#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

extern "C" const attn_abi_model attn_model_texts;

namespace {
using attn::fuzz::require;

/// The model of Inputs/texts and its entries, as long as the process.
struct Served {
  attn_model *model = nullptr;
  attn_context *context = nullptr;
  attn::Vector<attn::ServedEntry *> entries;
  attn::ServedEntry all[8] = {};
  void *texts = nullptr;
  Served() {
    require(attn_model_create(&attn_model_texts, nullptr, &model, nullptr) == ATTN_OK, "no model");
    require(attn_model_bind_random(model, 1, nullptr) == ATTN_OK, "no weights");
    require(attn_context_create(model, 1, &context, nullptr) == ATTN_OK, "no context");
    int32_t count = attn_model_entry_count(model);
    require(count <= 8, "more entries than there is room for");
    for (int32_t i = 0; i < count; ++i) {
      all[i].model = model;
      all[i].entry = i;
      snprintf(all[i].name, sizeof all[i].name, "Texts.%s", attn_model_entry_name(model, i));
      require(entries.push(&all[i]), "no memory");
    }
    attn::ServedModel served;
    served.model = model;
    served.tokenizer = ATTN_FUZZ_INPUTS "/texts";
    attn::Error error;
    texts = attn_serve_texts_open(&served, 1, &entries, &error);
    require(texts, "no tokenizer");
  }
  ~Served() {
    attn_serve_texts_close(texts);
    attn_context_destroy(context);
    attn_model_destroy(model);
  }
};

/// Computes the parts of a request, those that are alike in one run.
void compute(attn::Exchange &exchange, attn_context *context) {
  attn::Vector<attn::Part *> alike;
  for (size_t i = 0; i < exchange.partCount; ++i) {
    attn::Part &part = exchange.parts[i];
    if (!alike.empty() && (!part.sizeCount || *part.sizes != *alike[0]->sizes))
      alike.clear();
    require(alike.push(&part), "no memory");
    bool isLast = i + 1 == exchange.partCount || alike.size() == 4 || !part.sizeCount ||
                  *exchange.parts[i + 1].sizes != *part.sizes;
    if (!isLast)
      continue;
    char *message = nullptr;
    if (attn_status status = exchange.kind->compute(context, alike.data(), alike.size(), &message))
      exchange.fail(status, message);
    attn_message_free(message);
    alike.clear();
  }
}

void requireJson(std::string_view text) {
  // What the model writes may hold a NUL, which the reader refuses.
  std::string readable(text);
  for (size_t at = 0; (at = readable.find("\\u0000", at)) != std::string::npos; ++at)
    readable.replace(at, 6, "\\u0001");
  attn::JsonReader reader(readable.data(), readable.size());
  require(reader.skipValue() && reader.atEnd(), "an answer that is no JSON");
}

/// Events are `data: JSON` and an empty line, perhaps with a name in front; the last is `data:
/// [DONE]` where they have none.
void requireEvents(std::string_view text) {
  while (!text.empty()) {
    if (text.substr(0, 7) == "event: ")
      text.remove_prefix(text.find('\n') + 1);
    size_t end = text.find("\n\n");
    require(text.substr(0, 6) == "data: " && end != std::string_view::npos, "no event");
    std::string_view event = text.substr(6, end - 6);
    text.remove_prefix(end + 2);
    if (!text.empty() || event != "[DONE]")
      requireJson(event);
  }
}
/// Text and thoughts with a mark in front of each kind, calls with their names.
bool takePart(void *user, const attn::AnswerPart &part) {
  auto &all = *static_cast<std::string *>(user);
  static char last;
  char kind = char('a' + part.kind);
  if (all.empty() || last != kind || part.kind == attn::AnswerPart::Call)
    all += kind;
  last = kind;
  if (part.kind == attn::AnswerPart::Call) {
    requireJson(std::string_view(part.text.data, part.text.size));
    require(part.name.size > 0, "a call without a name");
    all.append(part.name.data, part.name.size);
  }
  all.append(part.text.data, part.text.size);
  return true;
}

/// An answer in the format whose template a first line is, byte by byte, and as a whole: the same.
void readAnswer(std::string_view text) {
  size_t end = text.find('\n');
  if (end == std::string_view::npos || !attn::isUtf8(attn::Slice(text.data(), text.size())))
    return;
  std::string_view first = text.substr(0, end), rest = text.substr(end + 1);
  attn::Slice marks(first.data(), first.size()), answer(rest.data(), rest.size());
  attn::ToolList tools;
  require(
      tools.read(attn::Slice("[{\"function\": {\"name\": \"f\", \"parameters\": {\"properties\": "
                             "{\"s\": {\"type\": \"string\"}}}}}]")),
      "no tools");
  std::string parts[2];
  for (bool isWhole : {false, true}) {
    attn::AnswerReader reader(attn::findAnswerFormat(marks), attn::findThoughtMarks(marks), tools,
                              {&parts[isWhole], takePart});
    reader.begin(marks);
    for (size_t at = 0, size; at < answer.size; at += size) {
      size = isWhole ? answer.size : attn::utf8Length(answer.data + at, answer.size - at);
      std::string own(answer.data + at, size); // so that what lies behind is not read
      reader.add(attn::Slice(own.data(), own.size()));
    }
    reader.finish();
  }
  require(parts[0] == parts[1], "an answer in pieces is another one");
}
} // namespace

void attn::fuzz::texts(const uint8_t *data, size_t size) {
  static constexpr const char *paths[] = {"/v1/embeddings",  "/rerank",
                                          "/v2/rerank",      "/predict",
                                          "/v1/completions", "/v1/chat/completions",
                                          "/v1/responses",   "/tokenize",
                                          "/detokenize",     "/v1/audio/transcriptions"};
  static Served served;
  if (size < 1)
    return;
  size_t which = data[0] % (std::size(paths) + 1);
  if (which == std::size(paths))
    return readAnswer({reinterpret_cast<const char *>(data + 1), size - 1});
  const char *path = paths[which];
  HttpServer server;
  Exchange exchange;
  exchange.server = &server;
  exchange.texts = served.texts;
  exchange.isOfOpenAi = strncmp(path, "/v1/", 4) == 0;
  exchange.kind = attn_serve_texts_kind(path);
  exchange.bodySize = size - 1;
  require(exchange.body.append(reinterpret_cast<const char *>(data + 1), size - 1) &&
              exchange.body.push(0),
          "no memory");
  exchange.kind->read(exchange);
  if (exchange.status == 200) {
    require(exchange.partCount > 0 || !exchange.kind->compute, "nothing to compute, and no error");
    compute(exchange, served.context);
  }
  if (exchange.status == 200)
    exchange.kind->answer(exchange);
  require(!exchange.answer.empty(), "no answer");
  require(exchange.status == 200 || exchange.status == 400 || exchange.status == 404 ||
              exchange.status == 422,
          "another status");
  require(exchange.pieces.append(exchange.answer.data(), exchange.answer.size()), "no memory");
  std::string_view all(exchange.pieces.data(), exchange.pieces.size());
  if (strcmp(exchange.type, "text/event-stream") == 0)
    requireEvents(all);
  else
    requireJson(all.substr(all.size() - exchange.answer.size()));
}
