// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Index arithmetic, loops and views of buffers that all kernels are written with.
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace attn {

/// Arithmetic on integers of one type at the builder's insertion point, folded where operands are
/// constants.
class IntegerArithmetic {
public:
  IntegerArithmetic(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  /// Sums, differences and products.
  mlir::Value add(mlir::Value a, mlir::Value b) const;
  mlir::Value sub(mlir::Value a, mlir::Value b) const;
  mlir::Value mul(mlir::Value a, mlir::Value b) const;
  /// Unsigned quotient and remainder; shifts where the divisor is a power of two.
  mlir::Value div(mlir::Value a, mlir::Value b) const;
  mlir::Value rem(mlir::Value a, mlir::Value b) const;
  /// The smaller, unsigned.
  mlir::Value min(mlir::Value a, mlir::Value b) const;

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// Arithmetic on indices. On i32: compiler/kernels/Integers.h.
class IndexBuilder : public IntegerArithmetic {
public:
  using IntegerArithmetic::IntegerArithmetic;

  /// A constant; the quotient rounded up; the larger, unsigned.
  mlir::Value constant(int64_t value) const;
  mlir::Value ceilDiv(mlir::Value a, mlir::Value b) const;
  mlir::Value max(mlir::Value a, mlir::Value b) const;
  /// A constant of type i1.
  mlir::Value truth(bool value) const;
  /// A dim of a memref: a constant where the type says it.
  mlir::Value dim(mlir::Value memref, int64_t d) const;
  /// The product of dims [begin, end) of a memref.
  mlir::Value product(mlir::Value memref, int64_t begin, int64_t end) const;
  /// The indices of element `flat` of dims [begin, end) of a memref, row-major.
  llvm::SmallVector<mlir::Value> delinearize(mlir::Value flat, mlir::Value memref, int64_t begin,
                                             int64_t end) const;
};

/// The constant value of an index, if it is one.
std::optional<int64_t> constantIndex(mlir::Value value);

/// The least that a number of elements can be, and the product of dims [begin, end) of a memref:
/// dims are taken to be at least 1.
int64_t leastOf(mlir::Value count);
int64_t leastCount(mlir::Value memref, int64_t begin, int64_t end);

/// How many dims a memref has.
int64_t rankOf(mlir::Value memref);

/// Elements of a memref in a cache line.
int64_t lineElements(mlir::Value memref);

/// What of `buffer` begins at `offsets` and is `sizes` large, to its end in dims for which they are
/// not given. The first `dropped` dims, of one element each, are none of the view.
mlir::Value viewOf(IndexBuilder index, mlir::Value buffer,
                   llvm::SmallVector<mlir::OpFoldResult> offsets,
                   llvm::SmallVector<mlir::OpFoldResult> sizes, int64_t dropped);

/// Row `flat` of a buffer without its last `kept` dims, and of its columns `count` from `from` on
/// (all where `count` is null).
mlir::Value rowOf(IndexBuilder index, mlir::Value buffer, mlir::Value flat, int64_t kept,
                  mlir::Value from = {}, mlir::Value count = {});

/// An element, or a vector of such, of f32, f16, bf16 or the bits of bf16 (i16), in f32.
mlir::Value widened(IndexBuilder index, mlir::Value element);

/// So many elements on the stack of the function that is written, wherever in its loops.
mlir::Value stackRoom(IndexBuilder index, int64_t elements, mlir::Type element);

/// for (i = from; i < to; i += step) body(i). `body` emits at the builder's insertion point; the
/// loop has no results.
void forLoop(IndexBuilder index, mlir::Value from, mlir::Value to, int64_t step,
             llvm::function_ref<void(mlir::Value)> body);

/// The same with values that are carried from one i to the next: `body` takes them, and returns
/// those of the next.
llvm::SmallVector<mlir::Value> carryingLoop(
    IndexBuilder index, mlir::Value from, mlir::Value to, mlir::Value step, mlir::ValueRange inits,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> body);

/// The same for i in [0, count); there is no loop where that is 1.
llvm::SmallVector<mlir::Value> carryingLoop(
    IndexBuilder index, int64_t count, mlir::ValueRange inits,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> body);

/// body() where `condition` holds, else `values`, which are of the same types.
llvm::SmallVector<mlir::Value> chosenOr(IndexBuilder index, mlir::Value condition,
                                        mlir::ValueRange values,
                                        llvm::function_ref<llvm::SmallVector<mlir::Value>()> body);

/// if (condition) yes() else no(), or one of both where it is known which.
void choose(IndexBuilder index, mlir::Value condition, llvm::function_ref<void()> yes,
            llvm::function_ref<void()> no = {});

/// if (value == cases[i]) body(cases[i]); the last case is taken for granted.
void switchOn(IndexBuilder index, mlir::Value value, llvm::ArrayRef<int64_t> cases,
              llvm::function_ref<void(int64_t)> body);

/// body(from, size) for groups of `size` of `count`, then for the rest, whose size is one of
/// `rests`.
void forGroups(IndexBuilder index, mlir::Value count, int64_t size, llvm::ArrayRef<int64_t> rests,
               llvm::function_ref<void(mlir::Value, int64_t)> body);

/// Units [from, to) of a kernel.
struct UnitShare {
  mlir::Value from, to;
};

} // namespace attn
