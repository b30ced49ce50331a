// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What of a server takes texts: the paths of other text servers. In an archive of its own, with
// tokenizers, which is linked only where a model takes texts; the server refers to it weakly.
#pragma once

#include "attn/text.h"
#include "main/Labels.h"
#include "serve/AnswerFormat.h"
#include "serve/Exchange.h"
#include "serve/Serve.h"
#include "serve/SharedSteps.h"
#include "serve/Structure.h"

namespace attn {

/// What a model needs for texts. Without a tokenizer it takes none.
struct TextModel {
  attn_model *model = nullptr;
  attn_tokenizer *tokenizer = nullptr;
  attn_chat_template *chatTemplate = nullptr; ///< null: there is none
  // What its text says of answers.
  const AnswerFormat *format = nullptr;   ///< of calls; null: none that is known
  const ThoughtMarks *thoughts = nullptr; ///< null: there are none
  Labels labels;
  SharedSteps steps; ///< of requests that go on from texts
  Grammars grammars; ///< that their answers follow
  /// Whether the chat template holds a word.
  bool knows(const char *word) const;
  ~TextModel() {
    steps.stop(); // its requests have tokenizers and grammars
    attn_chat_template_destroy(chatTemplate);
    attn_tokenizer_destroy(tokenizer);
  }
};

/// The models of a server and their entries.
struct TextService {
  const Vector<ServedEntry *> &entries;
  Vector<TextModel *> models;
  explicit TextService(const Vector<ServedEntry *> &entries) : entries(entries) {}
  ~TextService() {
    for (TextModel *model : models)
      dispose(model);
  }
  /// The files of a model; null where there is none.
  TextModel *of(const attn_model *model) const;
};

/// What an entry makes of texts.
enum class TextUse { Vectors, Scores, Writes };

/// The entry that a request is for: the one that its `model` names, or else the first that is of a
/// use; null, with an error in the exchange, where there is none.
const ServedEntry *findTextEntry(Exchange &exchange, const Vector<char> &model, TextUse use);

/// Requests at /v1/embeddings; /rerank, /v1/rerank and /v2/rerank; /predict; /v1/completions,
/// /v1/chat/completions and /v1/responses; /tokenize and /detokenize; /v1/audio/transcriptions and
/// /v1/audio/translations.
extern const RequestKind embeddingRequests, rerankRequests, predictRequests, completionRequests,
    chatRequests, responseRequests, tokenizeRequests, detokenizeRequests, transcriptionRequests,
    translationRequests;

} // namespace attn

/// Opens tokenizers, chat templates and labels: a TextService, or null and an error. Not having any
/// is no error.
extern "C" void *attn_serve_texts_open(const attn::ServedModel *models, size_t count,
                                       const attn::Vector<attn::ServedEntry *> *entries,
                                       attn::Error *error);
/// How many requests wait for steps that they share, at most.
extern "C" int32_t attn_serve_texts_rows(const void *service);
/// Frees it; null is allowed.
extern "C" void attn_serve_texts_close(void *service);
/// The kind of requests at a path; null where it is none of texts.
extern "C" const attn::RequestKind *attn_serve_texts_kind(const char *path);
