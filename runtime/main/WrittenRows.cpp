// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens that an entry has written of a picture, printed as text. Linked only where a program takes
// text: attn_main refers to it weakly.
#include "main/PrintText.h"
#include "main/Prompt.h"
#include <cstdio>

using namespace attn;

/// Prints one row without its special tokens, and without the space that its first word begins
/// with.
static attn_status printRow(const attn_tokenizer *tokenizer, const int32_t *ids, int64_t count,
                            Error &error) {
  char *text = nullptr, *message = nullptr;
  size_t size = 0;
  attn_status status = attn_tokenizer_decode(tokenizer, ids, count, 1, &text, &size, &message);
  if (status) {
    error.take(status, message);
  } else {
    size_t skipped = size > 0 && text[0] == ' ' ? 1 : 0;
    printText(text + skipped, size - skipped);
    printf("\n");
  }
  attn_message_free(text);
  attn_message_free(message);
  return status;
}

extern "C" attn_status attn_main_rows(const PromptRun *run, const attn_tensor *outputs,
                                      bool *isText) {
  const Command &command = *run->command;
  attn_tokenizer *tokenizer = nullptr;
  attn_status status =
      openTokenizer(command, *run->model->tables, "--tokenizer", &tokenizer, *run->error);
  *isText = command.tokenizer || (status != ATTN_IO && status != ATTN_INVALID_ARGUMENT);
  // tokens, [rows, limit], and how many of a row were written, [rows].
  const attn_tensor &tokens = outputs[0], &counts = outputs[1];
  for (int64_t row = 0; row < tokens.shape[0] && !status; ++row)
    status = printRow(tokenizer, static_cast<const int32_t *>(tokens.data) + row * tokens.shape[1],
                      static_cast<const int32_t *>(counts.data)[row], *run->error);
  attn_tokenizer_destroy(tokenizer);
  return status;
}
