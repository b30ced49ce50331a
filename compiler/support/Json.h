// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading JSON that others wrote.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace attn {

/// LLVM's reader, which goes into brackets by recursion, of texts whose brackets do not stand too
/// deep in each other for that.
llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text);

} // namespace attn
