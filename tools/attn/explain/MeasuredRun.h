// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run that `attn bench --profile --json` measured, joined to an explanation by the names of
// kernels.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"
#include <string>

namespace attn::tool {

/// A measured run, out of a file.
class MeasuredRun {
public:
  /// Reads a file, `-` for standard input. 0, or an exit code after an error.
  int read(llvm::StringRef path);

  /// Sets attributes::sizes of a model to the sizes of the run, where none was asked for. 0, or an
  /// exit code after an error.
  int assumeSizes(mlir::ModuleOp model) const;

  /// Adds the run to the target that it was measured on, as `run`, and to its kernels what all
  /// their calls took, as `seconds`, `calls` and `waiting`. 0, or an exit code after an error.
  int addTo(llvm::json::Object &explanation) const;

private:
  std::string path;
  llvm::json::Object run;
};

} // namespace attn::tool
