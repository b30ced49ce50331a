// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of Hopper to ops of NVVM, and to PTX where there is no op.
#include "compiler/gpu/threads/Hopper.h"
#include "compiler/gpu/threads/TensorCores.h"
#include "compiler/kernels/Loops.h"
#include "dialect/Attributes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace attn;

//===-- the host's side ---------------------------------------------------------------------===//

TensorMap TensorMap::of(OpBuilder &builder, Location loc, Value buffer, ArrayRef<int64_t> box,
                        ArrayRef<unsigned> dims) {
  IndexBuilder index(builder, loc);
  TensorMap map;
  map.box.assign(box.begin(), box.end());
  auto parts = memref::ExtractStridedMetadataOp::create(builder, loc, buffer);
  int64_t element = 2;
  auto bytes = [&](Value elements) { return index.mul(elements, index.constant(element)); };
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  (void)type.getStridesAndOffset(strides, offset);
  auto known = [&](int64_t value, Value otherwise) {
    return ShapedType::isDynamic(value) ? otherwise : index.constant(value);
  };
  Value pointer = memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, buffer);
  map.words.push_back(index.add(pointer, bytes(known(offset, parts.getOffset()))));
  for (unsigned d : llvm::reverse(dims))
    map.words.push_back(index.dim(buffer, d));
  for (unsigned d : llvm::reverse(dims.drop_back()))
    map.words.push_back(bytes(known(strides[d], parts.getStrides()[d])));
  return map;
}

/// Where kernels with a watchdog find the address of their report.
static Value watchdogAddress(OpBuilder &builder, Location loc, gpu::GPUModuleOp module) {
  constexpr StringLiteral name = "attn_watchdog";
  auto global = module.lookupSymbol<LLVM::GlobalOp>(name);
  if (!global) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    global = LLVM::GlobalOp::create(builder, loc, builder.getI64Type(), /*isConstant=*/false,
                                    LLVM::Linkage::External, name, builder.getI64IntegerAttr(0),
                                    /*alignment=*/8, /*addrSpace=*/1);
  }
  return LLVM::AddressOfOp::create(builder, loc, global);
}

Hopper::Hopper(OpBuilder &builder, Location loc, Type half) : Integers(builder, loc), half(half) {
  auto function = cast<gpu::GPUFuncOp>(builder.getInsertionBlock()->getParentOp());
  auto module = function->getParentOfType<gpu::GPUModuleOp>();
  thread = fromIndex(gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x));
  Value base = dynamicSharedMemory(builder, loc, module);
  sharedBase = LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), base);
  watched = function->getAttrOfType<IntegerAttr>(attributes::watchdog);
  if (watched)
    watchdog = watchdogAddress(builder, loc, module);
}

Value Hopper::uniform(Value value) const {
  return NVVM::ShflOp::create(builder, loc, value.getType(), constant(-1), value, constant(0),
                              constant(31), NVVM::ShflKind::idx, UnitAttr());
}

//===-- mbarriers and copies ----------------------------------------------------------------===//

Value Hopper::pointer(Value address) const {
  return LLVM::IntToPtrOp::create(builder, loc, LLVM::LLVMPointerType::get(builder.getContext(), 3),
                                  address);
}

void Hopper::initBarrier(Value address, int64_t arrivals) const {
  NVVM::MBarrierInitOp::create(builder, loc, pointer(address), constant(arrivals), Value());
}

void Hopper::publishBarriers() const { NVVM::FenceMbarrierInitOp::create(builder, loc); }

/// Nanoseconds until a wait looks again by itself, and until a watchdog gives it up.
static constexpr int64_t ticks = 1'000'000, patience = 2'000'000'000;

void Hopper::watch(Value address, Value parity, StringRef place) const {
  char letters[12] = {};
  std::copy_n(place.begin(), std::min(place.size(), sizeof letters), letters);
  std::string report;
  for (unsigned word = 0; word < 3; ++word)
    report += llvm::formatv("mov.b32 w, {0}; st.global.b32 [t+{1}], w; ",
                            llvm::support::endian::read32le(letters + 4 * word), 12 + 4 * word);
  std::string text =
      llvm::formatv("{{ .reg .pred p; .reg .b64 s, t; .reg .b32 w; mov.u64 s, %globaltimer; "
                    "WAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1, {0}; @p bra DONE; "
                    "mov.u64 t, %globaltimer; sub.u64 t, t, s; setp.lt.u64 p, t, {1}; @p bra WAIT; "
                    "ld.global.b64 t, [$2]; mov.u32 w, %ctaid.x; st.global.b32 [t+4], w; "
                    "mov.u32 w, %tid.x; st.global.b32 [t+8], w; {2}"
                    "mov.b32 w, {3}; st.global.b32 [t], w; fence.sc.sys; trap; DONE: }",
                    ticks, patience, report, watched.getInt() + 1);
  assembly(text, "r,r,l", ValueRange{address, parity, watchdog}, TypeRange());
}

