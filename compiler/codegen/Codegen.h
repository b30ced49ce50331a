// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// llvm -> object: LLVM's optimiser and code generator, for CPUs and for GPUs.
#pragma once

#include "compiler/target/CpuArchitecture.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>

namespace attn {

/// Registers LLVM's code generators, once, whichever thread comes first: LLVM's own list of them
/// has no lock, so that nothing else registers any.
void initializeTargets();

/// LLVM's layout of data on an architecture; it does not depend on the machine that compiles.
std::string dataLayoutOf(const CpuArchitecture &architecture);

/// Registers what translateToLlvmIr needs in a context's registry.
void registerLlvmTranslation(mlir::DialectRegistry &registry);

/// An LLVM-dialect module as LLVM IR. Null after an error has been reported.
std::unique_ptr<llvm::Module> translateToLlvmIr(mlir::ModuleOp module, llvm::LLVMContext &context,
                                                llvm::StringRef name);

/// Code for GPUs is always optimised.
constexpr unsigned gpuOptLevel = 3;

/// LLVM's passes of a level (-O0 to -O3), as `opt -passes` takes them; behind them comes its code
/// generator.
std::string llvmPipeline(unsigned optLevel, bool isGpu);

/// What code is generated as: an ELF object, or the text of an assembler.
enum class CodegenOutput { Object, Assembly };

/// Is told how many functions a step ("optimising") has done, of all; by the thread that generates.
using CodegenProgress = llvm::function_ref<void(llvm::StringRef step, size_t done, size_t all)>;

/// Optimises `module` (-O0 to -O3) and generates position-independent code for the architecture
/// that it names and the CPUs that its functions do. The bytes depend on the module, the level and
/// LLVM's version alone.
std::unique_ptr<llvm::MemoryBuffer> generateCode(llvm::Module &module, unsigned optLevel,
                                                 CodegenOutput output,
                                                 CodegenProgress progress = nullptr);

/// Optimises `module` (gpuOptLevel) and generates PTX for `chip` ("sm_80") with `features`
/// ("+ptx80"). Modules of different contexts may be generated at the same time.
std::string generatePtx(llvm::Module &module, llvm::StringRef chip, llvm::StringRef features);

} // namespace attn
