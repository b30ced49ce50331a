// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text of a spec -> attn-stage module -> what follows, as far as small models go.
#include "Targets.h"
#include "compiler/Compiler.h"
#include "compiler/frontend/Frontend.h"
#include "compiler/frontend/syntax/Diagnostics.h"
#include "dialect/AttnDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn;

/// Constants and types stay in their context: it is made anew now and then.
static mlir::MLIRContext &freshContext() {
  static std::unique_ptr<mlir::MLIRContext> context;
  static unsigned uses = 0;
  if (!context || ++uses % 100 == 0) {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    context = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  }
  return *context;
}

static size_t opsIn(mlir::ModuleOp module) {
  size_t count = 0;
  module.walk([&](mlir::Operation *) { ++count; });
  return count;
}

/// Stages down to memory: what they cannot do they say, and that is no error of the compiler.
static void lower(mlir::ModuleOp module, mlir::MLIRContext &context) {
  std::string said;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    said += diagnostic.str() + "\n";
    return mlir::success();
  });
  CompileOptions options;
  options.targets = *TargetSet::parse("x86-64-v4");
  bool fails = lowerTo(module, Stage::Memory, options).empty();
  fuzz::require(!fails || !said.empty(), "a stage fails and does not say why");
  fuzz::require(said.find("internal") == std::string::npos, said.c_str());
}

void fuzz::spec(const uint8_t *data, size_t size) {
  mlir::MLIRContext &context = freshContext();
  // The first byte of the text's size says whether intermediates are wanted.
  frontend::FrontendOptions options;
  options.taps = size % 8 == 7;
  frontend::SourceFile source("fuzz/spec.attn",
                              std::string(reinterpret_cast<const char *>(data), size));
  frontend::DiagnosticEngine diagnostics(source);
  auto module = frontend::buildModel(source, options, context, diagnostics);
  std::string said;
  llvm::raw_string_ostream os(said);
  diagnostics.render(os);
  fuzz::require(static_cast<bool>(module) != diagnostics.hasErrors(),
                "neither a module nor an error");
  for (const frontend::Diagnostic *diagnostic : diagnostics.sorted())
    fuzz::require(diagnostic->code != frontend::DiagCode::InternalError, said.c_str());
  if (module && opsIn(*module) < 200)
    lower(*module, context);
}
