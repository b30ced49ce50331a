// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of TensorCores and GlobalRows to ops of NVVM, and to pointers of LLVM's dialect.
#include "compiler/gpu/threads/TensorCores.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace attn;

TensorCores::TensorCores(OpBuilder &builder, Location loc, Type half)
    : builder(builder), loc(loc), index(builder, loc), half(half) {
  thread = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x);
  Value lanes = index.constant(32), four = index.constant(4);
  lane = index.rem(thread, lanes), warp = index.div(thread, lanes);
  g = index.div(lane, four), t = index.rem(lane, four);
}

//===-- words -------------------------------------------------------------------------------===//

Value TensorCores::vectorOf(ValueRange values) const {
  auto type = VectorType::get({static_cast<int64_t>(values.size())}, values[0].getType());
  Value vector = LLVM::PoisonOp::create(builder, loc, type);
  for (auto [i, value] : llvm::enumerate(values))
    vector = LLVM::InsertElementOp::create(builder, loc, vector, value,
                                           integer(static_cast<int64_t>(i)));
  return vector;
}

Value TensorCores::word(Value even, Value odd) const {
  Value rounded = // one instruction
      LLVM::FPTruncOp::create(builder, loc, VectorType::get({2}, half), vectorOf({even, odd}));
  return LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), rounded);
}

Value TensorCores::bits(Value word, int64_t mask) const {
  return arith::AndIOp::create(builder, loc, word, integer(mask));
}

Value TensorCores::unpack(Value word, Type half, bool isOdd) const {
  Type f32 = builder.getF32Type();
  if (half.isF16()) {
    Value halves = LLVM::BitcastOp::create(builder, loc, VectorType::get({2}, half), word);
    Value own = LLVM::ExtractElementOp::create(builder, loc, halves, integer(isOdd));
    return LLVM::FPExtOp::create(builder, loc, f32, own);
  }
  Value upper = isOdd ? bits(word, 0xffff0000)
                      : Value(arith::ShLIOp::create(builder, loc, word, integer(16)));
  return LLVM::BitcastOp::create(builder, loc, f32, upper);
}

Value TensorCores::specials(Value word) const {
  // An exponent of ones alone carries to the sign.
  int64_t exponents = half.isF16() ? 0x7c007c00 : 0x7f807f80,
          one = half.isF16() ? 0x04000400 : 0x00800080;
  return arith::AddIOp::create(builder, loc, bits(word, exponents), integer(one));
}

Value TensorCores::isEqual(Value a, int64_t b) const {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, a, index.constant(b));
}

SmallVector<SmallVector<Value>> TensorCores::wordsOf(ArrayRef<Value> accumulators) const {
  SmallVector<SmallVector<Value>> steps;
  for (size_t i = 0; i < accumulators.size(); i += 4) {
    if (i % 8 == 0)
      steps.emplace_back();
    steps.back().push_back(word(accumulators[i], accumulators[i + 1]));
    steps.back().push_back(word(accumulators[i + 2], accumulators[i + 3]));
  }
  return steps;
}

Value TensorCores::integer(int64_t value) const {
  auto bits = builder.getI32IntegerAttr(static_cast<int32_t>(value));
  return arith::ConstantOp::create(builder, loc, bits);
}

Value TensorCores::number(double value) const {
  return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value));
}

//===-- instructions ------------------------------------------------------------------------===//

static Value call(OpBuilder &builder, Location loc, StringRef name, Type type, ValueRange values) {
  return LLVM::CallIntrinsicOp::create(builder, loc, type, builder.getStringAttr(name), values)
      .getResult(0);
}

void TensorCores::multiplyBy(StringRef instruction, MutableArrayRef<Value> sums, ArrayRef<Value> a,
                             ArrayRef<Value> b) const {
  Type f32 = builder.getF32Type();
  auto fragment = LLVM::LLVMStructType::getLiteral(builder.getContext(), {f32, f32, f32, f32});
  SmallVector<Value> operands(a);
  llvm::append_range(operands, b);
  llvm::append_range(operands, sums);
  Value product = call(builder, loc, instruction, fragment, operands);
  for (auto [i, sum] : llvm::enumerate(sums))
    sum = LLVM::ExtractValueOp::create(builder, loc, product, i);
}

