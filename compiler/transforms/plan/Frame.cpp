// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The slots of a function's frame in the workspace, and where they begin.
#include "compiler/transforms/plan/Frame.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace attn::planning {

size_t Frame::allocate(const SizePolynomial &bytes) {
  auto fits = [&](const Slot &slot) { return slot.isFree && slot.bytes == bytes; };
  auto found = llvm::find_if(slots, fits);
  if (found == slots.end())
    found = llvm::find_if(slots, [](const Slot &slot) { return slot.isFree; });
  if (found == slots.end()) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&function.getBody().front());
    slots.push_back({bytes, false, arith::ConstantIndexOp::create(builder, function.getLoc(), 0)});
    return slots.size() - 1;
  }
  found->isFree = false;
  found->bytes = SizePolynomial::upperBound(found->bytes, bytes);
  return found - slots.begin();
}

Value Frame::at(Value offset, Type element) {
  Location loc = function.getLoc();
  Value huge = arith::ConstantIndexOp::create(builder, loc, int64_t(1) << 62);
  auto bytes = memref::ReinterpretCastOp::create(
      builder, loc, MemRefType::get({ShapedType::kDynamic}, builder.getI8Type()), workspace,
      OpFoldResult(builder.getIndexAttr(0)), ArrayRef<OpFoldResult>{huge},
      ArrayRef<OpFoldResult>{builder.getIndexAttr(1)});
  return memref::ViewOp::create(builder, loc, MemRefType::get({}, element), bytes, offset,
                                ValueRange());
}

Value Frame::take(const SizePolynomial &bytes, Type element, Operation *last) {
  size_t slot = allocate(most(bytes));
  releases.push_back({last, slot});
  Value pointer = at(slots[slot].offset, element);
  slots[slot].pointer = pointer;
  slotOf[pointer] = slot;
  return pointer;
}

void Frame::releaseAfter(Operation *op) {
  for (auto &[user, slot] : releases)
    if (user == op)
      slots[slot].isFree = true, slots[slot].pointer = Value();
  llvm::erase_if(releases, [&](auto &release) { return release.first == op; });
}

void Frame::use(Value pointer) {
  auto slot = slotOf.find(pointer);
  usedReleased |= slot != slotOf.end() && slots[slot->second].pointer != pointer;
}

Value Frame::end() {
  ends.push_back(arith::ConstantIndexOp::create(builder, function.getLoc(), 0));
  return at(ends.back(), builder.getI8Type());
}

void Frame::call(const SizePolynomial &bytes) {
  calleeBytes = SizePolynomial::upperBound(calleeBytes, bytes);
}

/// Bytes rounded up to whole cache lines.
static Value roundUp(OpBuilder &builder, Location loc, Value bytes) {
  Value slack = arith::ConstantIndexOp::create(builder, loc, 63),
        mask = arith::ConstantIndexOp::create(builder, loc, -64);
  return builder.createOrFold<arith::AndIOp>(
      loc, builder.createOrFold<arith::AddIOp>(loc, bytes, slack), mask);
}

SizePolynomial Frame::resolve(function_ref<Value(StringRef)> dim) {
  Location loc = function.getLoc();
  builder.setInsertionPointToStart(&function.getBody().front());
  Value offset = arith::ConstantIndexOp::create(builder, loc, 0);
  SizePolynomial frame;
  SmallVector<Value> placeholders(ends);
  for (Slot &slot : slots) {
    slot.offset.replaceAllUsesWith(offset);
    placeholders.push_back(slot.offset);
    Value bytes = slot.bytes.emit(builder, loc, dim);
    offset = builder.createOrFold<arith::AddIOp>(loc, offset, roundUp(builder, loc, bytes));
    frame = frame + slot.bytes + SizePolynomial(63);
  }
  for (Value end : ends)
    end.replaceAllUsesWith(offset);
  for (Value placeholder : placeholders)
    placeholder.getDefiningOp()->erase();
  return frame + calleeBytes;
}

} // namespace attn::planning
