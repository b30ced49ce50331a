// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tokenizer classes of Hugging Face's library: what each one does with the files of a folder.
#pragma once

#include "base/Slice.h"

namespace attn {

/// What a token of a folder is for: the keys `bos_token` and so on of tokenizer_config.json.
enum Role {
  BosToken,
  EosToken,
  UnknownToken,
  SeparatorToken,
  PaddingToken,
  ClassToken,
  MaskToken,
  RoleCount
};

/// The keys, in the order of Role.
extern const char *const roleKeys[RoleCount];

/// How a class goes from its files to a tokenizer.
enum class Build {
  Json,      ///< by its tokenizer.json alone
  WordPiece, ///< vocab.txt
  ByteLevel, ///< vocab.json and merges.txt, cut as GPT-2 does
  Qwen2,     ///< the same, cut by Qwen 2's expression
  Clip,      ///< the same, in lower case and with ends of words
  OpenAi,    ///< the same without bytes: GPT's
  Whisper,   ///< as ByteLevel, with the tokens that begin a transcript
  Pieces,    ///< a .model of SentencePiece
  Characters ///< a vocab.json alone, of characters: wav2vec 2's
};

/// Which numbers the pieces of a .model get.
enum class Numbers {
  Own,       ///< those of the model
  Fairseq,   ///< <s> <pad> </s> <unk>, the pieces moved by one, <mask>
  Camembert, ///< the same with <unk>NOTUSED, the pieces moved by four
  Languages, ///< as Fairseq, with the 25 languages of mBART before <mask>
  Pegasus    ///< <pad> </s>, masks and <unk_2> to <unk_102>, the pieces moved by 103
};

/// A class.
struct TokenizerClass {
  const char *names;  ///< without `Fast`, with spaces between them
  const char *models; ///< values of `model_type` of a config.json that names no class, likewise
  Build build;
  /// What is put around a text, and around two: A and B the texts, b e s c the tokens for the
  /// beginning, the end, between and of the class, l that of a language; a digit behind one is its
  /// type. Empty: nothing, or what `add_bos_token` and `add_eos_token` say.
  const char *single, *pair;
  const char *tokens[RoleCount]; ///< where the folder does not say; null: none
  bool addsBos = false;          ///< `add_bos_token` where the folder does not say
  bool addsSpace = false;        ///< `add_prefix_space`, likewise
  bool masksLeft = false;        ///< the mask takes the space before it
  Numbers numbers = Numbers::Own;
  bool changesCase = false; ///< of Pieces: ALBERT's and XLNet's quotes, accents and case
  bool lowers = false;      ///< of these: `do_lower_case` where the folder does not say
  bool keepsAccents = false;
  bool hasSentinels = false; ///< `extra_ids`
  bool collapses = false;    ///< decodes what is written for each frame of a sound (CTC)

  /// The first of its names.
  Slice name() const;
};

/// The class of a name, with or without `Fast`, or null.
const TokenizerClass *findClass(Slice name);
/// The class of a `model_type`, or null.
const TokenizerClass *findClassOfModel(Slice model);
/// Appends the names of all classes that take such files, with commas between them.
void appendClassNames(bool (*takes)(Build), class Text &to);

} // namespace attn
