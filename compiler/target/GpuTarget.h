// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The GPUs that PTX is generated for, one row each (GpuTarget.cpp). Nothing else lists chips, and
// code asks for abilities, never for names.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include <cstdint>
#include <string>

namespace attn {

/// A kind of GPU, as PTX names it. Chips are rows of a table and compared by address.
struct GpuTarget {
  llvm::StringRef name;     ///< of `--target` and of PTX's `.target`: "sm_80"
  int32_t capability;       ///< 80: runs on GPUs from compute capability 8.0 on
  bool isExact;             ///< and on no later ones
  llvm::StringRef features; ///< LLVM's version of PTX: "+ptx80"
  /// Hopper's copy engine, mbarriers and products of warp groups (TMA, wgmma), for which kernels of
  /// their own are written; programmatic dependent launch; panels of 16 bits transposed in the
  /// GPU's memory so that k is contiguous (attn_abi_gpu).
  bool hasWarpGroups;

  /// ".sm_80", behind the names of the functions that launch its kernels.
  std::string suffix() const { return ("." + name).str(); }

  /// The chip of a name; null where there is none.
  static const GpuTarget *find(llvm::StringRef name);
};

/// The chips of `--target`.
llvm::ArrayRef<GpuTarget> gpuTargets();

} // namespace attn
