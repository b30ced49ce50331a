// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The patterns of HoistSlices.h: for each op that a slice can pass, what of its operands is still
// needed.
#include "compiler/transforms/HoistSlices.h"
#include "dialect/Locations.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace attn;

static RankedTensorType typeOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()); }

/// The elements of `input` that `slice` takes along the axis called `axis`, which is position `d`
/// of the slice's own input; all of it where it lacks the axis.
static Value sliceAlong(OpBuilder &builder, SliceOp slice, Value input, StringAttr axis) {
  RankedTensorType type = typeOf(input), result = typeOf(slice.getResult());
  int64_t d = axisIndex(type, axis);
  if (d < 0)
    return input;
  SmallVector<int64_t> shape(type.getShape());
  SmallVector<StringAttr> names(axesOf(type));
  if (slice.getDrop()) {
    shape.erase(shape.begin() + d);
    names.erase(names.begin() + d);
  } else {
    shape[d] = result.getDimSize(slice.getAxis());
    names[d] = axesOf(result)[slice.getAxis()];
  }
  return SliceOp::create(builder, slice.getLoc(), axesTensor(type.getElementType(), shape, names),
                         input, d, slice.getOffset(), slice.getEnd(), slice.getDrop());
}

/// Whether what a slice calls its axis is another axis of what the producer reads.
static bool meansAnotherAxis(SliceOp slice, Operation *producer) {
  if (slice.getDrop())
    return false;
  StringAttr name = axesOf(slice.getResult().getType())[slice.getAxis()],
             whole = axesOf(slice.getInput().getType())[slice.getAxis()];
  return name != whole && llvm::any_of(producer->getOperands(), [&](Value operand) {
           auto type = dyn_cast<RankedTensorType>(operand.getType());
           return type && axisIndex(type, name) >= 0;
         });
}

namespace {

/// Slices of an `Op` whose every reader takes the same slice.
template <typename Op> struct SliceOf : OpRewritePattern<SliceOp> {
  using OpRewritePattern<SliceOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(SliceOp slice, PatternRewriter &rewriter) const override {
    auto producer = slice.getInput().template getDefiningOp<Op>();
    if (!producer || producer->getBlock() != slice->getBlock())
      return failure();
    SmallVector<Operation *> slices(producer->getUsers());
    for (Operation *user : slices)
      if (user->getName() != slice->getName() || user->getAttrs() != slice->getAttrs() ||
          user->getPropertiesAsAttribute() != slice->getPropertiesAsAttribute() ||
          user->getResultTypes() != slice->getResultTypes())
        return rewriter.notifyMatchFailure(slice, "other elements are read, too");
    StringAttr axis = axesOf(producer.getResult().getType())[slice.getAxis()];
    if (meansAnotherAxis(slice, producer))
      return rewriter.notifyMatchFailure(slice, "an operand has an axis of this name");
    rewriter.setInsertionPointAfter(producer);
    Value hoisted = hoist(rewriter, slice, producer, axis);
    if (!hoisted)
      return rewriter.notifyMatchFailure(slice, "the axis is needed as a whole");
    for (Operation *user : slices)
      rewriter.replaceOp(user, hoisted);
    return success();
  }

  /// The producer on slices of its inputs; null where that cannot be.
  static Value hoist(OpBuilder &builder, SliceOp slice, Op producer, StringAttr axis);
};

} // namespace

template <>
Value SliceOf<NormOp>::hoist(OpBuilder &builder, SliceOp slice, NormOp norm, StringAttr axis) {
  RankedTensorType type = norm.getResult().getType();
  if (axisIndex(type, axis) >= type.getRank() - static_cast<int64_t>(norm.getAxes()))
    return {};
  Value rows = sliceAlong(builder, slice, norm.getInput(), axis);
  return NormOp::create(builder, norm.getLoc(), rows, norm.getWeight(), norm.getBias(),
                        norm.getNorm(), norm.getAxes());
}

template <>
Value SliceOf<MapOp>::hoist(OpBuilder &builder, SliceOp slice, MapOp map, StringAttr axis) {
  SmallVector<Value> inputs;
  for (Value input : map.getInputs())
    inputs.push_back(sliceAlong(builder, slice, input, axis));
  return cloneMap(builder, map, slice.getResult().getType(), inputs);
}

template <>
Value SliceOf<ReduceOp>::hoist(OpBuilder &builder, SliceOp slice, ReduceOp reduce,
                               StringAttr axis) {
  IRMapping mapping;
  for (Value input : reduce.getInputs())
    mapping.map(input, sliceAlong(builder, slice, input, axis));
  auto narrow = cast<ReduceOp>(builder.clone(*reduce, mapping));
  narrow.getResult().setType(cast<RankedTensorType>(slice.getResult().getType()));
  return narrow.getResult();
}

