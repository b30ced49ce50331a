// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/cpu/VectorizeRegion.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;

Value attn::splat(OpBuilder &builder, Location loc, Value value, int64_t lanes) {
  if (isa<VectorType>(value.getType()))
    return value;
  auto type = VectorType::get({lanes}, value.getType());
  Attribute constant;
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
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(vectorOf(operand, loc));
    SmallVector<Type> types;
    for (Type type : op.getResultTypes())
      types.push_back(VectorType::get({lanes}, type));
    Operation *wide =
        builder.create(loc, op.getName().getIdentifier(), operands, types, op.getAttrs());
    vectors.map(op.getResults(), wide->getResults());
  }
  llvm_unreachable("a region ends with attn.yield");
}
