// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A prompt, what of it the caches hold already, and the loop over tokens with the text that they
// make.
#include "session/TextSession.h"
#include "base/Clock.h"
#include <cmath>

using namespace attn;

TextSession::~TextSession() { attn_tokens_free(&tokens); }

TextSession::Call::~Call() {
  place = nullptr;
  attn_decoding_destroy(decoding);
  attn_message_free(maskMessage);
}

attn_status TextSession::check(Error &error) const {
  if (!entry.unfold)
    return error.set(ATTN_INVALID_ARGUMENT, "U0002", "entry `%s` generates no tokens", entry.name);
  bool isTaken = false;
  for (int32_t i = 0; i < entry.inputCount; ++i) {
    const attn_abi_tensor &input = entry.inputs[i];
    bool isPrompt = !isTaken && takesTokens(input);
    isTaken |= isPrompt;
    if (isPrompt || pictures.gives(input) || takesLengths(input) || input.state)
      continue;
    error.set(ATTN_INVALID_ARGUMENT, "U0003", "entry `%s` takes `%s`, which a text does not give",
              entry.name, input.name);
    if (strcmp(input.name, "seen") == 0)
      error.help("rows of pictures are f32[R, ...], of the sizes that the entry gives which takes "
                 "`image`, beside `picked: i32[B, T]`");
    else
      error.help("to go on from a text, an entry takes tokens, i32[B, T], and how many there are, "
                 "`lengths: i32[B]`");
    return error.status;
  }
  if (isTaken)
    return ATTN_OK;
  return error.set(ATTN_INVALID_ARGUMENT, "U0003", "entry `%s` takes no tokens, i32[B, T]",
                   entry.name);
}

int64_t TextSession::capacity() const {
  const attn_abi_model &tables = *context.model->tables;
  int64_t least = INT64_MAX;
  auto bound = [&](int64_t positions) { least = positions < least ? positions : least; };
  const attn_abi_entry &first = firstEntry();
  for (int32_t c = 0; c < first.cacheCount; ++c)
    bound(tables.dims[tables.caches[first.caches[c].cache].dim].value);
  for (int32_t i = 0; i < entry.inputCount; ++i)
    if (takesTokens(entry.inputs[i]))
      if (int32_t dim = entry.inputs[i].axes[1].dim; dim >= 0)
        bound(tables.dims[dim].value);
  return least;
}

void TextSession::cut(int64_t length) {
  int64_t front = 0, over = tokens.count - length;
  while (front < length - 1 && tokens.origins[front] == ATTN_TOKEN_SPECIAL)
    ++front;
  auto move = [&](auto *values) {
    memmove(values + front, values + front + over, size_t(length - front) * sizeof *values);
  };
  move(tokens.ids), move(tokens.types), move(tokens.begins), move(tokens.ends);
  move(tokens.origins);
  tokens.count = length;
}

attn_status TextSession::prompt(const char *text, size_t size, const attn_text_options &options,
                                Error &error) {
  attn_tokens_free(&tokens);
  char *message = nullptr;
  Vector<char> expanded;
  int32_t flags = options.flags;
  if (pictures.areTaken()) {
    bool isPrompt = (flags & ATTN_TEXT_ADD_SPECIAL) != 0;
    if (attn_status status = pictures.expand(Slice(text, size), isPrompt, expanded, error))
      return status;
    text = expanded.data(), size = expanded.size();
    if (pictures.areFramed())
      flags &= ~ATTN_TEXT_ADD_SPECIAL;
  }
  if (attn_status status =
          attn_tokenizer_encode(&tokenizer, text, size, flags, &tokens, &message)) {
    error.take(status, message);
    attn_message_free(message);
    return status;
  }
  return fit(options, error);
}

