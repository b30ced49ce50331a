// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A line on a terminal that says how far a long work is.
#pragma once

#include "base/Clock.h"

namespace attn {

/// A work whose progress is shown where standard error is a terminal: one line, which is there half
/// a second after the work has begun, is written anew at most ten times a second, and is erased at
/// the end. One thread shows it.
class ProgressLine {
public:
  ProgressLine();
  ProgressLine(const ProgressLine &) = delete;
  ProgressLine &operator=(const ProgressLine &) = delete;
  ~ProgressLine() { erase(); }
  /// Whether anything is shown on this standard error.
  bool isWanted() const { return isTerminal; }
  /// Whether it is time to show something.
  bool isDue() const { return isTerminal && secondsNow() >= next; }
  /// Shows a text, as printf makes it.
  void show(const char *format, ...) __attribute__((format(printf, 2, 3)));
  /// Takes the line off the terminal, if there is one.
  void erase();

private:
  bool isTerminal = false, isShown = false;
  double next = 0; ///< second from which on it may be written
};

} // namespace attn
