// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function's frame in the workspace: slots of bytes, one behind the other, each of which holds
// one buffer at a time. Where a slot begins is known once all sizes are; until then a placeholder
// stands for its offset. The frames of callees begin behind the caller's.
#pragma once

#include "compiler/transforms/SizePolynomial.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include <functional>

namespace attn::planning {

/// The slots of one function in the workspace, and who uses them until when.
class Frame {
public:
  /// Of a function with a body, in which `builder` stands; `workspace`: memref<i8>, where the frame
  /// begins.
  /// `most` gives a bound of sizes that are known later than the frame.
  Frame(mlir::OpBuilder &builder, mlir::func::FuncOp function, mlir::Value workspace,
        std::function<SizePolynomial(const SizePolynomial &)> most)
      : builder(builder), function(function), workspace(workspace), most(std::move(most)) {}
  Frame(const Frame &) = delete;
  Frame &operator=(const Frame &) = delete;

  /// A pointer to room for `bytes` that is free again after `last`.
  mlir::Value take(const SizePolynomial &bytes, mlir::Type element, mlir::Operation *last);

  /// Frees what `op` is the last to use.
  void releaseAfter(mlir::Operation *op);

  /// Notes that a kernel uses the buffer at `pointer`, if it is one of the frame's.
  void use(mlir::Value pointer);

  /// Whether a buffer was used after its release, which is a defect: another may lie there.
  bool hasUsedReleased() const { return usedReleased; }

  /// A pointer to where the frame of a callee begins.
  mlir::Value end();

  /// Makes room for a callee's frame of `bytes`.
  void call(const SizePolynomial &bytes);

  /// Gives every slot its offset, computed where the function begins, from the values of dims.
  /// Returns the bytes of the frame, with those of its callees. Nothing is taken later.
  SizePolynomial resolve(llvm::function_ref<mlir::Value(llvm::StringRef)> dim);

private:
  /// Memory of one buffer at a time.
  struct Slot {
    SizePolynomial bytes;
    bool isFree;
    mlir::Value offset;       // a placeholder until all slots are known
    mlir::Value pointer = {}; // of the buffer that lies there now; null while it is free
  };

  /// The number of a slot of `bytes` or more, which is taken now; a pointer into the workspace.
  size_t allocate(const SizePolynomial &bytes);
  mlir::Value at(mlir::Value offset, mlir::Type element);

  mlir::OpBuilder &builder;
  mlir::func::FuncOp function;
  mlir::Value workspace;
  std::function<SizePolynomial(const SizePolynomial &)> most;
  llvm::SmallVector<Slot> slots;
  llvm::DenseMap<mlir::Value, size_t> slotOf; // by the pointers of all buffers there have been
  llvm::SmallVector<std::pair<mlir::Operation *, size_t>> releases; // (last user, slot)
  llvm::SmallVector<mlir::Value> ends;                              // placeholders of the frame's
  SizePolynomial calleeBytes;
  bool usedReleased = false;
};

} // namespace attn::planning