/// Whether all that is read of a result is what `slice` takes of another.
static bool isReadBySlices(Operation *producer, SliceOp slice) {
  return llvm::all_of(producer->getUsers(), [&](Operation *user) {
    return user->getName() == slice->getName() &&
           user->getPropertiesAsAttribute() == slice->getPropertiesAsAttribute();
  });
}

template <>
Value SliceOf<LinearOp>::hoist(OpBuilder &builder, SliceOp slice, LinearOp linear,
                               StringAttr axis) {
  int64_t lifted = typeOf(linear.getInput()).getRank() - linear.getContract();
  if (static_cast<int64_t>(slice.getAxis()) >= lifted || !linear.getEpilogue().empty() ||
      linear.getNorm())
    return {};
  // Projections of one tensor become one product on weights that are packed together: a narrow one
  // beside wide ones would need its weights a second time.
  for (Operation *user : linear.getInput().getUsers())
    if (isa<LinearOp>(user) && user != linear && !isReadBySlices(user, slice))
      return {};
  Value rows = sliceAlong(builder, slice, linear.getInput(), axis);
  return LinearOp::create(builder, linear.getLoc(), slice.getResult().getType(), rows,
                          linear.getWeights(), linear.getBiases(), linear.getContract());
}

/// The first position that a slice takes.
static Value firstOf(OpBuilder &builder, SliceOp slice) {
  Location loc = slice.getLoc();
  if (!slice.getEnd())
    return arith::ConstantIndexOp::create(builder, loc, slice.getOffset());
  auto size = [&](Value tensor) {
    return createAxisSize(builder, loc, typeOf(tensor), slice.getAxis());
  };
  Value taken =
      slice.getDrop() ? arith::ConstantIndexOp::create(builder, loc, 1) : size(slice.getResult());
  return arith::SubIOp::create(builder, loc, size(slice.getInput()), taken);
}

/// A position of a hook counts from the start of the slice now; where the slice drops the axis,
/// there is none.
static void shiftPosition(OpBuilder &builder, SliceOp slice, Block &hook, unsigned argument) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&hook);
  BlockArgument position = hook.getArgument(argument);
  Value offset = firstOf(builder, slice);
  if (slice.getDrop()) {
    position.replaceAllUsesWith(offset);
    return hook.eraseArgument(argument);
  }
  auto named = dyn_cast<NameLoc>(position.getLoc());
  Location loc = inWords(slice.getLoc(), named ? named.getName().getValue() : StringRef());
  auto whole = arith::AddIOp::create(builder, loc, position, offset);
  position.replaceAllUsesExcept(whole, whole);
}

template <>
Value SliceOf<LookupOp>::hoist(OpBuilder &builder, SliceOp slice, LookupOp lookup,
                               StringAttr axis) {
  // Rows of a parameter in order are a view already, and a slice of that is one, too.
  if (axisIndex(lookup.getIndices().getType(), axis) < 0 ||
      lookup.getIndices().getDefiningOp<TableOp>())
    return {};
  Value indices = sliceAlong(builder, slice, lookup.getIndices(), axis);
  return LookupOp::create(builder, lookup.getLoc(), slice.getResult().getType(), lookup.getTable(),
                          indices);
}

template <>
Value SliceOf<RotaryOp>::hoist(OpBuilder &builder, SliceOp slice, RotaryOp rotary,
                               StringAttr axis) {
  if (static_cast<int64_t>(slice.getAxis()) == typeOf(rotary.getResult()).getRank() - 1)
    return {};
  auto narrow = [&](Value value) { return sliceAlong(builder, slice, value, axis); };
  return RotaryOp::create(builder, rotary.getLoc(), slice.getResult().getType(),
                          narrow(rotary.getInput()), narrow(rotary.getCos()),
                          narrow(rotary.getSin()), rotary.getInterleaved());
}

