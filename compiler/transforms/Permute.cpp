// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Permutations of axes, as attn.rearrange.
#include "compiler/transforms/Permute.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace attn {

RankedTensorType permuted(RankedTensorType type, ArrayRef<int64_t> order) {
  SmallVector<int64_t> shape;
  SmallVector<StringAttr> names;
  for (int64_t d : order) {
    shape.push_back(type.getDimSize(d));
    names.push_back(axesOf(type)[d]);
  }
  return axesTensor(type.getElementType(), shape, names);
}

Value permuted(OpBuilder &builder, Location loc, Value tensor, ArrayRef<int64_t> order) {
  if (llvm::is_sorted(order))
    return tensor;
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<int64_t> ones(type.getRank(), 1), atoms(type.getShape());
  for (int64_t &atom : atoms)
    atom = ShapedType::isDynamic(atom) ? -1 : atom;
  return RearrangeOp::create(builder, loc, permuted(type, order), tensor, ones, atoms, order, ones);
}

} // namespace attn
