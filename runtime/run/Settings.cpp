// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows of attn/settings.def as code: from an artifact's numbers and lists to the C API's.
#include "run/Settings.h"

using namespace attn;

namespace {

/// A setting that is a list of tokens.
struct TokenSetting {
  void (*set)(attn_generation &numbers, const int64_t *tokens, int32_t count);
};

constexpr NumberSetting numberRows[] = {
#define ATTN_ROW(name, field, isWhole, least, most, words, expected)                               \
  {#name,                                                                                          \
   isWhole,                                                                                        \
   least,                                                                                          \
   most,                                                                                           \
   words,                                                                                          \
   expected,                                                                                       \
   [](attn_generation &to, double value) { to.field = decltype(to.field)(value); },                \
   [](const attn_generation &from) { return double(from.field); }},
#define ATTN_NUMBER(name, field, least, most, otherwise, expected)                                 \
  ATTN_ROW(name, field, false, least, most, nullptr, expected)
#define ATTN_WHOLE(name, field, least, most, otherwise, expected)                                  \
  ATTN_ROW(name, field, true, least, most, nullptr, expected)
#define ATTN_CHOICE(name, field, words, otherwise, expected)                                       \
  ATTN_ROW(name, field, true, 0, wordsIn(words) - 1, words, expected)
#include "attn/settings.def"
#undef ATTN_ROW
};

constexpr TokenSetting listRows[] = {
#define ATTN_TOKENS(name, field, count)                                                            \
  {[](attn_generation &to, const int64_t *tokens, int32_t size) {                                  \
    to.field = tokens, to.count = size;                                                            \
  }},
#define ATTN_SEQUENCES(name, field, count) ATTN_TOKENS(name, field, count)
#include "attn/settings.def"
};

} // namespace

const NumberSetting &attn::numberSetting(SettingName name) { return numberRows[size_t(name)]; }

void attn::takeSettings(const attn_abi_unfold &unfold, attn_generation &numbers) {
  const double *number = unfold.numbers;
  for (const NumberSetting &row : numberRows)
    row.set(numbers, *number++);
  const attn_abi_tokens *list = unfold.lists;
  for (const TokenSetting &row : listRows) {
    row.set(numbers, list->tokens, list->count);
    ++list;
  }
}

const char *attn::wrongList(const attn_generation &numbers) {
#define ATTN_TOKENS(name, field, count)                                                            \
  if (numbers.count < 0 || (numbers.count > 0 && !numbers.field))                                  \
    return #name;
#define ATTN_SEQUENCES(name, field, count) ATTN_TOKENS(name, field, count)
#include "attn/settings.def"
  int64_t at = 0;
  while (at < numbers.badWordsCount && numbers.badWords[at] > 0)
    at += 1 + numbers.badWords[at];
  return at == numbers.badWordsCount ? nullptr : "bad_words";
}

const NumberSetting *attn::wrongNumber(const attn_generation &numbers) {
  for (const NumberSetting &row : numberRows)
    if (!row.takes(row.get(numbers)))
      return &row;
  return nullptr;
}
