// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text that a model has written, on its way out.
#pragma once

#include <cstddef>

namespace attn {

/// Prints a piece of text: into a file or a pipe its bytes, on a terminal control characters other
/// than line feeds and tabs as "\xNN", since whoever published the model chose what it writes.
/// Whether that can be done shows at the end.
void printText(const char *text, size_t size);

} // namespace attn
