// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts that are gone on from, and chats, as OpenAI's API has them: whole, or piece by piece as
// server-sent events. Each worker writes one at a time.
#include "base/Json.h"
#include "base/Slice.h"
#include "serve/Fields.h"
#include "serve/Http.h"
#include "serve/Texts.h"
#include <atomic>
#include <cmath>
#include <ctime>
#include <sys/random.h>

namespace attn {
namespace {

/// A request of a text or a chat.
class CompletionRequest {
public:
  CompletionRequest(Exchange &exchange, bool isChat) : exchange(exchange), isChat(isChat) {}

  void read();
  attn_status compute(attn_context *context, char **message);
  void answer();

private:
  bool fail(const char *words) { return exchange.fail(400, "%s", words), false; }
  bool readPrompt();
  bool addStop(size_t place);
  bool addMessage(size_t place);
  bool addContent(size_t place);
  bool readStreamOptions(size_t place);
  bool checkFormat(size_t place);
  attn_status open(attn_context *context, attn_text *&text, char **message);
  attn_status generate(attn_text *text, char **message);
  /// Takes a piece of the text; whether to go on.
  bool take(const char *piece, size_t size);
  /// Appends an answer, or a piece of one: with `text` as what was written, null for nothing, and
  /// why it ended, null where it goes on.
  void appendAnswer(const Slice *text, const char *ending, Text &out) const;
  /// What stands in front of the choices, and behind them.
  void appendHead(Text &out) const;
  void appendUsage(Text &out) const;

  /// A turn of a chat: places in `bytes`.
  struct Turn {
    size_t role, content, contentSize;
  };

