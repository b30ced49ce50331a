// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block -> one function for each set of sizes and values that it is applied to.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// What a stack or a part says of its block, and where.
struct Given {
  llvm::ArrayRef<ast::DimArgument> dims;
  llvm::ArrayRef<ast::Argument> statics;
  Scope *scope = nullptr; ///< Where both were written.
  /// The parameters that have all axes which any parameter has beside its own: a scan's states.
  llvm::ArrayRef<unsigned> states = {};
};

/// What `inner`, an axis of a block that was written `expr`, is outside of it, where the block's
/// dims are `bound`.
Axis outerAxis(const Axis &inner, const ast::Expr &expr, const std::map<std::string, Axis> &bound);

/// An argument of a call under the names that the axes have in the block.
mlir::Value toParameter(Sema &sema, mlir::Value value, const Axes &axes, SourceRange range);

/// The function of a block for these arguments, built where it is not there yet; null after an
/// error. `bound` becomes what the dims of the block are.
Instance *instantiate(Sema &sema, Decl &decl, const Owner &owner,
                      llvm::ArrayRef<SemaValue> arguments, const ast::CallExpr &call,
                      const Given &given, std::map<std::string, Axis> &bound);

/// Builds the function of a block, whose dims and statics `scope` holds already.
void buildInstance(Sema &sema, Instance &instance, const ast::BlockDecl &block, const Owner &owner,
                   Scope &scope);

} // namespace attn::frontend
