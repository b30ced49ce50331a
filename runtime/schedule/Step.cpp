// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One step: how many positions each row adds, the run of the entry, and what is chosen by its
// scores.
#include "base/Clock.h"
#include "base/Tensor.h"
#include "run/Rows.h"
#include "run/RunEntry.h"
#include "run/Sample.h"
#include "schedule/Scheduler.h"
#include <cmath>

using namespace attn;

void attn_scheduler::plan() {
  int64_t singles = 0;
  batch.clear();
  for (Sequence *sequence : running) {
    sequence->adds = sequence->unread() == 1 ? 1 : 0;
    singles += sequence->adds;
  }
  int64_t left = singles > 0 ? options.stepTokens : options.readTokens;
  left = left < capacity - singles ? left : capacity - singles;
  for (Sequence *sequence : running) {
    if (sequence->adds == 0)
      left -= sequence->adds = sequence->unread() < left ? sequence->unread() : left;
    if (sequence->adds > 0)
      batch.push(sequence); // there is room for as many as run
  }
}

void attn_scheduler::planWithinMemory() {
  for (;;) {
    plan();
    int64_t growth = 0;
    for (const Sequence *sequence : batch) {
      int64_t bytes = entry.rowBytes(int64_t(sequence->held->tokens.size()) + sequence->adds);
      growth += bytes > sequence->held->bytes ? bytes - sequence->held->bytes : 0;
    }
    while (usedBytes() + growth > options.memory && kept.drop())
      ;
    if (usedBytes() + growth <= options.memory || running.size() < 2)
      return;
    preempt(leastUrgent());
    wasFull = true;
  }
}

attn_status attn_scheduler::compute(Error &error) {
  const attn_abi_tensor &taken = entry.entry.inputs[0];
  int64_t count = 0, rows = int64_t(batch.size());
  for (const Sequence *sequence : batch)
    count += sequence->adds;
  size_t bytes = batch.size() * size_t(entry.vocabulary()) * sizeof(float);
  if (!ids.resize(size_t(count)) || !batchRows.resize(batch.size()) ||
      !batchCounts.resize(batch.size()) || (bytes > scores.size() && !scores.allocate(bytes)))
    return error.outOfMemory("a step");
  count = 0;
  for (size_t r = 0; r < batch.size(); ++r) {
    const Sequence &sequence = *batch[r];
    batchRows[r] = sequence.held->row, batchCounts[r] = sequence.adds;
    for (int64_t i = 0; i < sequence.adds; ++i, ++count) {
      int32_t token = sequence.tokens[sequence.held->tokens.size() + size_t(i)];
      if (taken.dtype == ATTN_I64)
        ids[size_t(count)] = token;
      else
        reinterpret_cast<int32_t *>(ids.data())[count] = token;
    }
  }
  attn_tensor input = {}, output = {};
  input.data = ids.data(), input.dtype = taken.dtype, input.rank = 2;
  input.shape[0] = 1, input.shape[1] = count;
  output.data = scores.data(), output.dtype = ATTN_F32, output.rank = 2;
  output.shape[0] = rows, output.shape[1] = entry.vocabulary();
  input.deviceKind = output.deviceKind = ATTN_DEVICE_CPU;
  RowsOfCall call{batchRows.data(), batchCounts.data(), rows};
  return runEntry(context, number, &input, &output, error, &call);
}

//===-- what is chosen ----------------------------------------------------------------------===//

/// The likeliest tokens by scores, likeliest first, of equal ones the first first.
static void findLikeliest(const Vector<float> &scores, Vector<int32_t> &likeliest) {
  size_t most = likeliest.size(), count = 0;
  for (size_t token = 0; token < scores.size() && most > 0; ++token) {
    auto isAfter = [&](int32_t other) { return !(scores[size_t(other)] >= scores[token]); };
    if (count == most && !isAfter(likeliest[count - 1]))
      continue;
    size_t at = count < most ? count++ : most - 1;
    for (; at > 0 && isAfter(likeliest[at - 1]); --at)
      likeliest[at] = likeliest[at - 1];
    likeliest[at] = int32_t(token);
  }
  likeliest.resize(count);
}

/// The logarithm of the sum of the exponentials of scores.
static double logSum(const Vector<float> &scores) {
  float largest = -INFINITY;
  for (float score : scores)
    largest = score > largest ? score : largest;
  double sum = 0;
  for (float score : scores)
    sum += score > -INFINITY ? std::exp(double(score) - double(largest)) : 0;
  return double(largest) + std::log(sum);
}

void attn_scheduler::noteAdded(Sequence &sequence) {
  HeldRow &held = *sequence.held;
  size_t before = held.tokens.size();
  held.tokens.append(sequence.tokens.data() + before, size_t(sequence.adds)); // there is room
  int64_t bytes = entry.rowBytes(int64_t(held.tokens.size()));
  held.bytes = bytes > held.bytes ? bytes : held.bytes;
  if (int64_t(before) < sequence.promptSize) {
    int64_t left = sequence.promptSize - int64_t(before),
            read = sequence.adds < left ? sequence.adds : left;
    sequence.result.read += read;
    own.readTokens += read;
  }
}

