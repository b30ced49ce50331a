// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scores of all tokens -> one token (attn_sample). What is kept of a distribution is what is at
// least a threshold, which is found by counting scores by their leading bits, three times: nothing
// is sorted.
#include "attn/attn.h"
#include "base/Random.h"
#include "base/Vector.h"
#include <cmath>

using namespace attn;

namespace {

/// A float's bits in the order of floats; NaN is the least.
uint32_t orderOf(float score) {
  if (score != score)
    return 0;
  uint32_t bits;
  memcpy(&bits, &score, sizeof(bits));
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

/// The softmax of scores at a temperature, not yet divided by its sum, and what of it is kept.
class Distribution {
public:
  Distribution(const float *scores, int64_t count, double temperature, float largest)
      : scores(scores), count(count), temperature(temperature), largest(largest) {}

  double weight(int64_t token) const {
    return std::exp((double(scores[token]) - double(largest)) / temperature);
  }
  bool isKept(int64_t token) const { return orderOf(scores[token]) >= least; }
  double sum() const {
    double sum = 0;
    for (int64_t i = 0; i < count; ++i)
      sum += isKept(i) ? weight(i) : 0;
    return sum;
  }
  /// Keeps of what is kept the largest scores: as few as have `amount` together, each counting as
  /// 1, or as its weight. Equal scores are all kept or none.
  void keepLargest(double amount, bool byWeight);
  /// Keeps scores of at least `share` of the largest's weight.
  void keepAbove(double share);

private:
  const float *scores;
  int64_t count;
  double temperature;
  float largest;
  uint32_t least = 1; ///< By orderOf: NaN is never kept.
};

} // namespace

void Distribution::keepLargest(double amount, bool byWeight) {
  constexpr int bitsOf[] = {11, 11, 10};
  double above = 0; // what scores with larger leading bits have
  uint32_t prefix = 0;
  int shift = 32;
  for (int bits : bitsOf) {
    int before = shift;
    shift -= bits;
    double amounts[1 << 11] = {};
    for (int64_t i = 0; i < count; ++i) {
      uint32_t order = orderOf(scores[i]);
      bool isInside = before == 32 || order >> before == prefix;
      if (order >= least && isInside)
        amounts[(order >> shift) & ((1u << bits) - 1)] += byWeight ? weight(i) : 1;
    }
    int bin = (1 << bits) - 1;
    while (bin > 0 && above + amounts[bin] < amount)
      above += amounts[bin--];
    prefix = prefix << bits | uint32_t(bin);
  }
  if (prefix > least)
    least = prefix;
}

void Distribution::keepAbove(double share) {
  float bound = float(double(largest) + temperature * std::log(share));
  uint32_t order = orderOf(bound);
  if (order > least)
    least = order;
}

/// Makes tokens that were chosen before less likely; false where memory is lacking.
static bool penalise(float *scores, int64_t count, const int32_t *previous, int64_t previousCount,
                     float repetition) {
  Vector<uint8_t> isDone;
  if (!isDone.resize(size_t(count)))
    return false;
  memset(isDone.data(), 0, size_t(count));
  for (int64_t i = 0; i < previousCount; ++i) {
    int64_t token = previous[i];
    if (token < 0 || token >= count || isDone[size_t(token)])
      continue;
    isDone[size_t(token)] = 1;
    scores[token] = scores[token] > 0 ? scores[token] / repetition : scores[token] * repetition;
  }
  return true;
}

extern "C" int64_t attn_sample(const attn_sampling *sampling, float *scores, int64_t count,
                               const int32_t *previous, int64_t previousCount) {
  if (!sampling || !scores || count < 1)
    return -1;
  if (sampling->repetition != 1 && previous && previousCount > 0)
    if (!penalise(scores, count, previous, previousCount, sampling->repetition))
      return -1;
  int64_t best = 0;
  for (int64_t i = 1; i < count; ++i)
    if (orderOf(scores[i]) > orderOf(scores[best]))
      best = i;
  if (scores[best] != scores[best] || scores[best] == -INFINITY)
    return -1;
  if (sampling->temperature <= 0 || scores[best] == INFINITY)
    return best;
  Distribution kept(scores, count, sampling->temperature, scores[best]);
  if (sampling->topK > 0)
    kept.keepLargest(sampling->topK, /*byWeight=*/false);
  if (sampling->topP < 1)
    kept.keepLargest(double(sampling->topP) * kept.sum(), /*byWeight=*/true);
  if (sampling->minP > 0)
    kept.keepAbove(sampling->minP);
  RandomStream stream(sampling->seed, "token", 5);
  double draw = double(stream.bits(uint64_t(previousCount)) >> 11) * 0x1p-53 * kept.sum();
  int64_t last = best;
  for (int64_t i = 0; i < count; ++i) {
    if (!kept.isKept(i))
      continue;
    last = i;
    draw -= kept.weight(i);
    if (draw < 0)
      break;
  }
  return last;
}
