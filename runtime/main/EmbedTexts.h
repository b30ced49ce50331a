// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vectors of many texts: the lines of a file, of plain text or of JSON.
#pragma once

#include "base/Slice.h"
#include "main/Prompt.h"

namespace attn {

/// Makes a vector of a text, or of each line of the file of the command, and does with them what
/// the command says: a file of rows, cosines of pairs, a short print. Each thread takes a text of
/// its own; what comes out does not depend on their number. What is wrong with a line is an error
/// with its place, or a row of NaN and a note.
attn_status embedTexts(const PromptRun &run, const attn_tokenizer &tokenizer, Slice bytes,
                       Error &error);

} // namespace attn
