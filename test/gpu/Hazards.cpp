// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/gpu/Hazards.h"

namespace attn::ptx {

uint32_t Hazards::addActor(std::string name) {
  actors.push_back(std::move(name));
  return actors.size() - 1;
}

/// Whether the author comes after `before`; `write` says that `before` wrote. The async proxy need
/// not be fenced from reads before, nor from its own writes.
bool Hazards::ordered(const Author &author, const Access &before, bool write) {
  if (author.actor == before.actor && author.clock == before.clock)
    return true;
  if (author.async && write && !before.async)
    return author.witness->knowsFenced(before.actor, before.clock);
  return author.witness->knows(before.actor, before.clock);
}

std::string Hazards::race(const Author &author, const char *verb, uint32_t offset,
                          const Access &before, const char *beforeVerb) const {
  std::string text = actors[author.actor] + " " + verb + " shared byte " + std::to_string(offset) +
                     ", which " + actors[before.actor] + " " + beforeVerb + " in line " +
                     std::to_string(before.line);
  bool onlyFence = author.witness->knows(before.actor, before.clock);
  return text + (onlyFence ? ", and no fence.proxy.async" : ", and no synchronisation") +
         " orders the two";
}

std::string Hazards::checkRead(const Author &author, uint32_t offset, const Byte &byte) const {
  if (!byte.write.clock)
    return actors[author.actor] + " reads shared byte " + std::to_string(offset) +
           ", which was never written";
  if (!(author.atomic && byte.write.atomic) && !ordered(author, byte.write, true))
    return race(author, "reads", offset, byte.write, "writes");
  if (byte.inFlight)
    return actors[author.actor] + " reads shared byte " + std::to_string(offset) +
           ", on its way since line " + std::to_string(byte.write.line) + " and not yet there";
  return "";
}

std::string Hazards::checkWrite(const Author &author, uint32_t offset, const Byte &byte) {
  if (byte.write.clock && !(author.atomic && byte.write.atomic) &&
      !ordered(author, byte.write, true))
    return race(author, "writes", offset, byte.write, "writes");
  auto conflicts = [&](const Access &reader) {
    return reader.clock && !(author.atomic && reader.atomic) && !ordered(author, reader, false);
  };
  if (conflicts(byte.read))
    return race(author, "writes", offset, byte.read, "reads");
  if (byte.manyReaders)
    for (const Access &reader : readers[offset])
      if (conflicts(reader))
        return race(author, "writes", offset, reader, "reads");
  return "";
}

std::string Hazards::read(const Author &author, uint32_t offset, uint32_t bytes) {
  Access access{author.clock, uint16_t(author.actor), author.atomic, author.async, author.line};
  for (uint32_t at = offset; at < offset + bytes; ++at) {
    Byte &byte = state[at];
    std::string error = checkRead(author, at, byte);
    if (!error.empty())
      return error;
    // A reader that this one knows of is replaced: who is ordered after this is after that.
    if (byte.read.clock && byte.read.actor != author.actor &&
        ((author.atomic && !byte.read.atomic) ||
         !author.witness->knows(byte.read.actor, byte.read.clock))) {
      std::vector<Access> &others = readers[at];
      if (!byte.manyReaders)
        others.clear();
      byte.manyReaders = true;
      bool found = false;
      for (Access &other : others)
        if (other.actor == byte.read.actor) {
          other = byte.read;
          found = true;
        }
      if (!found)
        others.push_back(byte.read);
    }
    byte.read = access;
  }
  return "";
}

std::string Hazards::write(const Author &author, uint32_t offset, uint32_t bytes) {
  Access access{author.clock, uint16_t(author.actor), author.atomic, author.async, author.line};
  for (uint32_t at = offset; at < offset + bytes; ++at) {
    Byte &byte = state[at];
    std::string error = checkWrite(author, at, byte);
    if (!error.empty())
      return error;
    byte.write = access;
    byte.read = {};
    byte.manyReaders = false;
  }
  return "";
}

void Hazards::setInFlight(uint32_t offset, uint32_t bytes, bool inFlight) {
  for (uint32_t at = offset; at < offset + bytes; ++at)
    state[at].inFlight = inFlight;
}

} // namespace attn::ptx
