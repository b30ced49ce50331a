// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Questions to several targets at once, and their names.
#include "compiler/target/TargetSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace attn {

using llvm::StringRef;

bool TargetSet::add(StringRef name) {
  if (const GpuTarget *chip = GpuTarget::find(name)) {
    if (!llvm::is_contained(chips, chip))
      chips.push_back(chip);
    return true;
  }
  const CpuTarget *level = CpuTarget::find(name);
  if (!level || level->emulatesTiles) // which is for tests of kernels
    return false;
  if (!llvm::is_contained(levels, level))
    levels.insert(llvm::upper_bound(levels, level), level); // rows stand lowest first
  return true;
}

std::optional<TargetSet> TargetSet::parse(StringRef names) {
  TargetSet set;
  if (names.empty())
    return set;
  for (StringRef name : llvm::split(names, ','))
    if (!set.add(name))
      return std::nullopt;
  return set;
}

std::string TargetSet::names() const {
  auto all = llvm::map_to_vector(levels, [](const CpuTarget *level) { return level->name; });
  for (const GpuTarget *chip : chips)
    all.push_back(chip->name);
  return llvm::join(all, ",");
}

bool TargetSet::areOfOneArchitecture() const {
  return llvm::all_of(levels, [&](const CpuTarget *level) {
    return level->architecture == levels.front()->architecture;
  });
}

bool TargetSet::anyMultipliesPairs() const {
  return !chips.empty() ||
         llvm::any_of(levels, [](const CpuTarget *level) { return level->multipliesPairs(); });
}

bool TargetSet::allLevelsMultiplyPairs() const {
  return !levels.empty() &&
         llvm::all_of(levels, [](const CpuTarget *level) { return level->multipliesPairs(); });
}

bool TargetSet::allLevelsHaveTiles() const {
  return !levels.empty() && llvm::all_of(levels, [](const CpuTarget *level) { return level->amx; });
}

std::string listTargets() {
  auto names = llvm::map_to_vector(cpuTargets(), [](const CpuTarget &level) { return level.name; });
  for (const GpuTarget &chip : gpuTargets())
    names.push_back(chip.name);
  StringRef last = names.pop_back_val();
  return (llvm::join(names, ", ") + " or " + last).str();
}

} // namespace attn
