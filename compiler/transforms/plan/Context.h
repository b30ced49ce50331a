// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plan of one function: the function on pointers that is built from one on tensors.
//
// Planning is functions, a header for each topic: Places.h and InPlace.h say where results lie,
// Elements.h what their elements are, Buffers.h and Operands.h make room and views, Ops.h turns ops
// into kernels. What they share is `FunctionPlan`, whose parts are the state of one topic each.
#pragma once

#include "compiler/transforms/plan/Frame.h"
#include "compiler/transforms/plan/Module.h"
#include "dialect/Attributes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace attn::planning {

/// Where tensors lie, and shall lie.
struct Places {
  DenseMap<Value, BufferView> views; ///< Of every tensor that has been computed.
  /// Tensors computed straight into a concat, as its part at a position, or into a pad's result.
  DenseMap<Value, std::pair<Operation *, size_t>> partOf;
  DenseMap<Value, BufferView> destinations; ///< Tensors computed straight into a given place.
  DenseMap<Value, Value> inPlace; ///< Tensors, and the operands whose place they may take.
};

/// The arguments of a function on pointers: (packed, workspace, call, thread, threads, dims...,
/// rows of experts..., arguments..., results...).
struct Arguments {
  /// `module` says which dims there are; `routed` are the names of rows of experts.
  Arguments(const ModulePlan &module, func::FuncOp target, ArrayRef<StringRef> routed,
            unsigned results);

  Value packed, workspace, call; ///< memref<i8>: parameters, where the frame begins, the call.
  Value thread, threads;         ///< index: this thread, and how many there are.
  llvm::StringMap<Value> dims;
  llvm::StringMap<Value> counts;     ///< memref<i32>: where the number of an expert's rows is.
  ArrayRef<mlir::BlockArgument> own; ///< What the function on tensors takes, in its order.
  ArrayRef<mlir::BlockArgument> results;

  /// The value of a dynamic dim; "#threads" is the number of threads.
  Value dim(StringRef name) const { return name == "#threads" ? threads : dims.lookup(name); }
};

/// The state of a function's plan. It lives while the function is planned: its parts point at each
/// other.
struct FunctionPlan {
  /// Creates the function on pointers, without ops, before `source`.
  FunctionPlan(ModulePlan &module, func::FuncOp source);

  /// Whether the function is an entry of the model; the value of a dim in it.
  bool isEntry() { return source->hasAttr(attributes::entry); }
  Value dim(StringRef name) const { return arguments.dim(name); }

  ModulePlan &module;
  func::FuncOp source, target;
  Location loc;
  OpBuilder builder; ///< In the target.
  Arguments arguments;
  Frame frame;
  Places places;
  IRMapping scalars; ///< Of the source's scalars those of the target.
  size_t costs = 0;  ///< How many the target has.
};

} // namespace attn::planning
