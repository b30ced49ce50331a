// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles a memory-stage module for a CPU level, or a GPU, and loads it into this process: the
// road of compiled models from `memory` on, for one kernel at a time. Code for GPUs is interpreted,
// that of another architecture emulated.
#pragma once

#include "attn/abi.h"
#include "compiler/Compiler.h"
#include "test/unit/kernels/EmulatedKernels.h"
#include "test/unit/kernels/PieceDealer.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include <memory>
#include <optional>
#include <string>

namespace attn::test {

class KernelRunner {
public:
  KernelRunner();
  ~KernelRunner();

  /// Tests skip a level that this machine can neither run nor emulate.
  static bool supports(llvm::StringRef level);
  /// Whether a level is of another architecture than this machine's.
  static bool isEmulated(llvm::StringRef level) {
    const CpuTarget *target = CpuTarget::find(level);
    return target && !target->architecture->isHost();
  }
  /// Whether a level is the name of a GPU, or that and ".tf32", where linears of f32 are rounded.
  static bool isGpu(llvm::StringRef level) {
    return GpuTarget::find(level.split('.').first) != nullptr;
  }
  static bool isTf32(llvm::StringRef level) { return level.ends_with(".tf32"); }

  /// Tiles, vectorises, lowers and loads `memoryStage`, MLIR text with functions such as
  ///
  ///   func.func @f(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>,
  ///                %thread: index, %threads: index, %n: index, %in: memref<f32>, ...)
  ///
  /// LLVM optimises them as `optLevel` says, or a sample of all kernels (optLevelOf). Null after a
  /// test failure has been recorded; MLIR's errors are on stderr.
  static std::unique_ptr<KernelRunner> create(llvm::StringRef memoryStage, llvm::StringRef level,
                                              std::optional<unsigned> optLevel = {});

  /// The generated function, all arguments: the first five as above, memrefs as pointers to their
  /// data, indices as int64_t.
  template <typename Signature> Signature *function(llvm::StringRef name) {
    return reinterpret_cast<Signature *>(address(name));
  }

  /// Calls `name` once per thread, one after the other (barriers are not waited for), with the
  /// arguments that follow %threads. Threads get any pieces where the module has one kernel.
  /// `workspace` and `packed` may be null. On a GPU, as many blocks as threads run it.
  template <typename... Arguments>
  void run(llvm::StringRef name, int64_t threads, void *packed, void *workspace,
           Arguments... arguments) {
    if (emulated)
      return runEmulated(name, threads, wordOf(packed), wordOf(workspace), {wordOf(arguments)...});
    using Signature = void(void *, void *, const void *, int64_t, int64_t, Arguments...);
    Signature *call = function<Signature>(name);
    PieceDealer dealer(threads, hasOneKernel);
    attn_abi_call team = teamOf(threads, dealer);
    for (int64_t thread = 0; call && thread < (gpu ? 1 : threads); ++thread)
      call(packed, workspace, &team, thread, threads, arguments...);
  }

  std::string ptx; ///< of a GPU

private:
  static int64_t wordOf(const void *pointer) { return reinterpret_cast<int64_t>(pointer); }
  static int64_t wordOf(int64_t number) { return number; }
  void runEmulated(llvm::StringRef name, int64_t threads, int64_t packed, int64_t workspace,
                   llvm::ArrayRef<int64_t> arguments);
  void *address(llvm::StringRef name);
  attn_abi_call teamOf(int64_t threads, PieceDealer &dealer);

  bool hasOneKernel = false;

  struct Gpu;
  std::unique_ptr<Gpu> gpu;

  std::unique_ptr<EmulatedKernels> emulated;
  std::unique_ptr<llvm::orc::LLJIT> jit; ///< of this machine's architecture
};

} // namespace attn::test
