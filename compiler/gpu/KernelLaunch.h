// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How kernels are launched.
#pragma once

#include "compiler/gpu/FewRowsTile.h"
#include "compiler/gpu/HopperLinearTile.h"
#include <optional>
#include <vector>

namespace attn {

/// Sizes of tiles of linears by portable instructions: for many rows, or for fewer than would keep
/// all multiprocessors busy.
enum class TileSize { Large, Medium, Small };

/// How a kernel is launched: one of several ways to compute an op, of which the host takes the
/// first whose condition holds.
struct KernelLaunch {
  int64_t threads;
  int64_t sharedBytes = 0; ///< of dynamic shared memory
  int64_t blocks = 8;      ///< for each multiprocessor
  int64_t resident = 0;    ///< of these, how many registers are to do for; 0: any number
  std::vector<TensorMap> maps = {};
  mlir::Value condition = {}; ///< an i1 of the host's; null: always
  TileSize size = TileSize::Large;
  std::optional<FewRowsTile> fewRows = {};           ///< of the kernel for these
  std::optional<HopperLinearTile> hopperLinear = {}; ///< of Hopper's own
  bool tf32 = false;                                 ///< f32 is rounded for tensor cores
};

} // namespace attn
