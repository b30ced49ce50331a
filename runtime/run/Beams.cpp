// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Beam search. Sums and scores are in double precision; of equal ones the first slot's and the
// first token's go before.
#include "run/Beams.h"
#include <cmath>

using namespace attn;

bool Beams::prepare(int64_t rows, const BeamNumbers &numbers) {
  this->numbers = numbers;
  this->rows = rows, beams = numbers.beams;
  done = doneRows = 0;
  auto slots = size_t(rows * beams);
  // Even if all stop tokens of all slots come first, enough that goes on comes behind them.
  if (!steps.resize(size_t(numbers.limit) * slots) || !sums.resize(slots) ||
      !finished.resize(slots) || !counts.resize(size_t(rows)) || !isRowDone.resize(size_t(rows)) ||
      !candidates.resize(size_t(beams * (1 + numbers.stopCount))))
    return false;
  for (size_t i = 0; i < slots; ++i)
    sums[i] = i % size_t(beams) ? -INFINITY : 0;
  for (int64_t row = 0; row < rows; ++row)
    counts[size_t(row)] = 0, isRowDone[size_t(row)] = 0;
  return true;
}

bool Beams::isStop(int64_t token) const {
  for (int32_t i = 0; i < numbers.stopCount; ++i)
    if (numbers.stops[i] == token)
      return true;
  return false;
}

double Beams::scoreOf(double sum, int64_t length) const {
  return sum / std::pow(double(length), numbers.lengthPenalty);
}

void Beams::collect(const float *scores, int64_t vocabulary, double sum, int32_t slot) {
  for (int64_t i = 0; i < vocabulary; ++i) {
    double value = sum + double(scores[i]); // NaN and -infinity are more than nothing
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
  bool isLast = done + 1 == numbers.limit;
  for (size_t i = 0; i < candidateCount && taken < size_t(beams); ++i) {
    const Candidate &candidate = candidates[i];
    bool isStopped = isStop(candidate.token);
    if ((isStopped || isLast) && i < size_t(beams))
      finish(row, {scoreOf(candidate.sum, done + 1), done, candidate.slot,
                   isStopped ? -1 : candidate.token});
    if (!isStopped)
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

bool Beams::isSettled(int64_t row) const {
  if (numbers.earlyStopping == EarlyStopping::AtOnce)
    return true;
  double best = -INFINITY;
  for (int64_t slot = 0; slot < beams; ++slot)
    best = sum(row, slot) > best ? sum(row, slot) : best;
  bool isLonger = numbers.earlyStopping == EarlyStopping::Never && numbers.lengthPenalty > 0;
  return !(scoreOf(best, isLonger ? numbers.limit : done) >
           finished[size_t((row + 1) * beams - 1)].score);
}

int64_t Beams::extend(const float *scores, int64_t slots, int64_t vocabulary) {
  for (int64_t row = 0; row < rows; ++row) {
    candidateCount = 0;
    if (!isRowDone[size_t(row)]) {
      for (int64_t slot = 0; slot < slots; ++slot)
        if (isLive(row, slot))
          collect(scores + (row * slots + slot) * vocabulary, vocabulary, sum(row, slot),
                  int32_t(slot));
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
      goesOn |= isLive(row, slot);
    if (!goesOn || done == numbers.limit || (counts[size_t(row)] == beams && isSettled(row)))
      isRowDone[size_t(row)] = 1;
    doneRows += isRowDone[size_t(row)];
  }
  return -1;
}

void Beams::history(int64_t row, int64_t slot, int32_t *tokens) const {
  for (int64_t at = done - 1; at >= 0; --at) {
    const Step &step = steps[size_t((at * rows + row) * beams + slot)];
    tokens[at] = step.token, slot = step.parent;
  }
}

Beams::Written Beams::best(int64_t row, int32_t *tokens, int32_t *slots) const {
  const Finished &best = finished[size_t(row * beams)];
  int64_t last = best.step;
  int32_t slot = best.slot;
  slots[last] = slot;
  bool isStopped = best.token < 0;
  if (!isStopped)
    tokens[last] = best.token;
  for (int64_t at = last - 1; at >= 0; --at) {
    const Step &step = steps[size_t((at * rows + row) * beams + slot)];
    tokens[at] = step.token;
    slots[at] = slot = step.parent;
  }
  return {last + !isStopped, last + 1};
}
