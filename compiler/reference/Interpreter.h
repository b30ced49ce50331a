// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference interpreter: runs a module of the `attn` stage in double precision with plain
// loops. It is written to be read, shares nothing with the code generator, and is what compiled
// code is compared with.
#pragma once

#include "compiler/reference/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <map>

namespace attn::reference {

/// Gives a checkpoint tensor's elements, dense and row-major. `name` is the source's pattern with
/// {n} replaced by the layer, `shape` the source's shape. Called once per name while that name's
/// layer is running.
using ParameterLoader = llvm::function_ref<llvm::Expected<std::vector<double>>(
    llvm::StringRef name, llvm::ArrayRef<int64_t> shape)>;

/// Sees the value of every op that has a name in its location; `layers` holds the indices of the
/// stacks' layers around it, outermost first. The tensor is valid during the call only.
using Observer = llvm::function_ref<void(llvm::StringRef name, llvm::ArrayRef<int64_t> layers,
                                         const Tensor &value)>;

/// What stays from call to call: the positions in each cache, and the tensors of its states (by
/// symbol and layer).
struct Caches {
  std::map<std::string, int64_t> lengths;
  std::map<std::pair<std::string, int64_t>, Tensor> states;
};

/// Runs function `entry` of a verified module. Dynamic dims are bound by the inputs' shapes.
/// Numbers are doubles throughout: types narrower than that do not round. Errors name the place in
/// the model's source.
llvm::Expected<std::vector<Tensor>> interpret(mlir::ModuleOp module, llvm::StringRef entry,
                                              llvm::ArrayRef<Tensor> inputs, ParameterLoader load,
                                              Caches &caches, Observer observe = nullptr);

} // namespace attn::reference
