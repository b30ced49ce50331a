// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the code generator knows of a CPU level.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace attn {

struct CpuTarget {
  llvm::StringRef name;       ///< the level: "x86-64-v4"
  int64_t lanes;              ///< f32 elements of a vector
  int64_t registers;          ///< vector registers
  bool avx512;                ///< masked loads and stores for free, vscalefps
  bool vnni = false;          ///< vpdpbusd: products of bytes, added up by fours
  bool bf16 = false;          ///< vdpbf16ps: products of bf16, added up by twos, as fast as fma
  bool amx = false;           ///< tile registers, products of bf16 and of bytes
  bool emulatesTiles = false; ///< functions attn_emulated_* stand for their instructions
  bool gpu = false;           ///< a GPU's lane: rounds to bf16 by instructions, divides by calls

  bool multipliesPairs() const { return bf16 || amx; }
  /// Whether an instruction rounds f32 to pairs of bf16.
  bool roundsPairs() const { return multipliesPairs() && !emulatesTiles; }

  /// The target of a level's name.
  static std::optional<CpuTarget> of(llvm::StringRef level) {
    if (level == "x86-64-v3")
      return CpuTarget{"x86-64-v3", 8, 16, false};
    if (level == "x86-64-v4")
      return CpuTarget{"x86-64-v4", 16, 32, true};
    if (level == "vnni")
      return CpuTarget{"vnni", 16, 32, true, true};
    if (level == "avx512bf16")
      return CpuTarget{"avx512bf16", 16, 32, true, true, true};
    if (level == "amx")
      return CpuTarget{"amx", 16, 32, true, true, false, true};
    if (level == "amx-emulated") // for tests
      return CpuTarget{"amx-emulated", 16, 32, true, false, false, true, true};
    return std::nullopt;
  }
};

} // namespace attn
