// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C API of texts that a model goes on from.
#include "schedule/Scheduler.h"
#include "session/Chat.h"
#include "session/Embedding.h"
#include "text/jinja/Handle.h"

using namespace attn;

/// What the handles are.
struct attn_text {
  TextSession session;
};

struct attn_chat {
  Chat chat;
};

static attn_status nullPointer(const char *function, char **message) {
  Error error;
  error.set(ATTN_INVALID_ARGUMENT, "R0101", "%s: null pointer", function);
  return error.report(message);
}

extern "C" attn_status attn_text_create(attn_context *context, int32_t entry,
                                        const attn_tokenizer *tokenizer, attn_text **text,
                                        char **message) {
  if (!context || !tokenizer || !text)
    return nullPointer("attn_text_create", message);
  Error error;
  const attn_abi_model &tables = *context->model->tables;
  if (entry < 0 || entry >= tables.entryCount) {
    error.set(ATTN_INVALID_ARGUMENT, "R0102", "model `%s` has %d entries, there is no %d",
              tables.name, int(tables.entryCount), int(entry));
    return error.report(message);
  }
  void *memory = malloc(sizeof(attn_text));
  if (!memory) {
    error.outOfMemory("a text");
    return error.report(message);
  }
  auto *made = new (memory) attn_text{{*context, *tokenizer, entry}};
  if (made->session.check(error) == ATTN_OK)
    *text = made;
  else
    dispose(made);
  return error.report(message);
}

extern "C" void attn_text_destroy(attn_text *text) { dispose(text); }

extern "C" attn_status attn_text_options_default(const attn_text *text, attn_text_options *options,
                                                 char **message) {
  if (!text || !options)
    return nullPointer("attn_text_options_default", message);
  *options = {};
  options->flags = ATTN_TEXT_ADD_SPECIAL;
  return attn_generation_default(&text->session.model(), text->session.number(), &options->numbers,
                                 message);
}

extern "C" attn_status attn_text_picture(attn_text *text, const char *path, char **message) {
  if (!text || !path)
    return nullPointer("attn_text_picture", message);
  Error error;
  text->session.addPicture(path, error);
  return error.report(message);
}

extern "C" void attn_text_clear_pictures(attn_text *text) {
  if (text)
    text->session.clearPictures();
}

extern "C" attn_status attn_text_schedule(attn_text *text, attn_scheduler *scheduler,
                                          char **message) {
  if (!text)
    return nullPointer("attn_text_schedule", message);
  Error error;
  if (scheduler && !scheduler->isOf(text->session.model(), text->session.number()))
    error.set(ATTN_INVALID_ARGUMENT, "R0101",
              "attn_text_schedule: the scheduler runs another entry than that by which the text's "
              "shares steps");
  else
    text->session.schedule(scheduler);
  return error.report(message);
}

/// Whether the stops, and the tokens that are shown, are texts.
static bool areGood(const attn_text_options &options) {
  auto areTexts = [](int32_t count, const char *const *texts) {
    bool isGood = count >= 0 && (count == 0 || texts);
    for (int32_t i = 0; isGood && i < count; ++i)
      isGood = texts[i] != nullptr;
    return isGood;
  };
  return areTexts(options.stopCount, options.stops) && areTexts(options.shownCount, options.shown);
}

extern "C" attn_status attn_text_prompt(attn_text *text, const char *prompt, size_t size,
                                        const attn_text_options *options, char **message) {
  if (!text || !options || (!prompt && size))
    return nullPointer("attn_text_prompt", message);
  Error error;
  text->session.prompt(prompt, size, *options, error);
  return error.report(message);
}

extern "C" attn_status attn_text_prompt_tokens(attn_text *text, const int32_t *ids, int64_t count,
                                               const attn_text_options *options, char **message) {
  if (!text || !options || (!ids && count))
    return nullPointer("attn_text_prompt_tokens", message);
  Error error;
  if (count < 0)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_text_prompt_tokens: %lld tokens",
              static_cast<long long>(count));
  else
    text->session.promptTokens(ids, count, *options, error);
  return error.report(message);
}

extern "C" attn_status attn_text_generate(attn_text *text, const attn_text_options *options,
                                          attn_text_result *result, char **message) {
  if (!text || !options || !result || !areGood(*options))
    return nullPointer("attn_text_generate", message);
  Error error;
  attn_text_result made = {};
  if (text->session.generate(*options, made, error) == ATTN_OK)
    *result = made;
  return error.report(message);
}

extern "C" attn_status attn_chat_create(attn_text *text, const attn_chat_template *chatTemplate,
                                        attn_chat **chat, char **message) {
  if (!text || !chatTemplate || !chat)
    return nullPointer("attn_chat_create", message);
  Error error;
  void *memory = malloc(sizeof(attn_chat));
  if (memory)
    *chat = new (memory) attn_chat{{text->session, chatTemplate->whole}};
  else
    error.outOfMemory("a chat");
  return error.report(message);
}

