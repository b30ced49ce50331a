// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls whose arguments are no JSON: between tags, or with strings between marks.
#pragma once

#include "serve/CallText.h"

namespace attn {

/// The part of `readCalls` for the bodies Tags, Pairs and Words.
CallState readTaggedCall(const AnswerFormat &format, const ToolList &tools, Slice text, bool isEnd,
                         size_t &size, const CallSink &sink, bool &goesOn);

} // namespace attn
