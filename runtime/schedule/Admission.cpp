// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which requests have rows: those that are most urgent, as far as there are rows and memory. What
// another row holds of a prompt's beginning is copied; where another request is just reading it, it
// is waited for.
#include "base/Clock.h"
#include "run/Rows.h"
#include "schedule/Scheduler.h"

using namespace attn;

/// Another request has to be about to hold so many more tokens of a prompt for it to wait.
static constexpr int64_t worthWaiting = 16;

int64_t attn_scheduler::usedBytes() const {
  int64_t used = kept.bytes();
  for (const Sequence *sequence : running)
    used += sequence->held->bytes;
  return used;
}

bool attn_scheduler::hasRowFor(const Sequence &sequence) const {
  return int64_t(running.size()) < options.mostRows ||
         leastUrgent()->request.priority < sequence.request.priority;
}

void attn_scheduler::preempt(Sequence *sequence) {
  remove(running, sequence);
  sequence->result.preempted += int64_t(sequence->held->tokens.size());
  ++own.preempted;
  dispose(sequence->held);
  sequence->held = nullptr;
  sequence->adds = 0;
  insert(waiting, sequence);
}

bool attn_scheduler::makeRoom(int64_t bytes, const Sequence &sequence) {
  auto isTaken = [&] {
    Sequence *least = leastUrgent();
    if (!least || least->request.priority >= sequence.request.priority)
      return false;
    preempt(least);
    return true;
  };
  while (int64_t(running.size()) >= options.mostRows)
    if (!isTaken())
      return false;
  while (usedBytes() + bytes > options.memory)
    if (!kept.drop() && !isTaken())
      return false;
  return true;
}

attn_scheduler::HeldRow *attn_scheduler::copyBeginning(const Sequence &sequence) {
  int64_t common = 0, most = int64_t(sequence.tokens.size()) - 1;
  HeldRow *from = kept.find(sequence.tokens, common);
  for (const Sequence *other : running)
    if (int64_t own = commonTokens(other->held->tokens, sequence.tokens); own > common)
      common = own, from = other->held;
  common = common < most ? common : most;
  auto *made = create<HeldRow>();
  if (!made || attn_row_create(context.model, &made->row, nullptr)) {
    dispose(made);
    return nullptr;
  }
  Error error; // without memory for a copy all is read again
  if (from && made->tokens.append(from->tokens.data(), size_t(common)) &&
      copyRow(*made->row, *from->row, common, error))
    made->tokens.clear();
  made->bytes = entry.rowBytes(int64_t(made->tokens.size()));
  return made;
}

bool attn_scheduler::isReadByAnother(const Sequence &sequence) {
  int64_t held = 0, soon = 0, most = int64_t(sequence.tokens.size()) - 1;
  kept.find(sequence.tokens, held);
  for (const Sequence *other : running) {
    int64_t own = commonTokens(other->held->tokens, sequence.tokens),
            planned = commonTokens(other->tokens, sequence.tokens);
    held = own > held ? own : held;
    soon = planned > soon ? planned : soon;
  }
  return (soon < most ? soon : most) >= held + worthWaiting;
}

bool attn_scheduler::admit(Sequence &sequence) {
  int64_t common = 0;
  HeldRow *same = kept.find(sequence.tokens, common);
  if (same)
    same->used = ++turn;
  // A row that the prompt goes on from is taken as it is.
  bool isContinued =
      same && common == int64_t(same->tokens.size()) && common < int64_t(sequence.tokens.size());
  if (isContinued)
    kept.release(same);
  bool isMade = makeRoom(entry.rowBytes(int64_t(sequence.tokens.size())), sequence);
  if (isMade)
    sequence.held = isContinued ? same : copyBeginning(sequence);
  if (!isMade && isContinued)
    kept.add(same, turn, SIZE_MAX);
  if (!sequence.held)
    return false;
  if (!sequence.held->tokens.reserve(size_t(sequence.promptSize + sequence.most))) {
    kept.add(sequence.held, turn, SIZE_MAX);
    sequence.held = nullptr;
    return false;
  }
  int64_t held = int64_t(sequence.held->tokens.size());
  if (sequence.took == 0) {
    sequence.took = secondsNow();
    sequence.result.waitSeconds = sequence.took - sequence.submitted;
    sequence.result.kept = held;
  }
  own.keptTokens += held;
  return true;
}

void attn_scheduler::admit() {
  // Whoever has lost a row for lack of memory would lose it again.
  for (size_t i = 0; i < waiting.size() && (!wasFull || running.empty());) {
    Sequence *sequence = waiting[i];
    if (!hasRowFor(*sequence))
      return;
    if (isReadByAnother(*sequence)) {
      ++i;
      continue;
    }
    size_t rows = running.size() + 1;
    if (!running.reserve(rows) || !batch.reserve(rows) || !admit(*sequence))
      return;
    remove(waiting, sequence);
    insert(running, sequence);
  }
}
