// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One line of a terminal, written again and again.
#include "main/ProgressLine.h"
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <unistd.h>

using namespace attn;

double attn::secondsNow() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

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
