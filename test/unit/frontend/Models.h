// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A spec built to its module, with what was said about it.
#pragma once

#include "compiler/frontend/Frontend.h"
#include "compiler/frontend/syntax/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

namespace attn::frontend::test {

struct Built {
  explicit Built(std::string text, const FrontendOptions &options = {})
      : source("test.attn", std::move(text)), diagnostics(source),
        module(buildModel(source, options, context(), diagnostics)) {}

  std::string errors() const {
    std::string text;
    llvm::raw_string_ostream os(text);
    diagnostics.render(os);
    return text;
  }
  /// `A0201 A0312`: the codes in the order of the text.
  std::string codes() const {
    std::string text;
    for (const Diagnostic *diagnostic : diagnostics.sorted())
      text += (text.empty() ? "" : " ") + codeText(diagnostic->code).str();
    return text;
  }

  SourceFile source;
  DiagnosticEngine diagnostics;
  mlir::OwningOpRef<mlir::ModuleOp> module;

private:
  /// One for all: it is dear to make.
  static mlir::MLIRContext &context() {
    static mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    return context;
  }
};

} // namespace attn::frontend::test
