// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One op more axis: what each op becomes where its operands have an axis more, in front.
#include "compiler/transforms/LiftOverSteps.h"
#include "compiler/transforms/Permute.h"
#include "dialect/Choices.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace attn {

static RankedTensorType typeOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()); }

/// Numbers, with one more in front.
static SmallVector<int64_t> behind(int64_t first, ArrayRef<int64_t> numbers, int64_t plus = 0) {
  SmallVector<int64_t> result{first};
  for (int64_t number : numbers)
    result.push_back(number + plus);
  return result;
}

Value withAxisInFront(OpBuilder &builder, Location loc, Value tensor, StringRef axis) {
  RankedTensorType type = typeOf(tensor);
  int64_t at = axisIndex(type, axis);
  SmallVector<int64_t> order{at};
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (d != at)
      order.push_back(d);
  return permuted(builder, loc, tensor, order);
}

namespace {
/// Lifts ops of one scan.
struct Lifter {
  OpBuilder &builder;
  Location loc;
  RankedTensorType steps; ///< A tensor with the axis of the steps in front.
  function_ref<Value(Value)> whole;

  /// The type of a result, of all steps.
  Type lifted(Value step) const { return withAxisOf(typeOf(step), steps, 0, 0); }

  Value lift(LinearOp op) const {
    if (op.getNorm() || !op.getCaptures().empty() || !op.getEpilogue().empty() ||
        llvm::any_of(op.getOperands().drop_front(), [&](Value v) { return whole(v) != v; }))
      return {};
    return LinearOp::create(builder, loc, lifted(op.getResult()), whole(op.getInput()),
                            op.getWeights(), op.getBiases(), op.getContract());
  }

  Value lift(NormOp op) const {
    return NormOp::create(builder, loc, lifted(op.getResult()), whole(op.getInput()),
                          op.getWeight(), op.getBias(), op.getNorm(), op.getAxes());
  }

  /// Not what has more elements than all that it is computed of, as k v^T: that of all steps would
  /// be as many matrices.
  Value lift(MapOp op) const {
    ArrayRef<StringAttr> own = axesOf(op.getResult().getType());
    bool isNarrow = llvm::none_of(op.getInputs(), [&](Value input) {
      return llvm::all_of(own,
                          [&](StringAttr name) { return axisIndex(input.getType(), name) >= 0; });
    });
    if (isNarrow)
      return {};
    auto map = MapOp::create(builder, loc, lifted(op.getResult()),
                             llvm::map_to_vector(op.getInputs(), whole));
    IRMapping mapping;
    op.getBody().cloneInto(&map.getBody(), mapping);
    return map.getResult();
  }

  Value lift(RelabelOp op) const {
    return RelabelOp::create(builder, loc, lifted(op.getResult()), whole(op.getInput()));
  }

  Value lift(RearrangeOp op) const {
    int64_t size = steps.isDynamicDim(0) ? -1 : steps.getDimSize(0);
    return RearrangeOp::create(builder, loc, lifted(op.getResult()), whole(op.getInput()),
                               behind(1, op.getSplit()), behind(size, op.getAtoms()),
                               behind(0, op.getOrder(), 1), behind(1, op.getMerge()));
  }

  Value lift(SliceOp op) const {
    return SliceOp::create(builder, loc, lifted(op.getResult()), whole(op.getInput()),
                           op.getAxis() + 1, op.getOffset(), op.getEnd(), op.getDrop());
  }

  Value lift(ReduceOp op) const {
    auto reduce =
        ReduceOp::create(builder, loc, lifted(op.getResult()),
                         llvm::map_to_vector(op.getInputs(), whole), op.getKind(), op.getOver());
    IRMapping mapping;
    op.getBody().cloneInto(&reduce.getBody(), mapping);
    return reduce.getResult();
  }

  Value lift(SoftmaxOp op) const {
    return SoftmaxOp::create(builder, loc, lifted(op.getResult()), whole(op.getInput()),
                             op.getAxis() + 1);
  }

  Value lift(TopkOp op) const {
    return TopkOp::create(builder, loc, lifted(op.getResult()), whole(op.getInput()),
                          op.getAxis() + 1);
  }

  Value lift(ConcatOp op) const {
    SmallVector<Value> inputs;
    SmallVector<int64_t> along;
    for (auto [input, axis] : llvm::zip_equal(op.getInputs(), op.getAlong())) {
      inputs.push_back(whole(input));
      along.push_back(axis + (inputs.back() != input ? 1 : 0));
    }
    return ConcatOp::create(builder, loc, lifted(op.getResult()), inputs, op.getAxis() + 1, along);
  }

  Value lift(LookupOp op) const {
    if (whole(op.getTable()) != op.getTable())
      return {};
    return LookupOp::create(builder, loc, lifted(op.getResult()), op.getTable(),
                            whole(op.getIndices()));
  }

  Value lift(RotaryOp op) const {
    if (whole(op.getInput()) == op.getInput() || whole(op.getCos()) != op.getCos() ||
        whole(op.getSin()) != op.getSin())
      return {};
    return RotaryOp::create(builder, loc, lifted(op.getResult()), whole(op.getInput()), op.getCos(),
                            op.getSin(), op.getInterleaved());
  }
};
} // namespace

Value liftOverSteps(OpBuilder &builder, Operation *op, ScanOp scan,
                    function_ref<Value(Value)> whole) {
  // A result with an axis of the same name has no place for another.
  if (op->getNumResults() != 1 || !isa<RankedTensorType>(op->getResult(0).getType()) ||
      axisIndex(op->getResult(0).getType(), scan.getAxis()) >= 0)
    return {};
  RankedTensorType input = typeOf(scan.getInputs().front());
  int64_t at = axisIndex(input, scan.getAxis());
  Lifter lifter{builder, op->getLoc(), withAxisOf(withoutAxis(input, at), input, at, 0), whole};
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<LinearOp, NormOp, MapOp, RelabelOp, RearrangeOp, SliceOp, ReduceOp, SoftmaxOp, TopkOp,
            ConcatOp, LookupOp, RotaryOp>([&](auto known) { return lifter.lift(known); })
      .Default([](Operation *) { return Value(); });
}

} // namespace attn
