// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How data flows between the steps of a function, for pages that draw it.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/JSON.h"
#include <optional>

namespace attn::tool {

/// What a function of a model runs by itself: a kernel with a cost, or a block.
struct FunctionStep {
  std::string function;         ///< of the first kernel of its cost; of the block
  std::optional<int64_t> calls; ///< for each call of the function; none where a run decides
  bool isBlock = false;
};

/// What texts and sizes of graphs are made of.
struct GraphContext {
  mlir::ModuleOp module;
  const llvm::json::Array &kernels; ///< of the target, as the explanation has them
  llvm::function_ref<int64_t(mlir::Attribute)> sizeOf; ///< the value of a sum of products
};

/// The graph of a function that says how its data flows (attributes::flow): `nodes`, which are all
/// of `steps` with what goes in and comes out, and `edges`. Empty where it does not say.
llvm::json::Object describeGraph(mlir::func::FuncOp function, llvm::ArrayRef<FunctionStep> steps,
                                 const GraphContext &context);

} // namespace attn::tool