void Hopper::wait(Value address, Value parity, StringRef place) const {
  if (watched)
    return watch(address, parity, place);
  NVVM::MBarrierTryWaitParityOp::create(builder, loc, pointer(address), parity, constant(ticks));
}

void Hopper::syncWarp() const { NVVM::SyncWarpOp::create(builder, loc, constant(-1)); }

void Hopper::arriveByWarp(Value address) const {
  syncWarp();
  when(equals(rem(thread, 32), 0), [&] {
    NVVM::MBarrierArriveOp::create(builder, loc, builder.getI64Type(), pointer(address), Value());
  });
  syncWarp();
}

void Hopper::expect(Value address, int64_t bytes) const {
  NVVM::MBarrierArriveExpectTxOp::create(builder, loc, Type(), pointer(address), constant(bytes),
                                         NVVM::MemScopeKind::CTA, /*relaxed=*/false, Value());
}

void Hopper::copyBox(Value address, Value map, ValueRange place, Value barrier) const {
  // Shared memory of the cluster, in which this block is the only one.
  auto cluster = LLVM::LLVMPointerType::get(builder.getContext(), 7);
  Value to = LLVM::AddrSpaceCastOp::create(builder, loc, cluster, pointer(address));
  NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
      builder, loc, to, map, place, pointer(barrier), ValueRange(), Value(), Value(),
      NVVM::TMALoadMode::TILE, /*isCTAOnly=*/false, NVVM::CTAGroupKindAttr(), Value());
}

void Hopper::storeBox(Value address, Value map, ValueRange place) const {
  assembly("{ cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [$0, {$1, $2}], [$3]; "
           "cp.async.bulk.commit_group; }",
           "l,r,r,r", ValueRange{map, place[0], place[1], address}, TypeRange());
}

void Hopper::waitForStores(int64_t pending) const {
  std::string text = pending ? "cp.async.bulk.wait_group.read " + std::to_string(pending) + ";"
                             : std::string("cp.async.bulk.wait_group 0;");
  assembly(text, "", ValueRange(), TypeRange());
}

void Hopper::storeMatrices(Value address, ArrayRef<Value> words) const {
  SmallVector<Value> operands{address};
  llvm::append_range(operands, words);
  assembly("stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};", "r,r,r,r,r",
           operands, TypeRange());
}

void Hopper::syncNamed(Value id, int64_t threads) const {
  NVVM::BarrierOp::create(builder, loc, Type(), id, constant(threads), NVVM::BarrierReductionAttr(),
                          Value());
}

void Hopper::arriveNamed(Value id, int64_t threads) const {
  NVVM::BarrierArriveOp::create(builder, loc, id, constant(threads));
}

Value Hopper::elect() const {
  return NVVM::ElectSyncOp::create(builder, loc, builder.getI1Type(), Value());
}

void Hopper::setRegisters(int64_t count, bool increase) const {
  NVVM::SetMaxRegisterOp::create(builder, loc, uint32_t(count),
                                 increase ? NVVM::SetMaxRegisterAction::increase
                                          : NVVM::SetMaxRegisterAction::decrease);
}

//===-- products ----------------------------------------------------------------------------===//

SmallVector<Value> Hopper::assembly(StringRef text, StringRef constraints, ValueRange operands,
                                    TypeRange results) const {
  Type type = results.empty() ? Type()
                              : LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                                                 llvm::to_vector(results));
  if (results.size() == 1)
    type = results[0];
  auto op = LLVM::InlineAsmOp::create(
      builder, loc, type, operands, text, constraints, /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
  if (results.size() <= 1)
    return SmallVector<Value>(op->getResults());
  SmallVector<Value> parts;
  for (size_t i = 0; i < results.size(); ++i)
    parts.push_back(LLVM::ExtractValueOp::create(builder, loc, op.getResult(0), i));
  return parts;
}

// Bits 0 to 13: the address / 16; 32 to 45: bytes from eight rows to the next eight / 16; 62 and
// 63: 1, swizzled by 128 bytes (9.7.15.5.1.2); 16 to 29: bytes from box to box / 16, which are
// unused along rows.
Value Hopper::descriptor(Value address, int64_t boxBytes) const {
  Type i64 = builder.getI64Type();
  Value low = arith::ShRUIOp::create(builder, loc, address, constant(4));
  Value wide = arith::ExtUIOp::create(builder, loc, i64, low);
  int64_t rest =
      (int64_t(1) << 62) | (int64_t(8 * swizzleBytes / 16) << 32) | (boxBytes / 16 << 16);
  Value bits = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(rest));
  return arith::OrIOp::create(builder, loc, wide, bits);
}

Value Hopper::advance(Value descriptor, int64_t bytes) const {
  Value steps = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(bytes / 16));
  return arith::AddIOp::create(builder, loc, descriptor, steps);
}

