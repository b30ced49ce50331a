// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where results lie.
#include "compiler/transforms/plan/Places.h"
#include "compiler/transforms/plan/Buffers.h"
#include "compiler/transforms/plan/Elements.h"
#include "compiler/transforms/plan/InPlace.h"
#include "compiler/transforms/plan/NarrowRows.h"
#include "compiler/transforms/plan/Operands.h"
#include "compiler/transforms/plan/ScanKernel.h"
#include "dialect/Choices.h"

using namespace mlir;

namespace attn::planning {

/// Whether an op's result lies where its first operand does.
static bool isInInput(Operation *op) {
  if (auto map = dyn_cast<MapOp>(op))
    return isOfCache(map);
  auto compute = dyn_cast<ComputeOpInterface>(op);
  return isView(op) || (compute && !compute.becomesKernel());
}

/// The last op of `block` that reads what `value` lies in: through views, concats, loops, and what
/// takes its place.
static void latestUse(const Places &places, Value value, Block *block, Operation *&latest) {
  for (Operation *user : value.getUsers()) {
    Operation *ancestor = block->findAncestorOpInBlock(*user);
    if (ancestor && (!latest || latest->isBeforeInBlock(ancestor)))
      latest = ancestor;
    bool isPassedOn = isInInput(user) || isa<ConcatOp, PadOp, scf::ForOp>(user);
    for (Value result : user->getResults())
      if (isPassedOn || places.inPlace.lookup(result) == value)
        latestUse(places, result, block, latest);
  }
}

Operation *lastUse(const Places &places, Value root, Block *block) {
  Operation *latest = root.getDefiningOp();
  latestUse(places, root, block, latest);
  // A concat's buffer holds its parts, too, and a pad's what is padded.
  if (isa_and_present<ConcatOp, PadOp>(root.getDefiningOp()))
    for (auto &[part, place] : places.partOf)
      if (place.first == root.getDefiningOp())
        latestUse(places, part, block, latest);
  return latest;
}

BufferView partOfConcat(ConcatOp concat, size_t position, const BufferView &whole) {
  auto size = [&](size_t i) {
    return sizeOf(cast<RankedTensorType>(concat.getInputs()[i].getType()), concat.getAlong()[i]);
  };
  SizePolynomial start;
  for (size_t i = 0; i < position; ++i)
    start = start + size(i);
  SizePolynomial own = size(position);
  if (start.isConstant() && own.isConstant())
    return whole.slice(concat.getAxis(), start.constant(), own.constant(), false);
  return whole.window(concat.getAxis(), start, own);
}

/// Of a pad's result, what lies within its borders.
static BufferView insideOf(PadOp pad, const BufferView &whole) {
  BufferView inside = whole;
  for (int64_t d = 0; d < typeOf(pad.getInput()).getRank(); ++d)
    inside = inside.window(d, pad.getLow()[d], sizeOf(typeOf(pad.getInput()), d));
  return inside;
}

BufferView outputOf(FunctionPlan &plan, Value tensor) {
  if (auto known = plan.places.destinations.find(tensor); known != plan.places.destinations.end())
    return plan.places.views[tensor] = known->second;
  if (auto part = plan.places.partOf.find(tensor); part != plan.places.partOf.end()) {
    auto [op, position] = part->second;
    Value result = op->getResult(0);
    if (!plan.places.views.count(result))
      outputOf(plan, result); // with its first part
    BufferView whole = plan.places.views[result];
    auto concat = dyn_cast<ConcatOp>(op);
    return plan.places.views[tensor] =
               concat ? partOfConcat(concat, position, whole) : insideOf(cast<PadOp>(op), whole);
  }
  Operation *last = lastUse(plan.places, tensor, tensor.getParentBlock());
  if (LinearOp linear = roundedFor(plan.module, tensor))
    return plan.places.views[tensor] =
               roundedRows(plan, typeOf(tensor), linear.getContract(), last);
  Type element = elementFor(plan.module, tensor);
  if (auto place = inPlaceOf(plan, tensor); place && !element)
    return plan.places.views[tensor] = *place;
  return plan.places.views[tensor] = allocate(plan, typeOf(tensor), last, element);
}

/// Whether the part's axes are those of the whole, in its order.
static bool liesLikeResult(ConcatOp concat, size_t position) {
  ArrayRef<StringAttr> whole = axesOf(concat.getResult().getType()),
                       part = axesOf(concat.getInputs()[position].getType());
  if (whole.size() != part.size())
    return false;
  for (size_t d = 0; d < whole.size(); ++d)
    if (static_cast<int64_t>(d) == static_cast<int64_t>(concat.getAxis())
            ? concat.getAlong()[position] != static_cast<int64_t>(d)
            : part[d] != whole[d])
      return false;
  return true;
}

void chooseParts(Places &places, Block &block) {
  auto canBePlaced = [&](Value root) {
    return isKernel(root.getDefiningOp()) && root.getParentBlock() == &block &&
           !places.destinations.count(root);
  };
  for (auto concat : block.getOps<ConcatOp>())
    for (auto [position, input] : llvm::enumerate(concat.getInputs())) {
      Value root = withoutRelabels(input);
      if (canBePlaced(root) && liesLikeResult(concat, position))
        places.partOf.try_emplace(root, concat, position);
    }
  for (auto pad : block.getOps<PadOp>())
    if (Value root = withoutRelabels(pad.getInput()); canBePlaced(root))
      places.partOf.try_emplace(root, pad, 0);
}

void chooseDestination(FunctionPlan &plan, Value tensor, const BufferView &place) {
  Value root = withoutRelabels(tensor);
  Operation *op = root.getDefiningOp();
  RankedTensorType type = typeOf(root);
  bool isCall = isa_and_nonnull<func::CallOp>(op) && // which writes the one layout there is
                place.liesLike(BufferView::dense(type, place.base, pitchOf(type)));
  auto scan = dyn_cast_if_present<ScanOp>(op);
  if ((isKernel(op) || isCall || isa_and_nonnull<RouteOp>(op) ||
       (scan && isOneKernel(plan, scan))) &&
      root.getParentBlock() == tensor.getParentBlock())
    plan.places.destinations.try_emplace(root, place);
  if (Value operand = plan.places.inPlace.lookup(root);
      operand && plan.places.destinations.count(root))
    chooseDestination(plan, operand, place);
  // What is rounded there can be computed there.
  auto map = dyn_cast_if_present<MapOp>(op);
  Type half = plan.module.keptHalf();
  if (!half || !map || !converts(map, half) || type.getElementType() != half)
    return;
  Value exact = map.getInputs()[0];
  auto compute = dyn_cast_if_present<ComputeOpInterface>(exact.getDefiningOp());
  if (exact.hasOneUse() && compute && compute.writesHalves(plan.module.placement().mapsWriteHalves))
    plan.places.destinations.try_emplace(exact, place);
}

LogicalResult deliver(FunctionPlan &plan, Operation *op, Value tensor, const BufferView &place) {
  auto known = plan.places.destinations.find(withoutRelabels(tensor));
  if (known != plan.places.destinations.end() && known->second.base == place.base)
    return success();
  return copy(plan, op, viewOf(plan, tensor), place);
}

} // namespace attn::planning
