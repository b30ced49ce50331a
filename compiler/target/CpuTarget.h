// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CPU levels that code is generated for, one row each (CpuTarget.cpp): what they are called in
// options, in symbols, by the runtime and by LLVM, and what their instructions can do. Nothing else
// lists levels, and code asks for abilities, never for names.
#pragma once

#include "compiler/target/CpuArchitecture.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace attn {

enum class Precision : uint32_t;

/// A CPU level. Levels are rows of a table and compared by address.
struct CpuTarget {
  llvm::StringRef name;                          ///< of `--target`: "x86-64-v4"
  int32_t code = 0;                              ///< ATTN_LEVEL_*, by which the runtime chooses
  llvm::StringRef suffix;                        ///< of its functions' names: ".v4"
  const CpuArchitecture *architecture = nullptr; ///< never null

  llvm::StringRef cpu;                             ///< LLVM's `target-cpu`
  llvm::SmallVector<llvm::StringRef> features;     ///< besides, as LLVM's "+avx512vnni"
  llvm::StringRef tune;                            ///< LLVM's `tune-cpu`, where it is another
  llvm::StringRef vectorWidth;                     ///< LLVM's `prefer-vector-width` in bits
  llvm::SmallVector<llvm::StringRef> hostFeatures; ///< without which no machine runs it
  llvm::StringRef hostCpus; ///< how LLVM's names of machines begin that are better off with it
  llvm::StringRef plain;    ///< the level with the same code, where ...
  llvm::ArrayRef<Precision> gains; ///< ... linears are of none of these precisions

  int64_t lanes = 1;          ///< f32 elements of a vector
  int64_t registers = 0;      ///< vector registers
  bool avx512 = false;        ///< masked loads and stores for free, vscalefps
  bool vnni = false;          ///< vpdpbusd: products of bytes, added up by fours
  bool bf16 = false;          ///< vdpbf16ps: products of bf16, added up by twos, as fast as fma
  bool amx = false;           ///< tile registers, products of bf16 and of bytes
  bool emulatesTiles = false; ///< functions attn_emulated_* stand for their instructions
  bool gpu = false;           ///< a GPU's lane: rounds to bf16 by instructions, divides by calls

  bool multipliesPairs() const { return bf16 || amx; }
  /// Whether an instruction rounds f32 to pairs of bf16.
  bool roundsPairs() const { return multipliesPairs() && !emulatesTiles; }
  /// The level whose code is the same for a model of this precision, and runs on more machines.
  const CpuTarget &usefulFor(Precision precision) const;

  /// The level of a name, those for tests included; null where there is none.
  static const CpuTarget *find(llvm::StringRef name);
  /// The lowest level of an architecture, whose code all its other levels run, too.
  static const CpuTarget &lowestOf(const CpuArchitecture &architecture);
  /// Whether this machine can run the level's code.
  bool runsOnHost() const;
  /// The highest level that is good for this machine; null below the lowest.
  static const CpuTarget *ofHost();
};

/// The levels of `--target`, those of an architecture lowest first, as artifacts hold them.
llvm::ArrayRef<CpuTarget> cpuTargets();

} // namespace attn
