// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/gpu/interpreter/Knowledge.h"
#include <algorithm>

namespace attn::ptx {

static void joinClocks(std::vector<uint32_t> &into, const std::vector<uint32_t> &from) {
  if (into.size() < from.size())
    into.resize(from.size());
  for (size_t i = 0; i < from.size(); ++i)
    into[i] = std::max(into[i], from[i]);
}

static void raise(std::vector<uint32_t> &clocks, uint32_t actor, uint32_t clock) {
  if (clocks.size() <= actor)
    clocks.resize(actor + 1);
  clocks[actor] = std::max(clocks[actor], clock);
}

void Knowledge::join(const Knowledge &other) {
  joinClocks(seen, other.seen);
  joinClocks(fenced, other.fenced);
}

void Witness::fence() {
  if (learnt) {
    auto fenced = std::make_shared<Knowledge>(*learnt);
    joinClocks(fenced->fenced, fenced->seen);
    learnt = fenced;
  }
  fencedClock = clock++;
}

void Gathering::join(const SharedKnowledge &knowledge) {
  if (knowledge && knowledge != last)
    total.join(*knowledge);
  last = knowledge;
}

void Gathering::add(Witness &witness) {
  join(witness.learnt);
  raise(total.seen, witness.actor, witness.clock++);
  raise(total.fenced, witness.actor, witness.fencedClock);
}

void Gathering::add(uint32_t actor, uint32_t clock) { raise(total.seen, actor, clock); }

Teaching::Teaching(uint32_t actor, uint32_t clock) {
  auto knowledge = std::make_shared<Knowledge>();
  raise(knowledge->seen, actor, clock);
  lesson = knowledge;
}

void Teaching::teach(Witness &witness) {
  if (witness.learnt == lesson || !lesson)
    return;
  if (!witness.learnt) {
    witness.learnt = lesson;
    return;
  }
  if (!before || before != witness.learnt) {
    auto joined = std::make_shared<Knowledge>(*witness.learnt);
    joined->join(*lesson);
    before = witness.learnt;
    after = joined;
  }
  witness.learnt = after;
}

} // namespace attn::ptx
