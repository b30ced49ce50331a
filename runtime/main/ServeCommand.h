// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `--serve` calls.
#pragma once

#include "main/Command.h"

/// Answers requests to a model until SIGTERM; `bind` binds its weights. Only where the server is
/// linked; else the address is null.
extern "C" attn_status attn_main_serve(const attn::Command *command, attn_model *model,
                                       attn_status (*bind)(void *user, attn::Error &error),
                                       void *user, attn::Error *error);
