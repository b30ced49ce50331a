// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run whose times `attn bench --profile --json` measured, or whose numbers `attn verify --json`
// compared, joined to an explanation.
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

  /// Sets attributes::sizes of a model to the sizes of a measured run, where none was asked for. 0,
  /// or an exit code after an error.
  int assumeSizes(mlir::ModuleOp model) const;

  /// Adds a measured run to the target that it was measured on, as `run`, and to its kernels what
  /// all their calls took, as `seconds`, `calls` and `waiting`; adds a comparison to the
  /// `comparisons` of the explanation. 0, or an exit code after an error.
  int addTo(llvm::json::Object &explanation) const;

private:
  /// Adds its times.
  int addTimes(llvm::json::Object &explanation) const;
  /// Whether it is of `attn verify`.
  bool isComparison() const { return run.getString("schema") == "attn.verify"; }

  std::string path;
  llvm::json::Object run;
};

} // namespace attn::tool
