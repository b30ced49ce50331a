// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokenizers of models, and which entry a request is for.
#include "serve/Texts.h"

#include "main/Prompt.h"
#include "run/Context.h"
#include "text/jinja/Handle.h"
#include <cctype>
#include <cstdio>
#include <sys/stat.h>

using namespace attn;

bool TextModel::knows(const char *word) const {
  Slice text = chatTemplate ? chatTemplate->whole.text() : Slice();
  size_t size = strlen(word);
  auto isOfWord = [&](size_t at) {
    return at < text.size &&
           (isalnum(static_cast<unsigned char>(text.data[at])) != 0 || text.data[at] == '_');
  };
  for (size_t at = 0; size > 0 && at + size <= text.size; ++at)
    if (memcmp(text.data + at, word, size) == 0 && !isOfWord(at - 1) && !isOfWord(at + size))
      return true;
  return false;
}

TextModel *TextService::of(const attn_model *model) const {
  for (TextModel *known : models)
    if (known->model == model)
      return known;
  return nullptr;
}

/// Whether the size of an axis is known only when the model runs.
static bool isDynamic(const attn_model *model, const attn_abi_axis &axis) {
  return axis.dim >= 0 && model->tables->dims[axis.dim].isDynamic;
}

/// Whether an entry is of a use; of vectors and scores, as far as can be told without a tokenizer.
static bool isOfUse(const ServedEntry &served, const attn_tokenizer *tokenizer, TextUse use) {
  const attn_abi_entry &entry = served.model->tables->entries[served.entry];
  if (use == TextUse::Writes) {
    int32_t rows = 0;
    bool sees = false; // what else such an entry takes, pictures give
    for (int32_t i = 0; i < entry.inputCount; ++i) {
      rows += entry.inputs[i].rank == 2 && entry.inputs[i].dtype == ATTN_I32;
      sees |= strcmp(entry.inputs[i].name, "seen") == 0;
    }
    return entry.unfold && (rows == 1 || (sees && rows > 0));
  }
  bool isOfScores = entry.outputCount > 0 && strcmp(entry.outputs[0].name, "scores") == 0,
       isOfVectors = entry.outputCount > 0 && strcmp(entry.outputs[0].name, "embedding") == 0;
  // Rows whose width follows the length of a text are no vectors.
  if (isOfScores != (use == TextUse::Scores) || entry.outputCount == 0 ||
      entry.outputs[0].rank != 2 || isDynamic(served.model, entry.outputs[0].axes[1]))
    return false;
  attn_tokens tokens = {};
  bool isOther =
      tokenizer && attn_text_tokens(served.model, served.entry, tokenizer, "a", 1, nullptr, 0, 1,
                                    &tokens, nullptr) == ATTN_INVALID_ARGUMENT;
  attn_tokens_free(&tokens);
  return tokenizer ? !isOther : isOfScores || isOfVectors;
}

const ServedEntry *attn::findTextEntry(Exchange &exchange, const Vector<char> &model, TextUse use) {
  static constexpr const char *uses[] = {"makes vectors of texts", "gives scores of texts",
                                         "goes on from texts"};
  const TextService &service = *static_cast<TextService *>(exchange.texts);
  bool isNamed = !model.empty(), isKnown = false;
  const ServedEntry *suited = nullptr; // but without a tokenizer
  for (const ServedEntry *entry : service.entries) {
    bool isMeant = !isNamed || strcmp(entry->name, model.data()) == 0 ||
                   strcmp(attn_model_name(entry->model), model.data()) == 0;
    isKnown |= isMeant;
    const attn_tokenizer *tokenizer = service.of(entry->model)->tokenizer;
    if (!isMeant || !isOfUse(*entry, tokenizer, use))
      continue;
    if (tokenizer)
      return entry;
    suited = entry;
  }
  const char *name = isNamed ? model.data() : "";
  if (isNamed && !isKnown)
    exchange.fail(404, "there is no model `%.100s` (GET /v1/models lists them)", name);
  else if (suited)
    exchange.fail(404, "the model `%.100s` has no tokenizer: start the server with `--tokenizer`",
                  suited->name);
  else if (isNamed)
    exchange.fail(404, "no entry of `%.100s` %s", name, uses[int(use)]);
  else
    exchange.fail(404, "no model here %s", uses[int(use)]);
  return nullptr;
}

