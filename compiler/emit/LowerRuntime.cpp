// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops that stand for the runtime's side: places in the packed block, the team's barrier.
#include "attn/abi.h"
#include "compiler/emit/Passes.h"
#include "dialect/AttnDialect.h"
#include "dialect/Caches.h"
#include "dialect/Choices.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"
#include <array>
#include <cstddef>

namespace attn {
#define GEN_PASS_DEF_LOWERRUNTIMEPASS
#include "compiler/emit/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// packed + slot.offset + layer * slot.layer_stride, in bytes.
static LogicalResult lowerAddress(AddressOp op, SymbolTable &symbols) {
  auto slot = symbols.lookup<SlotOp>(op.getSlot());
  if (!slot)
    return op.emitError() << "no slot '" << op.getSlot() << "'";
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value shift = arith::ConstantIndexOp::create(builder, loc, int64_t(slot.getOffset()));
  if (op.getLayer()) {
    Value stride = arith::ConstantIndexOp::create(builder, loc, int64_t(slot.getLayerStride()));
    Value layer = arith::MulIOp::create(builder, loc, op.getLayer(), stride);
    shift = arith::AddIOp::create(builder, loc, shift, layer);
  }
  // memref.view wants an array of bytes of any length that reaches far enough.
  int64_t end = int64_t(slot.getOffset()) + int64_t(slot.getLayers()) * slot.getLayerStride() +
                int64_t(slot.getBytes());
  Value bytes = memref::ReinterpretCastOp::create(
      builder, loc, MemRefType::get({end}, builder.getI8Type()), op.getPacked(), /*offset=*/0,
      /*sizes=*/ArrayRef<int64_t>{end}, /*strides=*/ArrayRef<int64_t>{1});
  Value view = memref::ViewOp::create(builder, loc, op.getType(), bytes, shift, ValueRange());
  op.replaceAllUsesWith(view);
  op.erase();
  return success();
}

/// What a buffer points to.
static Value pointerOf(OpBuilder &builder, Location loc, Value buffer) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, buffer);
  address = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), address);
  return LLVM::IntToPtrOp::create(builder, loc, pointer, address);
}

/// What lies `offset` bytes behind a pointer.
static Value loadAt(OpBuilder &builder, Location loc, Value pointer, size_t offset, Type type) {
  Value place = LLVM::GEPOp::create(builder, loc, pointer.getType(), builder.getI8Type(), pointer,
                                    ArrayRef<LLVM::GEPArg>{int32_t(offset)});
  return LLVM::LoadOp::create(builder, loc, type, place);
}

/// The pointer in the field of attn_abi_call that is `offset` bytes from its beginning.
static Value loadField(OpBuilder &builder, Location loc, Value callBuffer, size_t offset) {
  return loadAt(builder, loc, pointerOf(builder, loc, callBuffer), offset,
                LLVM::LLVMPointerType::get(builder.getContext()));
}

/// A pointer as what a memref of rank 0 becomes: two pointers and an offset.
static Value asBuffer(OpBuilder &builder, Location loc, Value place, Type buffer) {
  auto type = LLVM::LLVMStructType::getLiteral(
      builder.getContext(), {place.getType(), place.getType(), builder.getI64Type()});
  Value descriptor = LLVM::UndefOp::create(builder, loc, type),
        zero = LLVM::ConstantOp::create(builder, loc, builder.getI64Type(), 0);
  for (auto [i, field] : llvm::enumerate(std::array{place, place, zero}))
    descriptor = LLVM::InsertValueOp::create(builder, loc, descriptor, field, i);
  return UnrealizedConversionCastOp::create(builder, loc, buffer, descriptor).getResult(0);
}

/// call->rowCount
static void lowerRowCount(RowCountOp op) {
  OpBuilder builder(op);
  Value count = loadAt(builder, op.getLoc(), pointerOf(builder, op.getLoc(), op.getCall()),
                       offsetof(attn_abi_call, rowCount), builder.getI64Type());
  op.replaceAllUsesWith(
      arith::IndexCastOp::create(builder, op.getLoc(), op.getType(), count).getResult());
  op.erase();
}

