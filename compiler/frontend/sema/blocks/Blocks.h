// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks where they are applied.
#pragma once

#include "compiler/frontend/sema/Context.h"
#include "compiler/frontend/sema/blocks/Instances.h"

namespace attn::frontend {

/// Result `number` of a call of a block, with the axes that it has where the block is applied.
SemaValue outside(Sema &sema, mlir::Value result, const Instance &instance,
                  const ast::BlockDecl &block, size_t number,
                  const std::map<std::string, Axis> &bound, SourceRange range);

/// `axes` of a parameter or a result of this type, as they are called where the block is applied.
Axes axesOutside(const Instance &instance, Axes axes, const ast::Type &type,
                 const std::map<std::string, Axis> &bound);

/// Whether a block has no parameters of its own, so that it needs no part; reports where it has.
bool checkOwnsNothing(Reporter &report, const Decl &decl, SourceRange applied);

/// The arguments as those of the block's function, which caches are not.
llvm::SmallVector<mlir::Value> blockOperands(Sema &sema, const Instance &instance,
                                             const ast::CallExpr &call,
                                             llvm::ArrayRef<SemaValue> arguments);

/// The results of a block that has no parameters, applied by its own name.
std::vector<SemaValue> applyBlock(Sema &sema, Decl &decl, const ast::CallExpr &call);

/// Finds what is wrong, whatever the sizes, in blocks that nothing applies and in scores that no
/// attention names.
void checkUnapplied(Sema &sema);

} // namespace attn::frontend