/// Whether a path is a folder.
static bool isFolder(const char *path) {
  struct stat found;
  return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

/// Opens what there is of a model: what is named, what is embedded, what lies beside its weights.
static attn_status open(const ServedModel &served, TextModel &model, Error &error) {
  const attn_abi_model &tables = *served.model->tables;
  const char *folder = served.weights && isFolder(served.weights) ? served.weights : nullptr;
  model.model = served.model;
  Command command;
  command.tokenizer = served.tokenizer;
  command.weights = served.weights;
  Error problem;
  attn_status status = openTokenizer(command, tables, "--serve", &model.tokenizer, problem);
  // It is no mistake to have none, where none is named.
  if (status && (served.tokenizer || (status != ATTN_INVALID_ARGUMENT && status != ATTN_IO))) {
    char *message = nullptr;
    problem.report(&message);
    error.take(status, message);
    attn_message_free(message);
    return status;
  }
  // The template lies where the tokenizer does.
  const char *path = served.tokenizer                  ? served.tokenizer
                     : tables.tokenizerBytes || status ? nullptr
                                                       : served.weights;
  char *message = nullptr;
  attn_status found = ATTN_NOT_FOUND;
  if (tables.chatTemplateBytes > 0)
    found = attn_chat_template_open_memory(tables.chatTemplate, size_t(tables.chatTemplateBytes),
                                           &model.chatTemplate, &message);
  else if (path)
    found = attn_chat_template_open(path, nullptr, &model.chatTemplate, &message);
  if (found != ATTN_OK && found != ATTN_NOT_FOUND)
    fprintf(stderr, "note: the chat template is left out: %s\n",
            message ? message : attn_status_name(found));
  attn_message_free(message);
  if (model.chatTemplate) {
    Slice text = model.chatTemplate->whole.text();
    model.format = findAnswerFormat(text);
    model.thoughts = findThoughtMarks(text);
  }
  if (folder)
    model.labels.readFolder(folder);
  else
    model.labels.take(tables.labels, size_t(tables.labelBytes), tables.labelFunction);
  return ATTN_OK;
}

extern "C" void *attn_serve_texts_open(const ServedModel *models, size_t count,
                                       const Vector<ServedEntry *> *entries, Error *error) {
  auto *service = create<TextService>(*entries);
  for (size_t i = 0; service && i < count; ++i) {
    auto *model = create<TextModel>();
    if (!model || !service->models.push(model)) {
      dispose(model);
      dispose(service);
      service = nullptr;
    } else if (open(models[i], *model, *error) ||
               (model->tokenizer && model->steps.start(model->model, *error))) {
      dispose(service);
      return nullptr;
    }
  }
  if (!service)
    error->outOfMemory("the server");
  return service;
}

extern "C" int32_t attn_serve_texts_rows(const void *service) {
  int64_t rows = 0;
  for (const TextModel *model : static_cast<const TextService *>(service)->models)
    rows += model->steps.rows();
  return int32_t(rows);
}

extern "C" void attn_serve_texts_close(void *service) {
  dispose(static_cast<TextService *>(service));
}

extern "C" const RequestKind *attn_serve_texts_kind(const char *path) {
  static constexpr struct {
    const char *path;
    const RequestKind *kind;
  } kinds[] = {
      {"/v1/embeddings", &embeddingRequests},
      {"/rerank", &rerankRequests},
      {"/v1/rerank", &rerankRequests},
      {"/v2/rerank", &rerankRequests},
      {"/predict", &predictRequests},
      {"/v1/completions", &completionRequests},
      {"/v1/chat/completions", &chatRequests},
      {"/v1/responses", &responseRequests},
      {"/tokenize", &tokenizeRequests},
      {"/v1/tokenize", &tokenizeRequests},
      {"/detokenize", &detokenizeRequests},
      {"/v1/detokenize", &detokenizeRequests},
      {"/v1/audio/transcriptions", &transcriptionRequests},
      {"/v1/audio/translations", &translationRequests},
  };
  for (const auto &known : kinds)
    if (strcmp(known.path, path) == 0)
      return known.kind;
  return nullptr;
}
