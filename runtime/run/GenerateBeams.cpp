// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries that generate with beams: the rows of the batch are repeated behind the first entry, and
// with each step rows go on from others.
#include "base/Tensor.h"
#include "run/Generation.h"
#include <cmath>

using namespace attn;

attn_status Generation::repeatRows() {
  for (int32_t i = 0; i < step.inputCount; ++i) {
    const attn_abi_source &source = unfold.sources[i];
    if (source.first < 0 && source.input < 0)
      continue;
    repeated[size_t(i)] = source.first >= 0 ? first[source.first] : inputs[source.input];
    if (step.inputs[i].state && !repeated[size_t(i)].data) // zeros, as many as it takes
      continue;
    if (isOnDevice(repeated[size_t(i)]) || !isDense(repeated[size_t(i)]))
      return error.set(ATTN_INVALID_ARGUMENT, "R0101",
                       "entry `%s`: with beams, input `%s` lies dense in host memory", entry.name,
                       step.inputs[i].name);
    if (attn_status status = beamRows.repeat(i, repeated[size_t(i)], error))
      return status;
  }
  return beamRows.repeatCaches(error);
}

attn_status Generation::keepSteps(Outputs &from) {
  if (keptShapes.empty()) {
    uint64_t bytes = 0;
    for (int32_t i = 0; i < unfold.stackedCount; ++i) {
      if (!keptShapes.push(from[unfold.stacked[i]]))
        return error.outOfMemory("a generation");
      bytes += uint64_t(numbers.limit) * byteSize(keptShapes.back());
    }
    if (bytes && !kept.allocate(bytes))
      return error.outOfMemory("what the steps of beams give");
  }
  char *place = kept.data();
  for (int32_t i = 0; i < unfold.stackedCount; ++i) {
    size_t bytes = size_t(byteSize(keptShapes[size_t(i)]));
    memcpy(place + size_t(chosen) * bytes, from[unfold.stacked[i]].data, bytes);
    place += size_t(numbers.limit) * bytes;
  }
  return ATTN_OK;
}

attn_status Generation::writeBest() {
  Vector<int32_t> slots;
  if (!slots.resize(size_t(numbers.limit)))
    return error.outOfMemory("a generation");
  for (int64_t row = 0; row < rows; ++row) {
    auto *own = static_cast<int32_t *>(outputs[0].data) + row * unfold.limit;
    Beams::Written written = search.best(row, own, slots.data());
    static_cast<int32_t *>(outputs[1].data)[row] = int32_t(written.tokens);
    const char *place = kept.data();
    for (int32_t i = 0; i < int32_t(keptShapes.size()); ++i) {
      const attn_tensor &shape = keptShapes[size_t(i)];
      size_t bytes = size_t(byteSize(shape));
      RowLayout from = beamRows.layoutOf(step.outputs[unfold.stacked[i]], shape);
      // Where the first entry has chosen a token, no step was then.
      for (int64_t at = unfold.begin < 0 ? 1 : 0; at < written.steps; ++at) {
        const char *all = place + size_t(at) * bytes;
        char *to = static_cast<char *>(outputs[2 + i].data);
        if (from.rows == 0) {
          memcpy(to + size_t(at) * bytes, all, bytes);
          continue;
        }
        to += size_t(at) * (bytes / size_t(beams));
        for (int64_t outer = 0; outer < from.outer; ++outer)
          memcpy(to + size_t(outer * rows + row) * from.rowBytes(),
                 all +
                     size_t(outer * from.rows + row * beams + slots[size_t(at)]) * from.rowBytes(),
                 from.rowBytes());
      }
      place += size_t(numbers.limit) * bytes;
    }
  }
  return ATTN_OK;
}

/// Scores to the logarithms of their softmax. NaN stays; where one is infinite, it is all.
static void takeLogarithms(float *scores, int64_t vocabulary) {
  float largest = -INFINITY;
  for (int64_t i = 0; i < vocabulary; ++i)
    largest = scores[i] > largest ? scores[i] : largest;
  if (largest == -INFINITY)
    return;
  double total = 0;
  for (int64_t i = 0; i < vocabulary; ++i) {
    if (largest == INFINITY && scores[i] == scores[i])
      scores[i] = scores[i] == largest ? 0 : -INFINITY;
    else
      scores[i] -= largest == INFINITY ? 0 : largest;
    total += scores[i] == scores[i] ? std::exp(double(scores[i])) : 0;
  }
  for (int64_t i = 0; i < vocabulary; ++i)
    scores[i] = float(double(scores[i]) - std::log(total));
}

void Generation::rateBeams(float *scores, int64_t slots, int64_t vocabulary) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t slot = 0; slot < slots; ++slot) {
      if (!search.isLive(row, slot))
        continue;
      float *own = scores + (row * slots + slot) * vocabulary;
      takeLogarithms(own, vocabulary);
      if (textSize > 0)
        search.history(row, slot, textOf(row) + begun(row));
      applyRules(row, {textOf(row), textSize > 0 ? begun(row) + chosen : 0}, own, vocabulary);
      if (numbers.renormalizes)
        takeLogarithms(own, vocabulary);
    }
}

attn_status Generation::chooseBeams(attn_tensor &scores, Outputs *given) {
  int64_t vocabulary = scores.shape[scores.rank - 1];
  int64_t slots = int64_t(byteSize(scores) / sizeof(float)) / vocabulary / rows;
  rateBeams(static_cast<float *>(scores.data), slots, vocabulary);
  int64_t wrong = search.extend(static_cast<float *>(scores.data), slots, vocabulary);
  if (wrong >= 0)
    return error.set(ATTN_INVALID_ARGUMENT, "R0209",
                     "entry `%s`: no score of token %lld in row %lld is a number", entry.name,
                     static_cast<long long>(chosen), static_cast<long long>(wrong));
  ++chosen;
  copies.clear();
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t slot = 0; slot < beams; ++slot) {
      setTokens(row * beams + slot, search.token(row, slot));
      int64_t parent = search.parent(row, slot);
      if (parent != slot && !copies.push({row * beams + slot, row * beams + parent}))
        return error.outOfMemory("a generation");
    }
  for (int32_t i = 0; given && i < step.inputCount; ++i)
    if (int32_t output = unfold.sources[i].step; output >= 0)
      beamRows.copy(step.outputs[output], (*given)[output], copies);
  return beamRows.copyInCaches(copies, error);
}

attn_status Generation::goOnWithBeams() {
  if (attn_status status = repeatRows())
    return status;
  if (unfold.begin >= 0)
    for (int64_t row = 0; row < rows * beams; ++row)
      setTokens(row, unfold.begin);
  else if (attn_status status = chooseBeams(first[0], nullptr))
    return status;
  Outputs *before = nullptr;
  for (int turn = 0; !search.isDone() && chosen < most; turn ^= 1) {
    Outputs &after = steps[turn];
    if (attn_status status = runStep(before, after))
      return status;
    if (attn_status status = keepSteps(after))
      return status;
    if (attn_status status = chooseBeams(after[0], &after))
      return status;
    before = &after;
  }
  return writeBest();
}