template <>
Value SliceOf<AttentionOp>::hoist(OpBuilder &builder, SliceOp slice, AttentionOp attention,
                                  StringAttr axis) {
  if (axisIndex(attention.getKey().getType(), axis) >= 0 ||
      axisIndex(attention.getValue().getType(), axis) >= 0 || !attention.getFurther().empty() ||
      static_cast<int64_t>(slice.getAxis()) == typeOf(attention.getResult()).getRank() - 1)
    return {};
  if (slice.getDrop() &&
      typeOf(attention.getResult()).getRank() == 2) // a query has an axis of its own
    return {};
  IRMapping mapping;
  mapping.map(attention.getQuery(), sliceAlong(builder, slice, attention.getQuery(), axis));
  auto narrow = cast<AttentionOp>(builder.clone(*attention, mapping));
  // A key that is the query itself keeps all of its rows.
  narrow.getKeyMutable().assign(attention.getKey());
  narrow.getValueMutable().assign(attention.getValue());
  narrow.getResult().setType(cast<RankedTensorType>(slice.getResult().getType()));
  unsigned position = axisIndex(attention.getQuery().getType(), axis);
  std::pair<Region *, unsigned> hooks[] = {{&narrow.getScore(), 2},
                                           {&narrow.getBias(), 1},
                                           {&narrow.getMask(), 0},
                                           {&narrow.getSink(), 0}};
  for (auto [region, own] : hooks)
    if (!region->empty())
      shiftPosition(builder, slice, region->front(), own + position);
  return narrow.getResult();
}

template <>
Value SliceOf<RelabelOp>::hoist(OpBuilder &builder, SliceOp slice, RelabelOp relabel, StringAttr) {
  Value input = relabel.getInput();
  auto type = typeOf(input), result = typeOf(slice.getResult());
  int64_t d = slice.getAxis();
  SmallVector<StringAttr> names(axesOf(type));
  if (slice.getDrop())
    names.erase(names.begin() + d);
  Value narrow = SliceOp::create(builder, slice.getLoc(),
                                 axesTensor(type.getElementType(), result.getShape(), names), input,
                                 d, slice.getOffset(), slice.getEnd(), slice.getDrop());
  return RelabelOp::create(builder, relabel.getLoc(), result, narrow);
}

/// Whether all that becomes of a slice is parts of concats, so that what computes it can write it
/// to its place there.
static bool isOnlyConcatenated(SliceOp slice) {
  return llvm::all_of(slice->getUsers(), [](Operation *user) {
    auto inner = dyn_cast<SliceOp>(user);
    return inner ? isOnlyConcatenated(inner) : isa<ConcatOp>(user);
  });
}

namespace {

/// Slices of an `Op`, cheap and row by row, of which no two take the same element, and which are
/// put together anew: a roll. Each is computed where it lies in the end.
template <typename Op> struct PartsOf : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op producer, PatternRewriter &rewriter) const override {
    SmallVector<SliceOp> slices;
    for (Operation *user : producer->getUsers()) {
      auto slice = dyn_cast<SliceOp>(user);
      if (!slice || slice.getEnd() || slice.getDrop() ||
          typeOf(slice.getResult()).isDynamicDim(int64_t(slice.getAxis())) ||
          slice->getBlock() != producer->getBlock() ||
          (!slices.empty() && slice.getAxis() != slices.front().getAxis()) ||
          !isOnlyConcatenated(slice) || meansAnotherAxis(slice, producer))
        return rewriter.notifyMatchFailure(producer, "not only parts of concats are read");
      slices.push_back(slice);
    }
    llvm::sort(slices, [](SliceOp a, SliceOp b) { return a.getOffset() < b.getOffset(); });
    for (size_t i = 1; i < slices.size(); ++i)
      if (endOf(slices[i - 1]) > static_cast<int64_t>(slices[i].getOffset()))
        return rewriter.notifyMatchFailure(producer, "an element is read twice");
    if (slices.size() < 2)
      return rewriter.notifyMatchFailure(producer, "one slice alone");
    StringAttr axis = axesOf(producer.getResult().getType())[slices.front().getAxis()];
    rewriter.setInsertionPointAfter(producer);
    for (SliceOp slice : slices) {
      Value hoisted = SliceOf<Op>::hoist(rewriter, slice, producer, axis);
      if (!hoisted)
        return rewriter.notifyMatchFailure(producer, "the axis is needed as a whole");
      rewriter.replaceOp(slice, hoisted);
    }
    return success();
  }

  /// Where a slice ends along its axis.
  static int64_t endOf(SliceOp slice) {
    return static_cast<int64_t>(slice.getOffset()) +
           typeOf(slice.getResult()).getDimSize(slice.getAxis());
  }
};

} // namespace

void attn::populateSliceHoisting(RewritePatternSet &patterns) {
  patterns.add<SliceOf<NormOp>, SliceOf<MapOp>, SliceOf<ReduceOp>, SliceOf<LinearOp>,
               SliceOf<LookupOp>, SliceOf<RotaryOp>, SliceOf<AttentionOp>, SliceOf<RelabelOp>,
               PartsOf<NormOp>, PartsOf<MapOp>>(patterns.getContext());
}
