// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX to a cubin by NVIDIA's assembler, where there is one.
#pragma once

#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// What the assembler says of a kernel (`ptxas -v`).
struct AssembledKernel {
  std::string name;
  int64_t registers = 0;                                   ///< of a thread
  int64_t sharedBytes = 0;                                 ///< static ones, of a block
  int64_t stackBytes = 0, spillStores = 0, spillLoads = 0; ///< bytes of a thread
  /// Its warnings, and what it says of wgmma that does not run as it should (C7510 to C7519).
  std::vector<std::string> warnings;
};

/// What the assembler made of PTX.
struct Assembly {
  std::string cubin;
  std::vector<AssembledKernel> kernels;
  std::vector<std::string> warnings; ///< of no kernel
};

/// Reads what `ptxas -v` wrote into the kernels and warnings of `assembly`.
void readPtxasLog(llvm::StringRef log, Assembly &assembly);

/// An assembler that was found on this machine.
struct Ptxas {
  std::string path;
  std::string version; ///< "ptxas 13.0.88"

  /// The program that the environment's ATTN_PTXAS names, else of PATH, else of /usr/local/cuda;
  /// nothing where there is none or ATTN_PTXAS is empty. An error where what it names does not run.
  static llvm::Expected<std::optional<Ptxas>> find();
  /// Assembles `ptx` for `chip` ("sm_90a"), with a table of its lines where there are some
  /// (`hasLines`). The error has the assembler's words.
  llvm::Expected<Assembly> assemble(llvm::StringRef ptx, llvm::StringRef chip, bool hasLines) const;
};

} // namespace attn
