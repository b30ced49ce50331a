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

/// The request from its body to its answer.
class CompletionRequest {
public:
  CompletionRequest(Exchange &exchange, CompletionForm form)
      : exchange(exchange), form(form), reader(nullptr) {}
  ~CompletionRequest() { dispose(reader); }

  void read();
  attn_status compute(attn_context *context, char **message);
  void answer();

private:
  bool fail(const char *words) { return exchange.fail(400, "%s", words), false; }
  bool isOfTurns() const { return form != CompletionForm::Text; }

  // Reading, in CompletionFields.cpp.
  bool readFieldsOfText();
  bool readFieldsOfResponse();
  bool readPrompt(size_t place);
  bool addPromptText(size_t place);
  bool addToken(size_t place);
  bool readMessages(size_t place);
  bool readInput(size_t place, size_t instructions, bool hasInstructions);
  bool readStops(size_t place);
  bool addStop(size_t place);
  bool readStreamOptions(size_t place);
  bool checkFormat(size_t place);
  /// Text of an answer as /v1/responses has it.
  bool checkText(size_t place);
  bool readReasoning(size_t place);
  /// What a template is given further: `kwargs`, an object, and the effort.
  bool readVariables(size_t kwargs, bool hasKwargs);
  /// Makes the prompt of the turns.
  bool render();

  // Computing, in Completions.cpp.
  attn_status open(attn_context *context, attn_text *&text, char **message);
  /// Sets the numbers of a request; an error where one is out of its range.
  attn_status setNumbers(char **message);
  attn_status generate(attn_text *text, char **message);
  attn_status addPictures(attn_text *text, char **message);
  /// Takes a piece of the text; whether to go on.
  bool take(const char *piece, size_t size);
  static bool takePart(void *request, const AnswerPart &part);
  bool takePart(const AnswerPart &part);
  /// Keeps a part; null without memory. `isNew` becomes whether it begins an item.
  WrittenItem *keep(const AnswerPart &part, bool &isNew);
  /// Notes when a piece came.
  void measure();
  bool send(const Text &events);
  Slice written(size_t begin, size_t size) const { return {bytes.data() + begin, size}; }
  bool hasCalls() const { return reader && reader->calls() > 0; }

  // Writing, in CompletionAnswers.cpp.
  /// Appends an answer, or a piece of one that ends for a reason, or goes on where that is null.
  void appendText(Slice text, const char *ending, Text &out) const;
  void appendDelta(const AnswerPart *part, const WrittenItem *item, const char *ending,
                   Text &out) const;
  void appendMessage(const char *ending, Text &out) const;
  void appendCall(const WrittenItem &item, bool hasIndex, Text &out) const;
  /// What stands in front of the choices, and behind them.
  void appendHead(Text &out) const;
  void appendUsage(Text &out) const;
  void answerCompletion(Text &out);
  const char *ending() const;

  // Writing, in Responses.cpp.
  void appendResponse(const char *status, Text &out) const;
  void appendOutput(size_t index, bool isDone, Text &out) const;
  void appendContentPart(const WrittenItem &item, bool isDone, Text &out) const;
  void appendEvent(const char *type, Text &out);
  void beginEvents(Text &out);
  void appendPart(const AnswerPart &part, bool isNew, Text &out);
  void openItem(Text &out);
  void closeItem(Text &out);
  void answerResponse(Text &out);

  Exchange &exchange;
  CompletionForm form;
  const TextModel *files = nullptr;
  Turns turns{exchange};
  ToolList tools;
  AnswerReader *reader; ///< null where text is handed over as it is
  Vector<char> model, prompt, variables, stopBytes;
  Vector<int32_t> promptTokens;
  Vector<size_t> stops; ///< in `stopBytes`
  Vector<const char *> stopTexts, shown;
  attn_text_options options = {};
  attn_text_result result = {};
  double temperature = NAN, topP = NAN, minP = NAN, repetition = NAN; ///< NAN: as the spec says
  int64_t limit = 0, seed = -1, topK = -1;
  bool streams = false, wantsUsage = false, hasBegun = false, isParallel = true, isDone = false;
  int64_t number = 0, created = 0, prompts = 0;
  Vector<char> effort;
  // What is said again in answers: values of JSON in the body; SIZE_MAX: there are none.
  size_t saidTools = SIZE_MAX, saidChoice = SIZE_MAX, saidInstructions = SIZE_MAX,
         saidMetadata = SIZE_MAX;

  Vector<char> bytes; ///< that have been written
  Vector<WrittenItem> items;
  int64_t sequence = 0; ///< of events
  double lastPiece = 0; ///< when it came
};

} // namespace attn
