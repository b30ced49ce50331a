// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the automaton may be doing behind a text: a set of places, each with a stack. Sets are
// numbered when they are first met, and so are the steps between them.
#pragma once

#include "text/grammar/Automaton.h"

namespace attn::grammar {

/// The top of a stack; frames below are shared. Frame 0 is the bottom.
struct Frame {
  uint32_t parent = 0;
  uint32_t place = 0;           ///< a node to return to, or a repetition
  uint32_t least = 0, most = 0; ///< of a repetition: how often it still has to be done, and may be
  uint32_t flags = 0;

  /// What a frame is.
  enum Flag : uint32_t {
    IsRepetition = 1,
    /// More is allowed, or wanted, than is counted: where the count ends, nothing is known.
    LeastIsCut = 2,
    MostIsCut = 4
  };
  bool operator==(const Frame &other) const { return memcmp(this, &other, sizeof *this) == 0; }
};

/// Frames by number, each once.
class Frames {
public:
  Frames() { clear(); }
  /// The number of a frame; 0 where memory is lacking.
  uint32_t intern(const Frame &frame);
  const Frame &operator[](uint32_t i) const { return items[i]; }
  size_t size() const { return items.size(); }
  void clear();
  void swap(Frames &other) noexcept {
    items.swap(other.items);
    slots.swap(other.slots);
  }
  bool copyFrom(const Frames &other);

private:
  /// Makes the table larger.
  bool grow();
  Vector<Frame> items; ///< the bottom is not among those that are found
  Vector<uint32_t> slots;
};

/// A place and a stack.
struct Config {
  uint32_t node, frame;
  bool operator==(const Config &other) const { return node == other.node && frame == other.frame; }
  bool operator<(const Config &other) const {
    return node != other.node ? node < other.node : frame < other.frame;
  }
};

/// Sets of configurations that wait for a byte, by number.
class States {
public:
  /// More places at the same time than these are too many.
  static constexpr size_t maxConfigs = 4096;

  explicit States(const Automaton &automaton) : automaton(automaton) {}

  /// What else is true of a state.
  enum Flag : uint32_t {
    Ends = 1,      ///< the bottom of the stack may be left here
    IsUnknown = 2, ///< a count that is cut has ended
    HasFailed = 4  ///< memory is lacking, or the places are too many
  };
  /// A set: its place among all configurations, how many it has, and what of Flag is true.
  struct State {
    uint32_t first, count, flags;
  };
  /// The state without configurations, which may have flags; the state 0 has none.
  static constexpr uint32_t dead = 0;

  /// The state in which a text begins.
  uint32_t begin();
  /// The state of configurations that wait for a byte, or go on until they do.
  uint32_t stateOf(const Config *configs, size_t count);
  /// The state behind a byte.
  uint32_t step(uint32_t state, unsigned byte) {
    uint32_t known = steps[size_t(state) * 256 + byte];
    return known ? known - 1 : makeStep(state, byte);
  }
  const State &operator[](uint32_t state) const { return states[state]; }
  const Config *configsOf(uint32_t state) const { return configs.data() + states[state].first; }
  size_t size() const { return states.size(); }
  /// Bytes that may come next.
  ByteSet nextOf(uint32_t state) const;
  /// Forgets all states.
  void clear();
  /// Forgets all states but one, and gives its new number.
  uint32_t keep(uint32_t state);
  /// The state of another automaton's text, whose frames these are; its number.
  uint32_t take(const States &other, uint32_t state);
  /// Forgets the frames, too, that this state does not need; false where memory is lacking.
  bool compact(uint32_t &state);

  /// Whether memory has been lacking for a state, which has become `dead`.
  bool isLacking() const { return hasLacked; }

  const Automaton &automaton;
  Frames frames;

private:
  /// The state behind a byte that has not been asked for.
  uint32_t makeStep(uint32_t state, unsigned byte);
  /// Begins a set.
  void restart();
  /// Follows what takes no byte from the configurations in `pending` on.
  uint32_t close();
  /// Goes on from one configuration.
  bool follow(Config config);
  bool followEnd(Config config);
  /// Adds a configuration unless it has been there.
  bool reach(uint32_t node, uint32_t frame);
  bool call(uint32_t rule, uint32_t next, uint32_t frame);
  /// The number of the set in `waiting`.
  uint32_t intern();
  /// `dead`, where memory is lacking.
  uint32_t lack() {
    hasLacked = true;
    return dead;
  }

  Vector<State> states;
  Vector<Config> configs;
  Vector<uint32_t> steps, slots;
  Vector<Config> pending, waiting;
  Vector<uint32_t> met; ///< a table of `pending`, plus 1
  uint32_t flags = 0;
  bool hasLacked = false;
};

} // namespace attn::grammar
