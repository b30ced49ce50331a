// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.slice, attn.concat: ops along one axis.
#include "compiler/reference/Scope.h"

using namespace mlir;
using namespace attn;
using namespace attn::reference;

/// `shape` without axis `axis`.
static SmallVector<int64_t> without(ArrayRef<int64_t> shape, int64_t axis) {
  SmallVector<int64_t> rest(shape);
  rest.erase(rest.begin() + axis);
  return rest;
}

llvm::Expected<Tensor> attn::reference::evaluate(SliceOp op, const Scope &scope) {
  const Tensor &x = scope.tensor(op.getInput());
  int64_t axis = op.getAxis();
  SmallVector<int64_t> sizes = x.shape, strides = denseStrides(x.shape);
  auto taken = op.getDrop() ? llvm::Expected<int64_t>(1)
                            : sizeOfAxis(op, op.getResult().getType(), axis, scope.dims);
  if (!taken)
    return taken.takeError();
  sizes[axis] = *taken;
  int64_t offset = op.getEnd() ? x.shape[axis] - *taken : static_cast<int64_t>(op.getOffset());
  Tensor y = zeros(sizes);
  copyStrided(sizes, x.data.data() + offset * strides[axis], strides, y.data.data(),
              denseStrides(sizes));
  if (op.getDrop())
    y.shape = without(sizes, axis);
  return y;
}

/// The shape of the concatenated result: the named axes, and the sum of the inputs' sizes along
/// `axis`.
static llvm::Expected<SmallVector<int64_t>> concatShape(ConcatOp op, const Scope &scope) {
  auto shape = shapeFromNames(op, op.getResult().getType(), op.getInputs(), scope);
  if (!shape)
    return shape;
  int64_t &size = (*shape)[op.getAxis()] = 0;
  for (auto [input, along] : llvm::zip(op.getInputs(), op.getAlong()))
    size += scope.tensor(input).shape[along];
  return shape;
}

llvm::Expected<Tensor> attn::reference::evaluate(ConcatOp op, const Scope &scope) {
  auto type = op.getResult().getType();
  auto shape = concatShape(op, scope);
  if (!shape)
    return shape.takeError();
  Tensor y = zeros(*shape);
  SmallVector<int64_t> to = denseStrides(*shape);
  int64_t axis = op.getAxis(), first = 0;
  for (auto [input, along] : llvm::zip(op.getInputs(), op.getAlong())) {
    const Tensor &x = scope.tensor(input);
    SmallVector<int64_t> sizes = *shape, from = stridesAlong(type, input.getType(), x);
    sizes[axis] = x.shape[along];
    from[axis] = denseStrides(x.shape)[along]; // whatever the concatenated axis is called here
    copyStrided(sizes, x.data.data(), from, y.data.data() + first * to[axis], to);
    first += x.shape[along];
  }
  return y;
}
