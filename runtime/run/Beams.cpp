// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Beam search. Sums and scores are in double precision; of equal ones the first slot's and the
// first token's go before.
#include "run/Beams.h"
#include <cmath>

using namespace attn;

bool Beams::prepare(int64_t rows, int64_t beams, int64_t limit, double lengthPenalty,
                    const int64_t *stops, int32_t stopCount) {
  this->rows = rows, this->beams = beams, this->limit = limit;
  this->lengthPenalty = lengthPenalty;
  this->stops = stops, this->stopCount = stopCount;
  done = doneRows = 0;
  auto slots = size_t(rows * beams);
  // Even if all stop tokens of all slots come first, enough that goes on comes behind them.
  if (!steps.resize(size_t(limit) * slots) || !sums.resize(slots) || !finished.resize(slots) ||
      !counts.resize(size_t(rows)) || !candidates.resize(size_t(beams * (1 + stopCount))))
    return false;
  for (size_t i = 0; i < slots; ++i)
    sums[i] = i % size_t(beams) ? -INFINITY : 0;
  for (int32_t &count : counts)
    count = 0;
  return true;
}

bool Beams::isStop(int64_t token) const {
  for (int32_t i = 0; i < stopCount; ++i)
    if (stops[i] == token)
      return true;
  return false;
}

void Beams::collect(const float *scores, int64_t vocabulary, double sum, int32_t slot) {
  float largest = -INFINITY;
  for (int64_t i = 0; i < vocabulary; ++i)
    largest = scores[i] > largest ? scores[i] : largest;
  if (largest == -INFINITY)
    return;
  bool isInfinite = largest == INFINITY;
  double total = 0;
  for (int64_t i = 0; i < vocabulary; ++i)
    if (!std::isnan(scores[i]))
      total += isInfinite ? scores[i] == largest : std::exp(double(scores[i]) - double(largest));
  double before = sum - std::log(total);
  for (int64_t i = 0; i < vocabulary; ++i) {
    double own =
        isInfinite ? (scores[i] == largest ? 0 : -INFINITY) : double(scores[i]) - double(largest);
    double value = before + own; // NaN and -infinity are more than nothing
    bool isFull = candidateCount == candidates.size();
    if (!(value > -INFINITY) || (isFull && !(value > candidates.back().sum)))
      continue;
    size_t at = isFull ? candidateCount - 1 : candidateCount++;
    for (; at > 0 && candidates[at - 1].sum < value; --at)
      candidates[at] = candidates[at - 1];
    candidates[at] = {value, slot, int32_t(i)};
  }
}

void Beams::finish(int64_t row, const Finished &hypothesis) {
  Finished *own = finished.data() + row * beams;
  int32_t &count = counts[size_t(row)];
  if (count == beams && !(hypothesis.score > own[count - 1].score))
    return;
  int32_t at = count == beams ? count - 1 : count++;
  for (; at > 0 && own[at - 1].score < hypothesis.score; --at)
    own[at] = own[at - 1];
  own[at] = hypothesis;
}

void Beams::takeSlots(int64_t row) {
  Step *own = steps.data() + (done * rows + row) * beams;
  double *sum = sums.data() + row * beams;
  for (int64_t slot = 0; slot < beams; ++slot)
    own[slot] = {-1, int32_t(slot)}, sum[slot] = -INFINITY;
  size_t taken = 0;
  for (size_t i = 0; i < candidateCount && taken < size_t(beams); ++i) {
    const Candidate &candidate = candidates[i];
    if (isStop(candidate.token)) {
      double score = candidate.sum / std::pow(double(done + 1), lengthPenalty);
      if (i < size_t(beams))
        finish(row, {score, done, candidate.slot, true});
      continue;
    }
    candidates[taken++] = candidate;
  }
  auto take = [&](int64_t slot, const Candidate &candidate) {
    own[slot] = {candidate.token, candidate.slot};
    sum[slot] = candidate.sum;
  };
  size_t others = 0;
  for (size_t i = 0; i < taken; ++i) {
    Candidate candidate = candidates[i];
    if (own[candidate.slot].token < 0)
      take(candidate.slot, candidate);
    else
      candidates[others++] = candidate;
  }
  for (int64_t slot = 0, i = 0; i < int64_t(others); ++slot)
    if (own[slot].token < 0)
      take(slot, candidates[size_t(i++)]);
  for (int64_t slot = 0; slot < beams; ++slot)
    own[slot].token = own[slot].token < 0 ? 0 : own[slot].token;
}

int64_t Beams::extend(const float *scores, int64_t slots, int64_t vocabulary) {
  for (int64_t row = 0; row < rows; ++row) {
    candidateCount = 0;
    if (counts[size_t(row)] < beams) {
      for (int64_t slot = 0; slot < slots; ++slot)
        if (double sum = sums[size_t(row * beams + slot)]; sum > -INFINITY)
          collect(scores + (row * slots + slot) * vocabulary, vocabulary, sum, int32_t(slot));
      if (candidateCount == 0 && counts[size_t(row)] == 0)
        return row;
    }
    takeSlots(row);
  }
  ++done;
  doneRows = 0;
  for (int64_t row = 0; row < rows; ++row) {
    bool goesOn = false;
    for (int64_t slot = 0; slot < beams; ++slot)
      goesOn |= sums[size_t(row * beams + slot)] > -INFINITY;
    doneRows += counts[size_t(row)] == beams || !goesOn;
  }
  return -1;
}

Beams::Written Beams::best(int64_t row, int32_t *tokens, int32_t *slots) {
  if (counts[size_t(row)] < beams)
    for (int64_t slot = 0; slot < beams; ++slot)
      if (double sum = sums[size_t(row * beams + slot)]; sum > -INFINITY)
        finish(row, {sum / std::pow(double(done), lengthPenalty), done - 1, int32_t(slot), false});
  const Finished &best = finished[size_t(row * beams)];
  int64_t last = best.step;
  int32_t slot = best.slot;
  if (best.hasStop)
    slots[last--] = slot;
  Written written{last + 1, best.step + 1};
  for (int64_t at = last; at >= 0; --at) {
    const Step &step = steps[size_t((at * rows + row) * beams + slot)];
    tokens[at] = step.token;
    slots[at] = slot = step.parent;
  }
  return written;
}
