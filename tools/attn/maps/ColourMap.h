// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers between 0 and 1 to colours.
#pragma once

#include "io/image/Drawing.h"

namespace attn::maps {

/// The colour of a share between 0 and 1: dark violet over teal to light yellow. Lightness rises in
/// a straight line, so that equal differences look equal, in grey and to the colour-blind too.
Colour colourOf(double share);

/// The colour of what is no number, or infinite: a masked score.
constexpr Colour hollow{206, 208, 212};

} // namespace attn::maps
