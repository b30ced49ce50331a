// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The layers of a stack as calls of their functions: in loops, or one after the other where layers
// take or give tensors of their own.
#pragma once

#include "compiler/frontend/sema/Context.h"
#include "compiler/frontend/sema/parameters/LayerScopes.h"

namespace attn::frontend {

/// The functions of a stack's layers, and what they are called with beside the layer's number.
struct LayerCalls {
  /// A function that some of the layers share.
  struct Callee {
    const Instance *instance;
    /// The first is what the first layer gets; an operand of which each layer has its own is that
    /// of layer 0.
    llvm::SmallVector<mlir::Value> operands;
  };
  std::vector<Callee> callees;
  /// By result: whether each layer gives its own. Else the result is the operand of the same number
  /// of the next layer.
  std::vector<bool> isOfLayer;
  /// By operand: the operands of all layers, along the axis in front, where each has its own; or
  /// null.
  std::vector<mlir::Value> ownOperands;
  LayerScopes &scopes;
  int64_t count;
  std::string name; ///< Of the stack.
  mlir::Location loc;
  mlir::Value first = {}; ///< The number of layer 0, in a block of another stack.

  /// The function of a layer, which counts from 0.
  const Callee &of(int64_t layer) const { return callees[scopes.of(layer)]; }
  /// Whether some layer takes or gives a tensor of its own.
  bool haveOwn() const;
};

/// The number of the first of `layers` layers in a block of another stack; null in no stack.
mlir::Value firstLayer(Sema &sema, int64_t layers, mlir::Location loc);

/// Applies all layers; for each result that of the last layer, or those of all where each layer
/// gives its own.
std::vector<llvm::SmallVector<mlir::Value>> applyLayers(Sema &sema, const LayerCalls &layers);

} // namespace attn::frontend
