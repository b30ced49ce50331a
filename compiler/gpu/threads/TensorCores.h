// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels on tensor cores are written with: instructions of a warp, pointers, words of two
// halves, which are bf16 or f16.
// In all fragments g = lane / 4 and t = lane % 4. Accumulators of 16 rows (PTX ISA 9.7.14.5.8; of
// wgmma, 9.7.15.5.1.1, too) are lists of f32 with element
//
//   4 * tile + 2 * r + c   of row g + 8 * r, column 8 * tile + 2 * t + c.
#pragma once

#include "compiler/kernels/Loops.h"
#include "dialect/Attributes.h"

namespace mlir::gpu {
class GPUModuleOp;
} // namespace mlir::gpu

namespace attn {

/// Where in an accumulator of 16 rows an element lies.
struct FragmentPlace {
  int64_t row;    ///< 0 is g, 1 is g + 8
  int64_t column; ///< but for 2 * t
  /// The place of a thread's element number `element`.
  static FragmentPlace of(int64_t element) {
    return {element / 2 % 2, element / 4 * 8 + element % 2};
  }
};

/// A pointer to the shared memory that a launch asks for (attributes::shared), which
/// begins at a multiple of 1024 bytes.
mlir::Value dynamicSharedMemory(mlir::OpBuilder &builder, mlir::Location loc,
                                mlir::gpu::GPUModuleOp module);

/// Writes instructions of a warp, at the builder's insertion point.
class TensorCores {
public:
  /// At the insertion point of a kernel's function. `half`: bf16 or f16.
  TensorCores(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type half);

  using Value = mlir::Value;

  //===-- words ----------------------------------------------------------------------------===//

  /// A vector of these values.
  Value vectorOf(mlir::ValueRange values) const;
  /// Two f32, rounded to halves, as an i32.
  Value word(Value even, Value odd) const;
  /// The halves of a word, as f32.
  Value even(Value word) const { return unpack(word, half, /*isOdd=*/false); }
  Value odd(Value word) const { return unpack(word, half, /*isOdd=*/true); }
  Value unpack(Value word, mlir::Type half, bool isOdd) const;
  /// A word of which `specialBits` tell halves that are infinite or NaN.
  Value specials(Value word) const;
  static constexpr int64_t specialBits = 0x80008000;
  Value bits(Value word, int64_t mask) const;
  Value isEqual(Value a, int64_t b) const; ///< of an index
  /// Accumulators as A of a product whose k are their columns: a step for each 16 of them, and one
  /// of 8 where these are left.
  llvm::SmallVector<llvm::SmallVector<Value>> wordsOf(llvm::ArrayRef<Value> accumulators) const;
  Value integer(int64_t value) const; ///< an i32
  Value number(double value) const;   ///< an f32
  /// The same i32, about which LLVM knows nothing: what it would compute from it before a loop, and
  /// keep in registers, such as differences to all columns, stays within.
  Value opaque(Value word) const;

  //===-- instructions ---------------------------------------------------------------------===//

