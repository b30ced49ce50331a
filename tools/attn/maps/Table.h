// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A map to text.
#pragma once

#include "Map.h"

namespace attn::maps {

/// What a terminal shows.
struct Terminal {
  int columns = 80;
  bool hasUtf8 = false;
  bool hasColour = false;
};

/// A map as text: rows of numbers (percentages, where all values are between 0 and 1) with their
/// labels, or of blocks where numbers do not fit. No line is wider than the terminal; keys that do
/// not fit beside each other follow below.
std::string tableOf(const Map &map, const Terminal &terminal);

} // namespace attn::maps
