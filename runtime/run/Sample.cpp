// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scores of all tokens -> one token. What is kept of a distribution is what is at
// least a threshold, which is found by counting scores by their leading bits, three times: nothing
// is sorted.
#include "run/Sample.h"
#include "base/Random.h"
#include "run/ScoreRules.h"
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
  Distribution(float *scores, int64_t count, double temperature, float largest)
      : scores(scores), count(count), temperature(temperature), largest(largest) {}

  double weight(int64_t token) const { return weightOf(scores[token]); }
  bool isKept(int64_t token) const { return orderOf(scores[token]) >= least; }
  double sum() const {
    double sum = 0;
    for (int64_t i = 0; i < count; ++i)
      sum += isKept(i) ? weight(i) : 0;
    return sum;
  }
  /// Of what is kept, with its sum.
  double entropy(double sum) const;
  /// Keeps of what is kept the largest scores: as few as have `amount` together, each counting as
  /// 1, or as its weight. Equal scores are all kept or none.
  void keepLargest(double amount, bool byWeight);
  /// Keeps the largest whose terms of the entropy of the 100 largest sum up to at most `share` of
  /// it, and the largest one at least. Equal scores are all kept or none.
  void keepEntropy(double share);
  /// Keeps scores of at least `share` of the largest's weight.
  void keepAbove(double share);
  /// Keeps those whose surprise is nearest to the entropy, as few as have `mass` together. Scores
  /// of others become -infinity.
  void keepTypical(double mass);

private:
  double weightOf(float score) const {
    return std::exp((double(score) - double(largest)) / temperature);
  }
  /// The least order that as few of the largest orders have that their amounts are `amount`.
  template <class Order> uint32_t boundOf(Order order, double amount, bool byWeight) const;

  float *scores;
  int64_t count;
  double temperature;
  float largest;
  uint32_t least = 0x00800000u; ///< By orderOf: neither NaN nor -infinity is kept.
};

} // namespace

template <class Order>
uint32_t Distribution::boundOf(Order orderAt, double amount, bool byWeight) const {
  constexpr int bitsOf[] = {11, 11, 10};
  double above = 0; // what scores with larger leading bits have
  uint32_t prefix = 0;
  int shift = 32;
  for (int bits : bitsOf) {
    int before = shift;
    shift -= bits;
    double amounts[1 << 11] = {};
    for (int64_t i = 0; i < count; ++i) {
      if (!isKept(i))
        continue;
      uint32_t order = orderAt(i);
      if (before == 32 || order >> before == prefix)
        amounts[(order >> shift) & ((1u << bits) - 1)] += byWeight ? weight(i) : 1;
    }
    int bin = (1 << bits) - 1;
    while (bin > 0 && above + amounts[bin] < amount)
      above += amounts[bin--];
    prefix = prefix << bits | uint32_t(bin);
  }
  return prefix;
}

void Distribution::keepLargest(double amount, bool byWeight) {
  uint32_t bound = boundOf([&](int64_t i) { return orderOf(scores[i]); }, amount, byWeight);
  if (bound > least)
    least = bound;
}

void Distribution::keepEntropy(double share) {
  constexpr int most = 100;
  float top[most]; // falling
  int size = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (!isKept(i) || (size == most && scores[i] <= top[most - 1]))
      continue;
    int at = size < most ? size++ : most - 1;
    for (; at > 0 && top[at - 1] < scores[i]; --at)
      top[at] = top[at - 1];
    top[at] = scores[i];
  }
  double terms[most], sum = 0, entropy = 0, before = 0;
  for (int i = 0; i < size; ++i)
    sum += terms[i] = weightOf(top[i]);
  for (int i = 0; i < size; ++i) {
    double p = terms[i] / sum;
    entropy += terms[i] = p > 0 ? -p * std::log(p) : 0;
  }
  int kept = 0;
  for (double behind = 0; kept < size; ++kept, before = behind) {
    behind = before + terms[kept];
    if (kept > 0 && behind > share * entropy)
      break;
  }
  if (uint32_t order = orderOf(top[kept - 1]); order > least)
    least = order;
}

void Distribution::keepAbove(double share) {
  float bound = float(double(largest) + temperature * std::log(share));
  uint32_t order = orderOf(bound);
  if (order > least)
    least = order;
}

double Distribution::entropy(double sum) const {
  double entropy = 0;
  for (int64_t i = 0; i < count; ++i)
    if (double p = isKept(i) ? weight(i) / sum : 0; p > 0)
      entropy -= p * std::log(p);
  return entropy;
}

void Distribution::keepTypical(double mass) {
  double all = sum(), mean = entropy(all);
  auto nearness = [&](int64_t i) {
    double surprise = std::log(all) - (double(scores[i]) - double(largest)) / temperature;
    return orderOf(float(-std::fabs(surprise - mean)));
  };
  uint32_t bound = boundOf(nearness, mass * all, /*byWeight=*/true);
  for (int64_t i = 0; i < count; ++i)
    if (isKept(i) && nearness(i) < bound)
      scores[i] = -INFINITY;
}

/// Keeps what a sampling keeps of a distribution.
static void keep(const attn_sampling &sampling, Distribution &kept) {
  if (sampling.topH > 0)
    kept.keepEntropy(sampling.topH);
  if (sampling.topK > 0)
    kept.keepLargest(sampling.topK, /*byWeight=*/false);
  if (sampling.topP < 1)
    kept.keepLargest(double(sampling.topP) * kept.sum(), /*byWeight=*/true);
  if (sampling.minP > 0)
    kept.keepAbove(sampling.minP);
  if (sampling.typicalP > 0 && sampling.typicalP < 1)
    kept.keepTypical(sampling.typicalP);
  // The largest one stays, however little it is.
  auto keepProbable = [&](double least, double sum) {
    kept.keepAbove(least * sum < 1 ? least * sum : 1);
  };
  if (sampling.epsilon > 0 && sampling.epsilon < 1)
    keepProbable(sampling.epsilon, kept.sum());
  if (sampling.eta > 0 && sampling.eta < 1) {
    double sum = kept.sum(), eta = double(sampling.eta),
           byEntropy = std::sqrt(eta) * std::exp(-kept.entropy(sum));
    keepProbable(eta < byEntropy ? eta : byEntropy, sum);
  }
}

int64_t attn::drawToken(const attn_sampling &sampling, float *scores, int64_t count,
                        int64_t number) {
  int64_t best = 0;
  for (int64_t i = 1; i < count; ++i)
    if (orderOf(scores[i]) > orderOf(scores[best]))
      best = i;
  if (scores[best] != scores[best] || scores[best] == -INFINITY)
    return -1;
  if (sampling.temperature <= 0 || scores[best] == INFINITY)
    return best;
  Distribution kept(scores, count, sampling.temperature, scores[best]);
  keep(sampling, kept);
  RandomStream stream(sampling.seed, "token", 5);
  double draw = double(stream.bits(uint64_t(number)) >> 11) * 0x1p-53 * kept.sum();
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

extern "C" int64_t attn_sample(const attn_sampling *sampling, float *scores, int64_t count,
                               const int32_t *previous, int64_t previousCount) {
  if (!sampling || !scores || count < 1)
    return -1;
  Vector<uint8_t> marks;
  if (sampling->repetition != 1 && previous && previousCount > 0) {
    if (!marks.resize(size_t(count)))
      return -1;
    penalise({previous, previousCount}, sampling->repetition, scores, marks);
  }
  return drawToken(*sampling, scores, count, previousCount);
}
