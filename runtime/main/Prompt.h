// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A prompt on the command line: text to tokens, an entry that generates, tokens to text.
#ifndef ATTN_MAIN_PROMPT_H
#define ATTN_MAIN_PROMPT_H
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
};

} // namespace attn

/// Answers a prompt: prints the text as it is written, and how fast on standard error.
/// The status of its error. Only where text is linked; else the address is null.
extern "C" attn_status attn_main_prompt(const attn::PromptRun *run);

#endif
