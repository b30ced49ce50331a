// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names and texts of files on their way to a terminal.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <string>

namespace attn {

/// A text of lines with what a reader does not see as `\xNN`: control characters but line feeds and
/// tabs, marks that turn the direction of writing, bytes that are no UTF-8. The runtime writes its
/// messages so, too (base/Text.h).
std::string printable(llvm::StringRef text);

} // namespace attn