/// &call->rows[row], and what stands in it.
static void lowerRowCall(RowCallOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Type i64 = builder.getI64Type();
  Value rows = loadField(builder, loc, op.getCall(), offsetof(attn_abi_call, rows)),
        row = arith::IndexCastOp::create(builder, loc, i64, op.getRow()),
        size = LLVM::ConstantOp::create(builder, loc, i64, int64_t(sizeof(attn_abi_row)));
  Value bytes = LLVM::MulOp::create(builder, loc, row, size),
        own = LLVM::GEPOp::create(builder, loc, rows.getType(), builder.getI8Type(), rows,
                                  ArrayRef<LLVM::GEPArg>{bytes});
  for (auto [result, field] : {std::pair(op.getBegin(), offsetof(attn_abi_row, begin)),
                               {op.getPlace(), offsetof(attn_abi_row, place)},
                               {op.getOwner(), offsetof(attn_abi_row, owner)}})
    result.replaceAllUsesWith(arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                                         loadAt(builder, loc, own, field, i64))
                                  .getResult());
  op.getOwn().replaceAllUsesWith(asBuffer(builder, loc, own, op.getOwn().getType()));
  op.erase();
}

/// call->dims[number]
static void lowerRowSize(RowSizeOp op, const DenseMap<StringAttr, int64_t> &dims) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value all = loadField(builder, loc, op.getCall(), offsetof(attn_abi_call, dims));
  Value size =
      loadAt(builder, loc, all, sizeof(int64_t) * size_t(dims.lookup(op.getDimAttr().getAttr())),
             builder.getI64Type());
  op.replaceAllUsesWith(arith::IndexCastOp::create(builder, loc, op.getType(), size).getResult());
  op.erase();
}

static void lowerShift(ShiftOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Value from = pointerOf(builder, loc, op.getPointer()),
        elements = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), op.getElements());
  Value place = LLVM::GEPOp::create(builder, loc, from.getType(),
                                    cast<MemRefType>(op.getType()).getElementType(), from,
                                    ArrayRef<LLVM::GEPArg>{elements});
  op.replaceAllUsesWith(asBuffer(builder, loc, place, op.getType()));
  op.erase();
}

/// call->caches[number] + at * the size of an element.
static void lowerCachePlace(CachePlaceOp op, const DenseMap<StringAttr, int64_t> &numbers) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Value caches = loadField(builder, loc, op.getCall(), offsetof(attn_abi_call, caches));
  auto number = static_cast<int32_t>(numbers.lookup(op.getCacheAttr().getAttr()));
  Value own =
      LLVM::GEPOp::create(builder, loc, pointer, pointer, caches, ArrayRef<LLVM::GEPArg>{number});
  Value cache = LLVM::LoadOp::create(builder, loc, pointer, own);
  Value at = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), op.getAt());
  Value place = LLVM::GEPOp::create(builder, loc, cache.getType(), op.getType().getElementType(),
                                    cache, ArrayRef<LLVM::GEPArg>{at});
  op.replaceAllUsesWith(asBuffer(builder, loc, place, op.getType()));
  op.erase();
}

/// What a kernel has counted.
static void lowerRows(RowsOp op) {
  OpBuilder builder(op);
  Value count = memref::LoadOp::create(builder, op.getLoc(), op.getPointer());
  op.replaceAllUsesWith(
      arith::IndexCastOp::create(builder, op.getLoc(), op.getType(), count).getResult());
  op.erase();
}

/// call->function(call->team, thread, word), where `field` is that of the function.
static LLVM::CallOp callTeam(OpBuilder &builder, Location loc, Value call, size_t field,
                             Value thread, Value word, Type result) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type i64 = builder.getI64Type();
  Value function = loadField(builder, loc, call, field),
        team = loadField(builder, loc, call, offsetof(attn_abi_call, team));
  thread = arith::IndexCastOp::create(builder, loc, i64, thread);
  return LLVM::CallOp::create(builder, loc,
                              LLVM::LLVMFunctionType::get(result, {pointer, i64, i64}),
                              ValueRange{function, team, thread, word});
}

/// call->barrier(call->team, thread, kernel), the kernel being the number of its cost or -1.
static void lowerBarrier(BarrierOp op, const DenseMap<StringAttr, int64_t> &kernels) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto cost = op.getCostAttr();
  Value kernel = LLVM::ConstantOp::create(builder, loc, builder.getI64Type(),
                                          cost ? kernels.lookup(cost.getAttr()) : -1);
  callTeam(builder, loc, op.getCall(), offsetof(attn_abi_call, barrier), op.getThread(), kernel,
           LLVM::LLVMVoidType::get(builder.getContext()));
  op.erase();
}

