// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What elements of tensors are in memory: narrower than their types say, where all that reads them
// rounds them anyway.
#pragma once

#include "compiler/transforms/plan/Context.h"

namespace attn::planning {

/// What a linear is multiplied in.
Precision precisionOf(const ModulePlan &module, LinearOp op);

/// Whether rows of a linear's input are multiplied in bf16, or as bytes that are made of bf16,
/// whatever CPU runs it.
bool areRounded(const ModulePlan &module, LinearOp op);

/// Whether an attention's queries, keys and values are multiplied in bf16.
bool areRounded(const ModulePlan &module, AttentionOp op);

/// The linear whose rows are rounded, as are those of all others that read a tensor; or null.
LinearOp roundedFor(const ModulePlan &module, Value tensor);

/// What a kernel's result is stored as in a buffer of its own, or null: as its type says.
Type elementFor(const ModulePlan &module, Value tensor);

/// A stored element as the one of `type` that it means.
Value fromStored(OpBuilder &builder, Location loc, Value value, Type type);

/// And back: an element as it is `stored`.
Value toStored(OpBuilder &builder, Location loc, Value value, Type stored);

} // namespace attn::planning
