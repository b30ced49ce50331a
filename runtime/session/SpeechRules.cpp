// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What comes before a transcription, and the order of its timestamps.
#include "session/SpeechRules.h"
#include <cmath>

using namespace attn;

static int32_t find(const attn_tokenizer &tokenizer, const char *before, const char *name) {
  Text token;
  token.append("%s%s|>", before, name);
  return attn_tokenizer_find(&tokenizer, token.c_str(), token.size());
}

/// Whether a token is one of a language: `<|en|>`, `<|yue|>`.
static bool namesLanguage(const char *token, size_t size) {
  if (!token || size < 6 || size > 7 || memcmp(token, "<|", 2) != 0 ||
      memcmp(token + size - 2, "|>", 2) != 0)
    return false;
  for (size_t i = 2; i < size - 2; ++i)
    if (token[i] < 'a' || token[i] > 'z')
      return false;
  return true;
}

bool SpeechRules::isLanguage(int32_t token) const {
  for (int32_t language : languages)
    if (language == token)
      return true;
  return false;
}

attn_status SpeechRules::findLanguage(const attn_tokenizer &tokenizer, const char *name,
                                      int32_t &token, Error &error) const {
  token = find(tokenizer, "<|", name);
  if (isLanguage(token))
    return ATTN_OK;
  error.set(ATTN_INVALID_ARGUMENT, "U0002", "the tokenizer has no language `%s`", name);
  if (languages.empty())
    error.help("its model hears one language");
  Text known;
  for (size_t i = 0; i < languages.size() && i < 12; ++i) {
    size_t size = 0;
    const char *text = attn_tokenizer_token(&tokenizer, languages[i], &size);
    known.append(i ? ", %.*s" : "%.*s", int(size - 4), text + 2);
  }
  if (!languages.empty())
    error.help("it has %s%s", known.c_str(), languages.size() > 12 ? ", …" : "");
  return error.status;
}

attn_status SpeechRules::readHead(const attn_tokenizer &tokenizer,
                                  const attn_speech_options &options, Error &error) {
  int32_t language = anyLanguage, task = -1;
  int32_t transcribe = find(tokenizer, "<|", "transcribe"),
          translate = find(tokenizer, "<|", "translate");
  for (int32_t i = 0; i < numbers->forceCount; ++i) {
    auto token = int32_t(numbers->forced[i]);
    if (isLanguage(token))
      language = token;
    else if (token >= 0 && (token == transcribe || token == translate))
      task = token;
  }
  // What is forced without a language: a model of one language.
  bool hasLanguages =
      !languages.empty() && (numbers->forceCount == 0 || language >= 0 || task >= 0);
  if (options.language) {
    if (findLanguage(tokenizer, options.language, language, error))
      return error.status;
    hasLanguages = true;
  }
  if (options.task) {
    task = find(tokenizer, "<|", options.task);
    if (task < 0 || (task != transcribe && task != translate)) {
      error.set(ATTN_INVALID_ARGUMENT, "U0002", "the tokenizer has no task `%s`", options.task);
      error.help("the tasks of such models are `transcribe` and `translate`, into English");
      return error.status;
    }
  }
  task = task < 0 ? transcribe : task;
  bool isGood = !hasLanguages || (head.push(language) && (task < 0 || head.push(task)));
  if (isGood && !hasTimestamps && noTimestamps >= 0)
    isGood = head.push(noTimestamps);
  return isGood ? ATTN_OK : error.outOfMemory("a transcription");
}

