// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of another architecture than this machine's, run on this process's memory by an emulator
// (test/aarch64/KernelHost.cpp).
#pragma once

#include "compiler/target/CpuTarget.h"
#include "test/aarch64/KernelHost.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>
#include <sys/types.h>

namespace attn::test {

class EmulatedKernels {
public:
  /// Whether there is an emulator, and a linker, for code of this level.
  static bool supports(const CpuTarget &target);

  /// Links an object and starts the program that runs its functions. Null after a test failure has
  /// been recorded.
  static std::unique_ptr<EmulatedKernels> create(const CpuTarget &target,
                                                 const llvm::MemoryBuffer &object);
  ~EmulatedKernels();

  /// A test failure is recorded where the call does not return. An emulator that itself lies where
  /// the memory of this process does, which the random placement of both makes rare but not
  /// impossible, is started anew.
  void run(const KernelCall &call);

private:
  EmulatedKernels() = default;

  /// Starts the emulator.
  void start();
  /// Ends it; its status as waitpid gives it.
  int stop();

  const char *cpu = nullptr; ///< of the emulator
  std::string library;       ///< a file of our own
  pid_t process = -1;
  int toProcess = -1, fromProcess = -1;
};

} // namespace attn::test