float *attn_scheduler::scoresOf(size_t row) const {
  return reinterpret_cast<float *>(scores.data()) + row * size_t(entry.vocabulary());
}

void attn_scheduler::choose(Sequence &sequence, float *scores) const {
  const attn_generation &numbers = sequence.request.numbers;
  int64_t vocabulary = entry.vocabulary();
  bool isTold = sequence.request.onLogprobs != nullptr;
  if (isTold)
    memcpy(sequence.scores.data(), scores, size_t(vocabulary) * sizeof(float));
  auto length = int64_t(sequence.tokens.size());
  sequence.rules.apply({sequence.tokens.data(), length}, {}, sequence.chosen, sequence.most, length,
                       scores, vocabulary);
  if (numbers.onScores)
    numbers.onScores(numbers.user, scores, 1, vocabulary);
  sequence.token = drawToken(numbers.sampling, scores, vocabulary, sequence.chosen);
  if (!isTold || sequence.token < 0)
    return;
  double all = logSum(sequence.scores);
  findLikeliest(sequence.scores, sequence.likeliest);
  for (size_t i = 0; i < sequence.likeliest.size(); ++i)
    sequence.logprobs[i] = float(double(sequence.scores[size_t(sequence.likeliest[i])]) - all);
  sequence.logprob = float(double(sequence.scores[size_t(sequence.token)]) - all);
}

void attn_scheduler::chooseTokens() {
  struct Work {
    const attn_scheduler *self;
    std::atomic<size_t> next;
  } work{this, {0}};
  auto take = [](void *argument, int64_t) {
    auto &work = *static_cast<Work *>(argument);
    const attn_scheduler &self = *work.self;
    for (size_t r; (r = work.next.fetch_add(1)) < self.batch.size();)
      if (self.batch[r]->unread() == 0)
        self.choose(*self.batch[r], self.scoresOf(r));
  };
  context.team.run(take, &work);
}

bool attn_scheduler::take(Sequence &sequence, int32_t &ending) {
  const attn_request &request = sequence.request;
  auto token = int32_t(sequence.token);
  if (sequence.chosen == 0)
    sequence.result.readSeconds = secondsNow() - sequence.took;
  for (int32_t i = 0; i < request.numbers.stopCount; ++i)
    if (request.numbers.stops[i] == token) {
      ending = ATTN_TEXT_ENDED_BY_TOKEN;
      return false;
    }
  sequence.tokens.push(token); // there is room for as many as may be chosen
  ++sequence.chosen, ++own.writtenTokens;
  if (request.onLogprobs) {
    attn_logprobs told{token, sequence.logprob, int32_t(sequence.likeliest.size()),
                       sequence.likeliest.data(), sequence.logprobs.data()};
    request.onLogprobs(request.user, &told);
  }
  if (request.numbers.onTokens && !request.numbers.onTokens(request.numbers.user, &token, 1)) {
    ending = ATTN_TEXT_ENDED_BY_CALLER;
    return false;
  }
  ending = sequence.isCut ? ATTN_TEXT_ENDED_BY_CONTEXT : ATTN_TEXT_ENDED_BY_LIMIT;
  return sequence.chosen < sequence.most;
}

void attn_scheduler::settle() {
  for (Sequence *sequence : batch) {
    int32_t ending = ATTN_TEXT_ENDED_BY_LIMIT;
    if (sequence->unread() > 0)
      continue;
    if (sequence->token >= 0 && take(*sequence, ending))
      continue;
    remove(running, sequence);
    if (sequence->token >= 0)
      end(sequence, ending);
    else
      end(sequence, ending, ATTN_INVALID_ARGUMENT, "error[R0209]: no score of a token is a number");
  }
}

bool attn_scheduler::step() {
  takeNew();
  admit();
  planWithinMemory();
  if (!batch.empty()) {
    Error error;
    attn_status status = compute(error);
    ++own.steps;
    if (status == ATTN_OUT_OF_MEMORY && running.size() > 1) {
      if (!kept.drop()) {
        preempt(leastUrgent());
        wasFull = true;
      }
    } else if (status) {
      Vector<Sequence *> failed;
      failed.swap(batch);
      for (Sequence *sequence : failed) {
        remove(running, sequence);
        end(sequence, ATTN_TEXT_ENDED_BY_LIMIT, status, error.text.c_str());
      }
    } else {
      for (Sequence *sequence : batch)
        noteAdded(*sequence);
      chooseTokens();
      settle();
    }
  }
  publish();
  return !running.empty() || !waiting.empty();
}
