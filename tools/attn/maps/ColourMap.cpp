// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A path through Oklab (Ottosson, "A perceptual color space for image processing", 2020): lightness
// from 0.25 to 0.93, hue from 300 to 105 degrees, chroma as large as sRGB has along it.
#include "ColourMap.h"

#include <algorithm>
#include <cmath>

namespace attn::maps {

/// A linear part of light, 0 to 1, as sRGB stores it.
static uint8_t encode(double linear) {
  linear = std::clamp(linear, 0.0, 1.0);
  double encoded = linear <= 0.0031308 ? 12.92 * linear : 1.055 * std::pow(linear, 1 / 2.4) - 0.055;
  return uint8_t(std::lround(255 * encoded));
}

Colour colourOf(double share) {
  constexpr double pi = 3.14159265358979323846;
  if (!std::isfinite(share))
    return hollow;
  double t = std::clamp(share, 0.0, 1.0);
  double lightness = 0.25 + 0.68 * t, hue = (300 - 195 * t) * pi / 180;
  double chroma = 0.10 + 0.065 * t - 0.045 * std::sin(pi * t);
  double a = chroma * std::cos(hue), b = chroma * std::sin(hue);
  auto cube = [](double x) { return x * x * x; };
  double l = cube(lightness + 0.3963377774 * a + 0.2158037573 * b),
         m = cube(lightness - 0.1055613458 * a - 0.0638541728 * b),
         s = cube(lightness - 0.0894841775 * a - 1.2914855480 * b);
  return {encode(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
          encode(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
          encode(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

} // namespace attn::maps
