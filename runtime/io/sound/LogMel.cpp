// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The log-mel spectrogram that Whisper takes.
#include "io/sound/Sound.h"
#include <cmath>

using namespace attn;

static constexpr double kPi = 3.14159265358979323846;
static constexpr int64_t kWindow = 400, kHalf = kWindow / 2, kBins = kHalf + 1;

/// Slaney's scale: straight to 1 kHz, then 27 bands for a factor of 6.4.
static double hertz(double mel) {
  return mel < 15 ? mel * 200 / 3 : 1000 * exp((mel - 15) * log(6.4) / 27);
}

static double mels(double hertz) {
  return hertz < 1000 ? hertz * 3 / 200 : 15 + 27 * log(hertz / 1000) / log(6.4);
}

namespace {
/// The tables of a transform of a window.
struct Transform {
  Vector<double> cosines, sines; ///< [201 samples from the middle, 201 bins]
  Vector<double> window;         ///< [400]
  Vector<double> filters;        ///< [bands, 201 bins]

  bool make(int32_t bands);
  void power(const double *samples, double *bins) const;
};
} // namespace

bool Transform::make(int32_t bands) {
  if (!cosines.resize(size_t(kBins * kBins)) || !sines.resize(size_t(kBins * kBins)) ||
      !window.resize(size_t(kWindow)) || !filters.resize(size_t(bands * kBins)))
    return false;
  for (int64_t i = 0; i < kWindow; ++i)
    window[size_t(i)] = 0.5 - 0.5 * cos(2 * kPi * double(i) / double(kWindow));
  for (int64_t i = 0; i < kBins; ++i)
    for (int64_t k = 0; k < kBins; ++k) {
      double angle = 2 * kPi * double(i * k % kWindow) / double(kWindow);
      cosines[size_t(i * kBins + k)] = cos(angle);
      sines[size_t(i * kBins + k)] = sin(angle);
    }
  double step = mels(double(kMelRate) / 2) / (bands + 1);
  for (int32_t band = 0; band < bands; ++band) {
    double low = hertz(band * step), middle = hertz((band + 1) * step);
    double high = hertz((band + 2) * step);
    for (int64_t k = 0; k < kBins; ++k) {
      double at = double(k * kMelRate) / double(kWindow);
      double rise = (at - low) / (middle - low), fall = (high - at) / (high - middle);
      double weight = rise < fall ? rise : fall;
      filters[size_t(band * kBins + k)] = weight > 0 ? weight * 2 / (high - low) : 0;
    }
  }
  return true;
}

/// Squared sizes of the 201 frequencies of 400 samples. Those at equal distances from the middle
/// share their cosine and, but for the sign, their sine.
void Transform::power(const double *samples, double *bins) const {
  double real[kBins] = {}, imaginary[kBins] = {};
  for (int64_t i = 0; i <= kHalf; ++i) {
    double right = i < kHalf ? samples[kHalf + i] * window[size_t(kHalf + i)] : 0;
    double left = i > 0 ? samples[kHalf - i] * window[size_t(kHalf - i)] : 0;
    double sum = left + right, difference = right - left;
    const double *cosine = cosines.data() + i * kBins, *sine = sines.data() + i * kBins;
    for (int64_t k = 0; k < kBins; ++k) {
      real[k] += sum * cosine[k];
      imaginary[k] += difference * sine[k];
    }
  }
  for (int64_t k = 0; k < kBins; ++k)
    bins[k] = real[k] * real[k] + imaginary[k] * imaginary[k];
}

/// Sample `at` of the sound and the silence after it, `length` samples mirrored at both ends.
static double sampleAt(const Sound &sound, int64_t length, int64_t at) {
  at = at < 0 ? -at : at >= length ? 2 * (length - 1) - at : at;
  return at < int64_t(sound.samples.size()) ? double(sound.samples[size_t(at)]) : 0;
}

bool attn::logMel(const Sound &sound, int32_t bands, int64_t frames, float *values) {
  Transform transform;
  if (!transform.make(bands))
    return false;
  const float silence = -10; // the logarithm of the smallest value, 1e-10
  float largest = silence;
  for (int64_t frame = 0; frame < frames; ++frame) {
    double samples[kWindow], bins[kBins];
    bool isSilent = true;
    for (int64_t i = 0; i < kWindow; ++i) {
      samples[i] = sampleAt(sound, frames * kMelHop, frame * kMelHop - kHalf + i);
      isSilent &= samples[i] == 0;
    }
    if (!isSilent)
      transform.power(samples, bins);
    for (int32_t band = 0; band < bands; ++band) {
      float value = silence;
      if (!isSilent) {
        const double *filter = transform.filters.data() + band * kBins;
        double sum = 0;
        for (int64_t k = 0; k < kBins; ++k)
          sum += filter[k] * bins[k];
        value = sum > 1e-10 ? float(log10(sum)) : silence;
      }
      values[band * frames + frame] = value;
      largest = value > largest ? value : largest;
    }
  }
  for (int64_t i = 0; i < bands * frames; ++i)
    values[i] = ((values[i] > largest - 8 ? values[i] : largest - 8) + 4) / 4;
  return true;
}