namespace {

/// Operands of an instruction in assembly: sums that are read and written come first.
struct ProductText {
  std::string sums, constraints, type;
  size_t next; ///< number of the first operand behind the sums

  ProductText(size_t count, bool areRead, Type half)
      : type(half.isF16() ? "f16" : "bf16"), next(areRead ? 2 * count : count) {
    for (size_t i = 0; i < count; ++i)
      sums += (i ? ",$" : "$") + std::to_string(i), constraints += i ? ",=f" : "=f";
    for (size_t i = 0; areRead && i < count; ++i)
      constraints += "," + std::to_string(i);
  }
  std::string instruction(size_t count) const {
    return "wgmma.mma_async.sync.aligned.m64n" + std::to_string(2 * count) + "k16.f32." + type +
           "." + type + " {" + sums + "}, ";
  }
  std::string operand(size_t i) const { return "$" + std::to_string(next + i); }
};

} // namespace

void Hopper::multiply(MutableArrayRef<Value> sums, Value a, Value b, bool isFirst) const {
  ProductText text(sums.size(), !isFirst, half);
  std::string product =
      text.instruction(sums.size()) + text.operand(0) + ", " + text.operand(1) + ", ";
  product = isFirst ? "{ .reg .pred p; setp.ne.b32 p, 0, 0; " + product + "p, 1, 1, 0, 0; }"
                    : product + "1, 1, 1, 0, 0;";
  SmallVector<Value> operands;
  if (!isFirst)
    llvm::append_range(operands, sums);
  operands.append({a, b});
  SmallVector<Type> types(sums.size(), builder.getF32Type());
  llvm::copy(assembly(product, text.constraints + ",l,l", operands, types), sums.begin());
}

void Hopper::multiplyWords(MutableArrayRef<Value> sums, ArrayRef<Value> a, Value b) const {
  ProductText text(sums.size(), true, half);
  std::string product = text.instruction(sums.size()) + "{" + text.operand(0) + "," +
                        text.operand(1) + "," + text.operand(2) + "," + text.operand(3) + "}, " +
                        text.operand(4) + ", 1, 1, 1, 1;";
  SmallVector<Value> operands(sums);
  llvm::append_range(operands, a);
  operands.push_back(b);
  SmallVector<Type> types(sums.size(), builder.getF32Type());
  llvm::copy(assembly(product, text.constraints + ",r,r,r,r,l", operands, types), sums.begin());
}

void Hopper::fenceStores() const {
  NVVM::FenceProxyOp::create(
      builder, loc, NVVM::ProxyKind::async_shared,
      NVVM::SharedSpaceAttr::get(builder.getContext(), NVVM::SharedSpace::shared_cta));
}

void Hopper::fenceProducts() const { NVVM::WgmmaFenceAlignedOp::create(builder, loc); }
void Hopper::commitProducts() const { NVVM::WgmmaGroupSyncAlignedOp::create(builder, loc); }
void Hopper::waitForProducts(int64_t pending) const {
  NVVM::WgmmaWaitGroupSyncOp::create(builder, loc, uint64_t(pending));
}

void Hopper::pin(MutableArrayRef<Value> values) const {
  std::string outputs, inputs;
  SmallVector<Type> types;
  for (size_t i = 0; i < values.size(); ++i) {
    types.push_back(values[i].getType());
    outputs += types.back().isF32() ? "=f," : "=r,";
    inputs += std::to_string(i) + (i + 1 < values.size() ? "," : "");
  }
  llvm::copy(assembly("", outputs + inputs, values, types), values.begin());
}

//===-- stages ------------------------------------------------------------------------------===//

Value StageRing::filled(const Hopper &hopper, Value stage) const {
  return hopper.add(hopper.add(hopper.sharedBase, firstBarrier), hopper.mul(stage, 8));
}
Value StageRing::emptied(const Hopper &hopper, Value stage) const {
  return hopper.add(filled(hopper, stage), 8 * stages);
}
Value StageRing::memory(const Hopper &hopper, Value stage) const {
  return hopper.add(hopper.add(hopper.sharedBase, firstStage), hopper.mul(stage, bytes));
}

std::pair<Value, Value> StageRing::next(const Hopper &hopper, Value stage, Value parity) const {
  Value following = hopper.add(stage, 1), isLast = hopper.equals(following, stages);
  Value other = arith::XOrIOp::create(hopper.builder, hopper.loc, parity, hopper.constant(1));
  return {hopper.select(isLast, hopper.constant(0), following),
          hopper.select(isLast, other, parity)};
}

void StageRing::init(const Hopper &hopper, int64_t consumers) const {
  for (int64_t stage = 0; stage < stages; ++stage) {
    hopper.initBarrier(filled(hopper, hopper.constant(stage)), 1);
    hopper.initBarrier(emptied(hopper, hopper.constant(stage)), consumers);
  }
}
