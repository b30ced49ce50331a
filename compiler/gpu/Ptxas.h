// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX to a cubin by NVIDIA's assembler, where there is one.
#pragma once

#include "llvm/Support/Error.h"
#include <optional>
#include <string>

namespace attn {

struct Ptxas {
  std::string path;
  std::string version; ///< "ptxas 13.0.88"

  /// The program that the environment's ATTN_PTXAS names, else of PATH, else of /usr/local/cuda;
  /// nothing where there is none or ATTN_PTXAS is empty. An error where what it names does not run.
  static llvm::Expected<std::optional<Ptxas>> find();
  /// The cubin of `ptx` for `chip` ("sm_90a"). The error has the assembler's words.
  llvm::Expected<std::string> assemble(llvm::StringRef ptx, llvm::StringRef chip) const;
};

} // namespace attn
