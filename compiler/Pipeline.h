// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler on one page: the stages in order, from a checked model to machine code.
//
//   attn -> fused -> memory -> tiled -> kernels -> llvm -> object      for CPUs
//                 -> memory ----------> kernels -> PTX                 for GPUs
//
// Memory is planned once for all CPU levels, by what any or all of them can do, and once for all
// GPUs; the stages before do not know the target, those after it run once per level.
#pragma once

#include "compiler/emit/CompileOptions.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <optional>
#include <string>

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace attn {

/// The stages, one name each for `--emit`, the dump files and the test folders
/// (compiler/README.md).
enum class Stage { Attn, Fused, Memory, Tiled, Kernels, Llvm, Object };

/// "attn", "fused", ...; and back.
llvm::StringRef stageName(Stage stage);
std::optional<Stage> parseStage(llvm::StringRef name);

/// Registers what compilation needs in a context's registry.
void registerDialects(mlir::DialectRegistry &registry);

/// The module of a stage, for CPUs per level from `tiled` on; GPUs have one of `memory`, and one of
/// `kernels` per chip.
struct Staged {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::StringRef target;           ///< "x86-64-v4", "sm_80", "gpu"; empty where it is of none
  const CpuTarget *level = nullptr; ///< of a CPU
};

/// Lowers an attn-stage module up to `until` (not past Llvm), for all levels, then all chips.
/// Errors are reported through MLIR's diagnostics; an empty result says that there were some.
llvm::SmallVector<Staged> lowerTo(mlir::ModuleOp model, Stage until, const CompileOptions &options);

/// Prints a stage with the places of its ops in the spec (dialect/Locations.h).
void printStage(mlir::ModuleOp module, llvm::raw_ostream &stream);

/// What the kernels of a model are called, those that remarks and profiles name; for the GPU where
/// there is no CPU level among the options. Nothing after an error has been reported.
std::optional<llvm::SmallVector<std::string>> kernelNames(mlir::ModuleOp model,
                                                          const CompileOptions &options);

/// The passes of every stage, `fused: builtin.module(...)` a line, as `attn-opt --pass-pipeline`
/// takes them, and LLVM's of objects and PTX, as `opt -passes` does.
std::string printPipelines(mlir::ModuleOp model, const CompileOptions &options);

/// Machine code and tables of a model (attn-stage module) as one relocatable ELF object, or
/// assembly text. Null after an error has been reported. The object defines `attn_model_<name>`
/// (runtime/include/attn/abi.h).
std::unique_ptr<llvm::MemoryBuffer> compileToObject(mlir::ModuleOp model,
                                                    const CompileOptions &options);
std::unique_ptr<llvm::MemoryBuffer> compileToAssembly(mlir::ModuleOp model,
                                                      const CompileOptions &options);

/// The code that assembly and objects are made of, as LLVM's text, before LLVM optimises it.
std::optional<std::string> compileToLlvmIr(mlir::ModuleOp model, const CompileOptions &options);

/// The kernels of a model for the GPUs of `options`, as PTX, under their names where there are
/// several. Nothing after an error has been reported.
std::optional<std::string> compileToPtx(mlir::ModuleOp model, const CompileOptions &options);

/// Remarks on the kernels of each GPU of `options`, with their registers where there is an
/// assembler (gpu/AssemblyRemarks.h). Failure after an error has been reported.
mlir::LogicalResult explainGpus(mlir::ModuleOp model, const CompileOptions &options);

} // namespace attn
