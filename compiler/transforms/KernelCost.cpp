// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An op on tensors to the title, the operations and the bytes of the kernel that it becomes.
#include "compiler/transforms/KernelCost.h"
#include "compiler/transforms/BufferView.h"

using namespace mlir;
using namespace attn;

/// Operations per element of a layer norm: two sums, the difference, its square, and what scales
/// and shifts.
static constexpr int64_t normFlop = 8;

static RankedTensorType tensorOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static SizePolynomial bytesOf(RankedTensorType type) {
  unsigned bits = type.getElementType().getIntOrFloatBitWidth();
  return elementsOf(type) * SizePolynomial(std::max(bits / 8, 1u));
}

static SizePolynomial bytesOf(ArrayRef<Value> tensors) {
  SizePolynomial sum;
  for (Value tensor : tensors)
    sum = sum + bytesOf(tensorOf(tensor));
  return sum;
}

/// Of attention: two products of every query with every key.
static SizePolynomial flopOf(AttentionOp op) {
  RankedTensorType key = tensorOf(op.getKey());
  SizePolynomial keys = sizeOf(key, axisIndex(key, op.getKeyAxis()));
  return SizePolynomial(2) * keys *
         (elementsOf(tensorOf(op.getQuery())) + elementsOf(tensorOf(op->getResult(0))));
}

KernelCost KernelCost::of(ComputeOpInterface op) {
  auto attention = dyn_cast<AttentionOp>(*op);
  SizePolynomial flop =
      attention ? flopOf(attention)
                : elementsOf(tensorOf(op.workTensor())) * SizePolynomial(op.flopPerElement());
  return {op.costTitle(), flop, bytesOf(op.movedTensors())};
}

RowNorm RowNorm::of(NormOp op) {
  return {op.getNorm(), op.getWeight(), op.getBias(), static_cast<int64_t>(op.getAxes())};
}

RowNorm RowNorm::of(LinearOp op) {
  return {op.getNormAttr(), op.getNormWeight(), op.getNormBias(),
          static_cast<int64_t>(op.getContract())};
}

KernelCost KernelCost::ofNorm(RankedTensorType normed, const RowNorm &norm) {
  int64_t columns = ShapedType::getNumElements(normed.getShape().take_back(norm.axes));
  SizePolynomial bytes = SizePolynomial(2) * bytesOf(normed);
  for (Value row : {norm.weight, norm.bias})
    if (row)
      bytes = bytes + bytesOf(tensorOf(row));
  return {(norm.norm.title() + " " + llvm::Twine(columns)).str(),
          elementsOf(normed) * SizePolynomial(normFlop), bytes};
}

KernelCost KernelCost::ofRounding(RankedTensorType rows) {
  return {"rounding to bf16", 0, bytesOf(rows) + SizePolynomial(2) * elementsOf(rows)};
}

KernelCost KernelCost::ofQuantization(RankedTensorType rows, Type stored) {
  constexpr int64_t flop = 5; // two comparisons; a product, a sum and what rounds them
  return {"quantization", elementsOf(rows) * SizePolynomial(flop),
          elementsOf(rows) * SizePolynomial(stored.getIntOrFloatBitWidth() / 8 + 1)};
}

KernelCost KernelCost::ofNormedBytes(RankedTensorType rows, const RowNorm &norm) {
  KernelCost normed = ofNorm(rows, norm),
             quantization = ofQuantization(rows, rows.getElementType());
  // Normed rows stay in the nearest cache: of their bytes only those that come out are moved.
  SizePolynomial near = SizePolynomial(2) * bytesOf(rows);
  return {normed.title + " and quantization", normed.flop + quantization.flop,
          normed.bytes + quantization.bytes - near};
}

KernelCost KernelCost::ofCopy(const SizePolynomial &elements, Type element) {
  return {"copy", 0, elements * SizePolynomial(2 * element.getIntOrFloatBitWidth() / 8)};
}

KernelCost KernelCost::ofCombination(const SizePolynomial &bytes) {
  return {"combination of parts of keys", 0, bytes};
}
