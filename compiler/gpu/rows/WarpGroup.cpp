// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Choices sorted by expert on a GPU: a warp finds the slot of a choice, which is the number of
// those that come before it, by going through all of them; others find where each expert's begin.
// No two warps need each other. Choices are few beside what experts compute.
#include "compiler/gpu/rows/Rows.h"
#include "compiler/gpu/threads/Warp.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace attn;

namespace {

/// Writes the code of one kernel before it.
class GroupWarp : Warp {
public:
  GroupWarp(GroupKernelOp op, const TilingContext &context, OpBuilder &builder)
      : Warp(builder, op.getLoc()), op(op), context(context),
        last(cast<MemRefType>(op.getPlaces().getType()).getRank() - 1),
        all(index.product(op.getPlaces(), 0, last + 1)) {}

  void run();

private:
  Value zero() { return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0)); }
  Value isTrue(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  }
  /// The expert of a choice.
  Value expertOf(Value choice) {
    Value place = memref::LoadOp::create(builder, loc, op.getPlaces(),
                                         index.delinearize(choice, op.getPlaces(), 0, last + 1));
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), place);
  }
  /// How many choices there are of experts before one, and of it itself before choice `end`.
  std::pair<Value, Value> count(Value expert, Value end);
  void store(Value number, Value table, Value at) {
    if (number.getType().isIndex())
      number = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), number);
    memref::StoreOp::create(builder, loc, number, table, at);
  }

  GroupKernelOp op;
  const TilingContext &context;
  int64_t last;
  Value all;
};

} // namespace

std::pair<Value, Value> GroupWarp::count(Value expert, Value end) {
  Type i32 = builder.getI32Type();
  auto plus = [&](Value a, Value b) -> Value { return arith::AddIOp::create(builder, loc, a, b); };
  SmallVector<Value> own =
      forEach(all, ValueRange{zero(), zero()}, [&](Value choice, ValueRange sums) {
        Value other = expertOf(choice);
        Value isSame =
            arith::AndIOp::create(builder, loc, isTrue(arith::CmpIPredicate::eq, other, expert),
                                  isTrue(arith::CmpIPredicate::ult, choice, end));
        Value isBefore = isTrue(arith::CmpIPredicate::ult, other, expert);
        return SmallVector<Value>{
            plus(sums[0], arith::ExtUIOp::create(builder, loc, i32, isBefore)),
            plus(sums[1], arith::ExtUIOp::create(builder, loc, i32, isSame))};
      });
  return {combine(own[0], plus), combine(own[1], plus)};
}

void GroupWarp::run() {
  Value experts = index.dim(op.getCounts(), 0), choices = index.dim(op.getPlaces(), last);
  Value isFirst = isTrue(arith::CmpIPredicate::eq, lane, index.constant(0));
  context.forEachUnit(index, experts, [&](Value expert) {
    std::pair<Value, Value> found = count(expert, all);
    choose(index, isFirst, [&] {
      store(found.first, op.getFirsts(), expert);
      store(found.second, op.getCounts(), expert);
    });
  });
  context.forEachUnit(index, all, [&](Value choice) {
    auto [before, own] = count(expertOf(choice), choice);
    Value slot = arith::AddIOp::create(builder, loc, before, own);
    choose(index, isFirst, [&] {
      store(slot, op.getSlots(), choice);
      store(index.div(choice, choices), op.getTokens(),
            arith::IndexCastOp::create(builder, loc, builder.getIndexType(), slot));
    });
  });
}

void attn::emitWarpGroup(GroupKernelOp op, const TilingContext &context) {
  OpBuilder builder(op);
  GroupWarp(op, context, builder).run();
}
