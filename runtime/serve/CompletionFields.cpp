// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a request says: prompts, turns, tools, numbers. What changes no answer is passed over where
// official clients send it; what asks for something that there is not is an error.
#include "base/Json.h"
#include "serve/Completions.h"
#include "serve/Fields.h"
#include <atomic>
#include <ctime>

namespace attn {

bool CompletionRequest::addStop(size_t place) {
  size_t begin = stopBytes.size();
  if (!readText(exchange, place, "an element of `stop`", stopBytes))
    return false;
  if (stopBytes.size() == begin)
    return fail("an element of `stop` is empty");
  return (stopBytes.push(0) && stops.push(begin)) || exchange.failWithoutMemory();
}

bool CompletionRequest::readStops(size_t place) {
  auto take = [](void *self, size_t stop) {
    return static_cast<CompletionRequest *>(self)->addStop(stop);
  };
  if (!forEachElement(exchange, place, take, this))
    return false;
  for (size_t begin : stops)
    if (!stopTexts.push(stopBytes.data() + begin))
      return exchange.failWithoutMemory();
  return true;
}

bool CompletionRequest::readMessages(size_t place) {
  if (exchange.body[place] != '[')
    return fail("`messages` is no list");
  auto take = [](void *self, size_t message) {
    return static_cast<CompletionRequest *>(self)->turns.addMessage(message);
  };
  return forEachElement(exchange, place, take, this) &&
         (!turns.empty() || fail("`messages` is empty"));
}

bool CompletionRequest::readInput(size_t place, size_t instructions, bool hasInstructions) {
  if (hasInstructions && !turns.addText("system", instructions, "`instructions`"))
    return false;
  if (exchange.body[place] == '"')
    return turns.addText("user", place, "`input`");
  if (exchange.body[place] != '[')
    return fail("`input` is neither a text nor a list of items");
  bool hasTurns = !turns.empty();
  auto take = [](void *self, size_t item) {
    return static_cast<CompletionRequest *>(self)->turns.addItem(item);
  };
  return forEachElement(exchange, place, take, this) &&
         (hasTurns || !turns.empty() || fail("`input` is empty"));
}

bool CompletionRequest::addToken(size_t place) {
  JsonReader reading(exchange.body.data() + place, exchange.bodySize - place);
  char first = reading.peek();
  int64_t id = 0;
  if (first < '0' || first > '9' || !reading.readSize(id) || id > INT32_MAX)
    return fail("`prompt` holds something else than a text or tokens");
  return promptTokens.push(int32_t(id)) || exchange.failWithoutMemory();
}

bool CompletionRequest::addPromptText(size_t place) {
  if (++prompts > 1)
    return fail("`prompt` is a list of several: expected one text a request");
  if (exchange.body[place] != '[')
    return readText(exchange, place, "`prompt`", prompt);
  auto take = [](void *self, size_t token) {
    return static_cast<CompletionRequest *>(self)->addToken(token);
  };
  return forEachElement(exchange, place, take, this) &&
         (!promptTokens.empty() || fail("`prompt` holds an empty list of tokens"));
}

bool CompletionRequest::readPrompt(size_t place) {
  // [1, 2] is one prompt of tokens, as [[1, 2]] is.
  const char *begin = exchange.body.data() + place;
  size_t inner = *begin == '[' ? 1 + strspn(begin + 1, " \t\r\n") : 0;
  if (inner && begin[inner] >= '0' && begin[inner] <= '9')
    return addPromptText(place);
  auto take = [](void *self, size_t text) {
    return static_cast<CompletionRequest *>(self)->addPromptText(text);
  };
  return forEachElement(exchange, place, take, this) && (prompts > 0 || fail("`prompt` is empty"));
}

bool CompletionRequest::readBiases(size_t place) {
  JsonReader reading(exchange.body.data() + place, exchange.bodySize - place);
  if (reading.peek() != '{')
    return fail("`logit_bias` is no JSON object: expected {\"TOKEN\": NUMBER}");
  Vector<char> key;
  for (reading.enterObject(); reading.nextKey(key);) {
    char *end = nullptr;
    long long token = strtoll(key.data(), &end, 10);
    bool isToken = end != key.data() && !*end && token >= 0 && token <= INT32_MAX;
    const char *number = exchange.body.data() + place + (reading.peek(), reading.position);
    double value = reading.skipNumber() ? strtod(number, nullptr) : NAN;
    if (!isToken || !(value >= -100 && value <= 100))
      return exchange.fail(400,
                           "`logit_bias` says \"%.40s\", expected the id of a token and a number "
                           "from -100 to 100",
                           key.data()),
             false;
    if (!biases.push({int32_t(token), float(value)}))
      return exchange.failWithoutMemory();
  }
  return true;
}

bool CompletionRequest::readStreamOptions(size_t place) {
  const Field fields[] = {{"include_usage", Field::Truth, &wantsUsage},
                          {"include_obfuscation", Field::Ignored}};
  return readFields(exchange, place, "`stream_options`", fields, 2);
}

bool CompletionRequest::readTextFields(size_t place) {
  size_t format = 0;
  bool hasFormat = false;
  const Field fields[] = {{"format", Field::Place, &format, nullptr, &hasFormat},
                          {"verbosity", Field::Only, nullptr, "\"medium\""}};
  return readFields(exchange, place, "`text`", fields, 2) &&
         (!hasFormat || readAnswerForm(exchange, format, /*isFlat=*/true, shape));
}

bool CompletionRequest::readReasoning(size_t place) {
  const Field fields[] = {{"effort", Field::String, &effort},
                          {"summary", Field::Only, nullptr, "\"auto\""},
                          {"generate_summary", Field::Only, nullptr, "\"auto\""}};
  return readFields(exchange, place, "`reasoning`", fields, 3);
}

bool CompletionRequest::readFieldsOfText() {
  bool isChat = form == CompletionForm::Chat;
  size_t place = 0, stop = 0, streamOptions = 0, format = 0, kwargs = 0, bias = 0;
  bool hasFormat = false, hasPrompt = false, hasStop = false, hasStreamOptions = false,
       hasLimit = false, hasTools = false, hasChoice = false, hasKwargs = false, hasBias = false,
       hasLogprobs = false;
  ToolFields given;
  Vector<char> gbnf;
  const Field fields[] = {
      {"model", Field::String, &model},
      {isChat ? "messages" : "prompt", Field::Place, &place, nullptr, &hasPrompt},
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
      {"logprobs", isChat ? Field::Truth : Field::Whole,
       isChat ? static_cast<void *>(&isTold) : &mostLikely, nullptr, &hasLogprobs},
      {"suffix", Field::Only, nullptr, "\"\""},
      {"frequency_penalty", Field::Only, nullptr, "0"},
      {"presence_penalty", Field::Only, nullptr, "0"},
      {"logit_bias", Field::Place, &bias, nullptr, &hasBias},
      {"store", Field::Only, nullptr, "false"},
      {"grammar", Field::String, &gbnf},
      {"response_format", Field::Place, &format, nullptr, &hasFormat},
      {"user", Field::Ignored},
      {"metadata", Field::Ignored},
      {"service_tier", Field::Ignored},
      {"safety_identifier", Field::Ignored},
      {"prompt_cache_key", Field::Ignored},
      {"prompt_cache_retention", Field::Ignored},
      {"prediction", Field::Ignored},
      // Of chats alone.
      {"top_logprobs", Field::Whole, &mostLikely},
      {"tools", Field::Place, &given.tools, nullptr, &hasTools},
      {"tool_choice", Field::Place, &given.choice, nullptr, &hasChoice},
      {"parallel_tool_calls", Field::Truth, &isParallel},
      {"reasoning_effort", Field::String, &effort},
      {"chat_template_kwargs", Field::Place, &kwargs, nullptr, &hasKwargs},
      {"modalities", Field::Only, nullptr, "[\"text\"]"},
      {"verbosity", Field::Only, nullptr, "\"medium\""}};
  size_t count = sizeof fields / sizeof *fields;
  if (!readFields(exchange, 0, "the request", fields, isChat ? count : count - 8))
    return false;
  if (!hasPrompt)
    return fail(isChat ? "`messages` is missing" : "`prompt` is missing");
  if (hasLimit && limit == 0)
    return fail("`max_tokens` is 0, expected 1 at least");
  isTold = isChat ? isTold : hasLogprobs;
  if (mostLikely > 20)
    return exchange.fail(400, "`%s` is 0 to 20", isChat ? "top_logprobs" : "logprobs"), false;
  if (mostLikely > 0 && !isTold)
    return fail("`top_logprobs` needs `logprobs`");
  if (!gbnf.empty()) {
    if (hasFormat)
      return fail("a request has a `grammar` or a `response_format`, not both");
    shape.kind = ATTN_GRAMMAR_GBNF;
    if (!shape.text.append(gbnf.data(), strlen(gbnf.data())))
      return exchange.failWithoutMemory();
  }
  return (isChat ? readMessages(place) : readPrompt(place)) && (!hasStop || readStops(stop)) &&
         (!hasStreamOptions || readStreamOptions(streamOptions)) &&
         (!hasBias || readBiases(bias)) &&
         (!hasFormat || readAnswerForm(exchange, format, /*isFlat=*/false, shape)) &&
         readTools(exchange, given, tools) && readVariables(kwargs, hasKwargs);
}

bool CompletionRequest::readFieldsOfResponse() {
  size_t input = 0, instructions = 0, text = 0, reasoning = 0;
  bool hasInput = false, hasInstructions = false, hasText = false, hasReasoning = false,
       hasLimit = false, hasTools = false, hasChoice = false, hasMetadata = false;
  bool isContinued = false, isOfConversation = false, isPrepared = false;
  ToolFields given;
  size_t unused = 0;
  given.isFlat = true;
  const Field fields[] = {{"model", Field::String, &model},
                          {"input", Field::Place, &input, nullptr, &hasInput},
                          {"instructions", Field::Place, &instructions, nullptr, &hasInstructions},
                          {"max_output_tokens", Field::Whole, &limit, nullptr, &hasLimit},
                          {"temperature", Field::Number, &temperature},
                          {"top_p", Field::Number, &topP},
                          {"stream", Field::Truth, &streams},
                          {"tools", Field::Place, &given.tools, nullptr, &hasTools},
                          {"tool_choice", Field::Place, &given.choice, nullptr, &hasChoice},
                          {"parallel_tool_calls", Field::Truth, &isParallel},
                          {"text", Field::Place, &text, nullptr, &hasText},
                          {"reasoning", Field::Place, &reasoning, nullptr, &hasReasoning},
                          {"metadata", Field::Place, &saidMetadata, nullptr, &hasMetadata},
                          {"previous_response_id", Field::Place, &unused, nullptr, &isContinued},
                          {"conversation", Field::Place, &unused, nullptr, &isOfConversation},
                          {"prompt", Field::Place, &unused, nullptr, &isPrepared},
                          {"store", Field::Only, nullptr, "false"},
                          {"background", Field::Only, nullptr, "false"},
                          {"truncation", Field::Only, nullptr, "\"disabled\""},
                          {"top_logprobs", Field::Only, nullptr, "0"},
                          {"include", Field::Ignored},
                          {"stream_options", Field::Ignored},
                          {"max_tool_calls", Field::Ignored},
                          {"user", Field::Ignored},
                          {"service_tier", Field::Ignored},
                          {"safety_identifier", Field::Ignored},
                          {"prompt_cache_key", Field::Ignored},
                          {"prompt_cache_retention", Field::Ignored}};
  if (!readFields(exchange, 0, "the request", fields, sizeof fields / sizeof *fields))
    return false;
  if (isContinued || isOfConversation || isPrepared)
    return exchange.fail(400,
                         "this server keeps no responses: send all turns in `input`, without `%s`",
                         isContinued        ? "previous_response_id"
                         : isOfConversation ? "conversation"
                                            : "prompt"),
           false;
  if (!hasInput)
    return fail("`input` is missing: a text, or a list of items");
  if (hasLimit && limit == 0)
    return fail("`max_output_tokens` is 0, expected 1 at least");
  if (hasTools)
    saidTools = given.tools;
  if (hasChoice)
    saidChoice = given.choice;
  if (hasInstructions)
    saidInstructions = instructions;
  return readInput(input, instructions, hasInstructions) && (!hasText || readTextFields(text)) &&
         (!hasReasoning || readReasoning(reasoning)) && readTools(exchange, given, tools) &&
         readVariables(0, false);
}

bool CompletionRequest::readVariables(size_t kwargs, bool hasKwargs) {
  bool isGood = variables.push('{');
  if (hasKwargs) {
    JsonReader reading(exchange.body.data() + kwargs, exchange.bodySize - kwargs);
    if (reading.peek() != '{')
      return fail("`chat_template_kwargs` is no JSON object");
    Vector<char> key;
    for (reading.enterObject(); reading.nextKey(key);) {
      size_t begin = (reading.peek(), reading.position);
      reading.skipValue();
      isGood = isGood && (variables.size() == 1 || append(variables, Slice(", "))) &&
               appendJsonString(Slice(key), variables) && append(variables, Slice(": ")) &&
               append(variables, {exchange.body.data() + kwargs + begin, reading.position - begin});
    }
  }
  if (!effort.empty())
    isGood = isGood &&
             append(variables, Slice(variables.size() > 1 ? ", \"reasoning_effort\": "
                                                          : "\"reasoning_effort\": ")) &&
             appendJsonString(Slice(effort), variables);
  return (isGood && variables.push('}')) || exchange.failWithoutMemory();
}

bool CompletionRequest::render() {
  const char *name = exchange.target->name;
  if (!files->chatTemplate) {
    exchange.fail(
        404, "the model `%s` has no chat template: POST /v1/completions goes on from texts", name);
    return false;
  }
  // What a template does not look at would be lost.
  JsonReader reading(variables.data(), variables.size());
  Vector<char> key;
  for (reading.enterObject(); reading.nextKey(key); reading.skipValue())
    if (!files->knows(key.data()))
      return exchange.fail(400, "the chat template of `%s` knows no `%.64s`", name, key.data()),
             false;
  if (!tools.empty() && !files->knows("tools"))
    return exchange.fail(400, "the chat template of `%s` takes no `tools`", name), false;
  if (!tools.empty() && !files->format)
    return exchange.fail(400,
                         "the chat template of `%s` takes `tools`, but in a form whose calls are "
                         "not known here",
                         name),
           false;
  char *message = nullptr;
  attn_status status =
      turns.render(*files->chatTemplate, tools, Slice(variables), prompt, &message);
  if (status)
    exchange.fail(status, message);
  attn_message_free(message);
  const AnswerFormat *format = files->format;
  // What channels there are is said by marks, with tools or without.
  bool looksForCalls = format && (!tools.empty() || format->body == CallBody::Channels);
  if (status || (!looksForCalls && !files->thoughts))
    return !status;
  const AnswerSink sink = {this, takePart};
  const AnswerFormat *own = looksForCalls ? format : nullptr;
  reader = create<AnswerReader>(own, files->thoughts, tools, sink);
  if (!reader || !appendMarks(own, files->thoughts, shown))
    return exchange.failWithoutMemory();
  reader->begin(Slice(prompt));
  return true;
}

bool CompletionRequest::followForm() {
  if (shape.kind < 0)
    return true;
  if (!tools.empty())
    return fail("an answer cannot have a form beside `tools`: send `tool_choice` of \"none\"");
  if (reader && reader->isThinking())
    return fail("the chat template begins with what the model thinks, which has no form: say in "
                "`chat_template_kwargs` that it is not to think");
  // Marks in its texts are text.
  dispose(reader);
  reader = nullptr;
  shown.clear();
  char *message = nullptr;
  attn_status status = followed.begin(files->grammars, exchange.target->model,
                                      exchange.target->entry, files->tokenizer, shape, &message);
  if (status)
    exchange.fail(status, message);
  attn_message_free(message);
  return !status;
}

/// Numbers of requests since the start.
static std::atomic<int64_t> requests{0};

void CompletionRequest::read() {
  if (!(form == CompletionForm::Response ? readFieldsOfResponse() : readFieldsOfText()))
    return;
  exchange.target = findTextEntry(exchange, model, TextUse::Writes);
  if (!exchange.target)
    return;
  files = static_cast<TextService *>(exchange.texts)->of(exchange.target->model);
  if ((isOfTurns() && !render()) || !followForm())
    return;
  bool isShared = files->steps.of(exchange.target->entry) && turns.pictureCount() == 0;
  if (isTold && !isShared) {
    exchange.fail(400,
                  "`%s` tells no `logprobs` here: they are told of texts, where it generates by "
                  "entries of `forward` without beams and has one `forward by B last T`",
                  exchange.target->name);
    return;
  }
  number = ++requests;
  created = time(nullptr);
  if (exchange.makeParts(1))
    exchange.parts[0].isShared = isShared;
}

} // namespace attn
