// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.rearrange and attn.relabel: the same elements under other axes.
#include "compiler/reference/Scope.h"

using namespace mlir;
using namespace attn;
using namespace attn::reference;

/// The sizes of the atoms that axes of `shape` split into; a dynamic one is what its axis leaves
/// over.
static llvm::Expected<SmallVector<int64_t>> atomSizes(RearrangeOp op, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> atoms(op.getAtoms());
  size_t next = 0;
  for (auto [size, count] : llvm::zip(shape, op.getSplit())) {
    auto group = MutableArrayRef(atoms).slice(next, count);
    next += count;
    int64_t *dynamic = llvm::find(group, -1);
    if (dynamic == group.end())
      continue;
    *dynamic = 1;
    int64_t rest = countOf(group);
    if (size % rest != 0)
      return errorAt(op,
                     "expected an axis divisible by " + Twine(rest) + ", but got " + Twine(size));
    *dynamic = size / rest;
  }
  return atoms;
}

llvm::Expected<Tensor> attn::reference::evaluate(RearrangeOp op, const Scope &scope) {
  const Tensor &x = scope.tensor(op.getInput());
  auto atoms = atomSizes(op, x.shape);
  if (!atoms)
    return atoms.takeError();
  SmallVector<int64_t> strides = denseStrides(*atoms), sizes, from, shape;
  for (int64_t atom : op.getOrder()) {
    sizes.push_back((*atoms)[atom]);
    from.push_back(strides[atom]);
  }
  size_t next = 0;
  for (int64_t count : op.getMerge()) {
    shape.push_back(countOf(ArrayRef(sizes).slice(next, count)));
    next += count;
  }
  Tensor y = zeros(shape);
  copyStrided(sizes, x.data.data(), from, y.data.data(), denseStrides(sizes));
  return y;
}

llvm::Expected<Tensor> attn::reference::evaluate(RelabelOp op, const Scope &scope) {
  return scope.tensor(op.getInput());
}
