// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Index arithmetic with constants folded at once, loops over it, and views of buffers.
#include "compiler/kernels/Loops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace attn;

std::optional<int64_t> attn::constantIndex(Value value) {
  APInt constant;
  if (value && matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return std::nullopt;
}

int64_t attn::leastOf(Value count) {
  if (auto constant = constantIndex(count))
    return *constant;
  if (auto product = count.getDefiningOp<arith::MulIOp>())
    return leastOf(product.getLhs()) * leastOf(product.getRhs());
  if (auto sum = count.getDefiningOp<arith::AddIOp>())
    return leastOf(sum.getLhs()) + leastOf(sum.getRhs());
  return 1;
}

int64_t attn::leastCount(Value memref, int64_t begin, int64_t end) {
  auto type = cast<MemRefType>(memref.getType());
  auto view = memref.getDefiningOp<memref::ReinterpretCastOp>();
  int64_t least = 1;
  for (int64_t d = begin; d < end; ++d) {
    Value size = type.isDynamicDim(d) && view ? view.getDynamicSize(d) : Value();
    least *= size ? leastOf(size) : std::max<int64_t>(type.getDimSize(d), 1);
  }
  return least;
}

Value IndexBuilder::constant(int64_t value) const {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value IntegerArithmetic::add(Value a, Value b) const {
  return builder.createOrFold<arith::AddIOp>(loc, a, b);
}

Value IntegerArithmetic::sub(Value a, Value b) const {
  return builder.createOrFold<arith::SubIOp>(loc, a, b);
}

Value IntegerArithmetic::mul(Value a, Value b) const {
  return builder.createOrFold<arith::MulIOp>(loc, a, b);
}

Value IntegerArithmetic::div(Value a, Value b) const {
  return builder.createOrFold<arith::DivUIOp>(loc, a, b);
}

Value IntegerArithmetic::rem(Value a, Value b) const {
  return builder.createOrFold<arith::RemUIOp>(loc, a, b);
}

Value IndexBuilder::ceilDiv(Value a, Value b) const { return div(add(a, sub(b, constant(1))), b); }

Value IntegerArithmetic::min(Value a, Value b) const {
  return builder.createOrFold<arith::MinUIOp>(loc, a, b);
}

Value IndexBuilder::max(Value a, Value b) const {
  return builder.createOrFold<arith::MaxUIOp>(loc, a, b);
}

Value IndexBuilder::truth(bool value) const {
  return arith::ConstantOp::create(builder, loc, builder.getBoolAttr(value));
}

Value IndexBuilder::dim(Value memref, int64_t d) const {
  auto type = cast<MemRefType>(memref.getType());
  if (!type.isDynamicDim(d))
    return constant(type.getDimSize(d));
  if (auto view = memref.getDefiningOp<memref::ReinterpretCastOp>())
    return view.getDynamicSize(d);
  return memref::DimOp::create(builder, loc, memref, d);
}

Value IndexBuilder::product(Value memref, int64_t begin, int64_t end) const {
  Value result = constant(1);
  for (int64_t d = begin; d < end; ++d)
    result = mul(result, dim(memref, d));
  return result;
}

SmallVector<Value> IndexBuilder::delinearize(Value flat, Value memref, int64_t begin,
                                             int64_t end) const {
  SmallVector<Value> indices(end - begin);
  for (int64_t d = end - 1; d > begin; --d) {
    Value size = dim(memref, d);
    indices[d - begin] = rem(flat, size);
    flat = div(flat, size);
  }
  if (end > begin)
    indices[0] = flat;
  return indices;
}

Value attn::viewOf(IndexBuilder index, Value buffer, SmallVector<OpFoldResult> offsets,
                   SmallVector<OpFoldResult> sizes, int64_t dropped) {
  auto type = cast<MemRefType>(buffer.getType());
  for (int64_t d = sizes.size(); d < type.getRank(); ++d)
    sizes.push_back(type.isDynamicDim(d) ? OpFoldResult(index.dim(buffer, d))
                                         : index.builder.getIndexAttr(type.getDimSize(d)));
  offsets.resize(type.getRank(), index.builder.getIndexAttr(0));
  SmallVector<OpFoldResult> steps(type.getRank(), index.builder.getIndexAttr(1));
  MemRefType view = memref::SubViewOp::inferResultType(type, offsets, sizes, steps);
  // MLIR's own way to infer it takes dims of one element for each other.
  auto [strides, offset] = view.getStridesAndOffset();
  auto layout = StridedLayoutAttr::get(type.getContext(), offset,
                                       ArrayRef<int64_t>(strides).drop_front(dropped));
  view = MemRefType::get(view.getShape().drop_front(dropped), type.getElementType(), layout,
                         type.getMemorySpace());
  return memref::SubViewOp::create(index.builder, index.loc, view, buffer, offsets, sizes, steps);
}

Value attn::rowOf(IndexBuilder index, Value buffer, Value flat, int64_t kept, Value from,
                  Value count) {
  int64_t rank = cast<MemRefType>(buffer.getType()).getRank(), rows = rank - kept;
  SmallVector<OpFoldResult> offsets, sizes;
  for (Value i : index.delinearize(flat, buffer, 0, rows)) {
    offsets.push_back(getAsOpFoldResult(i));
    sizes.push_back(index.builder.getIndexAttr(1));
  }
  for (int64_t d = rows; d < rank; ++d) {
    bool isColumn = d == rank - 1 && count;
    offsets.push_back(isColumn ? getAsOpFoldResult(from)
                               : OpFoldResult(index.builder.getIndexAttr(0)));
    sizes.push_back(getAsOpFoldResult(isColumn ? count : index.dim(buffer, d)));
  }
  return viewOf(index, buffer, offsets, sizes, rows);
}

Value attn::widened(IndexBuilder index, Value element) {
  OpBuilder &builder = index.builder;
  auto of = [&](Type scalar) -> Type {
    auto vector = dyn_cast<VectorType>(element.getType());
    return vector ? Type(vector.clone(scalar)) : scalar;
  };
  Type type = getElementTypeOrSelf(element.getType());
  if (type.isF32())
    return element;
  if (type.isInteger(16))
    element = arith::BitcastOp::create(builder, index.loc, of(builder.getBF16Type()), element);
  return arith::ExtFOp::create(builder, index.loc, of(builder.getF32Type()), element);
}

void attn::forLoop(IndexBuilder index, Value from, Value to, int64_t step,
                   llvm::function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(index.builder, index.loc, from, to, index.constant(step));
  OpBuilder::InsertionGuard guard(index.builder);
  index.builder.setInsertionPoint(loop.getBody()->getTerminator());
  body(loop.getInductionVar());
}

SmallVector<Value>
attn::carryingLoop(IndexBuilder index, Value from, Value to, Value step, ValueRange inits,
                   llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(index.builder, index.loc, from, to, step, inits,
                                 [](OpBuilder &, Location, Value, ValueRange) {});
  OpBuilder::InsertionGuard guard(index.builder);
  index.builder.setInsertionPointToEnd(loop.getBody());
  SmallVector<Value> results = body(loop.getInductionVar(), loop.getRegionIterArgs());
  scf::YieldOp::create(index.builder, index.loc, results);
  return loop.getResults();
}

SmallVector<Value>
attn::carryingLoop(IndexBuilder index, int64_t count, ValueRange inits,
                   llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  Value zero = index.constant(0);
  return count == 1
             ? body(zero, inits)
             : carryingLoop(index, zero, index.constant(count), index.constant(1), inits, body);
}

SmallVector<Value> attn::chosenOr(IndexBuilder index, Value condition, ValueRange values,
                                  llvm::function_ref<SmallVector<Value>()> body) {
  auto branch = scf::IfOp::create(index.builder, index.loc, values.getTypes(), condition,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(index.builder);
  index.builder.setInsertionPointToEnd(branch.thenBlock());
  scf::YieldOp::create(index.builder, index.loc, body());
  index.builder.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(index.builder, index.loc, values);
  return branch.getResults();
}

void attn::choose(IndexBuilder index, Value condition, llvm::function_ref<void()> yes,
                  llvm::function_ref<void()> no) {
  if (matchPattern(condition, m_One()))
    return yes();
  if (matchPattern(condition, m_Zero()))
    return no ? no() : void();
  auto branch = scf::IfOp::create(index.builder, index.loc, condition, /*withElseRegion=*/bool(no));
  OpBuilder::InsertionGuard guard(index.builder);
  index.builder.setInsertionPoint(branch.thenYield());
  yes();
  if (!no)
    return;
  index.builder.setInsertionPoint(branch.elseYield());
  no();
}

void attn::switchOn(IndexBuilder index, Value value, ArrayRef<int64_t> cases,
                    llvm::function_ref<void(int64_t)> body) {
  if (cases.size() == 1)
    return body(cases.front());
  auto op = scf::IndexSwitchOp::create(index.builder, index.loc, TypeRange(), value,
                                       cases.drop_back(), cases.size() - 1);
  OpBuilder::InsertionGuard guard(index.builder);
  for (auto [region, size] : llvm::zip_equal(op->getRegions(), [&] {
         SmallVector<int64_t> order{cases.back()}; // the default region comes first
         llvm::append_range(order, cases.drop_back());
         return order;
       }())) {
    index.builder.createBlock(&region);
    body(size);
    scf::YieldOp::create(index.builder, index.loc);
  }
}

void attn::forGroups(IndexBuilder index, Value count, int64_t size, ArrayRef<int64_t> rests,
                     llvm::function_ref<void(Value, int64_t)> body) {
  Value step = index.constant(size), whole = index.mul(index.div(count, step), step);
  std::optional<int64_t> known = constantIndex(count);
  if (!known || *known >= size)
    forLoop(index, index.constant(0), whole, size, [&](Value from) { body(from, size); });
  if (rests.size() == 1 && rests.front() == 0)
    return;
  switchOn(index, index.sub(count, whole), rests, [&](int64_t rest) {
    if (rest > 0)
      body(whole, rest);
  });
}

int64_t attn::rankOf(Value memref) { return cast<MemRefType>(memref.getType()).getRank(); }

int64_t attn::lineElements(Value memref) {
  constexpr int64_t lineBits = 512;
  return lineBits / cast<MemRefType>(memref.getType()).getElementTypeBitWidth();
}

Value attn::stackRoom(IndexBuilder index, int64_t elements, Type element) {
  constexpr int64_t lineBytes = 64;
  OpBuilder::InsertionGuard guard(index.builder); // in a loop, each iteration would take more
  Operation *around = index.builder.getInsertionBlock()->getParentOp();
  auto function = dyn_cast<FunctionOpInterface>(around);
  if (!function)
    function = around->getParentOfType<FunctionOpInterface>();
  index.builder.setInsertionPointToStart(&function.getFunctionBody().front());
  return memref::AllocaOp::create(index.builder, index.loc, MemRefType::get({elements}, element),
                                  index.builder.getI64IntegerAttr(lineBytes));
}
