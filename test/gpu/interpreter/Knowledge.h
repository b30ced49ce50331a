// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who knows of whose accesses: vector clocks. Every thread of a block, and every stream of
// asynchronous operations, is an actor with a clock; an access carries its actor and the clock's
// value. A thread knows of an access if a chain of synchronisations leads from it to the thread.
// What many threads learn at once, at a barrier, they share.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace attn::ptx {

/// For every actor, up to which clock its accesses are known. Of those, `fenced` are also ordered
/// for the async proxy by a `fence.proxy.async` on the way (ISA 8.2.1, 9.7.13.4).
struct Knowledge {
  std::vector<uint32_t> seen;
  std::vector<uint32_t> fenced;

  void join(const Knowledge &other);
};
using SharedKnowledge = std::shared_ptr<const Knowledge>;

/// What a thread knows: what it learnt, and all of its own.
struct Witness {
  uint32_t actor = 0;
  uint32_t clock = 1;
  /// Up to which clock its own accesses are fenced.
  uint32_t fencedClock = 0;
  SharedKnowledge learnt;

  bool knows(uint32_t other, uint32_t at) const {
    return other == actor || (learnt && covers(learnt->seen, other, at));
  }
  bool knowsFenced(uint32_t other, uint32_t at) const {
    return other == actor ? fencedClock >= at : learnt && covers(learnt->fenced, other, at);
  }
  /// `fence.proxy.async`.
  void fence();

private:
  static bool covers(const std::vector<uint32_t> &clocks, uint32_t actor, uint32_t clock) {
    return actor < clocks.size() && clocks[actor] >= clock;
  }
};

/// What a barrier gathers from those who arrive.
class Gathering {
public:
  /// Takes all that the witness knows; its later accesses have a later clock.
  void add(Witness &witness);
  /// Takes an asynchronous operation's accesses; not what its issuer knew, which does not ride
  /// along.
  void add(uint32_t actor, uint32_t clock);
  SharedKnowledge snapshot() const { return std::make_shared<Knowledge>(total); }

private:
  void join(const SharedKnowledge &knowledge);

  Knowledge total;
  SharedKnowledge last;
};

/// Lets witnesses learn the same thing; those that knew the same share the result.
class Teaching {
public:
  explicit Teaching(SharedKnowledge lesson) : lesson(std::move(lesson)) {}
  /// The lesson that `actor`'s accesses up to `clock` are complete.
  Teaching(uint32_t actor, uint32_t clock);
  void teach(Witness &witness);

private:
  SharedKnowledge lesson;
  SharedKnowledge before;
  SharedKnowledge after;
};

} // namespace attn::ptx
