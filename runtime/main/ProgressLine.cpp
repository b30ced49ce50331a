// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One line of a terminal, written again and again.
#include "main/ProgressLine.h"
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace attn;

ProgressLine::ProgressLine() {
  const char *terminal = getenv("TERM");
  isTerminal = isatty(2) && terminal && strcmp(terminal, "dumb") != 0;
  next = secondsNow() + 0.5;
}

void ProgressLine::show(const char *format, ...) {
  next = secondsNow() + 0.1;
  isShown = true;
  fflush(stdout);
  fputs("\r\033[K", stderr);
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
}

void ProgressLine::erase() {
  if (isShown)
    fputs("\r\033[K", stderr);
  isShown = false;
}
