// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops of a scalar region to the same ops on vectors; what depends on nothing but scalars stays
// scalar.
#include "compiler/kernels/VectorizeRegion.h"
#include "compiler/kernels/Loops.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;

/// Positions have 32 bits in vectors: they are far below 2^31. What is read from i64 has 64.
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

/// `value`, read from memory, as a region has it: f32, index or i1.
static Value converted(OpBuilder &builder, Location loc, Value value) {
  Type type = value.getType(), element = getElementTypeOrSelf(type);
  auto like = [&](Type scalar) -> Type {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? VectorType::get(vector.getShape(), scalar) : scalar;
  };
  if (isa<FloatType>(element)) {
    if (element.getIntOrFloatBitWidth() < 32)
      return arith::ExtFOp::create(builder, loc, like(builder.getF32Type()), value);
    return element.isF32()
               ? value
               : arith::TruncFOp::create(builder, loc, like(builder.getF32Type()), value);
  }
  if (element.isInteger(8)) {
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value, zero);
  }
  if (element.isInteger(1))
    return value;
  if (!isa<VectorType>(type))
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), value);
  return value;
}

/// A vector of whole numbers as another type of them.
static Value castWhole(OpBuilder &builder, Location loc, Value value, Type element, int64_t lanes) {
  auto type = VectorType::get({lanes}, element);
  unsigned from = getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth(),
           to = element.getIntOrFloatBitWidth();
  if (from == to)
    return value;
  return from < to ? arith::ExtSIOp::create(builder, loc, type, value).getResult()
                   : arith::TruncIOp::create(builder, loc, type, value).getResult();
}

Value attn::inlineHook(OpBuilder &builder, Region &hook, ValueRange own, ValueRange positions,
                       ValueRange captures, std::optional<AttentionTerm> term) {
  IRMapping mapping;
  SmallVector<Value> arguments(own);
  llvm::append_range(arguments, positions);
  if (hook.getNumArguments() > arguments.size())
    llvm::append_range(arguments, captures);
  mapping.map(hook.getArguments(), arguments);
  for (Operation &inner : hook.front().without_terminator()) {
    Operation *clone = builder.clone(inner, mapping);
    if (term)
      clone->setLoc(forTerm(clone->getLoc(), *term));
  }
  return mapping.lookupOrDefault(cast<YieldOp>(hook.front().getTerminator()).getValue());
}

Value attn::loadElement(OpBuilder &builder, Location loc, Value buffer, ValueRange positions,
                        int64_t lanes) {
  auto isScalar = [](Value position) { return !isa<VectorType>(position.getType()); };
  if (llvm::all_of(positions, isScalar))
    return converted(builder, loc, memref::LoadOp::create(builder, loc, buffer, positions));
  // base[scalar positions] + sum of vector positions * strides
  auto type = cast<MemRefType>(buffer.getType());
  auto metadata = memref::ExtractStridedMetadataOp::create(builder, loc, buffer);
  IndexBuilder index(builder, loc);
  Value start = metadata.getOffset(), lane;
  for (auto [position, stride] : llvm::zip_equal(positions, metadata.getStrides())) {
    if (isScalar(position)) {
      start = index.add(start, index.mul(position, stride));
      continue;
    }
    Value wide = splat(builder, loc, stride, lanes);
    Value offset = builder.createOrFold<arith::MulIOp>(loc, position, wide);
    lane = lane ? arith::AddIOp::create(builder, loc, lane, offset).getResult() : offset;
  }
  // As far as any element may lie; that positions are inside was shown before.
  constexpr int64_t all = int64_t(1) << 40;
  auto flatType =
      MemRefType::get({all}, type.getElementType(),
                      StridedLayoutAttr::get(builder.getContext(), ShapedType::kDynamic, {1}));
  Value flat = memref::ReinterpretCastOp::create(builder, loc, flatType, metadata.getBaseBuffer(),
                                                 OpFoldResult(start),
                                                 ArrayRef<OpFoldResult>{builder.getIndexAttr(all)},
                                                 ArrayRef<OpFoldResult>{builder.getIndexAttr(1)});
  auto vectorType = VectorType::get({lanes}, type.getElementType());
  Value everywhere = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(VectorType::get({lanes}, builder.getI1Type()), true));
  Value nothing = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(vectorType));
  Value elements = vector::GatherOp::create(
      builder, loc, vectorType, flat, ValueRange{index.constant(0)}, lane, everywhere, nothing);
  return converted(builder, loc, elements);
}

namespace {

/// The ops of a region one by one, each on what the ones before gave.
class RegionVectorizer {
public:
  RegionVectorizer(OpBuilder &builder, int64_t lanes) : builder(builder), lanes(lanes) {}

  /// Null after an error has been reported.
  Value run(Block &block, ValueRange arguments, const DenseMap<Operation *, Value> &read);

private:
  LogicalResult vectorize(Operation &op);
  void load(ElementOp element);
  void castIndex(arith::IndexCastOp op, bool isScalar);
  Value vectorOf(Value value, Location loc, bool asWide = false);

