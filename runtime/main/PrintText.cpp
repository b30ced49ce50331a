// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A terminal obeys what it is sent; files take all bytes.
#include "main/PrintText.h"
#include "base/Text.h"
#include <cstdio>
#include <unistd.h>

using namespace attn;

void attn::printText(const char *text, size_t size) {
  Text shown;
  if (isatty(1)) {
    shown.appendLines(text, size);
    text = shown.c_str(), size = shown.size();
  }
  fwrite(text, 1, size, stdout);
}