void TensorCores::multiply(MutableArrayRef<Value> sums, ArrayRef<Value> a,
                           ArrayRef<Value> b) const {
  std::string name =
      b.size() == 2 ? "llvm.nvvm.mma.m16n8k16.row.col." : "llvm.nvvm.mma.m16n8k8.row.col.";
  if (!half.isF16())
    return multiplyBy(name + "bf16", sums, a, b);
  auto pairs = [&](ArrayRef<Value> words) { // which this intrinsic's operands are
    return llvm::map_to_vector(words, [&](Value word) -> Value {
      return LLVM::BitcastOp::create(builder, loc, VectorType::get({2}, half), word);
    });
  };
  multiplyBy(name + "f32.f32", sums, pairs(a), pairs(b));
}

void TensorCores::multiplyTf32(MutableArrayRef<Value> sums, ArrayRef<Value> a,
                               ArrayRef<Value> b) const {
  multiplyBy("llvm.nvvm.mma.m16n8k8.row.col.tf32", sums, a, b);
}

Value TensorCores::roundToTf32(Value word) const {
  Value number = LLVM::BitcastOp::create(builder, loc, builder.getF32Type(), word);
  return call(builder, loc, "llvm.nvvm.f2tf32.rna", builder.getI32Type(), number);
}

Value TensorCores::ballot(Value truth) const {
  return NVVM::VoteSyncOp::create(builder, loc, builder.getI32Type(), integer(-1), truth,
                                  NVVM::VoteSyncKind::ballot);
}

Value TensorCores::firstBit(Value bits) const {
  Value isZeroFine = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(false));
  Value number = call(builder, loc, "llvm.cttz", builder.getI32Type(), {bits, isZeroFine});
  return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), number);
}

static LLVM::InlineAsmOp assembly(OpBuilder &builder, Location loc, Type result,
                                  ValueRange operands, const llvm::Twine &text,
                                  StringRef constraints) {
  return LLVM::InlineAsmOp::create(
      builder, loc, result, operands, text.str(), constraints, /*has_side_effects=*/true,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
}

Value TensorCores::opaque(Value word) const {
  return assembly(builder, loc, word.getType(), word, "", "=r,0").getRes();
}

SmallVector<Value> TensorCores::loadMatrices(Value address, int64_t offset, int64_t count,
                                             bool isTransposed) const {
  SmallVector<Type> words(count, builder.getI32Type());
  Type type = count == 1 ? words[0] : LLVM::LLVMStructType::getLiteral(builder.getContext(), words);
  std::string registers, outputs;
  for (int64_t i = 0; i < count; ++i) {
    registers += (i == 0 ? "$" : ", $") + std::to_string(i);
    outputs += "=r,";
  }
  Value loaded = assembly(builder, loc, type, address,
                          "ldmatrix.sync.aligned.m8n8.x" + llvm::Twine(count) +
                              (isTransposed ? ".trans" : "") + ".shared.b16 {" + registers +
                              "}, [$" + llvm::Twine(count) + "+" + llvm::Twine(offset) + "];",
                          outputs + "r")
                     .getRes();
  if (count == 1)
    return {loaded};
  SmallVector<Value> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(LLVM::ExtractValueOp::create(builder, loc, loaded, i));
  return values;
}

Value TensorCores::exp2(Value x) const {
  return call(builder, loc, "llvm.nvvm.ex2.approx.ftz.f", builder.getF32Type(), x);
}

Value TensorCores::inverse(Value x) const {
  return call(builder, loc, "llvm.nvvm.rcp.approx.ftz.f", builder.getF32Type(), x);
}

Value TensorCores::larger(Value a, Value b) const {
  return arith::MaxNumFOp::create(builder, loc, a, b);
}

Value TensorCores::acrossRow(Value value, function_ref<Value(Value, Value)> combine) const {
  for (int32_t distance : {2, 1}) {
    auto other =
        gpu::ShuffleOp::create(builder, loc, value, distance, /*width=*/32, gpu::ShuffleMode::XOR);
    value = combine(value, other.getShuffleResult());
  }
  return value;
}

Value TensorCores::fromLane(Value word, Value lane) const {
  Value source = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), lane);
  return gpu::ShuffleOp::create(builder, loc, word, source, integer(32), gpu::ShuffleMode::IDX)
      .getShuffleResult();
}