attn_status TextSession::promptTokens(const int32_t *ids, int64_t count,
                                      const attn_text_options &options, Error &error) {
  attn_tokens_free(&tokens);
  auto size = size_t(count ? count : 1);
  tokens.ids = static_cast<int32_t *>(calloc(size, sizeof *tokens.ids));
  tokens.types = static_cast<int32_t *>(calloc(size, sizeof *tokens.types));
  tokens.begins = static_cast<int64_t *>(calloc(size, sizeof *tokens.begins));
  tokens.ends = static_cast<int64_t *>(calloc(size, sizeof *tokens.ends));
  tokens.origins = static_cast<uint8_t *>(calloc(size, sizeof *tokens.origins));
  if (!tokens.ids || !tokens.types || !tokens.begins || !tokens.ends || !tokens.origins) {
    attn_tokens_free(&tokens);
    return error.outOfMemory("the tokens of a prompt");
  }
  for (int64_t i = 0; i < count; ++i) {
    if (ids[i] < 0) {
      attn_tokens_free(&tokens);
      return error.set(ATTN_BAD_INPUT, "R0704",
                       "token %lld of the prompt is %d, expected 0 or more",
                       static_cast<long long>(i), int(ids[i]));
    }
    tokens.ids[i] = ids[i];
  }
  tokens.count = count;
  return fit(options, error);
}

attn_status TextSession::fit(const attn_text_options &options, Error &error) {
  if (tokens.count == 0) {
    error.set(ATTN_BAD_INPUT, "R0214", "the prompt has no tokens");
    error.help("give at least one character");
    return error.status;
  }
  int64_t most = capacity();
  if (tokens.count <= most)
    return pictures.areTaken() ? pictures.place(tokens, error) : ATTN_OK;
  if (options.truncates && pictures.count() == 0) {
    // Room for what is to be written, or half of the context.
    int64_t wanted = most - options.numbers.limit, least = (most + 1) / 2;
    cut(wanted > least ? wanted : least);
    return pictures.areTaken() ? pictures.place(tokens, error) : ATTN_OK;
  }
  error.set(ATTN_BAD_INPUT, "R0215",
            "the prompt has %lld tokens, but the context has room for %lld",
            static_cast<long long>(tokens.count), static_cast<long long>(most));
  error.help("shorten it, or leave out its beginning by `--truncate`");
  return error.status;
}

void TextSession::clearPictures() {
  if (pictures.count() > 0)
    cached.clear();
  pictures.clear();
}

int64_t TextSession::heldTokens(const attn_generation &numbers) const {
  const attn_abi_model &tables = *context.model->tables;
  if (numbers.beams > 1 || cached.empty() || pictures.areSeenWhole())
    return 0;
  // Caches that are filled anew hold something else than a beginning, and so do those that another
  // call has used.
  const attn_abi_entry &first = firstEntry();
  for (int32_t c = 0; c < first.cacheCount; ++c)
    if (first.caches[c].use != ATTN_CACHE_PUSH ||
        attn_cache_length(&context, first.caches[c].cache) != int64_t(cached.size()))
      return 0;
  int64_t same = 0;
  while (same < int64_t(cached.size()) && same < tokens.count - 1 &&
         cached[size_t(same)] == tokens.ids[same])
    ++same;
  // States cannot go back.
  return tables.stateCount > 0 && same < int64_t(cached.size()) ? 0 : same;
}

attn_status TextSession::keep(int64_t held, Error &error) {
  char *message = nullptr;
  attn_status status = ATTN_OK;
  if (held == 0)
    status = attn_context_reset(&context, &message);
  const attn_abi_entry &first = firstEntry();
  for (int32_t c = 0; held > 0 && status == ATTN_OK && c < first.cacheCount; ++c)
    status = attn_cache_truncate(&context, first.caches[c].cache, held, &message);
  if (status)
    error.take(status, message);
  attn_message_free(message);
  cached.resize(size_t(held));
  return status;
}

bool TextSession::show(const char *piece, size_t size) {
  if (!call->stops.add(piece, size)) {
    call->error.outOfMemory("a text");
    return false;
  }
  const attn_text_options &options = call->options;
  bool isWanted = call->stops.size() == 0 || !options.onText ||
                  options.onText(options.user, call->stops.ready(), call->stops.size());
  if (!isWanted)
    call->result.ending = ATTN_TEXT_ENDED_BY_CALLER;
  else if (call->stops.hasStopped())
    call->result.ending = ATTN_TEXT_ENDED_BY_STOP;
  return isWanted && !call->stops.hasStopped();
}