  OpBuilder &builder;
  int64_t lanes;
  IRMapping vectors;
  DenseSet<Value> wide; ///< Whole numbers of 64 bits: elements of i64, what is computed of them.
};

} // namespace

/// A whole number has 32 bits in a vector, or 64.
Value RegionVectorizer::vectorOf(Value value, Location loc, bool asWide) {
  Value mapped = vectors.lookupOrDefault(value);
  if (!asWide || !value.getType().isIndex())
    return splat(builder, loc, mapped, lanes);
  Type i64 = builder.getI64Type();
  if (isa<VectorType>(mapped.getType()))
    return castWhole(builder, loc, mapped, i64, lanes);
  Value number = arith::IndexCastOp::create(builder, loc, i64, mapped);
  return vector::BroadcastOp::create(builder, loc, VectorType::get({lanes}, i64), number);
}

void RegionVectorizer::load(ElementOp element) {
  Location loc = element.getLoc();
  Value buffer = vectors.lookupOrDefault(element.getTensor());
  SmallVector<Value> positions;
  for (Value position : element.getPositions()) {
    Value mapped = vectors.lookupOrDefault(position);
    if (isa<VectorType>(mapped.getType())) // inside of an axis, whatever it was computed from
      mapped = castWhole(builder, loc, mapped, builder.getI32Type(), lanes);
    positions.push_back(mapped);
  }
  vectors.map(element.getResult(), loadElement(builder, loc, buffer, positions, lanes));
  if (getElementTypeOrSelf(buffer.getType()).isInteger(64))
    wide.insert(element.getResult());
}

/// Casts an index to a number that is calculated with: one of 64 bits keeps them.
void RegionVectorizer::castIndex(arith::IndexCastOp op, bool isScalar) {
  Type element = elementType(op.getType());
  if (wide.contains(op.getIn()))
    element = builder.getI64Type();
  Value x = vectors.lookupOrDefault(op.getIn());
  vectors.map(op.getResult(),
              isScalar ? arith::IndexCastOp::create(builder, op.getLoc(), element, x).getResult()
                       : castWhole(builder, op.getLoc(), x, element, lanes));
}

LogicalResult RegionVectorizer::vectorize(Operation &op) {
  Location loc = op.getLoc();
  if (op.hasTrait<OpTrait::ConstantLike>()) {
    builder.clone(op, vectors);
    return success();
  }
  if (auto element = dyn_cast<ElementOp>(op)) {
    load(element);
    return success();
  }
  if (!OpTrait::hasElementwiseMappableTraits(&op) || op.getNumRegions() != 0)
    return op.emitError() << "'" << op.getName() << "' has no vector form";
  bool isWide = llvm::any_of(op.getOperands(), [&](Value x) { return wide.contains(x); });
  if (isWide && op.getResult(0).getType().isIndex())
    wide.insert(op.getResult(0));
  // What is the same in all lanes is computed once; functions have a form for vectors alone.
  auto isScalar = [&](Value operand) {
    return !isa<VectorType>(vectors.lookupOrDefault(operand).getType());
  };
  bool isUniform =
      isa<arith::ArithDialect>(op.getDialect()) && llvm::all_of(op.getOperands(), isScalar);
  if (auto indexCast = dyn_cast<arith::IndexCastOp>(op);
      indexCast && op.getOperand(0).getType().isIndex()) {
    castIndex(indexCast, isUniform);
    return success();
  }
  if (isUniform) {
    builder.clone(op, vectors);
    return success();
  }
  SmallVector<Value> operands;
  for (Value operand : op.getOperands())
    operands.push_back(vectorOf(operand, loc, isWide));
  if (isa<arith::IndexCastOp>(op)) {
    Type element = elementType(op.getResult(0).getType());
    vectors.map(op.getResult(0), castWhole(builder, loc, operands.front(), element, lanes));
    return success();
  }
  SmallVector<Type> types;
  for (Type type : op.getResultTypes()) {
    Type element = isWide && type.isIndex() ? builder.getI64Type() : elementType(type);
    types.push_back(VectorType::get({lanes}, element));
  }
  Operation *vector =
      builder.create(loc, op.getName().getIdentifier(), operands, types, op.getAttrs());
  vectors.map(op.getResults(), vector->getResults());
  return success();
}

Value RegionVectorizer::run(Block &block, ValueRange arguments,
                            const DenseMap<Operation *, Value> &read) {
  for (auto [argument, value] : llvm::zip_equal(block.getArguments(), arguments))
    vectors.map(argument, value);
  for (Operation &op : block.without_terminator())
    if (auto found = read.find(&op); found != read.end())
      vectors.map(op.getResult(0), found->second);
    else if (failed(vectorize(op)))
      return {};
  auto yield = cast<YieldOp>(block.getTerminator());
  return vectorOf(yield.getValue(), yield.getLoc());
}

Value attn::vectorizeRegion(OpBuilder &builder, Region &region, ValueRange arguments, int64_t lanes,
                            const DenseMap<Operation *, Value> &read) {
  return RegionVectorizer(builder, lanes).run(region.front(), arguments, read);
}
