// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What codes of a few bits stand for.
#pragma once

#include <cstdint>

namespace attn {

/// Elements side by side that share a line.
constexpr int64_t lineElements = 32;

/// The numbers of codes: least + step * code, code being 0 or more.
struct CodeLine {
  float step, least;
};

} // namespace attn