bool TextSession::take(int32_t token) {
  const char *piece = "";
  char *message = nullptr;
  size_t size = 0;
  if (call->maskStatus)
    return false;
  if (call->isWhole) { // by a grammar whose vocabulary has no stop
    call->result.ending = ATTN_TEXT_ENDED_BY_TOKEN;
    return false;
  }
  ++call->result.written;
  attn_status status =
      call->chosen.push(token) ? ATTN_OK : call->error.outOfMemory("the tokens of a text");
  if (!status && call->options.matcher)
    status = attn_matcher_accept(call->options.matcher, token, &message);
  if (!status && !call->leavesOut(tokenizer, token))
    status = attn_decoding_add(call->decoding, token, &piece, &size, &message);
  if (status) {
    if (message)
      call->error.take(status, message);
    attn_message_free(message);
    return false;
  }
  return show(piece, size);
}

void TextSession::changeScores(float *scores, int64_t vocabulary) {
  const attn_generation &numbers = call->options.numbers;
  if (numbers.onScores)
    numbers.onScores(numbers.user, scores, 1, vocabulary);
  if (!call->options.matcher || call->maskStatus)
    return;
  int64_t known = attn_tokenizer_size(&tokenizer),
          words = (known > vocabulary ? known : vocabulary) / 64 + 1;
  call->maskStatus = call->allowed.resize(size_t(words))
                         ? attn_matcher_mask(call->options.matcher, call->allowed.data(), words,
                                             &call->maskMessage)
                         : ATTN_OUT_OF_MEMORY;
  uint64_t any = 0;
  for (uint64_t word : call->allowed)
    any |= word;
  call->isWhole = any == 0 && attn_matcher_is_complete(call->options.matcher);
  if (call->maskStatus || call->isWhole)
    return;
  for (int64_t token = 0; token < vocabulary; ++token)
    if (!(call->allowed[size_t(token / 64)] >> (token % 64) & 1))
      scores[token] = -INFINITY;
}

void TextSession::onScores(void *user, float *scores, int64_t, int64_t vocabulary) {
  static_cast<TextSession *>(user)->changeScores(scores, vocabulary);
}

int32_t TextSession::onTokens(void *user, const int32_t *tokens, int64_t) {
  auto &session = *static_cast<TextSession *>(user);
  Call &call = *session.call;
  if (call.result.written == 0)
    call.result.readSeconds = secondsNow() - call.begin;
  if (tokens[0] >= 0)
    return session.take(tokens[0]);
  call.result.ending = ATTN_TEXT_ENDED_BY_TOKEN;
  return 0;
}

void TextSession::takeAll() {
  int32_t count = *static_cast<const int32_t *>(call->outputs[1].data);
  const auto *found = static_cast<const int32_t *>(call->outputs[0].data);
  for (int32_t i = 0; i < count; ++i)
    if (!take(found[i]))
      return;
  if (count < call->options.numbers.limit)
    call->result.ending = ATTN_TEXT_ENDED_BY_TOKEN;
}

