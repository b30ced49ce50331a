// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/cpu/VectorizeRegion.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;

/// Positions have 32 bits in vectors: they are far below 2^31.
static Type elementType(Type scalar) {
  return scalar.isIndex() ? IntegerType::get(scalar.getContext(), 32) : scalar;
}

Value attn::splat(OpBuilder &builder, Location loc, Value value, int64_t lanes) {
  if (isa<VectorType>(value.getType()))
    return value;
  auto type = VectorType::get({lanes}, elementType(value.getType()));
  Attribute constant;
  if (APInt position; value.getType().isIndex()) {
    if (matchPattern(value, m_ConstantInt(&position)))
      return arith::ConstantOp::create(builder, loc,
                                       DenseElementsAttr::get(type, position.trunc(32)));
    value = arith::IndexCastOp::create(builder, loc, type.getElementType(), value);
  }
  if (matchPattern(value, m_Constant(&constant)))
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(type, ArrayRef<Attribute>(constant)));
  return vector::BroadcastOp::create(builder, loc, type, value);
}

Value attn::vectorizeRegion(OpBuilder &builder, Region &region, ValueRange arguments,
                            int64_t lanes) {
  IRMapping vectors;
  Block &block = region.front();
  for (auto [argument, value] : llvm::zip_equal(block.getArguments(), arguments))
    vectors.map(argument, value);
  auto vectorOf = [&](Value value, Location loc) {
    return splat(builder, loc, vectors.lookupOrDefault(value), lanes);
  };
  for (Operation &op : block) {
    Location loc = op.getLoc();
    if (auto yield = dyn_cast<YieldOp>(op))
      return vectorOf(yield.getValue(), loc);
    if (op.hasTrait<OpTrait::ConstantLike>()) {
      builder.clone(op, vectors);
      continue;
    }
    if (!OpTrait::hasElementwiseMappableTraits(&op) || op.getNumRegions() != 0) {
      op.emitError() << "'" << op.getName() << "' has no vector form";
      return {};
    }
    // What is the same in all lanes is computed once; functions have a form for vectors alone.
    auto isScalar = [&](Value operand) {
      return !isa<VectorType>(vectors.lookupOrDefault(operand).getType());
    };
    if (isa<arith::ArithDialect>(op.getDialect()) && llvm::all_of(op.getOperands(), isScalar)) {
      builder.clone(op, vectors);
      continue;
    }
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(vectorOf(operand, loc));
    if (isa<arith::IndexCastOp>(op)) { // as wide already
      vectors.map(op.getResult(0), operands.front());
      continue;
    }
    SmallVector<Type> types;
    for (Type type : op.getResultTypes())
      types.push_back(VectorType::get({lanes}, elementType(type)));
    Operation *wide =
        builder.create(loc, op.getName().getIdentifier(), operands, types, op.getAttrs());
    vectors.map(op.getResults(), wide->getResults());
  }
  llvm_unreachable("a region ends with attn.yield");
}
