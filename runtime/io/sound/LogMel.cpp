// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The log-mel spectrogram that Whisper takes.
#include "io/sound/Sound.h"
#include <cmath>

using namespace attn;

/// Of the largest transform.
static constexpr int64_t maxWindow = 2048, maxBins = maxWindow / 2 + 1;

/// Slaney's scale: straight to 1 kHz, then 27 bands for a factor of 6.4.
static double hertz(double mel) {
  return mel < 15 ? mel * 200 / 3 : 1000 * exp((mel - 15) * log(6.4) / 27);
}

static double mels(double hertz) {
  return hertz < 1000 ? hertz * 3 / 200 : 15 + 27 * log(hertz / 1000) / log(6.4);
}

namespace {
/// A transform of windows of `spec`'s size, and its tables.
struct Transform {
  const attn_abi_sound &spec;
  int64_t window, half, bins;    ///< samples, half of them, frequencies
  Vector<double> cosines, sines; ///< [bins samples from the middle, bins]
  Vector<double> hann;           ///< [window]
  Vector<double> filters;        ///< [bands, bins]

  explicit Transform(const attn_abi_sound &spec)
      : spec(spec), window(spec.fft), half(window / 2), bins(half + 1) {}
  bool make();
  void power(const double *samples, double *powers) const;
};
} // namespace

bool Transform::make() {
  if (!cosines.resize(size_t(bins * bins)) || !sines.resize(size_t(bins * bins)) ||
      !hann.resize(size_t(window)) || !filters.resize(size_t(spec.bands * bins)))
    return false;
  for (int64_t i = 0; i < window; ++i)
    hann[size_t(i)] = 0.5 - 0.5 * cos(2 * pi * double(i) / double(window));
  for (int64_t i = 0; i < bins; ++i)
    for (int64_t k = 0; k < bins; ++k) {
      double angle = 2 * pi * double(i * k % window) / double(window);
      cosines[size_t(i * bins + k)] = cos(angle);
      sines[size_t(i * bins + k)] = sin(angle);
    }
  double step = mels(double(spec.rate) / 2) / (spec.bands + 1);
  for (int32_t band = 0; band < spec.bands; ++band) {
    double low = hertz(band * step), middle = hertz((band + 1) * step);
    double high = hertz((band + 2) * step);
    for (int64_t k = 0; k < bins; ++k) {
      double at = double(k * spec.rate) / double(window);
      double rise = (at - low) / (middle - low), fall = (high - at) / (high - middle);
      double weight = rise < fall ? rise : fall;
      filters[size_t(band * bins + k)] = weight > 0 ? weight * 2 / (high - low) : 0;
    }
  }
  return true;
}

/// Squared sizes of the frequencies of a window. Samples at equal distances from the middle share
/// their cosine and, but for the sign, their sine.
void Transform::power(const double *samples, double *powers) const {
  double real[maxBins] = {}, imaginary[maxBins] = {};
  for (int64_t i = 0; i <= half; ++i) {
    double right = i < half ? samples[half + i] * hann[size_t(half + i)] : 0;
    double left = i > 0 ? samples[half - i] * hann[size_t(half - i)] : 0;
    double sum = left + right, difference = right - left;
    const double *cosine = cosines.data() + i * bins, *sine = sines.data() + i * bins;
    for (int64_t k = 0; k < bins; ++k) {
      real[k] += sum * cosine[k];
      imaginary[k] += difference * sine[k];
    }
  }
  for (int64_t k = 0; k < bins; ++k)
    powers[k] = real[k] * real[k] + imaginary[k] * imaginary[k];
}

/// Sample `at` of the sound and the silence after it, `length` samples mirrored at both ends.
static double sampleAt(const Sound &sound, int64_t length, int64_t at) {
  while (at < 0 || at >= length)
    at = length == 1 ? 0 : at < 0 ? -at : 2 * (length - 1) - at;
  return at < int64_t(sound.samples.size()) ? double(sound.samples[size_t(at)]) : 0;
}

bool attn::logMel(const Sound &sound, const attn_abi_sound &spec, int64_t frames, float *values) {
  Transform transform(spec);
  if (spec.fft > maxWindow || !transform.make())
    return false;
  const float silence = -10; // the logarithm of the smallest value, 1e-10
  float largest = silence;
  for (int64_t frame = 0; frame < frames; ++frame) {
    double samples[maxWindow], powers[maxBins];
    bool isSilent = true;
    for (int64_t i = 0; i < transform.window; ++i) {
      samples[i] = sampleAt(sound, frames * spec.hop, frame * spec.hop - transform.half + i);
      isSilent &= samples[i] == 0;
    }
    if (!isSilent)
      transform.power(samples, powers);
    for (int32_t band = 0; band < spec.bands; ++band) {
      float value = silence;
      if (!isSilent) {
        const double *filter = transform.filters.data() + band * transform.bins;
        double sum = 0;
        for (int64_t k = 0; k < transform.bins; ++k)
          sum += filter[k] * powers[k];
        value = sum > 1e-10 ? float(log10(sum)) : silence;
      }
      values[band * frames + frame] = value;
      largest = value > largest ? value : largest;
    }
  }
  for (int64_t i = 0; i < spec.bands * frames; ++i)
    values[i] = ((values[i] > largest - 8 ? values[i] : largest - 8) + 4) / 4;
  return true;
}
