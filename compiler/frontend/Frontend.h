// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The front end as others see it: spec text in, attn-stage IR out.
#pragma once

#include "compiler/frontend/syntax/SourceFile.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace attn::frontend {
class DiagnosticEngine;
namespace ast {
struct File;
} // namespace ast

/// What an expression or the name of a `let` stands for: `[B, T, D]`, or a number.
struct ExpressionType {
  SourceRange range;
  std::string text;
};

/// What the front end is asked for besides the model.
struct FrontendOptions {
  std::vector<std::pair<std::string, int64_t>> sets; ///< `--set DIM=N`, in order
  std::string config; ///< path of a config.json for `config.*`, or empty
  /// Every `let` becomes a further output of the entry, `attn.tap` on it; those of blocks by path
  /// and layer, `blocks.0.y`. They are then computed as they are written, fused with nothing.
  bool taps = false;
  /// Another precision was chosen: those that the spec says are checked and left out.
  bool leavesOutPrecision = false;
  std::vector<ExpressionType> *types = nullptr; ///< Where those of all expressions go, for editors.
  /// Where the trees of the files go that the spec uses, likewise.
  std::vector<std::unique_ptr<ast::File>> *uses = nullptr;
};

/// Parses and checks a spec and builds its attn-stage module. All errors go to `diagnostics`; null
/// if there was one. The files that it uses are read, and added to `source`.
mlir::OwningOpRef<mlir::ModuleOp> buildModel(SourceFile &source, const FrontendOptions &options,
                                             mlir::MLIRContext &context,
                                             DiagnosticEngine &diagnostics);

} // namespace attn::frontend
