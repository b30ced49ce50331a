// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function's frame in the workspace: slots of bytes, one behind the other, each of which holds
// one buffer at a time. Which slot a buffer gets, and where the slot begins, is known once all
// buffers are; until then a placeholder stands for its offset. The frame of a callee is a buffer,
// too.
//
// The largest buffer chooses first, and takes the slot that grows least and then leaves least over
// (Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference, 2020).
#pragma once

#include "compiler/transforms/SizePolynomial.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include <functional>
#include <vector>

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

  /// Gives every slot its offset, computed where the function begins, from the values of dims.
  /// Returns the bytes of the frame, with those of its callees. Nothing is taken later.
  SizePolynomial resolve(llvm::function_ref<mlir::Value(llvm::StringRef)> dim);

private:
  /// A piece of memory, and from which to which step of the plan it is needed.
  struct Buffer {
    SizePolynomial bytes;
    mlir::Value offset;    // a placeholder until all slots are known
    mlir::Operation *last; // its last user
    size_t begin;
    size_t end = ~size_t(0); // the first step in which it is free
  };
  /// Memory of one buffer at a time.
  struct Slot {
    SizePolynomial bytes;
    llvm::SmallVector<size_t> buffers;
  };

  /// The slots of all buffers.
  std::vector<Slot> assign() const;
  /// The slot that fits a buffer best; a new one where all are taken.
  Slot &slotFor(const Buffer &buffer, std::vector<Slot> &slots) const;
  /// Says of the function how its frame is divided (attributes::frame): `slots` are bytes,
  /// `buffers` have the number of their `slot`, their `bytes`, the steps `from` which and `until`
  /// which they are needed, and the place `at` of the op that took them.
  void describe(llvm::ArrayRef<Slot> slots);
  mlir::Value at(mlir::Value offset, mlir::Type element);

  mlir::OpBuilder &builder;
  mlir::func::FuncOp function;
  mlir::Value workspace;
  std::function<SizePolynomial(const SizePolynomial &)> most;
  std::vector<Buffer> buffers;
  size_t step = 0;
  llvm::SmallVector<mlir::Location> steps; ///< of the ops that they are, as far as they are done
  llvm::DenseMap<mlir::Value, size_t> bufferAt; // by pointers
  bool usedReleased = false;
};

} // namespace attn::planning