  Exchange &exchange;
  bool isChat;
  const TextModel *files = nullptr;
  Vector<char> bytes, written;
  Vector<Turn> turns;
  Vector<size_t> stops; ///< in `bytes`
  Vector<const char *> stopTexts;
  size_t prompt = 0, promptSize = 0; ///< in `bytes`
  size_t promptPlace = 0;            ///< of `prompt`, or of `messages`
  attn_text_options options = {};
  attn_text_result result = {};
  double temperature = NAN, topP = NAN, minP = NAN, repetition = NAN; ///< NAN: as the spec says
  int64_t limit = 0, seed = -1, topK = -1;
  bool streams = false, wantsUsage = false, hasBegun = false;
  int64_t number = 0, created = 0;
};

bool CompletionRequest::addStop(size_t place) {
  size_t begin = bytes.size();
  if (!readText(exchange, place, "an element of `stop`", bytes))
    return false;
  if (bytes.size() == begin)
    return fail("an element of `stop` is empty");
  return (bytes.push(0) && stops.push(begin)) || exchange.failWithoutMemory();
}

bool CompletionRequest::addContent(size_t place) {
  size_t text = place;
  if (exchange.body[place] == '{') {
    Vector<char> type;
    bool hasText = false;
    const Field fields[] = {{"type", Field::String, &type},
                            {"text", Field::Place, &text, nullptr, &hasText}};
    if (!readFields(exchange, place, "a part of `content`", fields, 2))
      return false;
    if (type.empty() || strcmp(type.data(), "text") != 0 || !hasText)
      return fail("a part of `content` may only be of type `text` here");
  }
  return readText(exchange, text, "`content`", bytes);
}

bool CompletionRequest::addMessage(size_t place) {
  Vector<char> role;
  size_t content = 0;
  bool hasContent = false;
  const Field fields[] = {{"role", Field::String, &role},
                          {"content", Field::Place, &content, nullptr, &hasContent}};
  if (!readFields(exchange, place, "an element of `messages`", fields, 2))
    return false;
  if (role.empty() || !hasContent)
    return fail(role.empty() ? "an element of `messages` has no `role`"
                             : "an element of `messages` has no `content`");
  Turn turn = {bytes.size(), 0, 0};
  if (!bytes.append(role.data(), strlen(role.data()) + 1))
    return exchange.failWithoutMemory();
  turn.content = bytes.size();
  auto take = [](void *self, size_t part) {
    return static_cast<CompletionRequest *>(self)->addContent(part);
  };
  if (!forEachElement(exchange, content, take, this))
    return false;
  turn.contentSize = bytes.size() - turn.content;
  return turns.push(turn) || exchange.failWithoutMemory();
}

bool CompletionRequest::readPrompt() {
  if (isChat) {
    if (exchange.body[promptPlace] != '[')
      return fail("`messages` is no list");
    auto take = [](void *self, size_t place) {
      return static_cast<CompletionRequest *>(self)->addMessage(place);
    };
    return forEachElement(exchange, promptPlace, take, this) &&
           (!turns.empty() || fail("`messages` is empty"));
  }
  prompt = bytes.size();
  int64_t count = 0;
  struct Reading {
    CompletionRequest *self;
    int64_t *count;
  } reading{this, &count};
  auto take = [](void *given, size_t place) {
    auto *reading = static_cast<Reading *>(given);
    if (++*reading->count > 1)
      return reading->self->fail("`prompt` is a list of several: expected one text a request");
    return readText(reading->self->exchange, place, "`prompt`", reading->self->bytes);
  };
  if (!forEachElement(exchange, promptPlace, take, &reading))
    return false;
  promptSize = bytes.size() - prompt;
  return count == 1 || fail("`prompt` is empty");
}

bool CompletionRequest::readStreamOptions(size_t place) {
  const Field fields[] = {{"include_usage", Field::Truth, &wantsUsage}};
  return readFields(exchange, place, "`stream_options`", fields, 1);
}

bool CompletionRequest::checkFormat(size_t place) {
  const Field fields[] = {{"type", Field::Only, nullptr, "\"text\""}};
  return readFields(exchange, place, "`response_format`", fields, 1);
}

/// Numbers of requests since the start.
std::atomic<int64_t> requests{0};

void CompletionRequest::read() {
  Vector<char> model;
  size_t stop = 0, streamOptions = 0, format = 0;
  bool hasFormat = false, hasPrompt = false, hasStop = false, hasStreamOptions = false,
       hasLimit = false;
  const Field fields[] = {
      {"model", Field::String, &model},
      {isChat ? "messages" : "prompt", Field::Place, &promptPlace, nullptr, &hasPrompt},
      {"max_tokens", Field::Whole, &limit, nullptr, &hasLimit},
      {"max_completion_tokens", Field::Whole, &limit, nullptr, &hasLimit},
      {"temperature", Field::Number, &temperature},
      {"top_p", Field::Number, &topP},
      {"top_k", Field::Whole, &topK},
      {"min_p", Field::Number, &minP},
      {"repetition_penalty", Field::Number, &repetition},
      {"seed", Field::Whole, &seed},
      {"stop", Field::Place, &stop, nullptr, &hasStop},
      {"stream", Field::Truth, &streams},
      {"stream_options", Field::Place, &streamOptions, nullptr, &hasStreamOptions},
      {"n", Field::Only, nullptr, "1"},
      {"best_of", Field::Only, nullptr, "1"},
      {"echo", Field::Only, nullptr, "false"},
      {"logprobs", Field::Only, nullptr, "false"},
      {"suffix", Field::Only, nullptr, "\"\""},
      {"frequency_penalty", Field::Only, nullptr, "0"},
      {"presence_penalty", Field::Only, nullptr, "0"},
      {"logit_bias", Field::Only, nullptr, "{}"},
      {"tools", Field::Only, nullptr, "[]"},
      {"response_format", Field::Place, &format, nullptr, &hasFormat},
      {"user", Field::Ignored}};
  if (!readFields(exchange, 0, "the request", fields, sizeof fields / sizeof *fields))
    return;
  if (!hasPrompt) {
    fail(isChat ? "`messages` is missing" : "`prompt` is missing");
    return;
  }
  if (hasLimit && limit == 0) {
    fail("`max_tokens` is 0, expected 1 at least");
    return;
  }
  auto takeStop = [](void *self, size_t place) {
    return static_cast<CompletionRequest *>(self)->addStop(place);
  };
  if (!readPrompt() || (hasStop && !forEachElement(exchange, stop, takeStop, this)) ||
      (hasStreamOptions && !readStreamOptions(streamOptions)) ||
      (hasFormat && !checkFormat(format)))
    return;
  // `bytes` does not move any more.
  for (size_t begin : stops)
    if (!stopTexts.push(bytes.data() + begin))
      return void(exchange.failWithoutMemory());
  exchange.target = findTextEntry(exchange, model, TextUse::Writes);
  if (!exchange.target)
    return;
  files = static_cast<TextService *>(exchange.texts)->of(exchange.target->model);
  if (isChat && !files->chatTemplate) {
    exchange.fail(404,
                  "the model `%s` has no chat template: POST /v1/completions goes on from texts",
                  exchange.target->name);
    return;
  }
  number = ++requests;
  created = time(nullptr);
  exchange.makeParts(1);
}

/// Sets a number that a request gives; false where it is out of its range.
static bool setNumber(double given, double least, double most, float &number) {
  if (std::isnan(given))
    return true;
  number = float(given);
  return given >= least && given <= most;
}

attn_status CompletionRequest::open(attn_context *context, attn_text *&text, char **message) {
  if (attn_status status =
          attn_text_create(context, exchange.target->entry, files->tokenizer, &text, message))
    return status;
  if (attn_status status = attn_text_options_default(text, &options, message))
    return status;
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
  if (error.status)
    return error.report(message);
  if (limit > options.numbers.limit) {
    error.set(ATTN_BAD_INPUT, "R0803", "`max_tokens` is %lld, expected 1 to %lld",
              static_cast<long long>(limit), static_cast<long long>(options.numbers.limit));
    return error.report(message);
  }
  if (topK >= 0)
    sampling.topK = int32_t(topK);
  if (limit)
    options.numbers.limit = limit;
  uint64_t drawn = 0;
  if (seed >= 0)
    sampling.seed = uint64_t(seed);
  else if (sampling.temperature > 0 && getrandom(&drawn, sizeof drawn, 0) == sizeof drawn)
    sampling.seed = drawn >> 11;
  options.stopCount = int32_t(stopTexts.size());
  options.stops = stopTexts.data();
  options.user = this;
  options.onText = [](void *self, const char *piece, size_t size) {
    return int32_t(static_cast<CompletionRequest *>(self)->take(piece, size));
  };
  return ATTN_OK;
}

attn_status CompletionRequest::generate(attn_text *text, char **message) {
  if (!isChat) {
    attn_status status =
        attn_text_prompt(text, bytes.data() + prompt, promptSize, &options, message);
    return status ? status : attn_text_generate(text, &options, &result, message);
  }
  attn_chat *chat = nullptr;
  attn_status status = attn_chat_create(text, files->chatTemplate, &chat, message);
  for (const Turn &turn : turns)
    if (!status)
      status = attn_chat_add(chat, bytes.data() + turn.role, bytes.data() + turn.content,
                             turn.contentSize, message);
  if (!status)
    status = attn_chat_answer(chat, &options, &result, message);
  attn_chat_destroy(chat);
  return status;
}

attn_status CompletionRequest::compute(attn_context *context, char **message) {
  attn_text *text = nullptr;
  attn_status status = open(context, text, message);
  if (!status)
    status = generate(text, message);
  attn_text_destroy(text);
  return status;
}

bool CompletionRequest::take(const char *piece, size_t size) {
  if (!streams)
    return written.append(piece, size);
  Text event;
  Slice text(piece, size);
  appendAnswer(&text, nullptr, event);
  hasBegun = true;
  return !event.failed() && exchange.server->stream(exchange, event.c_str(), event.size());
}

void CompletionRequest::appendHead(Text &out) const {
  out.append("%s{\"id\": \"%s-%lld\", \"object\": \"%s%s\", \"created\": %lld, \"model\": \"%s\", "
             "\"choices\": [",
             streams ? "data: " : "", isChat ? "chatcmpl" : "cmpl", static_cast<long long>(number),
             isChat ? "chat.completion" : "text_completion", isChat && streams ? ".chunk" : "",
             static_cast<long long>(created), exchange.target->name);
}

void CompletionRequest::appendUsage(Text &out) const {
  int64_t read = result.kept + result.read, all = read + result.written;
  out.append("\"usage\": {\"prompt_tokens\": %lld, \"completion_tokens\": %lld, "
             "\"total_tokens\": %lld}}",
             static_cast<long long>(read), static_cast<long long>(result.written),
             static_cast<long long>(all));
}

void CompletionRequest::appendAnswer(const Slice *text, const char *ending, Text &out) const {
  Vector<char> quoted;
  if (!appendJsonString(text ? *text : Slice("", 0), quoted))
    return out.fail();
  appendHead(out);
  out.append("{\"index\": 0, ");
  if (isChat) {
    bool saysRole = !streams || (text && !hasBegun);
    out.append("\"%s\": {%s%s", streams ? "delta" : "message",
               saysRole ? "\"role\": \"assistant\"" : "", saysRole && text ? ", " : "");
    if (text)
      out.append("\"content\": %.*s", int(quoted.size()), quoted.data());
    out.append("}");
  } else {
    out.append("\"text\": %.*s", int(quoted.size()), quoted.data());
  }
  out.append(", \"logprobs\": null, \"finish_reason\": ");
  if (ending)
    out.append("\"%s\"}]", ending);
  else
    out.append("null}]");
  out.append(streams ? "}\n\n" : ", ");
  if (!streams)
    appendUsage(out);
}

void CompletionRequest::answer() {
  bool isWhole =
      result.ending == ATTN_TEXT_ENDED_BY_TOKEN || result.ending == ATTN_TEXT_ENDED_BY_STOP;
  Slice text(written.data(), written.size());
  Text out;
  appendAnswer(streams ? nullptr : &text, isWhole ? "stop" : "length", out);
  if (streams && wantsUsage) {
    appendHead(out);
    out.append("], ");
    appendUsage(out);
    out.append("\n\n");
  }
  if (streams) {
    out.append("data: [DONE]\n\n");
    exchange.type = "text/event-stream";
  }
  if (out.failed() || !exchange.answer.append(out.c_str(), out.size()))
    exchange.failWithoutMemory();
}

template <bool isOfChat> void readCompletion(Exchange &exchange) {
  bool isChat = isOfChat;
  auto *request = create<CompletionRequest>(exchange, isChat);
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

const RequestKind completionRequests = {readCompletion<false>, computeCompletion, answerCompletion,
                                        releaseCompletion};
const RequestKind chatRequests = {readCompletion<true>, computeCompletion, answerCompletion,
                                  releaseCompletion};

} // namespace attn
