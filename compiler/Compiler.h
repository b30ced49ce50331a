// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The front door of the compiler: from a checked model to machine code. The stages on the way are
// those of Pipeline.h.
#pragma once

#include "compiler/Pipeline.h"
#include "compiler/codegen/Codegen.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace attn {

/// Registers what compilation needs in a context's registry.
void registerDialects(mlir::DialectRegistry &registry);

/// Lowers an attn-stage module up to `until` (not past Llvm), for all levels, then all chips.
/// Errors are reported through MLIR's diagnostics; an empty result says that there were some.
llvm::SmallVector<Staged> lowerTo(mlir::ModuleOp model, Stage until, const CompileOptions &options);

/// What the kernels of a model are called, those that remarks and profiles name; for the GPU where
/// there is no CPU level among the options. Nothing after an error has been reported.
std::optional<llvm::SmallVector<std::string>> kernelNames(mlir::ModuleOp model,
                                                          const CompileOptions &options);

/// Machine code and tables of a model (attn-stage module) as one relocatable ELF object, or
/// assembly text. Null after an error has been reported. The object defines `attn_model_<name>`
/// (runtime/include/attn/abi.h).
std::unique_ptr<llvm::MemoryBuffer> compileToObject(mlir::ModuleOp model,
                                                    const CompileOptions &options,
                                                    CodegenProgress progress = nullptr);
std::unique_ptr<llvm::MemoryBuffer> compileToAssembly(mlir::ModuleOp model,
                                                      const CompileOptions &options,
                                                      CodegenProgress progress = nullptr);

/// The code that assembly and objects are made of, as LLVM's text, before LLVM optimises it.
std::optional<std::string> compileToLlvmIr(mlir::ModuleOp model, const CompileOptions &options);

/// The kernels of a model for the GPUs of `options`, as PTX, under their names where there are
/// several. Nothing after an error has been reported.
std::optional<std::string> compileToPtx(mlir::ModuleOp model, const CompileOptions &options);

/// Remarks on the kernels of each GPU of `options`, with their registers where there is an
/// assembler (gpu/AssemblyRemarks.h). Adds the memory stage that they were made of, for each GPU.
/// Failure after an error has been reported.
mlir::LogicalResult explainGpus(mlir::ModuleOp model, const CompileOptions &options,
                                llvm::SmallVectorImpl<Staged> &memory);

} // namespace attn
