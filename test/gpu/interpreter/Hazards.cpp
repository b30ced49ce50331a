// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/gpu/interpreter/Hazards.h"
#include <algorithm>

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

std::string Hazards::checkWrite(const Author &author, uint32_t offset, const Byte &byte) const {
  if (byte.write.clock && !(author.atomic && byte.write.atomic) &&
      !ordered(author, byte.write, true))
    return race(author, "writes", offset, byte.write, "writes");
  auto conflicts = [&](const Access &reader) {
    return reader.clock && !(author.atomic && reader.atomic) && !ordered(author, reader, false);
  };
  if (conflicts(byte.read))
    return race(author, "writes", offset, byte.read, "reads");
  for (const Access &reader : readers[byte.others])
    if (conflicts(reader))
      return race(author, "writes", offset, reader, "reads");
  return "";
}

void Hazards::split(uint32_t word) {
  isSplit[word] = true;
  uint32_t begin = 4 * word;
  uint32_t end = std::min<uint32_t>(begin + 4, state.size());
  for (uint32_t at = begin + 1; at < end; ++at) {
    uint32_t own = state[at].others;
    if (!readers[state[begin].others].empty() && !own) {
      own = readers.size();
      readers.emplace_back();
    }
    if (own)
      readers[own] = readers[state[begin].others];
    state[at] = state[begin];
    state[at].others = own;
  }
}

/// After a write of all its bytes.
void Hazards::join(uint32_t word) {
  const Byte *bytes = &state[4 * word];
  isSplit[word] = bytes[0].inFlight != bytes[1].inFlight ||
                  bytes[0].inFlight != bytes[2].inFlight || bytes[0].inFlight != bytes[3].inFlight;
}

/// Calls `body` for the bytes that stand for those of an access, until an error.
template <typename Body> std::string Hazards::each(uint32_t offset, uint32_t bytes, Body body) {
  for (uint32_t at = offset, end = offset + bytes; at < end;) {
    uint32_t word = at / 4;
    bool isWhole = at % 4 == 0 && at + 4 <= end;
    if (!isWhole && !isSplit[word])
      split(word);
    std::string error = body(at);
    if (!error.empty())
      return error;
    at += isSplit[word] ? 1 : 4;
  }
  return "";
}

/// Keeps who read last beside the one who does now.
void Hazards::keepReader(Byte &byte) {
  if (!byte.others) {
    byte.others = readers.size();
    readers.emplace_back();
  }
  std::vector<Access> &others = readers[byte.others];
  // A reader's last access stands for its earlier ones: those go before the list grows.
  if (others.size() == others.capacity() && others.size() >= 64) {
    std::vector<Access> last;
    std::vector<bool> isKept(actors.size());
    for (size_t i = others.size(); i-- > 0;)
      if (!isKept[others[i].actor]) {
        isKept[others[i].actor] = true;
        last.push_back(others[i]);
      }
    std::copy(last.rbegin(), last.rend(), others.begin());
    others.resize(last.size());
  }
  others.push_back(byte.read);
}

std::string Hazards::read(const Author &author, uint32_t offset, uint32_t bytes) {
  Access access{author.clock, uint16_t(author.actor), author.atomic, author.async, author.line};
  return each(offset, bytes, [&](uint32_t at) {
    Byte &byte = state[at];
    std::string error = checkRead(author, at, byte);
    // A reader that this one knows of is replaced: who is ordered after this is after that.
    if (error.empty() && byte.read.clock && byte.read.actor != author.actor &&
        ((author.atomic && !byte.read.atomic) ||
         !author.witness->knows(byte.read.actor, byte.read.clock)))
      keepReader(byte);
    if (error.empty())
      byte.read = access;
    return error;
  });
}

std::string Hazards::write(const Author &author, uint32_t offset, uint32_t bytes) {
  Access access{author.clock, uint16_t(author.actor), author.atomic, author.async, author.line};
  std::string error = each(offset, bytes, [&](uint32_t at) {
    Byte &byte = state[at];
    std::string error = checkWrite(author, at, byte);
    if (!error.empty())
      return error;
    byte.write = access;
    byte.read = {};
    readers[byte.others].clear();
    return error;
  });
  for (uint32_t word = (offset + 3) / 4; error.empty() && word < (offset + bytes) / 4; ++word)
    if (isSplit[word])
      join(word);
  return error;
}

void Hazards::setInFlight(uint32_t offset, uint32_t bytes, bool inFlight) {
  each(offset, bytes, [&](uint32_t at) {
    state[at].inFlight = inFlight;
    return std::string();
  });
}

} // namespace attn::ptx
