// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fused -> memory, attention: its operands as [batch..., rows, last axis], what it works in, and
// the hooks' regions on buffers.
#include "compiler/transforms/FewQueries.h"
#include "compiler/transforms/plan/AttentionAxes.h"
#include "compiler/transforms/plan/AttentionWork.h"
#include "compiler/transforms/plan/Buffers.h"
#include "compiler/transforms/plan/Costs.h"
#include "compiler/transforms/plan/Elements.h"
#include "compiler/transforms/plan/Operands.h"
#include "compiler/transforms/plan/Ops.h"
#include "compiler/transforms/plan/Places.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attn::planning {

namespace {

/// Where an attention's operands and results lie.
struct AttentionViews {
  BufferView query, key, value;
  std::vector<BufferView> outputs; ///< The output, then the further results.
  QueryAxes axes;
};

} // namespace

/// Where kernels of many queries read f32, or what they round to: copies keys and values that lie
/// otherwise.
static LogicalResult widen(FunctionPlan &plan, AttentionOp op, AttentionViews &views) {
  RankedTensorType query = typeOf(op.getQuery());
  int64_t queries = 1;
  for (int64_t d : views.axes.rows)
    queries =
        queries < 0 || query.isDynamicDim(d) ? ShapedType::kDynamic : queries * query.getDimSize(d);
  if (plan.module.placement().readsAnyElement || areFewQueries(op, queries))
    return success();
  for (auto [view, tensor] : {std::pair(&views.key, op.getKey()), {&views.value, op.getValue()}}) {
    Type element = view->element();
    if (element.isF32() || (element.isInteger(16) && areRounded(plan.module, op)))
      continue;
    BufferView wide = allocate(plan, typeOf(tensor), op);
    if (failed(copy(plan, op, *view, wide)))
      return failure();
    *view = wide;
  }
  return success();
}

/// What is read, dense, and where the results shall lie.
static FailureOr<AttentionViews> chooseViews(FunctionPlan &plan, AttentionOp op) {
  auto query = readDense(plan, op, op.getQuery()), key = readDense(plan, op, op.getKey()),
       value = readDense(plan, op, op.getValue());
  if (failed(query) || failed(key) || failed(value))
    return failure();
  AttentionViews views{*query, *key, *value, {}, {}};
  for (Value result : op.getResults())
    views.outputs.push_back(outputOf(plan, result));
  views.axes = divideAxes(op, views.query, views.outputs);
  if (failed(widen(plan, op, views)))
    return failure();
  return views;
}

/// Of key or value: [batch..., keys, last axis], repeated along batch dims that it lacks.
static Value keysOf(FunctionPlan &plan, AttentionOp op, const QueryAxes &axes,
                    const BufferView &view, RankedTensorType type) {
  RankedTensorType query = typeOf(op.getQuery());
  SmallVector<Atom> atoms;
  for (int64_t d : axes.batch) {
    int64_t own = axisIndex(type, axesOf(query)[d]);
    atoms.push_back(own < 0 ? Atom{sizeOf(query, d), 0} : atomOf(view, own, type));
  }
  atoms.push_back(atomOf(view, axisIndex(type, op.getKeyAxis()), type));
  atoms.push_back(atomOf(view, type.getRank() - 1, type));
  return memrefOf(plan, view, atoms);
}

/// Of the query or a result: [batch..., rows, last axis]; of lse [batch..., rows].
static Value queriesOf(FunctionPlan &plan, AttentionOp op, const QueryAxes &axes,
                       const BufferView &view, RankedTensorType type) {
  SmallVector<Atom> atoms;
  for (int64_t d : axes.batch)
    atoms.push_back(atomOf(view, d, type));
  atoms.push_back(rowsOf(view, axes));
  if (type.getRank() == typeOf(op.getQuery()).getRank())
    atoms.push_back(atomOf(view, type.getRank() - 1, type));
  return memrefOf(plan, view, atoms);
}

/// The captures' buffers, a dim for each axis.
static FailureOr<SmallVector<Value>> readCaptures(FunctionPlan &plan, AttentionOp op) {
  SmallVector<Value> captures;
  for (Value capture : op.getCaptures()) {
    auto view = readDense(plan, op, capture);
    if (failed(view))
      return failure();
    SmallVector<Atom> atoms;
    for (int64_t d = 0; d < typeOf(capture).getRank(); ++d)
      atoms.push_back(atomOf(*view, d, typeOf(capture)));
    captures.push_back(memrefOf(plan, *view, atoms));
  }
  return captures;
}

