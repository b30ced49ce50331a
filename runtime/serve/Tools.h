// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tools of a request, and whether the model may call them.
#pragma once

#include "serve/CallText.h"
#include "serve/Exchange.h"

namespace attn {

/// Where a request has its tools; SIZE_MAX: nowhere.
struct ToolFields {
  size_t tools = SIZE_MAX, choice = SIZE_MAX;
  bool isFlat = false; ///< whether a tool is its function, as in /v1/responses
};

/// Reads the tools that the model may call: none where the choice says so. False, with an error,
/// where they are no tools, and where a call is asked for, which nothing can warrant yet.
bool readTools(Exchange &exchange, const ToolFields &fields, ToolList &tools);

} // namespace attn
