// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A map to a picture.
#pragma once

#include "Canvas.h"
#include "Map.h"

namespace attn::maps {

/// A batch of pictures, [count, channels, height, width], of 1 or 3 channels.
struct Pictures {
  int64_t count = 0, channels = 1, height = 0, width = 0;
  std::vector<double> values;
};

/// The most pixels of a figure.
constexpr int64_t largestFigure = 40'000'000;

/// Draws a map as a picture: a panel of coloured cells for each element of the leading axes, labels
/// or numbers at the sides, axis names, a bar that says which colour is which value. `pictures`,
/// where there are any, stand in front of the panels of their element of the first axis, which has
/// as many. False, with a problem, where the figure would be too large.
std::optional<Canvas> drawFigure(const Map &map, const Pictures &pictures, Problem &problem);

/// Values for the marks of a scale: multiples of 1, 2 or 5 times a power of ten.
std::vector<double> ticksOf(double least, double most, int wanted);

} // namespace attn::maps
