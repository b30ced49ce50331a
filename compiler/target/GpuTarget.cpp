// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// To add a chip: a row here; and where it can do what no other can, an ability of its own.
#include "compiler/target/GpuTarget.h"
#include "llvm/ADT/STLExtras.h"

namespace attn {

llvm::ArrayRef<GpuTarget> gpuTargets() {
  static constexpr GpuTarget rows[] = {
      // name, capability, exact, features, warp groups
      {"sm_80", 80, false, "+ptx80", false},
      {"sm_90a", 90, true, "+ptx80", true},
  };
  return rows;
}

const GpuTarget *GpuTarget::find(llvm::StringRef name) {
  const auto *found =
      llvm::find_if(gpuTargets(), [&](const GpuTarget &target) { return target.name == name; });
  return found == gpuTargets().end() ? nullptr : found;
}

} // namespace attn
