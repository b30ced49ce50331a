// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The settings of an entry that generates, by the rows of attn/settings.def.
#pragma once

#include "attn/abi.h"
#include <cmath>

namespace attn {

/// A setting that is a number.
struct NumberSetting {
  const char *name; ///< in a spec
  bool isWhole;
  double least, most;
  const char *words; ///< of a choice, with commas between; else null
  const char *expected;
  void (*set)(attn_generation &numbers, double value);
  double (*get)(const attn_generation &numbers);

  /// Whether it may have a value, which is no NaN.
  bool takes(double value) const {
    return value >= least && value <= most && (!isWhole || std::floor(value) == value);
  }
};

/// All settings by name: those that are numbers in the order of their rows, then the lists; the
/// limit, which is no row.
enum class SettingName {
#define ATTN_NUMBER(name, field, least, most, otherwise, expected) name,
#define ATTN_WHOLE(name, field, least, most, otherwise, expected) name,
#define ATTN_CHOICE(name, field, words, otherwise, expected) name,
#include "attn/settings.def"
#define ATTN_TOKENS(name, field, count) name,
#define ATTN_SEQUENCES(name, field, count) name,
#include "attn/settings.def"
  limit // NOLINT(readability-identifier-naming): named as in a spec, as the rows
};

/// The row of a setting that is a number.
const NumberSetting &numberSetting(SettingName name);

/// Takes over what an artifact says.
void takeSettings(const attn_abi_unfold &unfold, attn_generation &numbers);

/// The first row whose number is not in its range, null where all are; the name of the first list
/// that is none.
const NumberSetting *wrongNumber(const attn_generation &numbers);
const char *wrongList(const attn_generation &numbers);

/// How many words there are with commas between.
constexpr int wordsIn(const char *words) {
  int count = 1;
  for (; *words; ++words)
    count += *words == ',';
  return count;
}

} // namespace attn
