// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A request of texts that become vectors or scores: OpenAI's embeddings, the reranking of Cohere
// and of text-embeddings-inference, whose classification is /predict. Each text is a part of it.
#pragma once

#include "serve/Texts.h"

namespace attn {

/// How many texts a request may have: as many as OpenAI's API takes.
constexpr size_t mostTexts = 2048;

/// A text in the bytes of a request.
struct Span {
  size_t begin, size; ///< SIZE_MAX: there is none
};

/// A request of texts, and what becomes of each.
class TextRequest {
public:
  explicit TextRequest(Exchange &exchange) : exchange(exchange) {}
  ~TextRequest() {
    for (attn_tokens &own : tokens)
      attn_tokens_free(&own);
  }

  /// /v1/embeddings: reads a request, and answers it when it is computed. So do the next.
  void readEmbeddings();
  void answerEmbeddings(); ///< its answer
  /// /rerank, in both forms.
  void readRerank();
  void answerRerank(); ///< its answer
  /// /predict.
  void readPredict();
  void answerPredict(); ///< its answer
  /// Runs texts of one length; the rows are their requests' afterwards.
  static attn_status compute(attn_context *context, Part *const *parts, size_t count,
                             char **message);

private:
  /// The request is wrong; false.
  bool fail(const char *words) { return exchange.fail(400, "%s", words), false; }
  /// Whether there is room for another one among `count`; else an error.
  bool hasRoom(size_t count) {
    return count < mostTexts || fail("the request has more than 2048 texts: send several");
  }
  /// Finds the entry, and makes tokens and parts of the texts that have been read.
  bool makeParts(const Vector<char> &model, TextUse use);
  /// Makes the tokens of all texts.
  bool tokenize(const attn_tokenizer &tokenizer);
  /// Reads a text, or tokens, of /v1/embeddings.
  bool addInput(size_t place);
  bool addTokens(size_t place);
  /// Appends one to those that were added last.
  bool addToken(size_t place);
  /// Appends the text at a place to a list.
  bool addText(size_t place, const char *what, Vector<Span> &list);
  /// An element of "documents" or "texts".
  bool addDocument(size_t place);
  /// One of /predict: a text, or a list of one text or of two that belong together.
  bool addPredicted(size_t place);
  void setAnswer(const Text &text);
  /// Appends a vector as it is asked for; what JSON has no word for is a problem. False without
  /// memory.
  bool appendEmbedding(const float *vector, Text &text, Text &problem) const;
  /// The scores of text `index` as probabilities: of classes, or of its only score.
  bool readScores(size_t index, Vector<double> &scores) const;

  Exchange &exchange;
  Vector<char> bytes;        ///< of texts
  Vector<Span> texts, pairs; ///< `pairs` are second texts, where there are some
  Vector<attn_tokens> tokens;
  Vector<float> values; ///< a row of `width` for each text
  int64_t width = 0;
  // What is asked for.
  bool isBase64 = false, truncates = false, wantsRaw = false, wantsTexts = false;
  bool isOfCohere = false; ///< "documents", not "texts"
  bool isShort = false;    ///< /predict of one text
  int64_t top = -1;        ///< results at most; -1: all
  const Labels *labels = nullptr;
};

} // namespace attn
