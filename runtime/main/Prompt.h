// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text on the command line: a prompt or a sound to an entry that generates, tokens to text.
#pragma once

#include "attn/text.h"
#include "main/Command.h"
#include "run/Context.h"

namespace attn {

/// What a prompt runs on; all of it outlives the run.
struct PromptRun {
  const Command *command;
  const attn_model *model;
  attn_context *context;
  int32_t entry; ///< that generates
  const attn_generation *generation;
  Error *error;
  /// Binds the weights, which take longest, when all else has been found right.
  attn_status (*bind)(const PromptRun &run);
  void *user;
  const Labels *labels = nullptr; ///< of --lines: what classes are called
};

/// Opens the tokenizer of a run: one that the command line names, that is embedded, or that lies
/// in the folder of its weights; `option` is what needs one. ATTN_IO where a folder has none.
attn_status openTokenizer(const Command &command, const attn_abi_model &tables, const char *option,
                          attn_tokenizer **tokenizer, Error &error);

} // namespace attn

/// Answers a prompt: prints the text as it is written, and how fast on standard error.
/// The status of its error. Only where text is linked; else the address is null.
extern "C" attn_status attn_main_prompt(const attn::PromptRun *run);

/// Prints the rows that an entry has written, `outputs` its tokens and their counts, as text, and
/// sets `isText`; false, and nothing is done, where there is no tokenizer and none is asked for.
/// Linked as attn_main_prompt.
extern "C" attn_status attn_main_rows(const attn::PromptRun *run, const attn_tensor *outputs,
                                      bool *isText);

/// Writes down the sounds that an entry is given, in turn, and sets `isText`; false, and nothing
/// is done, where there is no tokenizer and no option asks for text. Linked as attn_main_prompt.
extern "C" attn_status attn_main_speech(const attn::PromptRun *run, bool *isText);
