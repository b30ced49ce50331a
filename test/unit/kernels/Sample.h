// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which of a test's many cases are tried in every check.
#pragma once

#include "compiler/target/CpuTarget.h"
#include "llvm/ADT/StringRef.h"
#include <cstdlib>
#include <numeric>
#include <vector>

namespace attn::test {

/// Whether ATTN_FULL_TESTS=1 asks for every case.
inline bool isFullCheck() {
  const char *isFull = std::getenv("ATTN_FULL_TESTS");
  return isFull && *isFull == '1';
}

/// A number that the letters of a text say.
inline size_t lettersOf(llvm::StringRef text) {
  return std::accumulate(text.begin(), text.end(), text.size());
}

/// Every fifth one of the cases, and all of them in a full check. Levels that are neighbours in
/// their table try what the others leave out.
template <typename Case>
std::vector<Case> sampleOf(const std::vector<Case> &cases, llvm::StringRef level) {
  constexpr size_t apart = 5;
  if (isFullCheck())
    return cases;
  const CpuTarget *known = CpuTarget::find(level.split('/').first);
  llvm::ArrayRef<CpuTarget> table = cpuTargets();
  bool isInTable = known >= table.begin() && known < table.end();
  size_t first = (isInTable ? size_t(known - table.begin()) : lettersOf(level)) % apart;
  std::vector<Case> sample;
  for (size_t i = first < cases.size() ? first : 0; i < cases.size(); i += apart)
    sample.push_back(cases[i]);
  return sample;
}

/// LLVM's level for a kernel of which a test asks none: 3, but 0 for two of three in every check,
/// since optimising takes LLVM longer than all else. The letters of its text and of its CPU's level
/// say which.
inline unsigned optLevelOf(llvm::StringRef text, llvm::StringRef level) {
  return isFullCheck() || (lettersOf(text) + lettersOf(level)) % 3 == 0 ? 3 : 0;
}

} // namespace attn::test
