// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A spec read, checked and built: what most verbs begin with.
#pragma once

#include "Options.h"
#include "compiler/frontend/Frontend.h"
#include "compiler/frontend/SourceFile.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include <memory>

namespace attn::tool {

class Spec {
public:
  Spec();
  /// The spec that `args` name, with `--set` and `--config`. 0, or an exit code after all its
  /// errors have been printed.
  int load(const llvm::opt::InputArgList &args);
  /// The same, with every `let` a further output of its entry (FrontendOptions::taps).
  int addTaps();

  mlir::ModuleOp module() { return *built; }
  /// As the user wrote it.
  llvm::StringRef path() const { return source->name(); }
  llvm::StringRef text() const { return source->text(); }
  mlir::MLIRContext &context() { return mlirContext; }

private:
  mlir::MLIRContext mlirContext;
  std::unique_ptr<frontend::SourceFile> source;
  frontend::FrontendOptions options;
  mlir::OwningOpRef<mlir::ModuleOp> built;
};

} // namespace attn::tool
