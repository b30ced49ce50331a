// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The slots of a function's frame in the workspace, and where they begin.
#include "compiler/transforms/plan/Frame.h"
#include "dialect/Attributes.h"
#include "dialect/Locations.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace attn::planning {

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
  Value offset;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&function.getBody().front());
    offset = arith::ConstantIndexOp::create(builder, function.getLoc(), 0);
  }
  Value pointer = at(offset, element);
  bufferAt[pointer] = buffers.size();
  buffers.push_back({most(bytes), offset, last, step});
  return pointer;
}

void Frame::releaseAfter(Operation *op) {
  ++step;
  steps.push_back(op->getLoc());
  for (Buffer &buffer : buffers)
    if (buffer.last == op && buffer.end > step)
      buffer.end = step;
}

void Frame::use(Value pointer) {
  auto buffer = bufferAt.find(pointer);
  usedReleased |= buffer != bufferAt.end() && buffers[buffer->second].end <= step;
}

/// The bytes where every dynamic dim is 64, by which buffers are compared.
static int64_t nominal(const SizePolynomial &bytes) {
  return bytes.at([](StringRef) { return 64; });
}

/// Bytes rounded up to whole cache lines.
static Value roundUp(OpBuilder &builder, Location loc, Value bytes) {
  Value slack = arith::ConstantIndexOp::create(builder, loc, 63),
        mask = arith::ConstantIndexOp::create(builder, loc, -64);
  return builder.createOrFold<arith::AndIOp>(
      loc, builder.createOrFold<arith::AddIOp>(loc, bytes, slack), mask);
}

Frame::Slot &Frame::slotFor(const Buffer &buffer, std::vector<Slot> &slots) const {
  Slot *best = nullptr;
  std::pair<int64_t, int64_t> least; // how much it grows, and what it leaves over
  for (Slot &slot : slots) {
    if (llvm::any_of(slot.buffers, [&](size_t other) {
          return buffers[other].begin < buffer.end && buffer.begin < buffers[other].end;
        }))
      continue;
    int64_t grown = nominal(SizePolynomial::upperBound(slot.bytes, buffer.bytes));
    std::pair<int64_t, int64_t> cost{grown - nominal(slot.bytes), grown - nominal(buffer.bytes)};
    if (!best || cost < least)
      best = &slot, least = cost;
  }
  return best ? *best : slots.emplace_back();
}

std::vector<Frame::Slot> Frame::assign() const {
  std::vector<std::pair<int64_t, size_t>> order; // the largest first, then as they were taken
  for (auto [number, buffer] : llvm::enumerate(buffers))
    order.push_back({-nominal(buffer.bytes), number});
  llvm::sort(order);
  std::vector<Slot> slots;
  for (auto [size, number] : order) {
    Slot &slot = slotFor(buffers[number], slots);
    slot.bytes = SizePolynomial::upperBound(slot.bytes, buffers[number].bytes);
    slot.buffers.push_back(number);
  }
  return slots;
}

void Frame::describe(ArrayRef<Slot> slots) {
  Builder own(function.getContext());
  SmallVector<Attribute> sizes, described;
  for (auto [number, slot] : llvm::enumerate(slots)) {
    sizes.push_back(slot.bytes.attribute(own));
    for (size_t i : slot.buffers) {
      const Buffer &buffer = buffers[i];
      Location at = buffer.begin < steps.size() ? steps[buffer.begin] : function.getLoc();
      size_t until = std::min(buffer.end, step);
      described.push_back(own.getDictionaryAttr(
          {own.getNamedAttr("slot", own.getI64IntegerAttr(int64_t(number))),
           own.getNamedAttr("bytes", buffer.bytes.attribute(own)),
           own.getNamedAttr("from", own.getI64IntegerAttr(int64_t(buffer.begin))),
           own.getNamedAttr("until", own.getI64IntegerAttr(int64_t(until))),
           own.getNamedAttr("at", own.getStringAttr(placeText(at)))}));
    }
  }
  function->setAttr(
      attributes::frame,
      own.getDictionaryAttr({own.getNamedAttr("slots", own.getArrayAttr(sizes)),
                             own.getNamedAttr("buffers", own.getArrayAttr(described))}));
}

SizePolynomial Frame::resolve(function_ref<Value(StringRef)> dim) {
  Location loc = function.getLoc();
  builder.setInsertionPointToStart(&function.getBody().front());
  Value offset = arith::ConstantIndexOp::create(builder, loc, 0);
  SizePolynomial frame;
  SmallVector<Value> placeholders;
  std::vector<Slot> slots = assign();
  if (function->getParentOfType<ModuleOp>()->hasAttr(attributes::sizes))
    describe(slots);
  for (const Slot &slot : slots) {
    for (size_t number : slot.buffers) {
      buffers[number].offset.replaceAllUsesWith(offset);
      placeholders.push_back(buffers[number].offset);
    }
    if (slot.bytes == SizePolynomial(0)) // of callees that need none
      continue;
    Value bytes = slot.bytes.emit(builder, loc, dim);
    offset = builder.createOrFold<arith::AddIOp>(loc, offset, roundUp(builder, loc, bytes));
    frame = frame + slot.bytes + SizePolynomial(63);
  }
  for (Value placeholder : placeholders)
    placeholder.getDefiningOp()->erase();
  return frame;
}

} // namespace attn::planning
