// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A score's region to a ScoreFunction: finds the one inner product, a constant factor, and the
// vectors that are read.
#include "compiler/kernels/ScoreFunction.h"
#include "compiler/support/Errors.h"
#include "dialect/Locations.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;

/// The value of a scalar that is computed from constants alone.
static Attribute foldConstant(Value value) {
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant)))
    return constant;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumResults() != 1 || op->getNumRegions() != 0 || op->getNumOperands() == 0)
    return {};
  SmallVector<Attribute> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(foldConstant(operand));
    if (!operands.back())
      return {};
  }
  SmallVector<OpFoldResult> results;
  if (failed(op->fold(operands, results)) || results.size() != 1)
    return {};
  return dyn_cast<Attribute>(results.front());
}

static std::optional<double> constantOf(Value value) {
  if (auto number = llvm::dyn_cast_if_present<FloatAttr>(foldConstant(value)))
    return number.getValueAsDouble();
  return std::nullopt;
}

/// The constant that `value` is times `dot`, if it is that.
static std::optional<double> factorOf(Value value, Value dot) {
  if (value == dot)
    return 1;
  auto scaled = [&](Value inner, std::optional<double> by) -> std::optional<double> {
    std::optional<double> factor = by ? factorOf(inner, dot) : std::nullopt;
    return factor ? std::optional(*factor * *by) : std::nullopt;
  };
  if (auto mul = value.getDefiningOp<arith::MulFOp>()) {
    if (auto factor = scaled(mul.getLhs(), constantOf(mul.getRhs())))
      return factor;
    return scaled(mul.getRhs(), constantOf(mul.getLhs()));
  }
  if (auto div = value.getDefiningOp<arith::DivFOp>())
    if (std::optional<double> divisor = constantOf(div.getRhs()); divisor && *divisor != 0)
      return scaled(div.getLhs(), 1 / *divisor);
  if (auto negated = value.getDefiningOp<arith::NegFOp>())
    return scaled(negated.getOperand(), -1);
  return std::nullopt;
}

/// An error about a correct model that this back end cannot compile.
static InFlightDiagnostic unsupported(Operation *op) {
  return emitErrorOf(ErrorKind::Input, op->getLoc()) << "a score with ";
}

/// Collects the vectors that `value`, a vector of one value for each feature, is computed from.
static LogicalResult collectVectors(Operation *op, Value value, Block &block,
                                    ScoreFunction &function) {
  Attribute constant;
  if (value == block.getArgument(0) || value == block.getArgument(1) ||
      matchPattern(value, m_Constant(&constant)))
    return success();
  Operation *computed = value.getDefiningOp();
  if (auto element = dyn_cast_if_present<ElementOp>(computed)) {
    if (!llvm::is_contained(function.vectors, element))
      function.vectors.push_back(element);
    return success();
  }
  if (!computed || !OpTrait::hasElementwiseMappableTraits(computed))
    return unsupported(op) << "vectors that are not computed element by element";
  for (Value operand : computed->getOperands())
    if (failed(collectVectors(op, operand, block, function)))
      return failure();
  return success();
}

FailureOr<ScoreFunction> ScoreFunction::of(Operation *op, Region &score) {
  Block &block = score.front();
  Value query = block.getArgument(0), key = block.getArgument(1);
  ScoreFunction function{{}, false, {}, {}};
  for (auto dot : block.getOps<DotOp>()) {
    if (function.dot)
      return unsupported(op) << "several inner products is not supported yet: expected a function "
                                "of one sum over the features";
    function.dot = dot;
  }
  if (!function.dot)
    return unsupported(op) << "no inner product is not supported yet: expected a function of one "
                              "sum over the features";
  function.isProduct = function.dot.isOfQueryAndKey();
  for (Value side : {function.dot.getLhs(), function.dot.getRhs()})
    if (failed(collectVectors(op, side, block, function)))
      return failure();
  if (!function.isProduct && (query.use_empty() || key.use_empty()))
    return unsupported(op) << "an inner product of other vectors is not supported yet: expected a "
                              "function of the query and the key";
  Value yielded = cast<YieldOp>(block.getTerminator()).getValue();
  function.factor = factorOf(yielded, function.dot.getResult());
  return function;
}

Value ScoreFunction::emit(Value sum, IRMapping &mapping, OpBuilder &builder) {
  mapping.map(dot.getResult(), sum);
  for (Operation &op : dot->getBlock()->without_terminator())
    if (&op != dot.getOperation() && !isa<TensorType>(op.getResult(0).getType()))
      builder.clone(op, mapping)->setLoc(forTerm(op.getLoc(), AttentionTerm::Score));
  Value score = cast<YieldOp>(dot->getBlock()->getTerminator()).getValue();
  return mapping.lookupOrDefault(score);
}

void ScoreFunction::emitCombine(Region &region, OpBuilder &builder) {
  OpBuilder::InsertionGuard guard(builder);
  Type f32 = builder.getF32Type();
  Location loc = forTerm(dot.getLoc(), AttentionTerm::Score);
  SmallVector<Type> types(2 + vectors.size(), f32);
  Block *block = builder.createBlock(&region, {}, types, SmallVector<Location>(types.size(), loc));
  IRMapping elements;
  Block &whole = *dot->getBlock();
  elements.map(whole.getArgument(0), block->getArgument(0));
  elements.map(whole.getArgument(1), block->getArgument(1));
  for (auto [i, vector] : llvm::enumerate(vectors))
    elements.map(vector.getResult(), block->getArgument(2 + i));
  auto elementOf = [&](Value vector) -> Value {
    DenseElementsAttr splat; // which may stand outside of the region
    if (!elements.contains(vector) && matchPattern(vector, m_Constant(&splat)))
      return arith::ConstantOp::create(builder, loc, splat.getSplatValue<FloatAttr>());
    return elements.lookup(vector);
  };
  for (Operation &op : whole.without_terminator()) {
    if (!isa<TensorType>(op.getResult(0).getType()) || isa<ElementOp, arith::ConstantOp>(op))
      continue;
    SmallVector<Value> operands = llvm::map_to_vector(op.getOperands(), elementOf);
    Operation *scalar =
        builder.create(loc, op.getName().getIdentifier(), operands, {f32}, op.getAttrs());
    elements.map(op.getResults(), scalar->getResults());
  }
  Value product =
      arith::MulFOp::create(builder, loc, elementOf(dot.getLhs()), elementOf(dot.getRhs()));
  YieldOp::create(builder, loc, product);
}
