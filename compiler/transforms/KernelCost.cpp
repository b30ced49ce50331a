// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An op on tensors to the title, the operations and the bytes of the kernel that it becomes.
#include "compiler/transforms/KernelCost.h"
#include "compiler/transforms/BufferView.h"
#include "dialect/Locations.h"
#include "mlir/Interfaces/CastInterfaces.h"
#include "llvm/ADT/DenseSet.h"
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

/// The bytes of an op's operands and results.
static SizePolynomial bytesOf(Operation *op) {
  return bytesOf(op->getOperands()) + bytesOf(op->getResults());
}

/// All but constants.
static SmallVector<Operation *> operationsOf(Region &region) {
  SmallVector<Operation *> operations;
  if (!region.empty())
    for (Operation &op : region.front().without_terminator())
      if (!op.hasTrait<OpTrait::ConstantLike>())
        operations.push_back(&op);
  return operations;
}

SmallVector<std::string> attn::wordsOf(Region &region) {
  SmallVector<std::string> texts;
  DenseSet<Attribute> said;
  for (Operation *op : operationsOf(region)) {
    StringRef words = wordsAt(op->getLoc());
    if (!words.empty() && !said.insert(op->getLoc()).second)
      continue; // of the same expression
    if (isa<CastOpInterface>(op) && words.empty())
      texts.push_back(llvm::formatv("conversion to {0}", op->getResult(0).getType()));
    else
      texts.push_back(words.empty() ? op->getName().stripDialect().str() : words.str());
  }
  return texts;
}

/// " gelu, x + ..."
static std::string listed(Region &region) {
  SmallVector<std::string> texts = wordsOf(region);
  return texts.empty() ? "" : " " + llvm::join(texts, ", ");
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
  std::string fused = listed(op.getEpilogue());
  int64_t each = 2 * k + static_cast<int64_t>(operationsOf(op.getEpilogue()).size());
  return {llvm::formatv("linear {0} -> {1}{2}{3}", k, n, fused.empty() ? "" : ",", fused),
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
        auto each = static_cast<int64_t>(operationsOf(op.getBody()).size());
        return KernelCost{"map" + listed(op.getBody()),
                          elementsOf(tensorOf(op.getResult())) * SizePolynomial(each),
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
          elementsOf(normed) * SizePolynomial(kNormFlop), bytes};
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
