// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The places of a row's largest elements on a GPU: for each choice, the lanes go through the row,
// and combine what they found first after the choice before (compiler/cpu/rows/VectorizeTopk.cpp).
#include "compiler/gpu/rows/Rows.h"
#include "compiler/gpu/threads/Warp.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <limits>

using namespace mlir;
using namespace attn;

void attn::emitWarpRow(TopkRowOp op, OpBuilder &builder) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr int32_t most = std::numeric_limits<int32_t>::max();
  Warp warp(builder, op.getLoc());
  Location loc = op.getLoc();
  IndexBuilder &index = warp.index;
  auto number = [&](float value) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value));
  };
  auto i32 = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(value));
  };
  auto compare = [&](arith::CmpFPredicate predicate, Value a, Value b) -> Value {
    return arith::CmpFOp::create(builder, loc, predicate, a, b);
  };
  auto select = [&](Value condition, Value a, Value b) -> Value {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  };
  /// Whether the element `a` at `aPlace` comes before `b` at `bPlace`.
  auto isBefore = [&](Value a, Value aPlace, Value b, Value bPlace) -> Value {
    Value isEarlier =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, aPlace, bPlace);
    Value isSame =
        arith::AndIOp::create(builder, loc, compare(arith::CmpFPredicate::OEQ, a, b), isEarlier);
    return arith::OrIOp::create(builder, loc, compare(arith::CmpFPredicate::OGT, a, b), isSame);
  };
  Value columns = index.dim(op.getInput(), 0), none = number(-infinity), beyond = i32(most);
  Value isFirst =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, warp.lane, index.constant(0));
  auto loop = scf::ForOp::create(builder, loc, index.constant(0), index.dim(op.getOut(), 0),
                                 index.constant(1), ValueRange{number(infinity), i32(-1)},
                                 [](OpBuilder &, Location, Value, ValueRange) {});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(loop.getBody());
  Value last = loop.getRegionIterArg(0), lastPlace = loop.getRegionIterArg(1);
  SmallVector<Value> own =
      warp.forEach(columns, ValueRange{none, beyond}, [&](Value column, ValueRange best) {
        Value x = warp.load(op.getInput(), column);
        x = select(compare(arith::CmpFPredicate::UNO, x, x), none, x);
        Value place = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), column);
        Value isNext = arith::AndIOp::create(builder, loc, isBefore(last, lastPlace, x, place),
                                             isBefore(x, place, best[0], best[1]));
        return SmallVector<Value>{select(isNext, x, best[0]), select(isNext, place, best[1])};
      });
  Value value = warp.combine(own[0], [&](Value a, Value b) -> Value {
    return arith::MaximumFOp::create(builder, loc, a, b);
  });
  Value candidate = select(compare(arith::CmpFPredicate::OEQ, own[0], value), own[1], beyond);
  Value place = warp.combine(candidate, [&](Value a, Value b) -> Value {
    return arith::MinSIOp::create(builder, loc, a, b);
  });
  choose(index, isFirst, [&] {
    memref::StoreOp::create(builder, loc, place, op.getOut(), loop.getInductionVar());
  });
  scf::YieldOp::create(builder, loc, ValueRange{value, place});
}