Value TensorCores::any(Value truth) const {
  return NVVM::VoteSyncOp::create(builder, loc, builder.getI1Type(), integer(-1), truth,
                                  NVVM::VoteSyncKind::any);
}

void TensorCores::copyAsync(Value address, int64_t offset, Value global, int64_t globalOffset,
                            Value isThere) const {
  Value present = arith::SelectOp::create(builder, loc, isThere, integer(16), integer(0));
  copyAsync(address, offset, global, globalOffset, present, 16);
}

void TensorCores::copyAsync(Value address, int64_t offset, Value global, int64_t globalOffset,
                            Value present, int64_t bytes) const {
  // Past the L1 cache only whole pieces of 16 bytes go.
  assembly(builder, loc, Type(), {address, global, present},
           (bytes == 16 ? "cp.async.cg" : "cp.async.ca") + llvm::Twine(".shared.global [$0+") +
               llvm::Twine(offset) + "], [$1+" + llvm::Twine(globalOffset) + "], " +
               llvm::Twine(bytes) + ", $2;",
           "r,l,r");
}

void TensorCores::commitCopies() const { NVVM::CpAsyncCommitGroupOp::create(builder, loc); }

void TensorCores::waitForCopies(int64_t pending) const {
  NVVM::CpAsyncWaitGroupOp::create(builder, loc, static_cast<uint32_t>(pending));
}

//===-- pointers ----------------------------------------------------------------------------===//

static Value pointerTo(const TensorCores &cores, Value memref, unsigned space) {
  OpBuilder &builder = cores.builder;
  Value start = memref::ExtractAlignedPointerAsIndexOp::create(builder, cores.loc, memref);
  Value number = arith::IndexCastOp::create(builder, cores.loc, builder.getI64Type(), start);
  auto type = LLVM::LLVMPointerType::get(builder.getContext(), space);
  return LLVM::IntToPtrOp::create(builder, cores.loc, type, number);
}

Value TensorCores::sharedPointer(Value memref) const { return pointerTo(*this, memref, 3); }
Value TensorCores::globalPointer(Value memref) const { return pointerTo(*this, memref, 1); }

Value attn::dynamicSharedMemory(OpBuilder &builder, Location loc, gpu::GPUModuleOp module) {
  constexpr StringLiteral name = "dynamic_shared_memory";
  auto global = module.lookupSymbol<LLVM::GlobalOp>(name);
  if (!global) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    auto bytes = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
    global = LLVM::GlobalOp::create(builder, loc, bytes, /*isConstant=*/false,
                                    LLVM::Linkage::External, name, Attribute(), /*alignment=*/1024,
                                    /*addrSpace=*/3);
  }
  return LLVM::AddressOfOp::create(builder, loc, global);
}

Value TensorCores::dynamicSharedPointer(gpu::GPUModuleOp module) const {
  return dynamicSharedMemory(builder, loc, module);
}

Value TensorCores::addressOf(Value shared) const {
  return LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), shared);
}

Value TensorCores::at(Value pointer, Value bytes) const {
  if (auto known = constantIndex(bytes))
    return at(pointer, *known);
  Value offset = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), bytes);
  return LLVM::GEPOp::create(builder, loc, pointer.getType(), builder.getI8Type(), pointer, offset);
}

Value TensorCores::at(Value pointer, int64_t bytes) const {
  if (bytes == 0)
    return pointer;
  return LLVM::GEPOp::create(builder, loc, pointer.getType(), builder.getI8Type(), pointer,
                             LLVM::GEPArg(static_cast<int32_t>(bytes)));
}

Value TensorCores::load(Value pointer, Type type, int64_t alignment) const {
  return LLVM::LoadOp::create(builder, loc, type, pointer, alignment);
}

void TensorCores::store(Value value, Value pointer, int64_t alignment) const {
  LLVM::StoreOp::create(builder, loc, value, pointer, alignment);
}

