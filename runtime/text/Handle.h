// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the C API's handle of a tokenizer is.
#pragma once

#include "text/Tokenizer.h"

/// What text.h calls a tokenizer.
struct attn_tokenizer {
  attn::Tokenizer tokenizer;
};
