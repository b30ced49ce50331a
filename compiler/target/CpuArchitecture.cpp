// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// To add an architecture: a row here, LLVM's code generator for it in compiler/codegen/Codegen.cpp,
// and what the runtime asks of a CPU (runtime/base).
#include "compiler/target/CpuArchitecture.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

namespace attn {

constexpr CpuArchitecture x86Architecture = {"x86-64", "x86_64-unknown-linux-gnu",
                                             "x86_64-linux-gnu", "crossbuild-essential-amd64"};
constexpr CpuArchitecture armArchitecture = {"AArch64", "aarch64-unknown-linux-gnu",
                                             "aarch64-linux-gnu", "crossbuild-essential-arm64"};

bool CpuArchitecture::isHost() const {
  static const llvm::Triple host(llvm::sys::getProcessTriple());
  return llvm::Triple(triple).getArch() == host.getArch();
}

llvm::SmallVector<std::string> CpuArchitecture::linkers() const {
  if (isHost())
    return {"cc", "clang-22", "clang", "gcc"};
  return {(gnuName + "-gcc").str()};
}

} // namespace attn
