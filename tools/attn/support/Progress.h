// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A line on a terminal that says how far a long work is.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include <chrono>

namespace attn::tool {

/// A work whose progress is shown where stderr is a terminal: one line, which is there half a
/// second after the work has begun, is written anew at most ten times a second, and is erased at
/// the end and before errors and warnings. Works are shown by one thread, one at a time.
class Progress {
public:
  Progress() = default;
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  ~Progress() { erase(); }

  /// Shows a text, if it is time to.
  void show(const llvm::Twine &text);
  /// Shows a step of compiling (CodegenProgress).
  void operator()(llvm::StringRef step, size_t done, size_t all) {
    show(step + " " + llvm::Twine(done) + " of " + llvm::Twine(all) + " functions");
  }
  /// Takes the line off the terminal, if there is one. Whatever is printed meanwhile calls it.
  static void erase();

private:
  using Clock = std::chrono::steady_clock;                                ///< which no one sets
  Clock::time_point next = Clock::now() + std::chrono::milliseconds(500); ///< when it may be shown
};

} // namespace attn::tool