attn_status TextSession::run(attn_generation numbers, int64_t held, Error &error) {
  int64_t count = tokens.count - held;
  int32_t length = int32_t(count);
  Vector<attn_tensor> inputs;
  Vector<int64_t> wide;
  if (!inputs.resize(size_t(entry.inputCount)) || !wide.resize(size_t(count)))
    return error.outOfMemory("the inputs");
  for (int64_t t = 0; t < count; ++t)
    wide[size_t(t)] = tokens.ids[held + t];
  if (pictures.areTaken() && !pictures.prepare(held))
    return error.outOfMemory("the inputs");
  for (int32_t i = 0; i < entry.inputCount; ++i) {
    const attn_abi_tensor &known = entry.inputs[i];
    if (known.state)
      continue;
    attn_tensor &tensor = inputs[size_t(i)];
    if (pictures.gives(known)) {
      pictures.bind(known, tensor);
      continue;
    }
    tensor.dtype = known.dtype, tensor.rank = known.rank;
    tensor.shape[0] = 1, tensor.shape[1] = count;
    tensor.data = !takesTokens(known)       ? static_cast<void *>(&length)
                  : known.dtype == ATTN_I64 ? static_cast<void *>(wide.data())
                                            : static_cast<void *>(tokens.ids + held);
  }
  if (attn_status status = call->outputs.prepare(context, entryIndex, inputs.data(), error))
    return status;
  char *message = nullptr;
  numbers.continues = held > 0;
  numbers.held = tokens.ids, numbers.heldCount = held;
  call->begin = secondsNow();
  attn_status status =
      attn_generate(&context, entryIndex, &numbers, inputs.data(), call->outputs.data(), &message);
  if (status)
    error.take(status, message);
  attn_message_free(message);
  return error.status;
}

namespace {

/// Somebody who waits for the end of a request.
struct Waiter {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t isThere = PTHREAD_COND_INITIALIZER;
  bool hasEnded = false;
  attn_request_result result = {};
  const attn_text_options &options;
  const bool &isWhole; ///< whether what is chosen is no part of the text any more
  Error &error;

  Waiter(const attn_text_options &options, const bool &isWhole, Error &error)
      : options(options), isWhole(isWhole), error(error) {}
  static void onLogprobs(void *user, const attn_logprobs *chosen) {
    const auto &waiter = *static_cast<Waiter *>(user);
    if (!waiter.isWhole)
      waiter.options.onLogprobs(waiter.options.user, chosen);
  }
  static void onEnd(void *user, const attn_request_result *result) {
    auto &waiter = *static_cast<Waiter *>(user);
    pthread_mutex_lock(&waiter.lock);
    waiter.result = *result;
    if (result->status)
      waiter.error.take(result->status, result->message);
    waiter.hasEnded = true;
    pthread_cond_signal(&waiter.isThere);
    pthread_mutex_unlock(&waiter.lock);
  }
  void wait() {
    pthread_mutex_lock(&lock);
    while (!hasEnded)
      pthread_cond_wait(&isThere, &lock);
    pthread_mutex_unlock(&lock);
  }
};

} // namespace

attn_status TextSession::runShared(const attn_generation &numbers, Error &error) {
  Waiter waiter(call->options, call->isWhole, error);
  attn_request request = {};
  request.numbers = numbers;
  request.tokens = tokens.ids, request.count = tokens.count;
  request.logprobs = call->options.logprobs;
  request.onLogprobs = call->options.onLogprobs ? Waiter::onLogprobs : nullptr;
  request.onEnd = Waiter::onEnd, request.user = &waiter;
  char *message = nullptr;
  call->begin = secondsNow();
  if (attn_status status = attn_scheduler_submit(scheduler, &request, nullptr, &message)) {
    error.take(status, message);
    attn_message_free(message);
    return status;
  }
  waiter.wait();
  attn_text_result &result = call->result;
  result.kept = waiter.result.kept, result.read = tokens.count - waiter.result.kept;
  bool isStopped = result.ending == ATTN_TEXT_ENDED_BY_STOP || call->isWhole;
  if (!isStopped && waiter.result.ending != ATTN_TEXT_ENDED_BY_LIMIT)
    result.ending = waiter.result.ending;
  return error.status;
}

attn_status TextSession::finish(Error &error) {
  const char *rest = nullptr;
  char *message = nullptr;
  size_t size = 0;
  if (attn_status status = attn_decoding_finish(call->decoding, &rest, &size, &message)) {
    error.take(status, message);
    attn_message_free(message);
    return status;
  }
  if (call->result.ending == ATTN_TEXT_ENDED_BY_CALLER)
    return error.status;
  show(rest, size);
  call->stops.finish();
  if (!call->stops.hasStopped())
    show("", 0);
  return error.status;
}

