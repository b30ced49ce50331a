// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the C API's handle of a chat template is.
#pragma once

#include "attn/text.h"
#include "text/jinja/ChatTemplate.h"

/// What text.h calls a chat template.
struct attn_chat_template {
  attn::ChatTemplate whole;
};
