// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the threads of a warp do together. Code is emitted for one of them, whose number is `lane`;
// all of them take every branch that is emitted here.
#pragma once

#include "compiler/kernels/Loops.h"

namespace attn {

/// The lanes of a warp, at the builder's insertion point.
class Warp {
public:
  static constexpr int64_t lanes = 32;

  /// At the insertion point of a kernel's function.
  Warp(mlir::OpBuilder &builder, mlir::Location loc);

  /// body(i) for i in [0, count), lane by lane; at most one warp's worth more than needed is
  /// nobody's.
  void forEach(mlir::Value count, llvm::function_ref<void(mlir::Value)> body) const;
  /// The same with values carried from each i of the lane to its next, which is `times` warps away:
  /// the body has i + 32, ... of these, too.
  llvm::SmallVector<mlir::Value>
  forEach(mlir::Value count, mlir::ValueRange inits,
          llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> body,
          int64_t times = 1) const;
  /// The lanes' values combined to one that all get: halves, quarters and so on.
  mlir::Value combine(mlir::Value value,
                      llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> operation) const;
  mlir::Value sum(mlir::Value value) const;
  /// The value of lane `of`, for all.
  mlir::Value broadcast(mlir::Value value, mlir::Value of) const;

  /// An element of a buffer as an f32, and one that is stored as the buffer has them.
  mlir::Value load(mlir::Value buffer, mlir::ValueRange place) const;
  void store(mlir::Value value, mlir::Value buffer, mlir::ValueRange place) const;

  mlir::OpBuilder &builder;
  mlir::Location loc;
  IndexBuilder index;
  mlir::Value lane;
};

/// An f32 as an element of a buffer, which may be of 16 bits.
void storeFloat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Value buffer,
                mlir::ValueRange place);

} // namespace attn
