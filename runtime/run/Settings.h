// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The settings of an entry that generates, by the rows of attn/settings.def.
#pragma once

#include "attn/abi.h"

namespace attn {

/// A setting that is a number.
struct NumberSetting {
  const char *name; ///< in a spec
  bool isWhole;
  double least, most;
  const char *words; ///< of a choice, with commas between; else null
  const char *option, *expected;
  void (*set)(attn_generation &numbers, double value);
  double (*get)(const attn_generation &numbers);
};

/// One that is a list of tokens.
struct TokenSetting {
  const char *name, *option;
  void (*set)(attn_generation &numbers, const int64_t *tokens, int32_t count);
};

/// All rows that are numbers, and all that are lists.
struct SettingRows {
  const NumberSetting *numbers;
  int32_t numberCount;
  const TokenSetting *lists;
  int32_t listCount;
};
/// They are constants.
SettingRows settingRows();

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
