// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an op sees while it runs: its operands' values and the model's dims.
#pragma once

#include "compiler/reference/Tensor.h"
#include "dialect/Choices.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace attn::reference {

/// The value of an SSA value: a tensor, or a scalar where there is none.
struct RuntimeValue {
  std::shared_ptr<const Tensor> tensor;
  double scalar = 0;
};

/// The sizes of dynamic dims, by name.
using DimSizes = llvm::StringMap<int64_t>;

/// The values of one function's run.
struct Scope {
  explicit Scope(const DimSizes &dims) : dims(dims) {}

  const DimSizes &dims;
  llvm::DenseMap<mlir::Value, RuntimeValue> values;

  const RuntimeValue &operator[](mlir::Value value) const { return values.find(value)->second; }
  /// The tensor of a value that is one.
  const Tensor &tensor(mlir::Value value) const { return *(*this)[value].tensor; }
};

/// An error at an op's place in the model's source.
llvm::Error errorAt(mlir::Operation *op, const llvm::Twine &message);

/// The size of axis `axis` of `type`, by its name where it is dynamic.
llvm::Expected<int64_t> sizeOfAxis(mlir::Operation *op, mlir::RankedTensorType type, int64_t axis,
                                   const DimSizes &dims);

/// The shape of a result whose axes are those of `inputs` by name, static, or linear in a dim.
llvm::Expected<llvm::SmallVector<int64_t>> shapeFromNames(mlir::Operation *op,
                                                          mlir::RankedTensorType result,
                                                          mlir::ValueRange inputs,
                                                          const Scope &scope);

/// Strides that read `value`, of type `from`, along the axes of `result`: 0 along an axis it lacks.
llvm::SmallVector<int64_t> stridesAlong(mlir::RankedTensorType result, mlir::Type from,
                                        const Tensor &value);

/// One function per op; each takes its operands from the scope.
llvm::Expected<std::vector<Tensor>> evaluate(AttentionOp op, const Scope &scope);
llvm::Expected<Tensor> evaluate(ConcatOp op, const Scope &scope);
llvm::Expected<Tensor> evaluate(LinearOp op, const Scope &scope);
llvm::Expected<Tensor> evaluate(LookupOp op, const Scope &scope);
llvm::Expected<Tensor> evaluate(MapOp op, const Scope &scope);
llvm::Expected<Tensor> evaluate(NormOp op, const Scope &scope);
llvm::Expected<Tensor> evaluate(PickOp op, const Scope &scope);
llvm::Expected<Tensor> evaluate(RearrangeOp op, const Scope &scope);
llvm::Expected<Tensor> evaluate(PadOp op, const Scope &scope);
llvm::Expected<Tensor> evaluate(ReduceOp op, const Scope &scope);
llvm::Expected<Tensor> evaluate(RelabelOp op, const Scope &scope);
llvm::Expected<Tensor> evaluate(RotaryOp op, const Scope &scope);
llvm::Expected<Tensor> evaluate(SliceOp op, const Scope &scope);
llvm::Expected<Tensor> evaluate(SoftmaxOp op, const Scope &scope);
llvm::Expected<Tensor> evaluate(TopkOp op, const Scope &scope);
llvm::Expected<Tensor> evaluate(TableOp op, const Scope &scope);
llvm::Expected<Tensor> evaluate(WindowsOp op, const Scope &scope);

/// A norm over consecutive rows of `width` elements; `weight` and `bias` are null where there is
/// none.
Tensor normalise(const Tensor &x, NormAttr norm, size_t width, const Tensor *weight,
                 const Tensor *bias);

} // namespace attn::reference
