// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line's numbers of an entry that generates, over those of the spec.
#include "main/Command.h"
#include <cerrno>
#include <cmath>

using namespace attn;

/// The names of the options, with what they take.
static const struct {
  const char *name, *expected;
} options[] = {{"--max-tokens", "a number of tokens, at least 1"},
               {"--stop-tokens", "tokens with commas between them, or `none`"},
               {"--temperature", "a number of at least 0"},
               {"--top-k", "a number of tokens, 0 for all"},
               {"--top-p", "a number from 0 to 1"},
               {"--min-p", "a number from 0 to 1"},
               {"--repetition", "a number above 0"},
               {"--seed", "a whole number"},
               {"--beams", "a number of hypotheses, at least 1"},
               {"--length-penalty", "a number from 0 to 1000"}};

bool attn::isGenerationOption(const char *name) {
  for (const auto &option : options)
    if (strcmp(option.name, name) == 0)
      return true;
  return false;
}

static bool parseNumber(const char *text, double least, double most, double &value) {
  char *end;
  errno = 0;
  value = strtod(text, &end);
  return !errno && end != text && !*end && value >= least && value <= most;
}

static bool parseWhole(const char *text, double most, double &value) {
  return parseNumber(text, 0, most, value) && std::floor(value) == value;
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

static bool apply(const char *name, const char *text, attn_generation &generation,
                  Vector<int64_t> &stops) {
  attn_sampling &sampling = generation.sampling;
  double value = 0;
  bool isGood = true;
  if (strcmp(name, "--stop-tokens") == 0) {
    isGood = parseStops(text, stops);
    generation.stops = stops.data(), generation.stopCount = int32_t(stops.size());
  } else if (strcmp(name, "--max-tokens") == 0) {
    isGood = parseWhole(text, INT32_MAX, value) && value >= 1;
    generation.limit = int64_t(value);
  } else if (strcmp(name, "--top-k") == 0) {
    isGood = parseWhole(text, INT32_MAX, value);
    sampling.topK = int32_t(value);
  } else if (strcmp(name, "--seed") == 0) {
    isGood = parseWhole(text, 9007199254740992.0, value);
    sampling.seed = uint64_t(value);
  } else if (strcmp(name, "--beams") == 0) {
    isGood = parseWhole(text, INT32_MAX, value) && value >= 1;
    generation.beams = int32_t(value);
  } else if (strcmp(name, "--length-penalty") == 0) {
    isGood = parseNumber(text, 0, 1000, value);
    generation.lengthPenalty = float(value);
  } else if (strcmp(name, "--temperature") == 0) {
    isGood = parseNumber(text, 0, 1e6, value);
    sampling.temperature = float(value);
  } else if (strcmp(name, "--repetition") == 0) {
    isGood = parseNumber(text, 1e-6, 1e6, value);
    sampling.repetition = float(value);
  } else {
    isGood = parseNumber(text, 0, 1, value);
    (strcmp(name, "--top-p") == 0 ? sampling.topP : sampling.minP) = float(value);
  }
  return isGood;
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
    if (apply(choice.option, choice.value, generation, stops))
      continue;
    const char *expected = "";
    for (const auto &option : options)
      if (strcmp(option.name, choice.option) == 0)
        expected = option.expected;
    return error.set(ATTN_INVALID_ARGUMENT, "U0002", "`%s %s`: expected %s", choice.option,
                     choice.value, expected);
  }
  return ATTN_OK;
}