extern "C" void attn_chat_destroy(attn_chat *chat) { dispose(chat); }

extern "C" attn_status attn_chat_add(attn_chat *chat, const char *role, const char *content,
                                     size_t size, char **message) {
  if (!chat || !role || (!content && size))
    return nullPointer("attn_chat_add", message);
  Error error;
  if (!chat->chat.add(Slice(role), Slice(content, size)))
    error.outOfMemory("a chat");
  return error.report(message);
}

extern "C" attn_status attn_chat_picture(attn_chat *chat, const char *path, char **message) {
  if (!chat || !path)
    return nullPointer("attn_chat_picture", message);
  Error error;
  chat->chat.addPicture(path, error);
  return error.report(message);
}

extern "C" attn_status attn_chat_answer(attn_chat *chat, const attn_text_options *options,
                                        attn_text_result *result, char **message) {
  if (!chat || !options || !result || !areGood(*options))
    return nullPointer("attn_chat_answer", message);
  Error error;
  attn_text_result made = {};
  if (chat->chat.answer(*options, made, error) == ATTN_OK)
    *result = made;
  return error.report(message);
}

/// Copies floats to memory that the caller frees.
static attn_status copyFloats(const float *from, size_t count, float **values, Error &error) {
  auto *copy = static_cast<float *>(malloc(count ? count * sizeof(float) : 1));
  if (!copy)
    return error.outOfMemory("vectors");
  if (count)
    memcpy(copy, from, count * sizeof(float));
  *values = copy;
  return ATTN_OK;
}

/// Whether there is such an entry, and it makes rows of texts.
static attn_status checkTextEntry(const attn_model &model, int32_t entry, Error &error) {
  if (entry < 0 || entry >= model.tables->entryCount)
    return error.set(ATTN_INVALID_ARGUMENT, "R0102", "there is no entry %d", int(entry));
  return checkTextEntry(model.tables->entries[entry], error);
}

extern "C" attn_status attn_text_embed(attn_context *context, int32_t entry,
                                       const attn_tokenizer *tokenizer, const char *text,
                                       size_t size, int32_t truncates, float **values,
                                       int64_t *count, char **message) {
  if (!context || !tokenizer || (!text && size) || !values || !count)
    return nullPointer("attn_text_embed", message);
  Error error;
  Vector<float> vector;
  if (checkTextEntry(*context->model, entry, error) == ATTN_OK &&
      embedText(*context, entry, *tokenizer, Slice(text, size), truncates != 0, vector, error) ==
          ATTN_OK &&
      copyFloats(vector.data(), vector.size(), values, error) == ATTN_OK)
    *count = int64_t(vector.size());
  return error.report(message);
}

extern "C" attn_status attn_text_tokens(const attn_model *model, int32_t entry,
                                        const attn_tokenizer *tokenizer, const char *text,
                                        size_t size, const char *pair, size_t pairSize,
                                        int32_t truncates, attn_tokens *tokens, char **message) {
  if (!model || !tokenizer || (!text && size) || !tokens)
    return nullPointer("attn_text_tokens", message);
  Error error;
  attn_tokens made = {};
  Slice second(pair, pairSize);
  if (checkTextEntry(*model, entry, error) == ATTN_OK &&
      readTextTokens(*model->tables, entry, *tokenizer, Slice(text, size), pair ? &second : nullptr,
                     truncates != 0, made, error) == ATTN_OK)
    *tokens = made;
  else
    attn_tokens_free(&made);
  return error.report(message);
}

extern "C" attn_status attn_text_rows(attn_context *context, int32_t entry,
                                      const attn_tokens *const *texts, int64_t count,
                                      float **values, int64_t *width, char **message) {
  if (!context || !texts || !values || !width)
    return nullPointer("attn_text_rows", message);
  Error error;
  Outputs outputs;
  bool areGood = count > 0;
  for (int64_t i = 0; i < count && areGood; ++i)
    areGood = texts[i] && texts[i]->count > 0 && texts[i]->count == texts[0]->count;
  if (!areGood)
    error.set(ATTN_INVALID_ARGUMENT, "R0101",
              "attn_text_rows: expected texts of one number of tokens");
  else if (checkTextEntry(*context->model, entry, error) == ATTN_OK &&
           runTexts(*context, entry, texts, count, outputs, error) == ATTN_OK &&
           copyFloats(static_cast<const float *>(outputs[0].data),
                      size_t(count * outputs[0].shape[1]), values, error) == ATTN_OK)
    *width = outputs[0].shape[1];
  return error.report(message);
}
