// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sounds: decoded to one channel, resampled, turned into log-mel spectrograms.
#pragma once

#include "attn/abi.h"
#include "base/Vector.h"

namespace attn {

/// One channel of samples, of at most 1 in size where they come from whole numbers.
struct Sound {
  int64_t rate = 0; ///< samples per second
  Vector<float> samples;
};

/// Half of a circle, in radians.
constexpr double pi = 3.14159265358979323846;

/// Rates outside these are refused.
constexpr int64_t minRate = 1000, maxRate = 384000;

/// Of no sound more samples are kept than 4 hours have at 48 kHz.
constexpr int64_t maxSamples = int64_t(4) * 3600 * 48000;

/// How many samples the first `seconds` have at a rate, and no more than one above maxSamples.
inline size_t samplesOf(double seconds, int64_t rate) {
  double samples = seconds * double(rate);
  return samples < double(maxSamples) ? size_t(samples) + 1 : size_t(maxSamples) + 1;
}

/// Decodes what the first `seconds` of a file hold, to the mean of its channels; what comes behind
/// is not looked at. On failure `problem` (of 256 bytes) says why, nothing where memory is lacking,
/// and false is returned.
bool decodeWav(const unsigned char *bytes, size_t size, double seconds, Sound &sound,
               char *problem);
bool decodeFlac(const unsigned char *bytes, size_t size, double seconds, Sound &sound,
                char *problem);

/// The sound at another rate. Each sample is a sum over a sinc in a Kaiser window (beta 9, 32 zero
/// crossings on each side), which ends at 0.95 of the smaller of both Nyquist frequencies; no more
/// than `limit` samples are made. False where memory is lacking.
bool resample(const Sound &source, int64_t rate, size_t limit, Sound &target);

/// Writes [bands, frames] of what a sound, at the rate of `spec`, begins with, silence after its
/// end. Windows are Hann's of `fft` samples in steps of `hop`. Whisper's are mirrored at both ends;
/// its bands are Slaney's, of unit area from 0 to half the rate; logarithms reach 8 below the
/// largest and become (x + 4) / 4. Kaldi's begin at each step, with their mean taken away and high
/// frequencies raised; its bands are over another scale from 20 Hz on. The frames of `spec` are not
/// looked at. False where memory is lacking.
bool logMel(const Sound &sound, const attn_abi_sound &spec, int64_t frames, float *values);

} // namespace attn