//===-- rows --------------------------------------------------------------------------------===//

GlobalRows::GlobalRows(const TensorCores &cores, Value buffer) : cores(cores) {
  auto type = cast<MemRefType>(buffer.getType());
  sizes.assign(type.getShape().begin(), type.getShape().end());
  features = sizes.back();
  element = type.getElementType();
  elementBytes = type.getElementTypeBitWidth() / 8;
  auto metadata = memref::ExtractStridedMetadataOp::create(cores.builder, cores.loc, buffer);
  auto [known, offset] = type.getStridesAndOffset();
  for (auto [stride, value] : llvm::zip_equal(known, metadata.getStrides()))
    strides.push_back(ShapedType::isDynamic(stride) ? value : cores.index.constant(stride));
  Value start = ShapedType::isDynamic(offset) ? metadata.getOffset() : cores.index.constant(offset);
  pointer = cores.at(cores.globalPointer(metadata.getBaseBuffer()),
                     cores.index.mul(start, cores.index.constant(elementBytes)));
}

Value GlobalRows::row(ValueRange place) const {
  const IndexBuilder &index = cores.index;
  Value element = index.constant(0);
  for (auto [position, stride] : llvm::zip(place, strides))
    element = index.add(element, index.mul(position, stride));
  return cores.at(pointer, index.mul(element, index.constant(elementBytes)));
}

Value GlobalRows::rowBytes() const {
  return cores.index.mul(strides[strides.size() - 2], cores.index.constant(elementBytes));
}

Value GlobalRows::areAligned(int64_t bytes) const {
  const IndexBuilder &index = cores.index;
  OpBuilder &builder = cores.builder;
  Value address = LLVM::PtrToIntOp::create(builder, cores.loc, builder.getI64Type(), pointer);
  Value bits = arith::IndexCastOp::create(builder, cores.loc, builder.getIndexType(), address);
  for (auto [stride, size] : llvm::zip(ArrayRef(strides).drop_back(), sizes)) {
    if (size == 1)
      continue; // there is no next row
    Value step = index.mul(stride, index.constant(elementBytes));
    if (auto known = constantIndex(step)) {
      if (*known % bytes != 0)
        return index.truth(false);
      continue;
    }
    bits = arith::OrIOp::create(builder, cores.loc, bits, step);
  }
  return arith::CmpIOp::create(builder, cores.loc, arith::CmpIPredicate::eq,
                               index.rem(bits, index.constant(bytes)), index.constant(0));
}

SmallVector<Value> GlobalRows::loadEight(Value from) const {
  OpBuilder &builder = cores.builder;
  auto elementsAt = [&](int64_t offset, Type type) {
    Value four = cores.load(cores.at(from, offset), VectorType::get({4}, type), /*alignment=*/16);
    SmallVector<Value> elements;
    for (int64_t i = 0; i < 4; ++i)
      elements.push_back(
          LLVM::ExtractElementOp::create(builder, cores.loc, four, cores.integer(i)));
    return elements;
  };
  if (element.isF32()) {
    SmallVector<Value> eight = elementsAt(0, builder.getF32Type());
    llvm::append_range(eight, elementsAt(16, builder.getF32Type()));
    return eight;
  }
  SmallVector<Value> eight;
  for (Value word : elementsAt(0, builder.getI32Type()))
    eight.append({cores.unpack(word, element, false), cores.unpack(word, element, true)});
  return eight;
}

void GlobalRows::store(Value value, Value row, Value feature) const {
  if (!element.isF32())
    value = LLVM::FPTruncOp::create(cores.builder, cores.loc, element, value);
  Value place = cores.at(row, cores.index.mul(feature, cores.index.constant(elementBytes)));
  cores.store(value, place, elementBytes);
}

void GlobalRows::storePair(ArrayRef<Value> pair, Value row, Value feature) const {
  Value place = cores.at(row, cores.index.mul(feature, cores.index.constant(elementBytes)));
  Value values = cores.vectorOf(pair);
  if (!element.isF32())
    values =
        LLVM::FPTruncOp::create(cores.builder, cores.loc, VectorType::get({2}, element), values);
  cores.store(values, place, 2 * elementBytes);
}
