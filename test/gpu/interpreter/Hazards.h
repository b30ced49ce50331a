// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a GPU would punish in shared memory: for every byte its last write and the reads since, with
// the clocks of who did them (Knowledge.h). An access whose author does not know of a conflicting
// one is a race, whatever the order in which this run happened to execute them.
#pragma once

#include "test/gpu/interpreter/Knowledge.h"
#include <string>
#include <vector>

namespace attn::ptx {

/// Who accesses: the author's actor and clock, and what its issuer knows.
struct Author {
  const Witness *witness;
  uint32_t actor;
  uint32_t clock;
  int line;
  /// In the async proxy: generic writes must have been fenced.
  bool async = false;
  /// Atomic accesses do not race with one another.
  bool atomic = false;
};

class Hazards {
public:
  explicit Hazards(size_t bytes) : state(bytes), isSplit((bytes + 3) / 4), readers(1) {}

  /// A new actor, called `name` in errors.
  uint32_t addActor(std::string name);

  /// Note the access; "" or what is wrong with it.
  std::string read(const Author &author, uint32_t offset, uint32_t bytes);
  std::string write(const Author &author, uint32_t offset, uint32_t bytes);

  /// Bytes that an asynchronous copy has yet to write, or has written.
  void setInFlight(uint32_t offset, uint32_t bytes, bool inFlight);

private:
  struct Access {
    uint32_t clock = 0;
    uint16_t actor = 0;
    bool atomic = false;
    bool async = false;
    int line = 0;
  };
  struct Byte {
    /// Clock 0: never.
    Access write;
    Access read;
    /// Of the readers that do not know of one another, besides `read`: the number of their list.
    uint32_t others = 0;
    bool inFlight = false;
  };

  template <typename Body> std::string each(uint32_t offset, uint32_t bytes, Body body);
  void split(uint32_t word);
  void join(uint32_t word);
  void keepReader(Byte &byte);
  static bool ordered(const Author &author, const Access &before, bool write);
  std::string race(const Author &author, const char *verb, uint32_t offset, const Access &before,
                   const char *beforeVerb) const;
  std::string checkRead(const Author &author, uint32_t offset, const Byte &byte) const;
  std::string checkWrite(const Author &author, uint32_t offset, const Byte &byte) const;

  /// Of every byte; where a word of four is not split, its first byte stands for all of them.
  std::vector<Byte> state;
  std::vector<bool> isSplit;
  /// Lists of Byte::others; the first is nobody's, and empty.
  std::vector<std::vector<Access>> readers;
  std::vector<std::string> actors;
};

} // namespace attn::ptx