bool TextSession::Call::leavesOut(const attn_tokenizer &tokenizer, int32_t token) const {
  bool isShown = shown.empty() || !attn_tokenizer_is_special(&tokenizer, token);
  for (int32_t known : shown)
    isShown |= known == token;
  return !isShown;
}

attn_status TextSession::beginText(Error &error) {
  const attn_text_options &options = call->options;
  for (int32_t i = 0; i < options.shownCount; ++i) {
    int32_t id = attn_tokenizer_find(&tokenizer, options.shown[i], strlen(options.shown[i]));
    if (id >= 0 && !call->shown.push(id))
      return error.outOfMemory("a text");
  }
  // Where some are shown, the others are left out here.
  char *message = nullptr;
  attn_status status =
      attn_decoding_create(&tokenizer, call->shown.empty(), &call->decoding, &message);
  // What is written in another text than the prompt does not follow it.
  if (status == ATTN_OK && entry.unfold->begin < 0) {
    Vector<int32_t> texts;
    for (int64_t i = 0; i < tokens.count; ++i)
      if (!call->leavesOut(tokenizer, tokens.ids[i]) && !texts.push(tokens.ids[i]))
        return error.outOfMemory("a text");
    status = attn_decoding_follow(call->decoding, texts.data(), int64_t(texts.size()), &message);
  }
  if (status)
    error.take(status, message);
  attn_message_free(message);
  return status;
}

attn_status TextSession::generate(const attn_text_options &options, attn_text_result &result,
                                  Error &error) {
  if (tokens.count == 0)
    return error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_text_generate: there is no prompt");
  attn_generation numbers = options.numbers;
  bool isStreamed = numbers.beams <= 1;
  numbers.onTokens = isStreamed ? onTokens : nullptr, numbers.user = this;
  if (numbers.onScores || options.matcher)
    numbers.onScores = onScores;
  result = {};
  result.ending = ATTN_TEXT_ENDED_BY_LIMIT;
  if (attn_status status = pictures.see(error))
    return status;
  // The first token needs no room: it is chosen by what is read.
  int64_t room = capacity() - tokens.count + 1;
  if (entry.unfold->begin < 0 && numbers.limit > room)
    numbers.limit = room, result.ending = ATTN_TEXT_ENDED_BY_CONTEXT;
  Call own(call, options, result, error);
  bool isShared = scheduler && isStreamed && entry.unfold->begin < 0 && pictures.count() == 0;
  if (options.onLogprobs && !isShared)
    return error.set(ATTN_INVALID_ARGUMENT, "R0101",
                     "probabilities of tokens are told where texts share steps alone");
  result.kept = isShared ? 0 : heldTokens(numbers);
  result.read = tokens.count - result.kept;
  if (attn_status status = isShared ? ATTN_OK : keep(result.kept, error))
    return status;
  attn_status status = beginText(error);
  if (status)
    return status;
  status = isShared ? runShared(numbers, error) : run(numbers, result.kept, error);
  if (status == ATTN_OK && own.maskStatus)
    status = own.maskMessage ? error.take(own.maskStatus, own.maskMessage)
                             : error.outOfMemory("a mask of tokens");
  if (status == ATTN_OK && !isStreamed)
    takeAll();
  if (status == ATTN_OK)
    status = finish(error);
  result.writeSeconds = secondsNow() - own.begin - result.readSeconds;
  if (isShared) // the context's caches are as they were
    return status;
  // The caches hold the prompt, and what was chosen but for the last token, at least.
  cached.clear();
  const attn_abi_entry &first = firstEntry();
  int64_t all = first.cacheCount > 0 ? attn_cache_length(&context, first.caches[0].cache) : 0;
  bool isKnown = status == ATTN_OK && isStreamed &&
                 all <= tokens.count + int64_t(own.chosen.size()) &&
                 cached.append(tokens.ids, size_t(tokens.count)) &&
                 cached.append(own.chosen.data(), own.chosen.size());
  cached.resize(isKnown && all > 0 ? size_t(all) : 0);
  return status;
}
