// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A line on a terminal that says how much of the weights has been packed.
#pragma once

#include "attn/abi.h"
#include "main/ProgressLine.h"
#include <atomic>

namespace attn {

/// Shows the line while it lives, where stderr is a terminal: half a second after it was made, anew
/// at most ten times a second, and erased at the end. There is one at a time.
class PackProgress {
public:
  explicit PackProgress(const attn_abi_model &tables);
  PackProgress(const PackProgress &) = delete;
  PackProgress &operator=(const PackProgress &) = delete;
  ~PackProgress();

  /// Takes elements that a thread has packed; thread 0, which is the caller, shows the line.
  void note(int64_t elements, int64_t thread);

private:
  ProgressLine line;
  std::atomic<int64_t> done{0};
  double all = 0, megabytes = 0;
};

} // namespace attn

/// Notes elements of parameters that `thread` of a team has packed. weights/Pack.cpp refers to it
/// weakly: a program that does without attn_main shows nothing.
extern "C" void attn_main_note_packed(int64_t elements, int64_t thread);
