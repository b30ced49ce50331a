// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// States: tensors that a model keeps from call to call. An entry that names one reads what the last
// call has left, zeros before the first; a result of its name sets it.
#pragma once

#include "compiler/frontend/sema/Context.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace attn::frontend {

/// Reads the types of the model's states; called once, before entries are built.
void readStates(Sema &sema);

/// Gives an entry the model's states as arguments behind its own, and declares their names in
/// `scope`, which is between those of the model and of the entry.
void addStates(Sema &sema, mlir::func::FuncOp function, Scope &scope);

/// Drops the states that an entry does not read, and marks the results that set one.
void finishStates(Sema &sema, const ast::Signature &signature, mlir::func::FuncOp function,
                  Scope &scope);

/// After all entries: a state that none sets is an error.
void checkStates(Sema &sema);

/// Says that a block, which gets what it reads from what applies it, names a state.
void reportStateInBlock(Sema &sema, const Decl &state, SourceRange range);

} // namespace attn::frontend
