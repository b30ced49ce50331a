// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of an ONNX file to names that a spec can have: other characters become `_`, and names of
// the language and names that are taken get a number.
#include "compiler/import/SpecNames.h"

#include "compiler/frontend/syntax/Lexer.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace attn::importer {

/// Functions, masks and positions of the language are taken: a file's name would hide them.
SpecNames::SpecNames() {
  for (StringRef word : {"split", "pack", "relabel", "dot", "dim", "rsqrt", "tanh", "min", "max",
                         "causal", "window", "scaled_dot", "inf", "i", "j", "b", "h"})
    taken.insert(word);
}

std::string SpecNames::ofFile(StringRef name) {
  std::string text;
  for (char c : name)
    text += isAlnum(c) ? c : '_';
  if (text.empty() || isDigit(text.front()))
    text = "_" + text;
  return fresh(text);
}

std::string SpecNames::fresh(StringRef name) {
  std::string candidate = name.str();
  unsigned &last = numbers.try_emplace(name, 1).first->second; // those up to it are taken
  while (frontend::isReserved(candidate) || !taken.insert(candidate).second)
    candidate = name.str() + std::to_string(++last);
  return candidate;
}

std::string SpecNames::dim(StringRef letter) {
  std::string candidate = letter.str();
  auto isTaken = [&](bool isLetter) {
    return taken.contains(candidate) || (!isLetter && taken.contains(StringRef(candidate).lower()));
  };
  unsigned &last = dimNumbers.try_emplace(letter, 1).first->second;
  for (bool isLetter = true; isTaken(isLetter); isLetter = false)
    candidate = letter.str() + std::to_string(++last);
  taken.insert(candidate);
  taken.insert(StringRef(candidate).lower());
  return candidate;
}

} // namespace attn::importer
