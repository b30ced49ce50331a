// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vectors of many texts: the lines of a file, of plain text or of JSON.
#pragma once

#include "main/Prompt.h"

namespace attn {

/// Makes a vector of a text, or of each line of the file of the command, and does with them what
/// the command says: a file of rows, cosines of pairs, a short print. Lines run in the batches of
/// LineWindow; what comes out depends neither on these nor on the number of threads. What is wrong
/// with a line is an error with its place, or a row of NaN and a note. Binds the weights, once the
/// lines and the file of rows are open.
attn_status embedTexts(const PromptRun &run, const attn_tokenizer &tokenizer, Error &error);

} // namespace attn
