// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a folder says of its tokenizer beside the vocabulary: tokenizer_config.json,
// special_tokens_map.json, added_tokens.json, and of config.json the kind of model.
#pragma once

#include "text/files/Classes.h"
#include "text/files/Folder.h"
#include "text/steps/AddedTokens.h"

namespace attn {

/// A flag that a file may leave open.
enum class Flag : uint8_t { Open, No, Yes };

/// The settings. Strings belong to the tokenizer.
struct TextSettings {
  /// Reads the files that are there.
  attn_status read(const TextFolder &folder, Arena &strings, Error &error);

  /// A flag, or what holds where it is open.
  static bool is(Flag flag, bool otherwise) {
    return flag == Flag::Open ? otherwise : flag == Flag::Yes;
  }

  bool hasConfig = false;                ///< a tokenizer_config.json is there
  Slice className;                       ///< null data: none is named
  const TokenizerClass *known = nullptr; ///< the class, where there is a row for it
  Flag lowers = Flag::Open, stripsAccents = Flag::Open, spacesChinese = Flag::Open,
       cutsWords = Flag::Open, keepsAccents = Flag::Open, addsBos = Flag::Open,
       addsEos = Flag::Open, addsSpace = Flag::Open, legacy = Flag::Open, cleansUp = Flag::Open,
       splitsSpecial = Flag::Open, predictsTimes = Flag::Open, splitsPunctuation = Flag::Open,
       separatesVocabularies = Flag::Open;
  int64_t sentinels = -1; ///< `extra_ids`, or -1
  Slice language, task, sourceLanguage;
  Slice wordDelimiter = Slice("|"), spaceForDelimiter = Slice(" "); ///< of characters
  Slice targetLanguage; ///< of characters: whose vocabulary counts, where a file has several

  /// A token with a role: what the folder says, or, not given, what the class has.
  struct RoleToken {
    bool isGiven = false, isPlain = true; ///< plain: a string, whose flags are the class's
    AddedToken token;                     ///< null content: none
  };
  RoleToken roles[RoleCount];
  Vector<AddedToken> added;      ///< with their ids, of `added_tokens_decoder` or added_tokens.json
  Vector<AddedToken> additional; ///< special ones without ids

  /// The token of a role; null content where there is none.
  AddedToken tokenOf(Role role) const;

private:
  /// Reads tokenizer_config.json.
  bool readConfig(ComponentReader &reader, JsonValue root);
  /// Reads the tokens with roles, of it or of special_tokens_map.json.
  bool readRoles(ComponentReader &reader, JsonValue root);
  /// Reads a list of special tokens.
  bool readAdditional(ComponentReader &reader, JsonValue value);
  /// Reads `added_tokens_decoder`.
  bool readDecoder(ComponentReader &reader, JsonValue value);
  /// Reads added_tokens.json.
  bool readAdded(ComponentReader &reader, JsonValue root);
  /// Reads of config.json the class, or the kind of model.
  bool readModel(ComponentReader &reader, JsonValue root);
};

} // namespace attn
