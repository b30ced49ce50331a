// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fused -> memory, functions of the rows of a call that are by themselves: a loop over the rows.
// Rows of one position are divided among the threads, each of which computes its own alone; all
// threads together compute the others, one row after the other:
//
//   for each row:
//     if it has an owner: the owner calls the function, as a team of one
//     else: all threads call it
//   barrier
#include "compiler/support/Errors.h"
#include "compiler/transforms/plan/Buffers.h"
#include "compiler/transforms/plan/Function.h"
#include "compiler/transforms/plan/Operands.h"
#include "compiler/transforms/plan/Ops.h"
#include "compiler/transforms/plan/Places.h"
#include "dialect/Caches.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attn::planning {

namespace {

/// What is called for the rows of a call.
struct RowCalls {
  FunctionPlan &plan;
  ByRowOp op;
  SmallVector<Value> pointers;         ///< Of operands and results; scalars as they are.
  SmallVector<SizePolynomial> strides; ///< From one position, or place, to the next.
  SmallVector<ByRowOp::Share> shares;
  Value together, alone; ///< Frames: of all threads, and of each, one behind the other.

  LogicalResult add(Value tensor, Value pointer);
  void call(StringRef callee, RowCallOp row, Value frame, Value thread, Value threads);
};

} // namespace

/// Notes where the rows find a tensor. Positions lie one behind the other, and so do places.
LogicalResult RowCalls::add(Value tensor, Value pointer) {
  ByRowOp::Share share = op.shareOf(tensor.getType());
  SizePolynomial stride(0);
  if (share != ByRowOp::Share::All) {
    RankedTensorType type = typeOf(tensor);
    BufferView view = BufferView::dense(type, pointer, pitchOf(type));
    StringRef wanted = share == ByRowOp::Share::Positions ? op.getPositions() : op.getBatch();
    bool isFirst = true;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      std::optional<LinearSize> size =
          type.isDynamicDim(d) ? parseLinearSize(axesOf(type)[d]) : std::nullopt;
      if (size && size->dim == wanted && isFirst && size->scale == 1 && size->offset == 0) {
        stride = view.axes[d].front().stride;
        break;
      }
      isFirst &= !type.isDynamicDim(d) && type.getDimSize(d) == 1;
    }
    if (stride == SizePolynomial(0))
      return emitErrorOf(ErrorKind::Input, op.getLoc())
             << "rows by themselves need tensors whose positions come first, but this is " << type;
  }
  pointers.push_back(pointer), strides.push_back(stride), shares.push_back(share);
  return success();
}

void RowCalls::call(StringRef callee, RowCallOp row, Value frame, Value thread, Value threads) {
  OpBuilder &builder = plan.builder;
  Location loc = op.getLoc();
  SmallVector<Value> operands{plan.arguments.packed, frame, row.getOwn(), thread, threads};
  for (StringRef name : plan.module.dims)
    operands.push_back(RowSizeOp::create(builder, loc, builder.getIndexType(), name, row.getOwn()));
  for (auto [pointer, stride, share] : llvm::zip_equal(pointers, strides, shares)) {
    if (share == ByRowOp::Share::All) {
      operands.push_back(pointer);
      continue;
    }
    Value at = share == ByRowOp::Share::Positions ? row.getBegin() : row.getPlace();
    Value step = stride.emit(builder, loc, [&](StringRef name) { return plan.dim(name); });
    Value shift = builder.createOrFold<arith::MulIOp>(loc, at, step);
    operands.push_back(ShiftOp::create(builder, loc, pointer, shift));
  }
  func::CallOp::create(builder, loc, callee, TypeRange(), operands);
}

/// Bytes of a callee's frame, in the dims of the caller: of one row that is as long as all.
static SizePolynomial frameOf(FunctionPlan &plan, ByRowOp op, StringRef callee) {
  return plan.module.frames.lookup(callee).with(op.getBatch(), 1);
}

LogicalResult emit(FunctionPlan &plan, ByRowOp op) {
  OpBuilder &builder = plan.builder;
  Location loc = op.getLoc();
  RowCalls calls{plan, op, {}, {}, {}, {}, {}};
  StringRef general = op.getCallee(), single = op.getSingle().value_or(general);
  Type byte = builder.getI8Type();
  SizePolynomial frame = frameOf(plan, op, general);
  frame = SizePolynomial::upperBound(frame, frameOf(plan, op, single));
  calls.together = plan.frame.take(frame, byte, op);
  // As one thread, at a position; frames begin at cache lines.
  SizePolynomial own =
      frameOf(plan, op, single).with(op.getPositions(), 1).with("#threads", 1) + SizePolynomial(64);
  calls.alone = plan.frame.take(own * SizePolynomial::dim("#threads"), byte, op);
  for (Value operand : op.getOperands()) {
    if (!isa<RankedTensorType>(operand.getType())) {
      calls.pointers.push_back(plan.scalars.lookup(operand));
      calls.strides.push_back(0), calls.shares.push_back(ByRowOp::Share::All);
      continue;
    }
    FailureOr<Value> pointer = passed(plan, op, operand);
    if (failed(pointer) || failed(calls.add(operand, *pointer)))
      return failure();
  }
  for (Value result : op.getValues())
    if (failed(calls.add(result, outputOf(plan, result).base)))
      return failure();

  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  auto compare = [&](arith::CmpIPredicate predicate, Value a, Value b) -> Value {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  };
  Value zero = constant(0), one = constant(1), call = plan.arguments.call;
  Value bytes = own.emit(builder, loc, [&](StringRef name) { return plan.dim(name); });
  bytes = arith::AndIOp::create(builder, loc, bytes, constant(-64));
  Value count = RowCountOp::create(builder, loc, builder.getIndexType(), call);
  auto loop = scf::ForOp::create(builder, loc, zero, count, one);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Type index = builder.getIndexType();
    auto row = RowCallOp::create(builder, loc, TypeRange{call.getType(), index, index, index}, call,
                                 loop.getInductionVar());
    Value thread = plan.arguments.thread, threads = plan.arguments.threads;
    auto choose = [&](Value condition, function_ref<void()> yes, function_ref<void()> no) {
      auto choice = scf::IfOp::create(builder, loc, condition, bool(no));
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(choice.thenBlock());
      yes();
      if (!no)
        return;
      builder.setInsertionPointToStart(choice.elseBlock());
      no();
    };
    choose(
        compare(arith::CmpIPredicate::slt, row.getOwner(), zero),
        [&] {
          Value added = RowSizeOp::create(builder, loc, index, op.getPositions(), row.getOwn());
          choose(
              compare(arith::CmpIPredicate::eq, added, one),
              [&] { calls.call(single, row, calls.together, thread, threads); },
              [&] { calls.call(general, row, calls.together, thread, threads); });
        },
        [&] {
          choose(
              compare(arith::CmpIPredicate::eq, row.getOwner(), thread),
              [&] {
                Value shift = builder.createOrFold<arith::MulIOp>(loc, thread, bytes);
                Value frame = ShiftOp::create(builder, loc, calls.alone, shift);
                calls.call(single, row, frame, zero, one);
              },
              nullptr);
        });
  }
  BarrierOp::create(builder, loc, call, plan.arguments.thread, FlatSymbolRefAttr());
  return success();
}

} // namespace attn::planning