attn_status SpeechRules::read(const attn_tokenizer &tokenizer, const attn_speech_options &options,
                              Error &error) {
  numbers = &options.numbers, hasTimestamps = options.timestamps != 0;
  noTimestamps = find(tokenizer, "<|", "notimestamps");
  firstTimestamp = noTimestamps < 0 ? -1 : noTimestamps + 1;
  if (hasTimestamps && noTimestamps < 0) {
    error.set(ATTN_INVALID_ARGUMENT, "U0002", "the tokenizer has no timestamps");
    error.help("they are the tokens behind `<|notimestamps|>`");
    return error.status;
  }
  for (int32_t id = 0; id < attn_tokenizer_size(&tokenizer); ++id) {
    size_t size = 0;
    const char *token = attn_tokenizer_token(&tokenizer, id, &size);
    if (namesLanguage(token, size) && !languages.push(id))
      return error.outOfMemory("a transcription");
  }
  if (noTimestamps >= 0)
    return readHead(tokenizer, options, error);
  if (options.language || options.task)
    return error.set(ATTN_INVALID_ARGUMENT, "U0002",
                     "the tokenizer has no `<|notimestamps|>`: it has no languages and tasks");
  for (int32_t i = 0; i < numbers->forceCount; ++i) // some other model that hears
    if (!head.push(int32_t(numbers->forced[i])))
      return error.outOfMemory("a transcription");
  return ATTN_OK;
}

void SpeechRules::keepLanguage(int32_t token) {
  if (!head.empty() && head[0] == anyLanguage)
    head[0] = token;
}

/// Sets the scores from `begin` to before `end` to -infinity.
static void exclude(float *scores, int64_t vocabulary, int64_t begin, int64_t end) {
  for (int64_t i = begin < 0 ? 0 : begin; i < end && i < vocabulary; ++i)
    scores[i] = -INFINITY;
}

/// Whether all timestamps together are likelier than each token of text.
static bool isTimestampLikelier(const float *scores, int64_t vocabulary, int64_t first) {
  double text = -INFINITY, largest = -INFINITY, sum = 0;
  for (int64_t i = 0; i < vocabulary; ++i) {
    double &most = i < first ? text : largest;
    most = double(scores[i]) > most ? double(scores[i]) : most;
  }
  if (largest == double(-INFINITY))
    return false;
  for (int64_t i = first; i < vocabulary; ++i)
    sum += std::exp(double(scores[i]) - largest);
  return largest + std::log(sum) > text;
}

void SpeechRules::restrictTimestamps(float *scores, int64_t vocabulary, const int32_t *written,
                                     size_t count) const {
  exclude(scores, vocabulary, noTimestamps, firstTimestamp);
  bool isBehind = count >= 1 && isTimestamp(written[count - 1]);
  bool isPair = count < 2 || isTimestamp(written[count - 2]);
  int64_t end = numbers->stopCount > 0 ? numbers->stops[0] : noTimestamps;
  if (isBehind && isPair)
    exclude(scores, vocabulary, firstTimestamp, vocabulary); // text
  else if (isBehind)
    exclude(scores, vocabulary, 0, end); // its other half, or the end
  // Time does not go back, and no segment is empty.
  for (size_t i = count; i-- > 0;)
    if (isTimestamp(written[i])) {
      exclude(scores, vocabulary, firstTimestamp, written[i] + !(isBehind && !isPair));
      break;
    }
  if (count == 0) {
    exclude(scores, vocabulary, 0, firstTimestamp);
    exclude(scores, vocabulary, firstTimestamp + lastInitial + 1, vocabulary);
  }
  if (isTimestampLikelier(scores, vocabulary, firstTimestamp))
    exclude(scores, vocabulary, 0, firstTimestamp);
}

void SpeechRules::restrict(float *scores, int64_t vocabulary,
                           const Vector<int32_t> &written) const {
  size_t at = written.size();
  if (at < head.size()) {
    for (int64_t i = 0; i < vocabulary; ++i)
      if (head[at] == anyLanguage ? !isLanguage(int32_t(i)) : i != head[at])
        scores[i] = -INFINITY;
      else if (head[at] != anyLanguage)
        scores[i] = 0;
    return;
  }
  auto suppress = [&](int32_t count, const int64_t *tokens) {
    for (int32_t i = 0; i < count; ++i)
      exclude(scores, vocabulary, tokens[i], tokens[i] + 1);
  };
  suppress(numbers->suppressCount, numbers->suppressed);
  if (at == head.size())
    suppress(numbers->suppressFirstCount, numbers->suppressedFirst);
  if (hasTimestamps)
    restrictTimestamps(scores, vocabulary, written.data() + head.size(), at - head.size());
}
