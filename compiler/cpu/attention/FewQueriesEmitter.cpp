// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state of a query of a few: where it lies, how it grows, and the output that it becomes.
#include "compiler/cpu/attention/FewQueriesEmitter.h"
#include "compiler/cpu/vectors/RowVectors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>

using namespace mlir;
using namespace attn;

FewQueriesEmitter::FewQueriesEmitter(Operation *op, Value out, const CpuTarget &target)
    : builder(op), index(builder, op->getLoc()), loc(op->getLoc()), lanes(target.lanes),
      row(VectorType::get({lanes}, builder.getF32Type())), zero(index.constant(0)) {
  ArrayRef<int64_t> sizes = cast<MemRefType>(out.getType()).getShape();
  queries = sizes[sizes.size() - 2];
  valueFeatures = sizes.back();
}

//===-- arithmetic --------------------------------------------------------------------------===//

Value FewQueriesEmitter::constant(double value) {
  return arith::ConstantOp::create(builder, loc,
                                   DenseElementsAttr::get(row, static_cast<float>(value)));
}

Value FewQueriesEmitter::larger(Value a, Value b) {
  return arith::MaximumFOp::create(builder, loc, a, b);
}

Value FewQueriesEmitter::sum(Value a, Value b) { return arith::AddFOp::create(builder, loc, a, b); }

Value FewQueriesEmitter::product(Value a, Value b) {
  return arith::MulFOp::create(builder, loc, a, b);
}

Value FewQueriesEmitter::fma(Value a, Value b, Value c) {
  return vector::FMAOp::create(builder, loc, a, b, c);
}

Value FewQueriesEmitter::acrossLanes(Value vector,
                                     llvm::function_ref<Value(Value, Value)> combine) {
  for (int64_t step = lanes / 2; step > 0; step /= 2) {
    SmallVector<int64_t> other;
    for (int64_t lane = 0; lane < lanes; ++lane)
      other.push_back(lane ^ step);
    vector = combine(vector, vector::ShuffleOp::create(builder, loc, vector, vector, other));
  }
  return vector;
}

Value FewQueriesEmitter::reference(Value largest) {
  Value none = constant(-std::numeric_limits<double>::infinity());
  Value isNone = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, largest, none);
  return arith::SelectOp::create(builder, loc, isNone, constant(0), largest);
}

Value FewQueriesEmitter::weightOf(Value score, Value reference) {
  return math::ExpOp::create(builder, loc, arith::SubFOp::create(builder, loc, score, reference));
}

//===-- states and rows ---------------------------------------------------------------------===//

Value FewQueriesEmitter::placeOf(Part part, Value query, int64_t offset) {
  int64_t at = part == Part::Sums    ? 0
               : part == Part::Total ? shape().sumFloats()
                                     : shape().sumFloats() + lanes;
  return index.add(index.mul(query, index.constant(shape().stateFloats())),
                   index.constant(at + offset));
}

Value FewQueriesEmitter::load(Value states, Part part, Value query, int64_t offset) {
  return vector::LoadOp::create(builder, loc, row, states,
                                ValueRange{placeOf(part, query, offset)});
}

void FewQueriesEmitter::store(Value vector, Value states, Part part, Value query, int64_t offset) {
  vector::StoreOp::create(builder, loc, vector, states, ValueRange{placeOf(part, query, offset)});
}

void FewQueriesEmitter::finish(Value total, ArrayRef<Value> sums, Value out, Value query) {
  Value isNone, factor;
  {
    AtPlace place = writeFor(AttentionTerm::Weight);
    total = acrossLanes(total, [&](Value a, Value b) { return sum(a, b); });
    isNone = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, total, constant(0));
    factor = arith::DivFOp::create(builder, loc, constant(1), total);
  }
  for (auto [v, part] : llvm::enumerate(sums)) {
    Value result =
        arith::SelectOp::create(builder, loc, isNone, constant(0), product(part, factor));
    storeFeatures(result, out, query, static_cast<int64_t>(v), valueFeatures);
  }
}

Value FewQueriesEmitter::headOf(Value buffer, ArrayRef<Value> batch) {
  SmallVector<OpFoldResult> offsets(batch.begin(), batch.end()),
      sizes(batch.size(), builder.getIndexAttr(1));
  return viewOf(index, buffer, offsets, sizes, static_cast<int64_t>(batch.size()));
}

Value FewQueriesEmitter::lanesOf(int64_t number, int64_t columns) {
  int64_t left = columns - number * lanes;
  if (left >= lanes)
    return {};
  auto bits = VectorType::get({lanes}, builder.getI1Type());
  return vector::ConstantMaskOp::create(builder, loc, bits, ArrayRef<int64_t>{left});
}

/// Vector `number` of a row of `columns` features, as f32; zeros behind the last.
Value FewQueriesEmitter::loadFeatures(Value matrix, Value at, int64_t number, int64_t columns) {
  return loadFloats(index, matrix, {at, index.constant(number * lanes)}, lanes,
                    lanesOf(number, columns));
}

void FewQueriesEmitter::storeFeatures(Value vector, Value matrix, Value at, int64_t number,
                                      int64_t columns) {
  SmallVector<Value> indices{at, index.constant(number * lanes)};
  if (Value mask = lanesOf(number, columns))
    vector::MaskedStoreOp::create(builder, loc, matrix, indices, mask, vector);
  else
    vector::StoreOp::create(builder, loc, vector, matrix, indices);
}
