// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Log-mel spectrograms: the one that Whisper takes, and Kaldi's filter bank.
#include "io/sound/Sound.h"
#include <cmath>

using namespace attn;

/// Of the largest transform.
static constexpr int64_t maxWindow = 2048, maxBins = maxWindow / 2 + 1;

/// Slaney's scale: straight to 1 kHz, then 27 bands for a factor of 6.4.
static double hertzOfSlaney(double mel) {
  return mel < 15 ? mel * 200 / 3 : 1000 * exp((mel - 15) * log(6.4) / 27);
}

static double slaney(double hertz) {
  return hertz < 1000 ? hertz * 3 / 200 : 15 + 27 * log(hertz / 1000) / log(6.4);
}

/// Stevens', Volkmann's and Newman's, as Kaldi has it.
static double kaldi(double hertz) { return 1127 * log(1 + hertz / 700); }

namespace {
/// What differs between spectrograms.
struct Form {
  double lowest;          ///< in hertz, where the first band begins
  double (*mels)(double); ///< the scale that bands are equally apart on
  double (*edge)(double); ///< of a place on it, where triangles are straight
  double (*at)(double);   ///< the same of hertz
  bool ofUnitArea;        ///< triangles, instead of a height of 1
  bool isCentred;         ///< frames have their middle, not their beginning, at each step
  double smallest;        ///< of what logarithms are taken of
  double (*logarithm)(double);
};

double same(double x) { return x; }

/// By ATTN_SOUND_*.
constexpr Form forms[] = {
    {0, slaney, hertzOfSlaney, same, true, true, 1e-10, log10},
    {20, kaldi, same, kaldi, false, false, 1.1920928955078125e-07, log},
};

/// A transform of windows of `spec`'s size, and its tables.
struct Transform {
  const attn_abi_sound &spec;
  const Form &form;
  int64_t window, half, bins;    ///< samples, half of them, frequencies
  int64_t border;                ///< zeros in front of the samples of a window, and behind
  Vector<double> cosines, sines; ///< [bins samples from the middle, bins]
  Vector<double> hann;           ///< [samples of a window]
  Vector<double> filters;        ///< [bands, bins]

  explicit Transform(const attn_abi_sound &spec)
      : spec(spec), form(forms[spec.form]), window(spec.fft) {
    if (!form.isCentred) // to a power of two
      for (window = 2; window < spec.fft;)
        window *= 2;
    half = window / 2, bins = half + 1, border = (window - spec.fft) / 2;
  }
  bool make();
  void power(const double *samples, double *powers) const;
  bool take(const Sound &sound, int64_t frame, int64_t frames, double *samples) const;
  double value(const double *powers, int32_t band) const;
};
} // namespace

bool Transform::make() {
  if (!cosines.resize(size_t(bins * bins)) || !sines.resize(size_t(bins * bins)) ||
      !hann.resize(size_t(spec.fft)) || !filters.resize(size_t(spec.bands * bins)))
    return false;
  // A centred window is periodic; another one ends as it begins.
  double period = double(form.isCentred ? spec.fft : spec.fft - 1);
  for (int64_t i = 0; i < spec.fft; ++i)
    hann[size_t(i)] = 0.5 - 0.5 * cos(2 * pi * double(i) / period);
  for (int64_t i = 0; i < bins; ++i)
    for (int64_t k = 0; k < bins; ++k) {
      double angle = 2 * pi * double(i * k % window) / double(window);
      cosines[size_t(i * bins + k)] = cos(angle);
      sines[size_t(i * bins + k)] = sin(angle);
    }
  double first = form.mels(form.lowest),
         step = (form.mels(double(spec.rate) / 2) - first) / (spec.bands + 1);
  for (int32_t band = 0; band < spec.bands; ++band) {
    double low = form.edge(first + band * step), middle = form.edge(first + (band + 1) * step),
           high = form.edge(first + (band + 2) * step);
    for (int64_t k = 0; k < bins; ++k) {
      double at = form.at(double(k * spec.rate) / double(window));
      double rise = (at - low) / (middle - low), fall = (high - at) / (high - middle);
      double weight = rise < fall ? rise : fall;
      filters[size_t(band * bins + k)] =
          weight > 0 ? form.ofUnitArea ? weight * 2 / (high - low) : weight : 0;
    }
  }
  return true;
}

/// Squared sizes of the frequencies of a window. Samples at equal distances from the middle share
/// their cosine and, but for the sign, their sine.
void Transform::power(const double *samples, double *powers) const {
  double real[maxBins] = {}, imaginary[maxBins] = {};
  for (int64_t i = 0; i <= half; ++i) {
    double right = i < half ? samples[half + i] : 0, left = i > 0 ? samples[half - i] : 0;
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

/// The window of a frame; false where there is nothing in it.
bool Transform::take(const Sound &sound, int64_t frame, int64_t frames, double *samples) const {
  for (int64_t i = 0; i < window; ++i)
    samples[i] = 0;
  double *taken = samples + border, sum = 0;
  bool isSilent = true;
  if (form.isCentred) {
    for (int64_t i = 0; i < spec.fft; ++i) {
      double sample = sampleAt(sound, frames * spec.hop, frame * spec.hop - half + i);
      isSilent &= sample == 0;
      taken[i] = sample * hann[size_t(i)];
    }
    return !isSilent;
  }
  if (frame * spec.hop + spec.fft > int64_t(sound.samples.size()))
    return false;
  for (int64_t i = 0; i < spec.fft; ++i)
    sum += double(sound.samples[size_t(frame * spec.hop + i)]);
  // Around 0, and high frequencies raised: of each sample 0.97 of the one before is taken away.
  for (int64_t i = 0; i < spec.fft; ++i)
    taken[i] = double(sound.samples[size_t(frame * spec.hop + i)]) - sum / spec.fft;
  for (int64_t i = spec.fft - 1; i >= 0; --i)
    taken[i] = (taken[i] - 0.97 * taken[i > 0 ? i - 1 : 0]) * hann[size_t(i)];
  return true;
}

double Transform::value(const double *powers, int32_t band) const {
  const double *filter = filters.data() + band * bins;
  double sum = 0;
  for (int64_t k = 0; k < bins; ++k)
    sum += filter[k] * powers[k];
  return form.logarithm(sum > form.smallest ? sum : form.smallest);
}

bool attn::logMel(const Sound &sound, const attn_abi_sound &spec, int64_t frames, float *values) {
  Transform transform(spec);
  if (transform.window > maxWindow || !transform.make())
    return false;
  bool isCentred = transform.form.isCentred;
  // Of a silent frame of Whisper's; behind the end of a sound, Kaldi's has 0 instead.
  float silence = isCentred ? float(log10(transform.form.smallest)) : 0, largest = silence;
  for (int64_t frame = 0; frame < frames; ++frame) {
    double samples[maxWindow], powers[maxBins];
    bool isThere = transform.take(sound, frame, frames, samples);
    if (isThere)
      transform.power(samples, powers);
    for (int32_t band = 0; band < spec.bands; ++band) {
      float value = isThere ? float(transform.value(powers, band)) : silence;
      values[band * frames + frame] = value;
      largest = value > largest ? value : largest;
    }
  }
  for (int64_t i = 0; i < spec.bands * frames; ++i)
    if (isCentred)
      values[i] = ((values[i] > largest - 8 ? values[i] : largest - 8) + 4) / 4;
    else
      values[i] = float((double(values[i]) - spec.mean) / spec.deviation);
  return true;
}
