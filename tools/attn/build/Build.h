// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler as the verbs call it: options from the command line, errors as text, code loaded
// into this process.
#pragma once

#include "Spec.h"
#include "attn/abi.h"
#include "compiler/Compiler.h"
#include "compiler/support/Errors.h"
#include "mlir/IR/Diagnostics.h"

namespace llvm::orc {
class LLJIT;
} // namespace llvm::orc

namespace attn::tool {

/// Reads how to compile, then the spec. `onlyLooks`: nothing is made that would run, so that
/// targets need no CPU among them. `path`: of the spec, where `args` name others. 0, or an exit
/// code after an error has been printed.
int loadForCompiling(const llvm::opt::InputArgList &args, CompileOptions &options, Spec &spec,
                     bool onlyLooks = false, llvm::StringRef path = "");

/// Looks for an assembler where there is code for GPUs. 0, or an exit code after an error.
int findAssembler(CompileOptions &options);

/// Prints MLIR's errors for a person while it lives.
class DiagnosticPrinter {
public:
  explicit DiagnosticPrinter(mlir::MLIRContext &context);

  /// The exit code after the compiler has failed with the errors printed. Such as are no fault of
  /// the input or the environment are internal: how to report them is printed.
  int failure() const;
  /// Whether anything has been printed.
  bool hasPrinted() const { return isUsed; }

private:
  /// Prints one of MLIR's errors, warnings or remarks with its place in the spec.
  void print(mlir::Diagnostic &diagnostic);

  std::optional<ErrorKind> kind; ///< of the first error
  bool isUsed = false;
  mlir::ScopedDiagnosticHandler handler;
};

/// Compiles the spec to an object, or takes the one of a compilation before (CompileCache.h, whose
/// bound `bound` is). Null after an error, whose exit code is then in `code`.
std::unique_ptr<llvm::MemoryBuffer> compileOnce(Spec &spec, const CompileOptions &options,
                                                uint64_t bound, int &code);

/// A model's code in this process.
class LoadedModel {
public:
  LoadedModel();
  ~LoadedModel();
  /// Compiles the spec once (not so with `--no-cache` among `args`), and loads it. 0, or an exit
  /// code after an error.
  int compile(Spec &spec, const llvm::opt::InputArgList &args, const CompileOptions &options);
  /// Loads an object that defines the tables as `symbol`.
  int load(std::unique_ptr<llvm::MemoryBuffer> object, llvm::StringRef symbol);

  /// The tables of the loaded model; null before it is loaded.
  const attn_abi_model *tables() const { return modelTables; }

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;
  const attn_abi_model *modelTables = nullptr;
};

} // namespace attn::tool
