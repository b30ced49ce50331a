// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.map: a scalar function of elements matched by axis name.
#include "compiler/reference/Region.h"

using namespace mlir;
using namespace attn;
using namespace attn::reference;

llvm::Expected<Tensor> attn::reference::evaluate(MapOp op, const Scope &scope) {
  auto type = op.getResult().getType();
  auto shape = shapeFromNames(op, type, op.getInputs(), scope);
  if (!shape)
    return shape.takeError();
  auto program = RegionProgram::create(op.getBody(), scope);
  if (!program)
    return program.takeError();
  SmallVector<SmallVector<int64_t>> strides;
  for (Value input : op.getInputs())
    strides.push_back(stridesAlong(type, input.getType(), scope.tensor(input)));
  Tensor y = zeros(*shape);
  double *element = y.data.data();
  forEachIndex(*shape, [&](ArrayRef<int64_t> index) {
    for (auto [i, input] : llvm::enumerate(op.getInputs()))
      program->setScalar(i, scope.tensor(input).data[offsetAt(index, strides[i])]);
    *element++ = program->runScalar();
  });
  return y;
}