  /// sums += a * b, by mma.m16n8k16, or m16n8k8 for half as many words: a has 4, b 2.
  void multiply(llvm::MutableArrayRef<Value> sums, llvm::ArrayRef<Value> a,
                llvm::ArrayRef<Value> b) const;
  /// sums += a * b, by mma.m16n8k8 of tf32 (roundToTf32): a has 4 words, b 2.
  void multiplyTf32(llvm::MutableArrayRef<Value> sums, llvm::ArrayRef<Value> a,
                    llvm::ArrayRef<Value> b) const;
  /// The word of an f32 rounded to 11 bits, ties away from zero (PTX ISA 9.7.9.21); products alone
  /// would cut the others off.
  Value roundToTf32(Value word) const;
  /// ldmatrix: 1, 2 or 4 matrices of 8 x 8 halves, of whose row i of matrix m lane 8 * m + i has
  /// the address, but for `offset` bytes.
  llvm::SmallVector<Value> loadMatrices(Value address, int64_t offset, int64_t count,
                                        bool isTransposed) const;
  /// 2^x, by the unit that is right to 2^-22; 0 for less than 2^-126.
  Value exp2(Value x) const;
  /// 1 / x, rounded or the float beside it; 0 for x >= 2^126.
  Value inverse(Value x) const;
  /// The larger one; of a number and NaN, the number.
  Value larger(Value a, Value b) const;
  /// `combine` of the four lanes of a row, for all of them.
  Value acrossRow(Value value, llvm::function_ref<Value(Value, Value)> combine) const;
  /// The word of another lane.
  Value fromLane(Value word, Value lane) const;
  /// Whether a truth holds in a lane of the warp.
  Value any(Value truth) const;
  /// A truth of each lane, as bits.
  Value ballot(Value truth) const;
  /// The number of the lowest bit, an index; 32 where there is none.
  Value firstBit(Value bits) const;
  /// 16 bytes to an address in shared memory, zeros where `isThere` does not hold; offsets are
  /// bytes. See commitCopies.
  void copyAsync(Value address, int64_t offset, Value global, int64_t globalOffset,
                 Value isThere) const;
  /// Copies `bytes`, 4 or 16, of which the first `present` (i32) are there.
  void copyAsync(Value address, int64_t offset, Value global, int64_t globalOffset, Value present,
                 int64_t bytes) const;
  void commitCopies() const;
  /// Waits for the thread's own copies, all but the `pending` last commits.
  void waitForCopies(int64_t pending = 0) const;

  //===-- pointers -------------------------------------------------------------------------===//

  /// The start of a buffer in shared memory, or of another one, as a pointer of NVVM.
  Value sharedPointer(Value memref) const;
  Value globalPointer(Value memref) const;
  /// The start of the shared memory that a launch asks for (attributes::shared).
  Value dynamicSharedPointer(mlir::gpu::GPUModuleOp module) const;
  /// A pointer to shared memory as an i32. Instructions that LLVM gives no offset to take it from
  /// there: else every place would have a register.
  Value addressOf(Value shared) const;
  Value at(Value pointer, Value bytes) const; ///< by an index
  Value at(Value pointer, int64_t bytes) const;
  Value load(Value pointer, mlir::Type type, int64_t alignment) const;
  void store(Value value, Value pointer, int64_t alignment) const;

  mlir::OpBuilder &builder;
  mlir::Location loc;
  IndexBuilder index;
  mlir::Type half;
  Value thread, lane, warp, g, t; ///< index

private:
  /// A product by this instruction of PTX.
  void multiplyBy(llvm::StringRef instruction, llvm::MutableArrayRef<Value> sums,
                  llvm::ArrayRef<Value> a, llvm::ArrayRef<Value> b) const;
};

/// Rows of a buffer of f32 or halves [batch..., rows, features] in global memory, whose features
/// lie side by side.
class GlobalRows {
public:
  /// At the insertion point of a kernel's function.
  GlobalRows(const TensorCores &cores, mlir::Value buffer);

  /// The pointer to the first feature of a row; `place` may lack its last indices, which are 0.
  mlir::Value row(mlir::ValueRange place) const;
  /// Eight features, as f32, from a pointer at a multiple of 16 bytes on.
  llvm::SmallVector<mlir::Value> loadEight(mlir::Value from) const;
  /// From an element of dim `d` to the next, in elements.
  mlir::Value stride(int64_t d) const { return strides[d]; }
  /// From a row to the next.
  mlir::Value rowBytes() const;
  /// Whether rows begin at multiples of `bytes`: known, or found out when running.
  mlir::Value areAligned(int64_t bytes) const;
  /// An f32 to a feature of a row, or two to neighbours, whose place is even (areAligned); rounded
  /// where the buffer is of halves.
  void store(mlir::Value value, mlir::Value row, mlir::Value feature) const;
  void storePair(llvm::ArrayRef<mlir::Value> pair, mlir::Value row, mlir::Value feature) const;

  mlir::Type element;
  int64_t features, elementBytes;

private:
  const TensorCores &cores;
  mlir::Value pointer;
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<mlir::Value> strides; ///< in elements
};

} // namespace attn