/// call->claim(call->team, thread, least), a word of two halves.
static void lowerClaim(ClaimOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Type i64 = builder.getI64Type();
  Value least = arith::IndexCastOp::create(builder, loc, i64, op.getLeast());
  Value word = callTeam(builder, loc, op.getCall(), offsetof(attn_abi_call, claim), op.getThread(),
                        least, i64)
                   .getResult();
  auto number = [&](int64_t value) -> Value {
    return LLVM::ConstantOp::create(builder, loc, i64, value);
  };
  Value from = LLVM::LShrOp::create(builder, loc, word, number(32)),
        to = LLVM::AndOp::create(builder, loc, word, number(0xffffffff));
  for (auto [result, half] : {std::pair(op.getFrom(), from), std::pair(op.getTo(), to)})
    result.replaceAllUsesWith(
        arith::IndexCastOp::create(builder, loc, builder.getIndexType(), half).getResult());
  op.erase();
}

/// call->launch(call->team, kernel, arguments, how many).
static void lowerLaunch(LaunchOp op) {
  auto function = op->getParentOfType<func::FuncOp>();
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type i64 = builder.getI64Type();
  auto whole = [&](int64_t value) -> Value {
    return LLVM::ConstantOp::create(builder, loc, i64, value);
  };
  // A frame of its own would grow with every layer of a loop.
  Value arguments;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&function.getBody().front());
    Value count = LLVM::ConstantOp::create(
        builder, loc, i64, std::max<int64_t>(static_cast<int64_t>(op.getOperands().size()), 1));
    arguments = LLVM::AllocaOp::create(builder, loc, pointer, i64, count);
  }
  for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
    Value index = operand;
    if (isa<MemRefType>(operand.getType()))
      index = memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, operand);
    Value value = arith::IndexCastOp::create(builder, loc, i64, index);
    Value place = LLVM::GEPOp::create(builder, loc, pointer, i64, arguments,
                                      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    LLVM::StoreOp::create(builder, loc, value, place);
  }
  // Every function of the memory stage has the call as its third argument.
  Value call = function.getArgument(2);
  Value launch = loadField(builder, loc, call, offsetof(attn_abi_call, launch)),
        team = loadField(builder, loc, call, offsetof(attn_abi_call, team));
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()),
                                          {pointer, i64, pointer, i64});
  LLVM::CallOp::create(builder, loc, type,
                       ValueRange{launch, team, whole(op.getNumber()), arguments,
                                  whole(static_cast<int64_t>(op.getOperands().size()))});
  op.erase();
}

namespace {

struct LowerRuntimePass : attn::impl::LowerRuntimePassBase<LowerRuntimePass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    DenseMap<StringAttr, int64_t> kernels, caches, dims;
    for (CostOp cost : getOperation().getOps<CostOp>())
      kernels.try_emplace(cost.getSymNameAttr(), kernels.size());
    for (DimOp dim : getOperation().getOps<DimOp>()) {
      dims.try_emplace(dim.getSymNameAttr(), dims.size());
      if (dim.getCache())
        caches.try_emplace(dim.getSymNameAttr(), caches.size());
    }
    WalkResult result = getOperation().walk([&](Operation *op) {
      LogicalResult lowered = success(); // and erased
      llvm::TypeSwitch<Operation *>(op)
          .Case([&](AddressOp address) { lowered = lowerAddress(address, symbols); })
          .Case(lowerLaunch)
          .Case([&](BarrierOp barrier) { lowerBarrier(barrier, kernels); })
          .Case(lowerClaim)
          .Case(lowerRows)
          .Case(lowerRowCount)
          .Case(lowerRowCall)
          .Case([&](RowSizeOp size) { lowerRowSize(size, dims); })
          .Case(lowerShift)
          .Case([&](CachePlaceOp cache) { lowerCachePlace(cache, caches); });
      return WalkResult(lowered);
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    for (Operation &op : llvm::make_early_inc_range(*getOperation().getBody()))
      if (isa<CostOp, DimOp, ParamOp, SlotOp, StateOp>(op))
        op.erase();
  }
};

} // namespace
