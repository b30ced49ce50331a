// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A request of the Open Inference Protocol: two bytes that say where its JSON ends (0xffff: at the
// end of the body), and the body.
#include "Targets.h"
#include "serve/Kserve.h"
#include "tiny_model.h"

#include <cstdio>
#include <cstring>

namespace {
/// A model with an entry that is served, as long as the process.
struct Served {
  attn::ServedEntry entry = {};
  attn_context *context = nullptr;
  Served() {
    using attn::fuzz::require;
    require(attn_model_create(tiny_model(), nullptr, &entry.model, nullptr) == ATTN_OK, "no model");
    require(attn_model_bind_random(entry.model, 1, nullptr) == ATTN_OK, "no weights");
    require(attn_context_create(entry.model, 1, &context, nullptr) == ATTN_OK, "no context");
    snprintf(entry.name, sizeof entry.name, "tiny.run");
  }
  ~Served() {
    attn_context_destroy(context);
    attn_model_destroy(entry.model);
  }
};
} // namespace

void attn::fuzz::infer(const uint8_t *data, size_t size) {
  static Served served;
  if (size < 2)
    return;
  uint16_t headerSize;
  memcpy(&headerSize, data, sizeof headerSize);
  data += sizeof headerSize;
  size -= sizeof headerSize;
  Exchange exchange;
  exchange.target = &served.entry;
  require(exchange.body.append(reinterpret_cast<const char *>(data), size) && exchange.body.push(0),
          "no memory");
  exchange.bodySize = size;
  exchange.headerSize = headerSize == UINT16_MAX ? -1 : headerSize;
  exchange.kind = &inferRequests;
  inferRequests.read(exchange);
  if (exchange.status == 200) {
    Part *part = exchange.parts;
    char *message = nullptr;
    attn_status status = inferRequests.compute(served.context, &part, 1, &message);
    if (status)
      exchange.fail(status, message);
    else
      inferRequests.answer(exchange);
    attn_message_free(message);
  }
  require(!exchange.answer.empty(), "no answer");
  require(exchange.status == 200 || exchange.status == 400 || exchange.status == 422,
          "another status");
}
