// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A request of a text that is gone on from, or of a chat that is answered, in the forms of OpenAI's
// API: /v1/completions, /v1/chat/completions, /v1/responses.
#pragma once

#include "serve/AnswerReader.h"
#include "serve/Tools.h"
#include "serve/Turns.h"
#include <cmath>

namespace attn {

/// In which form a request comes, and is answered.
enum class CompletionForm { Text, Chat, Response };

/// What an answer has in a row: a run of text or thoughts, or a call.
struct WrittenItem {
  AnswerPart::Kind kind;
  size_t begin, size;    ///< of its text in the bytes of the answer
  size_t name, nameSize; ///< of a call, likewise
  size_t id, idSize;     ///< likewise
};

/// What is known of a request, and what has been written.
struct Completion {
  Completion(Exchange &exchange, CompletionForm form) : exchange(exchange), form(form) {}

  Exchange &exchange;
  CompletionForm form;
  TextModel *files = nullptr;
  AnswerForm shape;    ///< that is asked for
  Vector<char> effort; ///< of what a model thinks
  attn_text_options options = {};
  attn_text_result result = {};
  bool streams = false, wantsUsage = false, hasBegun = false;
  bool isParallel = true; ///< whether there may be several calls
  bool isDone = false;    ///< whether more is not wanted
  int64_t number = 0, created = 0;
  // What is said again in answers: values of JSON in the body; SIZE_MAX: there are none.
  size_t saidTools = SIZE_MAX, saidChoice = SIZE_MAX, saidInstructions = SIZE_MAX,
         saidMetadata = SIZE_MAX;
  Vector<char> bytes; ///< that have been written
  Vector<WrittenItem> items;
  /// A token that was chosen, and where its likeliest ones are.
  struct Told {
    int32_t token;
    float logprob;
    size_t likeliest, count;
  };
  bool isTold = false; ///< whether probabilities are asked for
  Vector<Told> told;
  size_t firstTold = 0; ///< that no piece of a stream has said
  Vector<int32_t> likeliest;
  Vector<float> logprobs; ///< of these
  int64_t sequence = 0;   ///< of events

  /// A text that has been written.
  Slice written(size_t begin, size_t size) const { return {bytes.data() + begin, size}; }
  /// Why the answer ended, as /v1/chat/completions says.
  const char *ending() const;
  bool hasCalls() const; ///< of tools
};

/// The request from its body to its answer.
class CompletionRequest : Completion {
public:
  CompletionRequest(Exchange &exchange, CompletionForm form) : Completion(exchange, form) {}
  ~CompletionRequest() { dispose(reader); }

  /// Reads the body, and makes the prompt.
  void read();
  /// Writes what follows it; a stream is sent meanwhile.
  attn_status compute(attn_context *context, char **message);
  /// Appends the answer, or the end of the stream.
  void answer();

private:
  /// The request is wrong; false.
  bool fail(const char *words) { return exchange.fail(400, "%s", words), false; }
  /// Whether it has turns, of which a template makes the prompt.
  bool isOfTurns() const { return form != CompletionForm::Text; }

  // Reading, in CompletionFields.cpp: false where there is an error.
  /// The fields of /v1/completions and /v1/chat/completions, and of /v1/responses.
  bool readFieldsOfText();
  bool readFieldsOfResponse(); ///< the latter
  /// A text, a list of one, or tokens.
  bool readPrompt(size_t place);
  bool addPromptText(size_t place); ///< one of the list
  bool addToken(size_t place);      ///< one of the tokens
  /// The turns of a chat, and of /v1/responses with what comes before them.
  bool readMessages(size_t place);
  bool readInput(size_t place, size_t instructions, bool hasInstructions); ///< the latter
  /// Texts that end what is written.
  bool readStops(size_t place);
  bool addStop(size_t place); ///< one of them
  /// What is added to scores of tokens.
  bool readBiases(size_t place);
  bool readStreamOptions(size_t place); ///< what a stream ends with
  /// In which form the answer of /v1/responses is asked for.
  bool readTextFields(size_t place);
  bool readReasoning(size_t place); ///< how much a model is to think
  /// What a template is given further: `kwargs`, an object, and the effort.
  bool readVariables(size_t kwargs, bool hasKwargs);
  /// Makes the prompt of the turns.
  bool render();
  /// Begins to follow the form that is asked for.
  bool followForm();

  // Computing, in Completions.cpp.
  /// Makes a text, and the options of how it goes on.
  attn_status open(attn_context *context, attn_text *&text, char **message);
  /// Sets the numbers of a request; an error where one is out of its range.
  attn_status setNumbers(char **message);
  attn_status generate(attn_text *text, char **message);    ///< what follows the prompt
  attn_status addPictures(attn_text *text, char **message); ///< those of the turns
  /// Takes a piece of the text; whether to go on.
  bool take(const char *piece, size_t size);
  static bool takePart(void *request, const AnswerPart &part); ///< as a sink calls it
  bool takePart(const AnswerPart &part);                       ///< the same
  /// Keeps a part; null without memory. `isNew` becomes whether it begins an item.
  WrittenItem *keep(const AnswerPart &part, bool &isNew);
  /// Keeps the probabilities of a token.
  static void takeLogprobs(void *request, const attn_logprobs *chosen);
  /// Adds the biases; called by one thread at a time.
  static void addBiases(void *request, float *scores, int64_t rows, int64_t vocabulary);
  /// Notes when a piece came.
  void measure();
  bool send(const Text &events); ///< to the client; false where it has gone

  Turns turns{exchange};
  ToolList tools;
  FollowedForm followed;
  AnswerReader *reader = nullptr; ///< null where text is handed over as it is
  Vector<char> model, prompt, variables, stopBytes;
  Vector<int32_t> promptTokens;
  /// What is added to the score of a token.
  struct Bias {
    int32_t token;
    float value;
  };
  Vector<Bias> biases;
  Vector<size_t> stops; ///< in `stopBytes`
  Vector<const char *> stopTexts, shown;
  double temperature = NAN, topP = NAN, minP = NAN, repetition = NAN; ///< NAN: as the spec says
  int64_t limit = 0, seed = -1, topK = -1, prompts = 0, mostLikely = 0;
  double lastPiece = 0; ///< when it came
};

} // namespace attn
