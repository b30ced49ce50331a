// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.pad and attn.windows.
#include "compiler/reference/Scope.h"
#include "llvm/ADT/APFloat.h"

using namespace mlir;
using namespace attn;
using namespace attn::reference;

llvm::Expected<Tensor> attn::reference::evaluate(PadOp op, const Scope &scope) {
  const Tensor &x = scope.tensor(op.getInput());
  SmallVector<int64_t> shape(x.shape);
  for (auto [size, low, high] : llvm::zip(shape, op.getLow(), op.getHigh()))
    size += low + high;
  Tensor y = zeros(shape);
  std::fill(y.data.begin(), y.data.end(), op.getValue().convertToDouble());
  SmallVector<int64_t> to = denseStrides(shape);
  copyStrided(x.shape, x.data.data(), denseStrides(x.shape),
              y.data.data() + offsetAt(op.getLow(), to), to);
  return y;
}

llvm::Expected<Tensor> attn::reference::evaluate(WindowsOp op, const Scope &scope) {
  const Tensor &x = scope.tensor(op.getInput());
  SmallVector<int64_t> shape(x.shape), from = denseStrides(x.shape);
  RankedTensorType type = op.getResult().getType();
  for (auto [i, axis] : llvm::enumerate(op.getAxes())) {
    int64_t places = type.getDimSize(static_cast<int64_t>(x.shape.size() + i)),
            span = (places - 1) * op.getDilations()[i] + 1, step = from[axis];
    shape[axis] = (shape[axis] - span) / op.getStrides()[i] + 1;
    shape.push_back(places);
    from[axis] = step * op.getStrides()[i];
    from.push_back(step * op.getDilations()[i]);
  }
  Tensor y = zeros(shape);
  copyStrided(shape, x.data.data(), from, y.data.data(), denseStrides(shape));
  return y;
}
