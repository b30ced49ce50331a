// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts that are gone on from, and chats, whole or piece by piece as server-sent events. Each
// worker writes one at a time.
#include "serve/CompletionWriters.h"

#include "main/ProgressLine.h"
#include "serve/Http.h"
#include "serve/MemoryFile.h"
#include <sys/random.h>

namespace attn {

/// Sets a number that a request gives; false where it is out of its range.
static bool setNumber(double given, double least, double most, float &number) {
  if (std::isnan(given))
    return true;
  number = float(given);
  return given >= least && given <= most;
}

attn_status CompletionRequest::setNumbers(char **message) {
  attn_sampling &sampling = options.numbers.sampling;
  Error error;
  if (!setNumber(temperature, 0, 1e6, sampling.temperature))
    error.set(ATTN_BAD_INPUT, "R0803", "`temperature` is %g, expected at least 0", temperature);
  else if (!setNumber(topP, 0, 1, sampling.topP))
    error.set(ATTN_BAD_INPUT, "R0803", "`top_p` is %g, expected 0 to 1", topP);
  else if (!setNumber(minP, 0, 1, sampling.minP))
    error.set(ATTN_BAD_INPUT, "R0803", "`min_p` is %g, expected 0 to 1", minP);
  else if (!setNumber(repetition, 1e-6, 1e6, sampling.repetition))
    error.set(ATTN_BAD_INPUT, "R0803", "`repetition_penalty` is %g, expected above 0", repetition);
  else if (topK > INT32_MAX || seed > (int64_t(1) << 53))
    error.set(ATTN_BAD_INPUT, "R0803", "`top_k` or `seed` is too large");
  else if (limit > options.numbers.limit)
    error.set(ATTN_BAD_INPUT, "R0803", "`%s` is %lld, expected 1 to %lld",
              form == CompletionForm::Response ? "max_output_tokens" : "max_tokens",
              static_cast<long long>(limit), static_cast<long long>(options.numbers.limit));
  return error.report(message);
}

attn_status CompletionRequest::open(attn_context *context, attn_text *&text, char **message) {
  if (attn_status status =
          attn_text_create(context, exchange.target->entry, files->tokenizer, &text, message))
    return status;
  if (attn_status status =
          attn_text_schedule(text, files->steps.of(exchange.target->entry), message))
    return status;
  if (attn_status status = attn_text_options_default(text, &options, message))
    return status;
  if (attn_status status = setNumbers(message))
    return status;
  attn_sampling &sampling = options.numbers.sampling;
  if (topK >= 0)
    sampling.topK = int32_t(topK);
  if (limit)
    options.numbers.limit = limit;
  uint64_t drawn = 0;
  if (seed >= 0)
    sampling.seed = uint64_t(seed);
  else if (sampling.temperature > 0 && getrandom(&drawn, sizeof drawn, 0) == sizeof drawn)
    sampling.seed = drawn >> 11;
  // A template puts the special tokens.
  if (isOfTurns())
    options.flags = 0;
  options.stopCount = int32_t(stopTexts.size());
  options.stops = stopTexts.data();
  options.shownCount = int32_t(shown.size());
  options.shown = shown.data();
  options.matcher = followed.matcher();
  if (isTold)
    options.onLogprobs = takeLogprobs, options.logprobs = int32_t(mostLikely);
  if (!biases.empty())
    options.numbers.onScores = addBiases, options.numbers.user = this;
  options.user = this;
  options.onText = [](void *self, const char *piece, size_t size) {
    return int32_t(static_cast<CompletionRequest *>(self)->take(piece, size));
  };
  return ATTN_OK;
}

attn_status CompletionRequest::addPictures(attn_text *text, char **message) {
  for (size_t i = 0; i < turns.pictureCount(); ++i) {
    MemoryFile file;
    if (!file.open(turns.picture(i)))
      return ATTN_OUT_OF_MEMORY;
    attn_status status = attn_text_picture(text, file.path(), message);
    file.nameIn(*message);
    // A model that sees nothing is no mistake of the server.
    if (status)
      return status == ATTN_INVALID_ARGUMENT || status == ATTN_IO ? ATTN_BAD_INPUT : status;
  }
  return ATTN_OK;
}

attn_status CompletionRequest::generate(attn_text *text, char **message) {
  attn_status status = addPictures(text, message);
  if (!status && promptTokens.empty())
    status = attn_text_prompt(text, prompt.data(), prompt.size(), &options, message);
  else if (!status)
    status = attn_text_prompt_tokens(text, promptTokens.data(), int64_t(promptTokens.size()),
                                     &options, message);
  if (!status)
    status = attn_text_generate(text, &options, &result, message);
  if (!status && reader && !isDone && !reader->finish() && reader->failed())
    status = ATTN_OUT_OF_MEMORY;
  return status;
}

attn_status CompletionRequest::compute(attn_context *context, char **message) {
  attn_text *text = nullptr;
  attn_status status = open(context, text, message);
  if (!status)
    status = generate(text, message);
  exchange.text.kept = result.kept, exchange.text.read = result.read;
  exchange.text.written = result.written;
  attn_text_destroy(text);
  return status;
}

void CompletionRequest::addBiases(void *request, float *scores, int64_t, int64_t vocabulary) {
  for (const Bias &bias : static_cast<CompletionRequest *>(request)->biases)
    if (bias.token < vocabulary)
      scores[bias.token] += bias.value;
}

void CompletionRequest::takeLogprobs(void *request, const attn_logprobs *chosen) {
  auto &self = *static_cast<CompletionRequest *>(request);
  auto count = size_t(chosen->count);
  // Without memory the answer says fewer of them.
  if (self.likeliest.append(chosen->tokens, count) && self.logprobs.append(chosen->logprobs, count))
    self.told.push({chosen->token, chosen->logprob, self.likeliest.size() - count, count});
}

void CompletionRequest::measure() {
  double now = secondsNow();
  if (lastPiece == 0)
    exchange.text.first.add(now - exchange.arrived);
  else
    exchange.text.between.add(now - lastPiece);
  lastPiece = now;
}

bool CompletionRequest::take(const char *piece, size_t size) {
  measure();
  if (reader)
    return reader->add({piece, size}) && !isDone;
  return takePart({AnswerPart::Content, {piece, size}, Slice(), Slice()});
}

bool CompletionRequest::takePart(void *request, const AnswerPart &part) {
  return static_cast<CompletionRequest *>(request)->takePart(part);
}

/// Draws the id of a call: nine letters and digits, which is what Mistral's templates take.
static bool drawId(char (&id)[16]) {
  static constexpr char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz012345";
  unsigned char bytes[9];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
    return false;
  for (size_t i = 0; i < sizeof bytes; ++i)
    id[i] = letters[bytes[i] % (sizeof letters - 1)];
  id[sizeof bytes] = 0;
  return true;
}

WrittenItem *CompletionRequest::keep(const AnswerPart &part, bool &isNew) {
  isNew = part.kind == AnswerPart::Call || items.empty() || items.back().kind != part.kind;
  if (isNew) {
    char drawn[16] = "";
    bool isDrawn = part.kind == AnswerPart::Call && !part.id.data;
    WrittenItem item = {part.kind, 0, 0, bytes.size(), part.name.size, 0, 0};
    if ((isDrawn && !drawId(drawn)) || !append(bytes, part.name))
      return nullptr;
    Slice id = isDrawn ? Slice(drawn) : part.id;
    item.id = bytes.size(), item.idSize = id.size;
    if (!append(bytes, id))
      return nullptr;
    item.begin = bytes.size();
    if (!items.push(item))
      return nullptr;
  }
  if (!append(bytes, part.text))
    return nullptr;
  items.back().size += part.text.size;
  return &items.back();
}

bool CompletionRequest::send(const Text &events) {
  return !events.failed() && exchange.server->stream(exchange, events.c_str(), events.size());
}

bool CompletionRequest::takePart(const AnswerPart &part) {
  if (isDone)
    return false;
  bool isNew = false;
  const WrittenItem *item = keep(part, isNew);
  if (!item)
    return false;
  // One call is all that is wanted where they are not parallel.
  isDone = part.kind == AnswerPart::Call && !isParallel;
  if (!streams)
    return !isDone;
  Text events;
  if (form == CompletionForm::Response)
    ResponseWriter(*this).appendPart(part, isNew, events);
  else if (form == CompletionForm::Chat)
    AnswerWriter(*this).appendDelta(&part, item, nullptr, events);
  else
    AnswerWriter(*this).appendText(part.text, nullptr, events);
  hasBegun = true;
  firstTold = told.size();
  return send(events) && !isDone;
}

void CompletionRequest::answer() {
  Text out;
  if (form == CompletionForm::Response)
    ResponseWriter(*this).appendAnswer(out);
  else
    AnswerWriter(*this).appendAnswer(out);
  if (streams)
    exchange.type = "text/event-stream";
  if (out.failed() || !exchange.answer.append(out.c_str(), out.size()))
    exchange.failWithoutMemory();
}

namespace {

template <CompletionForm form> void readCompletion(Exchange &exchange) {
  CompletionForm own = form;
  auto *request = create<CompletionRequest>(exchange, own);
  exchange.work = request;
  if (request)
    request->read();
  else
    exchange.failWithoutMemory();
}
attn_status computeCompletion(attn_context *context, Part *const *parts, size_t, char **message) {
  return static_cast<CompletionRequest *>(parts[0]->exchange->work)->compute(context, message);
}
void answerCompletion(Exchange &exchange) {
  static_cast<CompletionRequest *>(exchange.work)->answer();
}
void releaseCompletion(void *work) { dispose(static_cast<CompletionRequest *>(work)); }

} // namespace

const RequestKind completionRequests = {readCompletion<CompletionForm::Text>, computeCompletion,
                                        answerCompletion, releaseCompletion};
const RequestKind chatRequests = {readCompletion<CompletionForm::Chat>, computeCompletion,
                                  answerCompletion, releaseCompletion};
const RequestKind responseRequests = {readCompletion<CompletionForm::Response>, computeCompletion,
                                      answerCompletion, releaseCompletion};

} // namespace attn
