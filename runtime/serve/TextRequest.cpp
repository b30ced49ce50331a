// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts to tokens, and these to rows of numbers, which requests of one length get together.
#include "serve/TextRequest.h"

#include "run/Context.h"
#include "serve/Batch.h"
#include "serve/Fields.h"
#include <cstdlib>

namespace attn {

bool TextRequest::addText(size_t place, const char *what, Vector<Span> &list) {
  size_t begin = bytes.size();
  if (!hasRoom(list.size()) || !readText(exchange, place, what, bytes))
    return false;
  return list.push({begin, bytes.size() - begin}) || exchange.failWithoutMemory();
}

bool TextRequest::tokenize(const attn_tokenizer &tokenizer) {
  for (size_t i = 0; i < texts.size(); ++i) {
    const Span &text = texts.begin()[i];
    const Span *pair =
        i < pairs.size() && pairs.begin()[i].size != SIZE_MAX ? &pairs.begin()[i] : nullptr;
    attn_tokens own = {};
    char *message = nullptr;
    attn_status status = attn_text_tokens(exchange.target->model, exchange.target->entry,
                                          &tokenizer, bytes.data() + text.begin, text.size,
                                          pair ? bytes.data() + pair->begin : nullptr,
                                          pair ? pair->size : 0, truncates, &own, &message);
    if (status)
      exchange.fail(status, message);
    else if (!tokens.push(own))
      attn_tokens_free(&own), exchange.failWithoutMemory();
    attn_message_free(message);
    if (exchange.status != 200)
      return false;
  }
  return true;
}

bool TextRequest::makeParts(const Vector<char> &model, TextUse use) {
  exchange.target = findTextEntry(exchange, model, use);
  if (!exchange.target)
    return false;
  const TextModel &known = *static_cast<TextService *>(exchange.texts)->of(exchange.target->model);
  labels = &known.labels;
  if (!tokenize(*known.tokenizer) || !exchange.makeParts(tokens.size()))
    return false;
  const attn_abi_model &tables = *exchange.target->model->tables;
  BatchAxes axes(tables, exchange.target->entry);
  const attn_abi_axis &last = axes.entry.outputs[0].axes[1];
  width = last.offset + (last.dim < 0 ? 0 : last.scale * tables.dims[last.dim].value);
  for (size_t i = 0; i < tokens.size(); ++i) {
    Part &part = exchange.parts[i];
    part.sizes = &tokens[i].count;
    part.sizeCount = 1;
    part.mostRows = axes.mostTexts(tokens[i].count);
  }
  return values.resize(tokens.size() * size_t(width)) || exchange.failWithoutMemory();
}

attn_status TextRequest::compute(attn_context *context, Part *const *parts, size_t count,
                                 char **message) {
  Vector<const attn_tokens *> texts;
  auto requestOf = [&](size_t i) { return static_cast<TextRequest *>(parts[i]->exchange->work); };
  for (size_t i = 0; i < count; ++i)
    if (!texts.push(&requestOf(i)->tokens[parts[i]->index]))
      return ATTN_OUT_OF_MEMORY;
  float *rows = nullptr;
  int64_t width = 0;
  attn_status status = attn_text_rows(context, parts[0]->target->entry, texts.data(),
                                      int64_t(count), &rows, &width, message);
  for (size_t i = 0; i < count && !status; ++i)
    memcpy(requestOf(i)->values.data() + parts[i]->index * size_t(width), rows + i * size_t(width),
           size_t(width) * sizeof *rows);
  free(rows);
  return status;
}

void TextRequest::setAnswer(const Text &text) {
  if (text.failed() || !exchange.answer.append(text.c_str(), text.size()))
    exchange.failWithoutMemory();
}

namespace {

template <void (TextRequest::*read)()> void readRequest(Exchange &exchange) {
  auto *request = create<TextRequest>(exchange);
  exchange.work = request;
  if (request)
    (request->*read)();
  else
    exchange.failWithoutMemory();
}
template <void (TextRequest::*answer)()> void answerRequest(Exchange &exchange) {
  (static_cast<TextRequest *>(exchange.work)->*answer)();
}
void releaseRequest(void *work) { dispose(static_cast<TextRequest *>(work)); }

} // namespace

const RequestKind embeddingRequests = {
    readRequest<&TextRequest::readEmbeddings>, TextRequest::compute,
    answerRequest<&TextRequest::answerEmbeddings>, releaseRequest};
const RequestKind rerankRequests = {readRequest<&TextRequest::readRerank>, TextRequest::compute,
                                    answerRequest<&TextRequest::answerRerank>, releaseRequest};
const RequestKind predictRequests = {readRequest<&TextRequest::readPredict>, TextRequest::compute,
                                     answerRequest<&TextRequest::answerPredict>, releaseRequest};

} // namespace attn
