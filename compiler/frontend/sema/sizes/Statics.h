// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statics: what a block is given when compiling, and what that reads of the place of the caller.
#pragma once

#include "compiler/frontend/sema/attention/Formula.h"
#include "compiler/frontend/sema/blocks/Instances.h"
#include "llvm/Support/SaveAndRestore.h"

namespace attn::frontend {

/// While it lives, names are looked up where the expression of a static was written.
class ScopedHome {
public:
  ScopedHome(Sema &sema, const Decl &fixed)
      : scope(sema.names.scope, fixed.home), homes(sema.function.homes, sema.function.homes + 1) {}

private:
  llvm::SaveAndRestore<Scope *> scope;
  llvm::SaveAndRestore<unsigned> homes;
};

/// The tensors that a call gives; those of its arguments that have names are statics.
std::optional<std::vector<SemaValue>> tensorArguments(Sema &sema, const ast::CallExpr &call,
                                                      llvm::StringRef name);

/// Declares a block's statics in the scope of its body; what tells them from others, or nothing
/// and reported.
std::optional<std::string> bindStatics(Sema &sema, const ast::BlockDecl &block,
                                       const ast::CallExpr &call, const Given &given,
                                       Scope &inside);

/// `true`, `false` and statics that are, `not`, `and`, `or` of them; reports nothing.
std::optional<bool> knownTruth(Sema &sema, const ast::Expr &expr);

/// Whether an expression consists of whole numbers, strings, sizes known when compiling, truth
/// values and the configuration alone, without a quotient: its value is that of evalCondition,
/// evalText or evalSize wherever it stands. `hides`: names that mean something else.
bool isKnown(Sema &sema, const ast::Expr &expr,
             llvm::function_ref<bool(llvm::StringRef)> hides = nullptr);

/// What positions are called at the home of a static: axes by the names that they have there.
Formula formulaAt(const Formula &formula, const Decl &fixed);

/// How many axes stand before the last `own`, if all of them are lifted ones; else 0.
size_t liftedBefore(FunctionState &function, llvm::ArrayRef<Axis> axes, size_t own);

/// A value of a function around the one being built, as an argument of this.
mlir::Value here(Sema &sema, mlir::Value value);

} // namespace attn::frontend
