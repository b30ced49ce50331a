// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// /tokenize and /detokenize: texts to tokens and back, as llama.cpp (`content`) and vLLM (`prompt`,
// `messages`) ask for them.
#include "base/Json.h"
#include "run/Context.h"
#include "serve/Fields.h"
#include "serve/Tools.h"
#include "serve/Turns.h"

namespace attn {
namespace {

/// A request of one or the other; it has no parts, and its answer is there when it is read.
class TokenRequest {
public:
  explicit TokenRequest(Exchange &exchange) : exchange(exchange) {}
  ~TokenRequest() { attn_tokens_free(&tokens); }
  void readTokenize();
  void readDetokenize();
  void answer();

private:
  bool fail(const char *words) { return exchange.fail(400, "%s", words), false; }
  bool findModel(const Vector<char> &name);
  bool encode(Slice text, int32_t flags);
  bool renderTurns(size_t place, const ToolFields &given, Vector<char> &text);
  bool addToken(size_t place);
  void appendPiece(int32_t id);
  void writeTokens(bool isOfVllm, bool wantsPieces);

  Exchange &exchange;
  const TextModel *files = nullptr;
  attn_tokens tokens = {};
  Vector<int32_t> ids;
  Text out;
};

/// The first model with a tokenizer, or the one that is named.
bool TokenRequest::findModel(const Vector<char> &name) {
  const TextService &service = *static_cast<TextService *>(exchange.texts);
  bool isKnown = name.empty();
  for (const ServedEntry *entry : service.entries) {
    bool isMeant = name.empty() || Slice(name).is(entry->name) ||
                   Slice(name).is(attn_model_name(entry->model));
    isKnown |= isMeant;
    const TextModel *own = service.of(entry->model);
    if (!isMeant || !own->tokenizer || files)
      continue;
    files = own;
    exchange.target = entry;
  }
  if (!files)
    exchange.fail(404,
                  isKnown ? "the model `%.100s` has no tokenizer: start the server with "
                            "`--tokenizer`"
                          : "there is no model `%.100s` (GET /v1/models lists them)",
                  name.empty() ? "" : name.data());
  return files != nullptr;
}

bool TokenRequest::encode(Slice text, int32_t flags) {
  char *message = nullptr;
  attn_status status = attn_tokenizer_encode(files->tokenizer, text.data ? text.data : "",
                                             text.size, flags, &tokens, &message);
  if (status)
    exchange.fail(status, message);
  attn_message_free(message);
  return !status;
}

bool TokenRequest::renderTurns(size_t place, const ToolFields &given, Vector<char> &text) {
  Turns turns(exchange);
  ToolList tools;
  auto take = [](void *list, size_t message) {
    return static_cast<Turns *>(list)->addMessage(message);
  };
  if (!forEachElement(exchange, place, take, &turns) || !readTools(exchange, given, tools))
    return false;
  if (turns.empty())
    return fail("`messages` is empty");
  if (!files->chatTemplate)
    return exchange.fail(404, "the model `%s` has no chat template", exchange.target->name), false;
  char *message = nullptr;
  attn_status status = turns.render(*files->chatTemplate, tools, Slice(), text, &message);
  if (status)
    exchange.fail(status, message);
  attn_message_free(message);
  return !status;
}

void TokenRequest::appendPiece(int32_t id) {
  size_t size = 0;
  const char *token = attn_tokenizer_token(files->tokenizer, id, &size);
  appendQuoted(token ? Slice(token, size) : Slice("", 0), out);
}

void TokenRequest::writeTokens(bool isOfVllm, bool wantsPieces) {
  bool isOfPieces = wantsPieces && !isOfVllm;
  out.append("{\"tokens\": [");
  for (int64_t i = 0; i < tokens.count; ++i) {
    out.append(isOfPieces ? "%s{\"id\": %d, \"piece\": " : "%s%d", i ? ", " : "",
               int(tokens.ids[i]));
    if (isOfPieces)
      appendPiece(tokens.ids[i]);
    out.append(isOfPieces ? "}" : "");
  }
  out.append("]");
  if (isOfVllm) {
    out.append(", \"count\": %lld, \"token_strs\": %s", static_cast<long long>(tokens.count),
               wantsPieces ? "[" : "null");
    for (int64_t i = 0; wantsPieces && i < tokens.count; ++i) {
      out.append(i ? ", " : "");
      appendPiece(tokens.ids[i]);
    }
    out.append(wantsPieces ? "]" : "");
  }
  out.append("}");
}

void TokenRequest::readTokenize() {
  Vector<char> model, text;
  size_t content = 0, prompt = 0, messages = 0;
  bool hasContent = false, hasPrompt = false, hasMessages = false, hasTools = false;
  bool addsSpecial = false, readsSpecial = true, wantsPieces = false, wantsStrings = false,
       adds = false, saysAdds = false;
  ToolFields given;
  const Field fields[] = {{"model", Field::String, &model},
                          {"content", Field::Place, &content, nullptr, &hasContent},
                          {"add_special", Field::Truth, &addsSpecial},
                          {"parse_special", Field::Truth, &readsSpecial},
                          {"with_pieces", Field::Truth, &wantsPieces},
                          {"prompt", Field::Place, &prompt, nullptr, &hasPrompt},
                          {"messages", Field::Place, &messages, nullptr, &hasMessages},
                          {"tools", Field::Place, &given.tools, nullptr, &hasTools},
                          {"add_special_tokens", Field::Truth, &adds, nullptr, &saysAdds},
                          {"return_token_strs", Field::Truth, &wantsStrings},
                          {"add_generation_prompt", Field::Only, nullptr, "true"}};
  if (!readFields(exchange, 0, "the request", fields, sizeof fields / sizeof *fields))
    return;
  if (int(hasContent) + int(hasPrompt) + int(hasMessages) != 1) {
    fail("expected one of `content` (as llama.cpp has it), `prompt` and `messages` (as vLLM has "
         "them)");
    return;
  }
  if (!findModel(model) || !(hasMessages ? renderTurns(messages, given, text)
                                         : readText(exchange, hasContent ? content : prompt,
                                                    hasContent ? "`content`" : "`prompt`", text)))
    return;
  // vLLM adds special tokens to a text, but none to a chat, whose template does.
  bool isWithSpecial = hasContent ? addsSpecial : saysAdds ? adds : hasPrompt;
  if (encode(Slice(text), (isWithSpecial ? ATTN_TEXT_ADD_SPECIAL : 0) |
                              (readsSpecial ? 0 : ATTN_TEXT_SPECIAL_AS_TEXT)))
    writeTokens(!hasContent, wantsPieces || wantsStrings);
}

bool TokenRequest::addToken(size_t place) {
  JsonReader reader(exchange.body.data() + place, exchange.bodySize - place);
  char first = reader.peek();
  int64_t id = 0;
  if (first < '0' || first > '9' || !reader.readSize(id) || id > INT32_MAX)
    return fail("`tokens` holds something else than tokens");
  return ids.push(int32_t(id)) || exchange.failWithoutMemory();
}

void TokenRequest::readDetokenize() {
  Vector<char> model;
  size_t list = 0, size = 0;
  bool hasList = false;
  const Field fields[] = {{"model", Field::String, &model},
                          {"tokens", Field::Place, &list, nullptr, &hasList}};
  if (!readFields(exchange, 0, "the request", fields, 2))
    return;
  if (!hasList || exchange.body[list] != '[') {
    fail(hasList ? "`tokens` is no list" : "`tokens` is missing");
    return;
  }
  auto take = [](void *self, size_t place) {
    return static_cast<TokenRequest *>(self)->addToken(place);
  };
  if (!findModel(model) || !forEachElement(exchange, list, take, this))
    return;
  char *text = nullptr, *message = nullptr;
  attn_status status = attn_tokenizer_decode(files->tokenizer, ids.data(), int64_t(ids.size()), 0,
                                             &text, &size, &message);
  if (status) {
    exchange.fail(status, message);
  } else {
    // The first is llama.cpp's name of it, the second vLLM's.
    for (const char *key : {"{\"content\": ", ", \"prompt\": "}) {
      out.append("%s", key);
      appendQuoted(Slice(text, size), out);
    }
    out.append("}");
  }
  attn_message_free(text);
  attn_message_free(message);
}

void TokenRequest::answer() {
  if (out.failed() || !exchange.answer.append(out.c_str(), out.size()))
    exchange.failWithoutMemory();
}

template <void (TokenRequest::*readOwn)()> void readTokens(Exchange &exchange) {
  auto *request = create<TokenRequest>(exchange);
  exchange.work = request;
  if (request)
    (request->*readOwn)();
  else
    exchange.failWithoutMemory();
}
void answerTokens(Exchange &exchange) { static_cast<TokenRequest *>(exchange.work)->answer(); }
void releaseTokens(void *work) { dispose(static_cast<TokenRequest *>(work)); }

} // namespace

const RequestKind tokenizeRequests = {readTokens<&TokenRequest::readTokenize>, nullptr,
                                      answerTokens, releaseTokens};
const RequestKind detokenizeRequests = {readTokens<&TokenRequest::readDetokenize>, nullptr,
                                        answerTokens, releaseTokens};

} // namespace attn
