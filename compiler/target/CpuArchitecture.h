// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The instruction sets that CPU levels extend, one row each (CpuArchitecture.cpp): what LLVM and
// the tools that link call them. Nothing else lists architectures.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace attn {

/// An instruction set and the conventions of Linux on it. Architectures are rows, compared by
/// address.
struct CpuArchitecture {
  llvm::StringRef name;    ///< for people: "AArch64"
  llvm::StringRef triple;  ///< LLVM's
  llvm::StringRef gnuName; ///< of GNU's tools, and of Debian's folders of libraries
  llvm::StringRef package; ///< of Debian, with those tools for machines of another architecture

  /// Whether this machine is one.
  bool isHost() const;
  /// Where the runtime's archives for it lie in the folder of those for this machine: "" or
  /// "aarch64-linux-gnu".
  llvm::StringRef folder() const { return isHost() ? "" : gnuName; }
  /// The programs that link for it, the best first.
  llvm::SmallVector<std::string> linkers() const;
};

extern const CpuArchitecture x86Architecture, armArchitecture;

} // namespace attn
