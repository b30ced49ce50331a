// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CPU levels that code is generated for, one row each (CpuTarget.cpp): what they are called in
// options, in symbols, by the runtime and by LLVM, and what their instructions can do. Nothing else
// lists levels, and code asks for abilities, never for names.
#pragma once

#include "compiler/target/CpuArchitecture.h"
#include "compiler/target/VectorUnit.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace attn {

enum class Precision : uint32_t;

/// A CPU level. Levels are rows of a table and compared by address.
struct CpuTarget : VectorUnit {
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
  llvm::StringRef plain;    ///< the level with the same code, where linears are ...
  bool gainsBytes = false;  ///< ... not multiplied as bytes, ...
  bool gainsPairs = false;  ///< ... nor as pairs of bf16

  int64_t registers = 0;      ///< vector registers
  int64_t panelWidth = 48;    ///< columns of a panel, whole register blocks of them; divides 48
  int64_t rowWords = 1;       ///< of 32 bits that one load of a row takes; products take one of a
                              ///< register as their last factor. 1: loads repeat a word themselves
  bool signedBytes = false;   ///< bytes of rows have signs as those of weights do
  bool amx = false;           ///< tile registers, products of bf16 and of bytes
  bool emulatesTiles = false; ///< functions attn_emulated_* stand for their instructions

  // LLVM's intrinsics, empty where there is no such instruction.
  llvm::StringRef dotBytes; ///< products of bytes, added up by fours: (sum, row, weights)
  /// Products of 16 bits, added up by twos, and of unsigned and signed bytes, added up by twos and
  /// saturated to 16 bits, where bytes have no products added up by fours.
  llvm::StringRef addWords, addBytes;
  llvm::StringRef dotPairs; ///< products of bf16, added up by twos, as fast as fma: (sum, a, b)
  /// Products of 2 rows and 2 columns with 4 words along k, bytes or bf16: (sums, rows, columns).
  llvm::StringRef squareBytes, squarePairs;
  llvm::StringRef roundPairs; ///< [second..., first...] to bf16: (first, second)
  llvm::StringRef roundPair;  ///< a vector to bf16

  /// Whether products take a word of a register as a factor; and whether there are as many
  /// registers as AVX-512 has.
  bool takesWords() const { return rowWords > 1; }
  bool hasManyRegisters() const { return registers >= 32; }
  /// Whether bytes are multiplied by twos, with sums of 16 bits.
  bool addsIn16Bits() const { return dotBytes.empty() && !addBytes.empty(); }
  /// Whether products of pairs of bf16 are as fast as those of f32, or faster.
  bool multipliesPairs() const { return !dotPairs.empty() || amx; }
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
