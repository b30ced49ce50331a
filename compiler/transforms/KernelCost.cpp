// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/transforms/KernelCost.h"
#include "compiler/transforms/BufferView.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace attn;

/// Operations per element of a layer norm: two sums, the difference, its square, and what scales
/// and shifts.
static constexpr int64_t kNormFlop = 8;

static RankedTensorType tensorOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static SizePolynomial bytesOf(RankedTensorType type) {
  unsigned bits = type.getElementType().getIntOrFloatBitWidth();
  return elementsOf(type) * SizePolynomial(std::max(bits / 8, 1u));
}

static SizePolynomial bytesOf(ValueRange tensors) {
  SizePolynomial sum;
  for (Value tensor : tensors)
    if (isa<RankedTensorType>(tensor.getType()))
      sum = sum + bytesOf(tensorOf(tensor));
  return sum;
}

/// Of an operand and a result.
static SizePolynomial bytesOf(Operation *op) {
  return bytesOf(op->getOperands()) + bytesOf(op->getResults());
}

SmallVector<StringRef> attn::operationsOf(Region &region) {
  SmallVector<StringRef> names;
  if (!region.empty())
    for (Operation &op : region.front().without_terminator())
      if (!op.hasTrait<OpTrait::ConstantLike>())
        names.push_back(op.getName().stripDialect());
  return names;
}

/// " mulf erf"
static std::string listed(ArrayRef<StringRef> names) {
  return names.empty() ? "" : " " + llvm::join(names, " ");
}

static std::string columnsOf(RankedTensorType type) {
  int64_t last = type.getShape().back();
  return ShapedType::isDynamic(last) ? "" : " " + std::to_string(last);
}

static KernelCost costOf(LinearOp op) {
  RankedTensorType input = tensorOf(op.getInput()), result = tensorOf(op.getResult());
  int64_t k = 1, n = 0;
  for (int64_t size : input.getShape().take_back(op.getContract()))
    k *= size;
  for (Value weights : op.getWeights())
    n += tensorOf(weights).getNumElements() / k;
  SmallVector<StringRef> fused = operationsOf(op.getEpilogue());
  int64_t each = 2 * k + static_cast<int64_t>(fused.size());
  return {llvm::formatv("linear {0} -> {1}{2}{3}", k, n, fused.empty() ? "" : ",", listed(fused)),
          elementsOf(result) * SizePolynomial(each), bytesOf(op.getOperation())};
}

static KernelCost costOf(AttentionOp op) {
  RankedTensorType query = tensorOf(op.getQuery()), key = tensorOf(op.getKey()),
                   out = tensorOf(op->getResult(0));
  SizePolynomial keys = sizeOf(key, axisIndex(key, op.getKeyAxis()));
  return {"attention" + columnsOf(query),
          SizePolynomial(2) * keys * (elementsOf(query) + elementsOf(out)),
          bytesOf(op.getOperation())};
}

KernelCost KernelCost::of(Operation *op) {
  return llvm::TypeSwitch<Operation *, KernelCost>(op)
      .Case<LinearOp, AttentionOp>([](auto op) { return costOf(op); })
      .Case([](MapOp op) {
        SmallVector<StringRef> names = operationsOf(op.getBody());
        return KernelCost{"map" + listed(names),
                          elementsOf(tensorOf(op.getResult())) *
                              SizePolynomial(static_cast<int64_t>(names.size())),
                          bytesOf(op.getOperation())};
      })
      .Case([](ReduceMeanOp op) {
        return KernelCost{"mean" + columnsOf(tensorOf(op.getResult())),
                          elementsOf(tensorOf(op.getInput())), bytesOf(op.getOperation())};
      })
      .Case([](LookupOp op) { // as much of the table as is copied
        return KernelCost{"lookup" + columnsOf(tensorOf(op.getResult())), 0,
                          bytesOf(op.getIndices()) +
                              SizePolynomial(2) * bytesOf(ValueRange(op.getResult()))};
      })
      .Case([](RotaryOp op) { // four products and two sums for two elements
        return KernelCost{"rotary" + columnsOf(tensorOf(op.getResult())),
                          SizePolynomial(3) * elementsOf(tensorOf(op.getResult())),
                          bytesOf(op.getOperation())};
      })
      .Default([](Operation *op) {
        return KernelCost{op->getName().stripDialect().str(), 0, bytesOf(op)};
      });
}

KernelCost KernelCost::ofNorm(RankedTensorType normed, Value gamma) {
  int64_t columns = tensorOf(gamma).getNumElements();
  return {"norm " + std::to_string(columns), elementsOf(normed) * SizePolynomial(kNormFlop),
          SizePolynomial(2) * bytesOf(normed) + SizePolynomial(2) * bytesOf(tensorOf(gamma))};
}

KernelCost KernelCost::ofRounding(RankedTensorType rows) {
  return {"rounding to bf16", 0, bytesOf(rows) + SizePolynomial(2) * elementsOf(rows)};
}

KernelCost KernelCost::ofQuantization(RankedTensorType rows, Type stored) {
  constexpr int64_t flop = 5; // two comparisons; a product, a sum and what rounds them
  return {"quantization", elementsOf(rows) * SizePolynomial(flop),
          elementsOf(rows) * SizePolynomial(stored.getIntOrFloatBitWidth() / 8 + 1)};
}

KernelCost KernelCost::ofNormedBytes(RankedTensorType rows, Value gamma) {
  KernelCost norm = ofNorm(rows, gamma), quantization = ofQuantization(rows, rows.getElementType());
  // Normed rows stay in the nearest cache: of their bytes only those that come out are moved.
  SizePolynomial near = SizePolynomial(2) * bytesOf(rows);
  return {norm.title + " and quantization", norm.flop + quantization.flop,
          norm.bytes + quantization.bytes - near};
}

KernelCost KernelCost::ofCopy(const SizePolynomial &elements, Type element) {
  return {"copy", 0, elements * SizePolynomial(2 * element.getIntOrFloatBitWidth() / 8)};
}

KernelCost KernelCost::ofCombination(const SizePolynomial &bytes) {
  return {"combination of parts of keys", 0, bytes};
}
