// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A spec read, checked and built: what most verbs begin with.
#pragma once

#include "compiler/frontend/Frontend.h"
#include "compiler/frontend/syntax/SourceFile.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "tools/attn/support/Options.h"
#include <memory>
#include <string>
#include <vector>

namespace attn::tool {

/// A spec and the module that it was built into.
class Spec {
public:
  Spec();
  ~Spec();
  /// The spec at `path`, else the one that `args` name, with `--set` and `--config`. 0, or an exit
  /// code after all its errors have been printed.
  int load(const llvm::opt::InputArgList &args, llvm::StringRef path = "");
  /// The same of a spec's text, which messages call `name`.
  int loadText(llvm::StringRef name, llvm::StringRef text);
  /// The same, without printing; what the first error says and the line that it is in, which are
  /// empty where there is none.
  std::pair<std::string, std::string> problemOf(llvm::StringRef text);
  /// The same as `load`, with every `let` a further output of its entry (FrontendOptions::taps);
  /// `--taps` and `--each-tap` have it from the start. What only a tap reads is not called unused:
  /// `load` leaves its warnings to `addTaps` or `printWarnings` where `--map` may ask for taps
  /// later.
  int addTaps();
  /// Prints the warnings that `load` has left.
  void printWarnings() const;

  /// Where the weights are: `--weights`, else what the spec says, from its folder on; empty where
  /// neither says anything.
  std::string weights(const llvm::opt::InputArgList &args);

  /// How many outputs of each entry are its own, not intermediates. Entries are in the order of the
  /// tables: functions, then what is unfolded of them.
  std::vector<int32_t> ownOutputs();
  /// Of each entry, in the same order, the places of what computes its intermediates, by their
  /// names; nothing of what is unfolded.
  std::vector<llvm::StringMap<std::string>> tapPlaces();

  /// The attn-stage module. It belongs to the spec.
  mlir::ModuleOp module() { return *built; }
  /// As the user wrote it.
  llvm::StringRef path() const { return source->name(); }
  llvm::StringRef text() const { return source->text(); }
  /// It and the files that it uses.
  const frontend::SourceFile &files() const { return *source; }
  mlir::MLIRContext &context() { return mlirContext; }

private:
  /// Builds the module; `isQuiet`: warnings are left for later. 0, or an exit code after an error.
  int build(bool isQuiet);

  mlir::MLIRContext mlirContext;
  std::unique_ptr<frontend::SourceFile> source;
  frontend::FrontendOptions options;
  std::unique_ptr<frontend::DiagnosticEngine> diagnostics;
  mlir::OwningOpRef<mlir::ModuleOp> built;
};

} // namespace attn::tool
