// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tensors' elements are in memory, by what reads them.
#include "compiler/transforms/plan/Elements.h"
#include "compiler/transforms/FewQueries.h"
#include "compiler/transforms/TargetModel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attn::planning {

Precision precisionOf(const ModulePlan &module, LinearOp op) {
  // Packed ones share theirs.
  Precision precision = saidPrecision(op.getWeights().front()).value_or(module.precision);
  if (!module.placement().multipliesAll)
    precision = storedPrecision(precision);
  // Weights of 16 bits are multiplied by pairs.
  bool isOdd = typeOf(op.getInput()).getShape().back() % 2 != 0;
  if (formatOf(precision).isHalf() && isOdd)
    return Precision::F32;
  // Windows are read where they overlap: as rows of bytes or of 16 bits they would be written
  // apart. GPUs read the weights that CPUs do, so they are the same there.
  return isOfWindows(op) ? Precision::F32 : precision;
}

bool areRounded(const ModulePlan &module, LinearOp op) {
  // In pairs, without padding, and more rows than are multiplied as f32.
  constexpr int64_t granule = 32;
  ArrayRef<int64_t> shape = typeOf(op.getInput()).getShape();
  ArrayRef<int64_t> rows = shape.drop_back(op.getContract()),
                    contracted = shape.take_back(op.getContract());
  bool areFew =
      !ShapedType::isDynamicShape(rows) && ShapedType::getNumElements(rows) <= TargetModel::fewRows;
  Precision precision = precisionOf(module, op);
  bool isNarrow = precision == Precision::BF16 || formatOf(precision).takesBytes();
  return module.targets.allLevelsMultiplyPairs() && isNarrow && !areFew && !rows.empty() &&
         !isOfWindows(op) && !ShapedType::isDynamicShape(contracted) &&
         contracted.back() % 2 == 0 && ShapedType::getNumElements(contracted) % granule == 0;
}

bool areRounded(const ModulePlan &module, AttentionOp op) {
  return module.targets.allLevelsMultiplyPairs() && module.multipliesPairs() &&
         hasManyQueries(op) && isOfProducts(op);
}

/// Whether all that reads a tensor, or a view of it, is such attentions.
static bool isOnlyRounded(const ModulePlan &module, Value tensor) {
  return isReadOnlyBy(tensor, [&](OpOperand &use) {
    auto attention = dyn_cast<AttentionOp>(use.getOwner());
    return attention && use.getOperandNumber() < 3 && areRounded(module, attention);
  });
}

/// Whether the kernel that computes a tensor can write 16 bits of it.
static bool canBeHalves(const ModulePlan &module, Value tensor) {
  auto compute = dyn_cast_if_present<ComputeOpInterface>(tensor.getDefiningOp());
  if (!compute || tensor != compute->getResult(0) ||
      !compute.writesHalves(module.placement().mapsWriteHalves))
    return false;
  auto attention = dyn_cast<AttentionOp>(*compute);
  return module.placement().readsAnyElement || !attention || hasManyQueries(attention);
}

LinearOp roundedFor(const ModulePlan &module, Value tensor) {
  if (!canBeHalves(module, tensor))
    return {};
  LinearOp first;
  for (OpOperand &use : tensor.getUses()) {
    auto linear = dyn_cast<LinearOp>(use.getOwner());
    if (!linear || use.getOperandNumber() != 0 || linear.getNorm() || !areRounded(module, linear) ||
        (first && first.getContract() != linear.getContract()))
      return {};
    first = linear;
  }
  return first;
}

Type elementFor(const ModulePlan &module, Value tensor) {
  if (!typeOf(tensor).getElementType().isF32() || !canBeHalves(module, tensor))
    return {};
  if (isOnlyRounded(module, tensor))
    return IntegerType::get(tensor.getContext(), 16);
  return module.keptHalf() && module.isOnlyMultiplied(tensor) ? module.keptHalf() : Type();
}

Value fromStored(OpBuilder &builder, Location loc, Value value, Type type) {
  if (value.getType() == type)
    return value;
  if (!type.isInteger(1))
    return arith::BitcastOp::create(builder, loc, type, value);
  Value none = arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(value.getType(), 0));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value, none);
}

Value toStored(OpBuilder &builder, Location loc, Value value, Type stored) {
  if (value.getType() == stored)
    return value;
  if (stored.isInteger(16) && value.getType().isF32()) // the bits of bf16
    value = arith::TruncFOp::create(builder, loc, builder.getBF16Type(), value);
  if (stored.isBF16() || stored.isF16()) // kept narrow on GPUs
    return arith::TruncFOp::create(builder, loc, stored, value);
  if (!value.getType().isInteger(1))
    return arith::BitcastOp::create(builder, loc, stored, value);
  return arith::ExtUIOp::create(builder, loc, stored, value);
}

} // namespace attn::planning
