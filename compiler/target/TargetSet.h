// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What code is generated for together: the memory of a model is planned once for all CPU levels of
// an artifact, and once for all its GPUs, by what any or all of them can do.
#pragma once

#include "compiler/target/CpuTarget.h"
#include "compiler/target/GpuTarget.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <string>

namespace attn {

/// Targets that share a plan of memory.
struct TargetSet {
  llvm::SmallVector<const CpuTarget *> levels; ///< lowest first, no duplicates
  llvm::SmallVector<const GpuTarget *> chips;  ///< no duplicates

  /// Adds the level or chip of a name, unless it is there; false where there is none.
  bool add(llvm::StringRef name);
  /// "x86-64-v4,amx" or "sm_80"; nothing where one of the names is unknown.
  static std::optional<TargetSet> parse(llvm::StringRef names);
  /// The names, joined by commas: levels, then chips.
  std::string names() const;

  /// The levels, or the chips, alone.
  TargetSet onlyLevels() const { return {levels, {}}; }
  TargetSet onlyChips() const { return {{}, chips}; }

  /// Whether it is GPUs that the plan is for: there are no levels then.
  bool isGpu() const { return levels.empty() && !chips.empty(); }
  /// Whether all levels are of one architecture, and which: there are levels then.
  bool areOfOneArchitecture() const;
  const CpuArchitecture &architecture() const { return *levels.front()->architecture; }

  /// Whether any multiplies pairs of bf16, all CPU levels do, or all of them have tile registers.
  bool anyMultipliesPairs() const;
  bool allLevelsMultiplyPairs() const;
  bool allLevelsHaveTiles() const;
};

/// All names that `--target` takes, for messages: "x86-64-v3, x86-64-v4, ..., sm_80 or sm_90a".
std::string listTargets();

} // namespace attn
