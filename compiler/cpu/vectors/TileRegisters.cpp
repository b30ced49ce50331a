// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of TileRegisters to assembly of AMX with named registers, or to calls of functions that
// emulate them.
#include "compiler/cpu/vectors/TileRegisters.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace attn;

Value TileRegisters::number(int64_t value, unsigned bits) const {
  OpBuilder &builder = index.builder;
  return arith::ConstantOp::create(builder, index.loc,
                                   builder.getIntegerAttr(builder.getIntegerType(bits), value));
}

Value TileRegisters::addressOf(Value buffer, ValueRange offsets) const {
  OpBuilder &builder = index.builder;
  auto parts = memref::ExtractStridedMetadataOp::create(builder, index.loc, buffer);
  Value element = parts.getOffset();
  for (auto [offset, stride] : llvm::zip_equal(offsets, parts.getStrides()))
    element = index.add(element, index.mul(offset, stride));
  int64_t bytes = cast<MemRefType>(buffer.getType()).getElementTypeBitWidth() / 8;
  Value base = memref::ExtractAlignedPointerAsIndexOp::create(builder, index.loc, buffer);
  Value address = index.add(base, index.mul(element, index.constant(bytes)));
  return arith::IndexCastOp::create(builder, index.loc, builder.getI64Type(), address);
}

Value TileRegisters::advance(Value address, Value bytes) const {
  OpBuilder &builder = index.builder;
  Value by = arith::IndexCastOp::create(builder, index.loc, builder.getI64Type(), bytes);
  return arith::AddIOp::create(builder, index.loc, address, by);
}

void TileRegisters::call(StringRef instruction, ArrayRef<int64_t> tiles, Value address,
                         int64_t stride) const {
  OpBuilder &builder = index.builder;
  SmallVector<Value> operands;
  for (int64_t tile : tiles)
    operands.push_back(number(tile, 8));
  if (address)
    operands.append({address, number(stride, 64)});
  if (!target.emulatesTiles) {
    if (address) {
      auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
      operands[tiles.size()] = LLVM::IntToPtrOp::create(builder, index.loc, pointer, address);
    }
    LLVM::CallIntrinsicOp::create(builder, index.loc,
                                  builder.getStringAttr("llvm.x86." + instruction), operands);
    return;
  }
  std::string name = ("attn_emulated_" + instruction).str();
  auto module = builder.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  if (!module.lookupSymbol(name)) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    auto type = builder.getFunctionType(TypeRange(ValueRange(operands)), {});
    func::FuncOp::create(builder, index.loc, name, type).setPrivate();
  }
  func::CallOp::create(builder, index.loc, name, TypeRange(), operands);
}

void TileRegisters::zero(int64_t tile) const { call("tilezero", tile); }

void TileRegisters::load(int64_t tile, Value address, int64_t stride, bool once) const {
  call(once ? "tileloaddt164" : "tileloadd64", tile, address, stride);
}

void TileRegisters::store(int64_t tile, Value address, int64_t stride) const {
  call("tilestored64", tile, address, stride);
}

void TileRegisters::multiply(int64_t sums, int64_t rows, int64_t columns,
                             Precision precision) const {
  call(precision == Precision::Int8 ? "tdpbusd" : "tdpbf16ps", {sums, rows, columns});
}

void TileRegisters::keepVectorsAwake() const {
  if (target.emulatesTiles)
    return;
  OpBuilder &builder = index.builder;
  LLVM::InlineAsmOp::create(builder, index.loc, TypeRange(), ValueRange(),
                            "vmulps %zmm31, %zmm31, %zmm31", "~{zmm31}", /*has_side_effects=*/true,
                            /*is_align_stack=*/false, LLVM::TailCallKind::None,
                            LLVM::AsmDialectAttr(), ArrayAttr());
}

void TileRegisters::keepTilesAwake() const {
  if (!target.emulatesTiles)
    multiply(0, 6, 7, Precision::BF16);
}
