// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/gpu/interpreter/Decoding.h"
#include <algorithm>

namespace attn::ptx {

Decoding::Decoding(Instruction &instruction, const std::string &modifierText)
    : instruction(instruction) {
  for (size_t begin = 1; begin < modifierText.size();) {
    size_t end = std::min(modifierText.find('.', begin), modifierText.size());
    modifiers.push_back(modifierText.substr(begin, end - begin));
    begin = end + 1;
  }
}

bool Decoding::take(const char *modifier) {
  auto found = std::find(modifiers.begin(), modifiers.end(), modifier);
  if (found == modifiers.end())
    return false;
  modifiers.erase(found);
  return true;
}

bool Decoding::takeAll(std::initializer_list<const char *> known) {
  bool all = true;
  for (const char *modifier : known)
    all = take(modifier) && all;
  return all;
}

void Decoding::ignore(std::initializer_list<const char *> known) {
  for (const char *modifier : known)
    take(modifier);
}

int Decoding::takeOneOf(std::initializer_list<const char *> known) {
  int place = 0;
  for (const char *modifier : known) {
    if (take(modifier))
      return place;
    ++place;
  }
  return -1;
}

Type Decoding::takeType() {
  for (auto at = modifiers.begin(); at != modifiers.end(); ++at) {
    Type type = typeNamed(*at);
    if (type != Type::None) {
      modifiers.erase(at);
      return type;
    }
  }
  fail("expected a type");
  return Type::None;
}

Type Decoding::lastType() const {
  for (auto at = modifiers.rbegin(); at != modifiers.rend(); ++at)
    if (Type type = typeNamed(*at); type != Type::None)
      return type;
  return Type::None;
}

Space Decoding::takeSpace() {
  static constexpr std::pair<const char *, Space> spaces[] = {
      {"global", Space::Global},          {"shared", Space::Shared}, {"shared::cta", Space::Shared},
      {"shared::cluster", Space::Shared}, {"local", Space::Local},   {"param", Space::Param},
      {"param::entry", Space::Param},     {"const", Space::Const}};
  for (const auto &[name, space] : spaces)
    if (take(name))
      return space;
  return Space::Generic;
}

void Decoding::expectOperands(size_t least, size_t most) {
  if (operands() < least || operands() > most) {
    fail("expected " + std::to_string(least) + " operands, but got " + std::to_string(operands()));
    instruction.operands.resize(most);
  }
}

void Decoding::expectVector(size_t i, size_t count) {
  const Operand &operand = instruction.operands[i];
  if (operand.kind != Operand::Kind::Vector || (count && operand.parts.size() != count))
    fail("expected operand " + std::to_string(i) + " to be a vector" +
         (count ? " of " + std::to_string(count) : ""));
}

void Decoding::fail(const std::string &message) {
  if (error.empty())
    error = instruction.name + ": " + message;
}

std::string Decoding::left() const { return modifiers.empty() ? "" : modifiers[0]; }

} // namespace attn::ptx