/// Clones a region: after its `own` arguments, positions of the query's axes become those of the
/// kernel, in the order of `axes`, and captures become buffers. Merged rows are
/// one position that nothing reads.
static void cloneHook(OpBuilder &builder, Region &from, Region &to, size_t own,
                      const QueryAxes &axes, bool hasKey, ValueRange captures,
                      const IRMapping &scalars, function_ref<Value(StringRef)> dim) {
  if (from.empty())
    return;
  OpBuilder::InsertionGuard guard(builder);
  Block &old = from.front();
  SmallVector<Type> types;
  SmallVector<Location> locs;
  auto argument = [&](Type type, Location loc) { types.push_back(type), locs.push_back(loc); };
  auto like = [&](size_t number) { return old.getArgument(number).getLoc(); };
  size_t oldKey = own + axes.batch.size() + axes.rows.size();
  Type index = builder.getIndexType();
  for (size_t i = 0; i < own; ++i)
    argument(old.getArgument(i).getType(), like(i));
  for (int64_t axis : axes.batch)
    argument(index, like(own + axis));
  argument(index, axes.rows.size() == 1 ? like(own + axes.rows.front()) : from.getLoc());
  if (hasKey)
    argument(index, like(oldKey));
  for (auto [number, capture] : llvm::enumerate(captures))
    argument(capture.getType(), like(oldKey + hasKey + number));
  Block *block = builder.createBlock(&to, {}, types, locs);
  IRMapping mapping = scalars;
  for (size_t i = 0; i < own; ++i)
    mapping.map(old.getArgument(i), block->getArgument(i));
  size_t next = own;
  for (int64_t axis : axes.batch)
    mapping.map(old.getArgument(own + axis), block->getArgument(next++));
  for (int64_t axis : axes.rows)
    mapping.map(old.getArgument(own + axis), block->getArgument(next));
  ++next;
  if (hasKey)
    mapping.map(old.getArgument(oldKey), block->getArgument(next++));
  for (BlockArgument capture : old.getArguments().drop_front(oldKey + hasKey))
    mapping.map(capture, block->getArgument(next++));
  for (Operation &inner : old) {
    if (auto size = dyn_cast<SizeOp>(inner)) {
      mapping.map(size.getResult(), dim(size.getDim()));
      continue;
    }
    for (Value operand : inner.getOperands()) // vectors, which have no place in a buffer
      if (auto constant = operand.getDefiningOp<arith::ConstantOp>();
          constant && isa<TensorType>(constant.getType()) && !mapping.contains(operand))
        builder.clone(*constant, mapping);
    builder.clone(inner, mapping);
  }
}

/// The kernel's regions, once it has its captures.
static void cloneHooks(FunctionPlan &plan, AttentionOp op, AttentionKernelOp kernel,
                       const QueryAxes &axes) {
  auto hook = [&](Region &from, Region &to, size_t own, bool hasKey) {
    cloneHook(plan.builder, from, to, own, axes, hasKey, kernel.getCaptures(), plan.scalars,
              [&](StringRef name) { return plan.dim(name); });
  };
  hook(op.getScore(), kernel.getScore(), 2, true);
  hook(op.getBias(), kernel.getBias(), 1, true);
  op.getCap().cloneInto(&kernel.getCap(), plan.scalars);
  hook(op.getMask(), kernel.getMask(), 0, true);
  hook(op.getSink(), kernel.getSink(), 0, false);
}

LogicalResult emit(FunctionPlan &plan, AttentionOp op) {
  auto views = chooseViews(plan, op);
  if (failed(views))
    return failure();
  RankedTensorType type = typeOf(op.getQuery());
  const QueryAxes &axes = views->axes;
  SmallVector<Value> outputs;
  for (auto [view, result] : llvm::zip_equal(views->outputs, op.getResults()))
    outputs.push_back(queriesOf(plan, op, axes, view, typeOf(result)));
  auto captures = readCaptures(plan, op);
  if (failed(captures))
    return failure();
  Value query = queriesOf(plan, op, axes, views->query, type),
        key = keysOf(plan, op, axes, views->key, typeOf(op.getKey())),
        value = keysOf(plan, op, axes, views->value, typeOf(op.getValue()));
  SizePolynomial heads(1);
  for (int64_t d : axes.batch)
    heads = heads * sizeOf(type, d);
  AttentionWork work = workOf(plan, op, heads, key, value, outputs.front());
  auto lowering = plan.module.attention
                      ? AttentionLoweringAttr::get(op.getContext(), *plan.module.attention)
                      : AttentionLoweringAttr();
  auto kernel = AttentionKernelOp::create(
      plan.builder, op.getLoc(), query, key, value, *captures, outputs.front(),
      ArrayRef(outputs).drop_front(), work.scratch, work.partials,
      static_cast<uint64_t>(axes.batch.size()), op.getNormaliser(), op.getReturnedAttr(), lowering,
      plan.module.multipliesPairs() ? TypeAttr::get(plan.module.roundedTo()) : TypeAttr());
  cloneHooks(plan, op, kernel, axes);
  barrier(plan, op,
          costOf(plan, op,
                 {{op.getKey(), views->key.element()}, {op.getValue(), views->value.element()}}));
  if (work.partials) {
    CombineKernelOp::create(plan.builder, op.getLoc(), work.partials, outputs.front());
    barrier(plan, op, KernelCost::ofCombination(work.partialBytes));
  }
  return success();
}

} // namespace attn::planning
