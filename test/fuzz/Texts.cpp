// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A request of the paths that take texts: a byte that says which path, and the body. What is
// answered, in one piece or as events, is JSON.
#include "serve/Texts.h"
#include "Targets.h"
#include "base/Json.h"
#include "serve/Http.h"

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

/// Events are `data: JSON` and an empty line; the last is `data: [DONE]`.
void requireEvents(std::string_view text) {
  while (!text.empty()) {
    size_t end = text.find("\n\n");
    require(text.substr(0, 6) == "data: " && end != std::string_view::npos, "no event");
    std::string_view event = text.substr(6, end - 6);
    text.remove_prefix(end + 2);
    if (!text.empty() || event != "[DONE]")
      requireJson(event);
  }
}
} // namespace

void attn::fuzz::texts(const uint8_t *data, size_t size) {
  static constexpr const char *paths[] = {"/v1/embeddings",  "/rerank",
                                          "/v2/rerank",      "/predict",
                                          "/v1/completions", "/v1/chat/completions"};
  static Served served;
  if (size < 1)
    return;
  const char *path = paths[data[0] % std::size(paths)];
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
    require(exchange.partCount > 0, "nothing to compute, and no error");
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
