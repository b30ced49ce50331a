// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "text/grammar/FrontEnds.h"
using namespace attn;
attn_status grammar::readGbnf(Slice, Expressions &, uint32_t &, Error &error) {
  return error.set(ATTN_BAD_INPUT, "R0712", "not yet");
}
attn_status grammar::readLark(Slice, Expressions &, uint32_t &, Error &error) {
  return error.set(ATTN_BAD_INPUT, "R0712", "not yet");
}
