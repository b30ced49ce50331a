// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Another rate: the band-limited signal through the samples, read at other times.
#include "io/sound/Sound.h"
#include <cmath>

using namespace attn;

static constexpr double zeroCrossings = 32, beta = 9, passed = 0.95;

/// The modified Bessel function of order 0, by its series.
static double bessel(double x) {
  double sum = 1, term = 1;
  for (int k = 1; term > 1e-17 * sum; ++k) {
    term *= (x / (2 * k)) * (x / (2 * k));
    sum += term;
  }
  return sum;
}

/// The filter at a time in samples of the source; it passes `cutoff` of the source's Nyquist
/// frequency.
static double filterAt(double time, double cutoff) {
  double x = time * cutoff, part = x / zeroCrossings;
  if (part <= -1 || part >= 1)
    return 0;
  double sinc = x == 0 ? 1 : sin(pi * x) / (pi * x);
  return cutoff * sinc * bessel(beta * sqrt(1 - part * part)) / bessel(beta);
}

static int64_t commonDivisor(int64_t a, int64_t b) { return b == 0 ? a : commonDivisor(b, a % b); }

static bool copySamples(const Sound &source, size_t limit, Sound &target) {
  size_t count = source.samples.size();
  target.samples.clear();
  return target.samples.append(source.samples.data(), count < limit ? count : limit);
}

bool attn::resample(const Sound &source, int64_t rate, size_t limit, Sound &target) {
  target.rate = rate;
  if (source.rate == rate)
    return copySamples(source, limit, target);
  // Sample n lies at n * down / up of the source; its fraction is one of `up` phases.
  int64_t divisor = commonDivisor(source.rate, rate);
  int64_t up = rate / divisor, down = source.rate / divisor;
  double cutoff = passed * (up < down ? double(up) / double(down) : 1);
  int64_t reach = int64_t(ceil(zeroCrossings / cutoff)), taps = 2 * reach + 1;
  int64_t count = int64_t(source.samples.size());
  int64_t wanted = (count * up + down - 1) / down;
  wanted = wanted < int64_t(limit) ? wanted : int64_t(limit);
  int64_t phases = up < wanted ? up : wanted;
  Vector<float> filters;
  if (!filters.resize(size_t(phases * taps)) || !target.samples.resize(size_t(wanted)))
    return false;
  for (int64_t n = 0; n < phases; ++n)
    for (int64_t t = 0; t < taps; ++t)
      filters[size_t(n * taps + t)] =
          float(filterAt(double(n * down % up) / double(up) - double(t - reach), cutoff));
  for (int64_t n = 0; n < wanted; ++n) {
    const float *filter = filters.data() + n % up * taps;
    int64_t first = n * down / up - reach, sumFrom = first < 0 ? -first : 0;
    int64_t sumTo = count - first < taps ? count - first : taps;
    double sum = 0;
    for (int64_t t = sumFrom; t < sumTo; ++t)
      sum += double(filter[t]) * double(source.samples[size_t(first + t)]);
    target.samples[size_t(n)] = float(sum);
  }
  return true;
}
