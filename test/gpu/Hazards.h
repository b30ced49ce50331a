// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a GPU would punish in shared memory: for every byte its last write and the reads since, with
// the clocks of who did them (Knowledge.h). An access whose author does not know of a conflicting
// one is a race, whatever the order in which this run happened to execute them.
#pragma once

#include "test/gpu/Knowledge.h"
#include <string>
#include <unordered_map>

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
  explicit Hazards(size_t bytes) : state(bytes) {}

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
    bool inFlight = false;
    bool manyReaders = false;
  };

  static bool ordered(const Author &author, const Access &before, bool write);
  std::string race(const Author &author, const char *verb, uint32_t offset, const Access &before,
                   const char *beforeVerb) const;
  std::string checkRead(const Author &author, uint32_t offset, const Byte &byte) const;
  std::string checkWrite(const Author &author, uint32_t offset, const Byte &byte);

  std::vector<Byte> state;
  /// Readers that do not know of one another, besides Byte::read.
  std::unordered_map<uint32_t, std::vector<Access>> readers;
  std::vector<std::string> actors;
};

} // namespace attn::ptx
