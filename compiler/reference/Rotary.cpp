// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.rotary: (a, b) becomes (a cos - b sin, b cos + a sin) for the pairs of features that have
// angles; the others stay.
#include "compiler/reference/Scope.h"

using namespace mlir;
using namespace attn;
using namespace attn::reference;

llvm::Expected<Tensor> attn::reference::evaluate(RotaryOp op, const Scope &scope) {
  const Tensor &x = scope.tensor(op.getInput()), &cos = scope.tensor(op.getCos()),
               &sin = scope.tensor(op.getSin());
  auto type = op.getInput().getType();
  SmallVector<int64_t> strides = stridesAlong(type, op.getCos().getType(), cos); // of the angles
  SmallVector<int64_t> rows = x.shape;
  rows.back() = 1;
  int64_t pairs = cos.shape.back();
  Tensor y = zeros(x.shape);
  y.data = x.data;
  int64_t row = 0;
  forEachIndex(rows, [&](ArrayRef<int64_t> index) {
    int64_t angles = offsetAt(index, strides);
    for (int64_t p = 0; p < pairs; ++p) {
      int64_t first = row + (op.getInterleaved() ? 2 * p : p);
      int64_t second = row + (op.getInterleaved() ? 2 * p + 1 : p + pairs);
      double a = x.data[first], b = x.data[second];
      y.data[first] = a * cos.data[angles + p] - b * sin.data[angles + p];
      y.data[second] = b * cos.data[angles + p] + a * sin.data[angles + p];
    }
    row += x.shape.back();
  });
  return y;
}
