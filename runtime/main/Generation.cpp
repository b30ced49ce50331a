// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line's numbers of an entry that generates, over those of the spec.
#include "main/Command.h"
#include <cerrno>
#include <cmath>

using namespace attn;

static bool parseNumber(const char *text, double &value) {
  char *end;
  errno = 0;
  value = strtod(text, &end);
  return !errno && end != text && !*end;
}

/// The place of a word in "false,true,never".
static bool parseWord(const char *text, const char *words, double &value) {
  size_t size = strlen(text);
  for (value = 0;; ++value, ++words) {
    const char *end = strchr(words, ',');
    size_t length = end ? size_t(end - words) : strlen(words);
    if (length == size && memcmp(words, text, size) == 0)
      return true;
    if (!end)
      return false;
    words = end;
  }
}

/// "1,2,3", each a token.
static bool parseStops(const char *text, Vector<int64_t> &stops) {
  stops.resize(0);
  if (strcmp(text, "none") == 0)
    return true;
  for (const char *at = text;;) {
    char *end;
    errno = 0;
    long long token = strtoll(at, &end, 10);
    if (errno || end == at || token < 0 || token > INT32_MAX || !stops.push(token))
      return false;
    if (!*end)
      return true;
    if (*end != ',')
      return false;
    at = end + 1;
  }
}

/// Sets what an option says; null, or what was expected.
static const char *apply(const Choice &choice, attn_generation &generation,
                         Vector<int64_t> &stops) {
  double value = 0;
  if (choice.setting == SettingName::stop) {
    bool isGood = parseStops(choice.value, stops);
    generation.stops = stops.data(), generation.stopCount = int32_t(stops.size());
    return isGood ? nullptr : "tokens with commas between them, or `none`";
  }
  if (choice.setting == SettingName::limit) {
    bool isGood = parseNumber(choice.value, value) && value >= 1 && value <= INT32_MAX;
    generation.limit = int64_t(isGood ? value : 1);
    return isGood && std::floor(value) == value ? nullptr : "a number of tokens, at least 1";
  }
  const NumberSetting &row = numberSetting(choice.setting);
  bool isGood =
      row.words ? parseWord(choice.value, row.words, value) : parseNumber(choice.value, value);
  if (!isGood || !row.takes(value))
    return row.expected;
  row.set(generation, value);
  return nullptr;
}

attn_status attn::readGeneration(const Command &command, const attn_model &model, int32_t entry,
                                 attn_generation &generation, Vector<int64_t> &stops,
                                 Error &error) {
  const attn_abi_entry &found = model.tables->entries[entry];
  if (!found.unfold) {
    if (command.choices.empty())
      return ATTN_OK;
    return error.set(ATTN_INVALID_ARGUMENT, "U0002", "`%s`: entry `%s` generates no tokens",
                     command.choices[0].option, found.name);
  }
  attn_generation_default(&model, entry, &generation, nullptr);
  for (const Choice &choice : command.choices) {
    const char *expected = apply(choice, generation, stops);
    if (!expected)
      continue;
    return error.set(ATTN_INVALID_ARGUMENT, "U0002", "`%s %s`: expected %s", choice.option,
                     choice.value, expected);
  }
  return ATTN_OK;
}
