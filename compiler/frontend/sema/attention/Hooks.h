// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The hooks of an attention: biases, caps, masks and sinks -> their regions.
#pragma once

#include "compiler/frontend/sema/attention/Formula.h"

namespace attn::frontend {

/// The hook that a declaration is; null where it is none of this kind.
const ast::HookDecl *hookOf(const Decl *decl, ast::HookDecl::Hook hook);

/// The hooks of a kind that need no declaration.
std::vector<llvm::StringRef> knownHooks(ast::HookDecl::Hook hook);

/// Reports a name that is no hook of this kind.
Diagnostic &unknownHook(Sema &sema, const ast::PathExpr &path, ast::HookDecl::Hook hook,
                        const Decl *decl);

/// Says of a name that differs from a position's in case alone that positions are written in small
/// letters; false of others.
bool helpWithSmallLetter(Diagnostic &diagnostic, const Formula &formula, llvm::StringRef name);

/// Applies a declared bias or mask in a line, or in another hook.
FormulaValue applyDeclared(Formula &line, Decl &decl, const ast::HookDecl &hook,
                           const ast::PathExpr &path, const ast::CallExpr *call);

/// A bias or mask that a line names, with `call`'s arguments if there is one; nothing where it
/// names something else.
std::optional<FormulaValue> applyHook(Formula &line, const ast::PathExpr &path,
                                      const ast::CallExpr *call);

/// What names stand for in the region that is built: `j`, `i`, and the query's axes in small
/// letters.
std::map<std::string, FormulaValue> positionsOf(Sema &sema, const AttentionRegions &regions,
                                                mlir::OpBuilder &inner);

/// Fills the region of a bias up to its attn.yield; false after an error.
bool buildBias(Formula &line, const ast::Expr &bias, mlir::Value score);

/// Fills the region of a soft cap up to its attn.yield; false after an error.
bool buildCap(Sema &sema, const ast::Expr &cap, mlir::OpBuilder &inner, mlir::Location loc,
              mlir::Value score);

/// Fills the region of a mask up to its attn.yield; false after an error.
bool buildMask(Formula &line, const ast::Expr &mask);

/// Fills the region of a sink up to its attn.yield; false after an error.
bool buildSink(Formula &line, const ast::Expr &sink);

/// Finds what is wrong, whatever the sizes, in a hook that nothing applies.
void checkHook(Sema &sema, Decl &decl);

} // namespace attn::frontend
