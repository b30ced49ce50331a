// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/cpu/ScoreFunction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
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

FailureOr<ScoreFunction> ScoreFunction::of(Operation *op, Region &score) {
  Block &block = score.front();
  Value query = block.getArgument(0), key = block.getArgument(1);
  DotOp dot;
  for (Operation &inner : block) {
    auto next = dyn_cast<DotOp>(inner);
    if (!next)
      continue;
    Value lhs = next.getLhs(), rhs = next.getRhs();
    bool isOfBoth = (lhs == query && rhs == key) || (lhs == key && rhs == query);
    if (dot || !isOfBoth)
      return op->emitError("a score with ")
             << (dot ? "several inner products" : "an inner product of other vectors")
             << " is not supported yet: expected a function of one dot(query, key)";
    dot = next;
  }
  if (!dot)
    return op->emitError("a score without dot(query, key) is not supported yet");
  for (Value row : {query, key})
    for (Operation *user : row.getUsers())
      if (user != dot)
        return op->emitError("a score with '")
               << user->getName() << "' of the query or the key is not supported yet: expected a "
               << "function of dot(query, key)";
  Value yielded = cast<YieldOp>(block.getTerminator()).getValue();
  return ScoreFunction{dot, factorOf(yielded, dot.getResult())};
}

Value ScoreFunction::emit(Value product, OpBuilder &builder) {
  IRMapping mapping;
  mapping.map(dot.getResult(), product);
  for (Operation &op : dot->getBlock()->without_terminator())
    if (&op != dot.getOperation())
      builder.clone(op, mapping);
  Value score = cast<YieldOp>(dot->getBlock()->getTerminator()).getValue();
  return mapping.lookupOrDefault(score);
}
