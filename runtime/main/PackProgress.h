// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A line on a terminal that says how much of the weights has been packed.
#pragma once

#include "attn/abi.h"

namespace attn {

/// Shows the line while it lives, where stderr is a terminal: half a second after it was made, anew
/// at most ten times a second, and erased at the end. There is one at a time.
class PackProgress {
public:
  explicit PackProgress(const attn_abi_model &tables);
  PackProgress(const PackProgress &) = delete;
  PackProgress &operator=(const PackProgress &) = delete;
  ~PackProgress();
};

} // namespace attn

/// Notes elements of parameters that `thread` of a team has packed. weights/Pack.cpp refers to it
/// weakly: a program that does without attn_main shows nothing.
extern "C" void attn_main_note_packed(int64_t elements, int64_t thread);
