// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fused -> memory, attention: which of the query's axes are batch dims of the kernel and which are
// its rows, which of them are in bf16, and the hooks' regions on buffers.
#include "compiler/transforms/AttentionShape.h"
#include "compiler/transforms/FewQueries.h"
#include "compiler/transforms/PlanMemoryImpl.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace attn;

namespace {

/// The query's axes in the order of the kernel's positions: batch dims, then those that make up the
/// rows, one after the other in memory. Axes that key and value lack are rows, or batch dims along
/// which key and value are repeated.
struct QueryAxes {
  SmallVector<int64_t> batch, rows;
};

} // namespace

/// Whether a hook reads a position.
static bool readsPositions(AttentionOp op) {
  for (Region *region : op.getRegions())
    for (Block &block : *region)
      for (BlockArgument argument : block.getArguments())
        if (argument.getType().isIndex() && !argument.use_empty())
          return true;
  return false;
}

static SmallVector<Atom> atomsOf(const BufferView &view, ArrayRef<int64_t> axes) {
  SmallVector<Atom> atoms;
  for (int64_t axis : axes)
    llvm::append_range(atoms, view.axes[axis]);
  return collapse(atoms);
}

/// `outputs` have the query's axes first.
static QueryAxes divideAxes(AttentionOp op, const BufferView &query, ArrayRef<BufferView> outputs) {
  QueryAxes axes;
  RankedTensorType type = typeOf(op.getQuery());
  for (int64_t d = 0; d + 1 < type.getRank(); ++d) {
    StringAttr name = axesOf(type)[d];
    bool isOwn =
        axisIndex(op.getKey().getType(), name) < 0 && axisIndex(op.getValue().getType(), name) < 0;
    (isOwn ? axes.rows : axes.batch).push_back(d);
  }
  auto isOneRun = [&](const BufferView &view) { return atomsOf(view, axes.rows).size() <= 1; };
  if (axes.rows.size() <= 1 ||
      (!readsPositions(op) && isOneRun(query) && llvm::all_of(outputs, isOneRun)))
    return axes;
  // The one with most queries, of equals the last; a number known when running is a large one.
  SmallVector<int64_t> own = axes.rows;
  auto sizeOf = [&](int64_t d) {
    return type.isDynamicDim(d) ? std::numeric_limits<int64_t>::max() : type.getDimSize(d);
  };
  axes.rows = {*std::max_element(own.rbegin(), own.rend(),
                                 [&](int64_t a, int64_t b) { return sizeOf(a) < sizeOf(b); })};
  for (int64_t d : own)
    if (d != axes.rows.front())
      axes.batch.push_back(d);
  return axes;
}

bool FunctionPlan::areRounded(AttentionOp op) {
  return plan.targets.allLevelsMultiplyPairs() && plan.multipliesPairs() && hasManyQueries(op) &&
         isOfProducts(op);
}

bool FunctionPlan::isOnlyRounded(Value tensor) {
  return isReadOnlyBy(tensor, [&](OpOperand &use) {
    auto attention = dyn_cast<AttentionOp>(use.getOwner());
    return attention && use.getOperandNumber() < 3 && areRounded(attention);
  });
}

/// Where every axis is one run of memory and the last one lies element by element; a copy, where
/// it is not so.
FailureOr<BufferView> FunctionPlan::readDense(Operation *op, Value tensor) {
  BufferView view = viewOf(tensor);
  auto isOneRun = [](ArrayRef<Atom> axis) { return collapse(axis).size() <= 1; };
  SmallVector<Atom> last = collapse(view.axes.back());
  bool isDense = last.empty() || (last.size() == 1 && last[0].stride == SizePolynomial(1));
  if (isDense && llvm::all_of(view.axes, isOneRun))
    return view;
  BufferView whole = allocate(typeOf(tensor), op, view.element());
  if (failed(copy(op, view, whole)))
    return failure();
  return whole;
}

/// The one atom of an axis.
static Atom atomOf(const BufferView &view, int64_t axis, RankedTensorType type) {
  SmallVector<Atom> atoms = collapse(view.axes[axis]);
  return atoms.empty() ? Atom{sizeOf(type, axis), 1} : atoms.front();
}

static Atom rowsOf(const BufferView &view, ArrayRef<int64_t> axes) {
  SmallVector<Atom> atoms = atomsOf(view, axes);
  return atoms.empty() ? Atom{1, 1} : atoms.front();
}

/// Clones a region: after its `own` arguments, positions of the query's axes become those of the
/// kernel, where `order` is the axis of each of them, and captures become buffers. Merged rows are
/// one position that nothing reads.
static void cloneHook(OpBuilder &builder, Region &from, Region &to, size_t own,
                      const QueryAxes &axes, bool hasKey, ValueRange captures,
                      const IRMapping &scalars, function_ref<Value(StringRef)> dim) {
  if (from.empty())
    return;
  OpBuilder::InsertionGuard guard(builder);
  Block &old = from.front();
  SmallVector<Type> types;
  for (size_t i = 0; i < own; ++i)
    types.push_back(old.getArgument(i).getType());
  types.append(axes.batch.size() + 1 + hasKey, builder.getIndexType());
  llvm::append_range(types, captures.getTypes());
  Block *block =
      builder.createBlock(&to, {}, types, SmallVector<Location>(types.size(), from.getLoc()));
  IRMapping mapping = scalars;
  for (size_t i = 0; i < own; ++i)
    mapping.map(old.getArgument(i), block->getArgument(i));
  size_t next = own;
  for (int64_t axis : axes.batch)
    mapping.map(old.getArgument(own + axis), block->getArgument(next++));
  for (int64_t axis : axes.rows)
    mapping.map(old.getArgument(own + axis), block->getArgument(next));
  ++next;
  size_t oldKey = own + axes.batch.size() + axes.rows.size();
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

/// The batch dims of queries with keys of their own, and how many queries share these: those of the
/// other batch dims, behind them.
static std::pair<int64_t, int64_t> sharingQueries(MemRefType queries, Value key, Value value) {
  auto isRepeated = [](Value buffer, int64_t dim) {
    return cast<MemRefType>(buffer.getType()).getStridesAndOffset().first[dim] == 0;
  };
  int64_t own = queries.getRank() - 2, rows = queries.getDimSize(own);
  while (own > 0 && isRepeated(key, own - 1) && isRepeated(value, own - 1)) {
    int64_t size = queries.getDimSize(--own);
    bool isKnown = !ShapedType::isDynamic(rows) && !ShapedType::isDynamic(size);
    rows = isKnown ? rows * size : ShapedType::kDynamic;
  }
  return {own, rows};
}

/// What a kernel on these buffers works in, until `op` has run.
AttentionWork FunctionPlan::workOf(AttentionOp op, const SizePolynomial &states, Value key,
                                   Value value, Value out) {
  auto type = cast<MemRefType>(out.getType());
  int64_t batch = type.getRank() - 2, queries = type.getDimSize(batch);
  // On GPUs, all heads that share keys take them together.
  int64_t heads = batch, rows = queries;
  if (plan.isGpu())
    std::tie(heads, rows) = sharingQueries(type, key, value);
  if (!areFewQueries(op, rows,
                     plan.isGpu() ? FewQueriesShape::mostRowsOnGpus
                                  : FewQueriesShape::mostQueries)) {
    int64_t floats = 0; // of any CPU level the most
    bool mayBePairs = plan.multipliesPairs();
    for (auto [pairs, inTiles] :
         {std::pair(false, false), {mayBePairs, false}, {mayBePairs, true}}) {
      auto problem = AttentionProblem::of(op, key, value, out, pairs, inTiles);
      auto count = [&](const KernelChoice &choice) {
        floats = std::max(floats, AttentionShape::of(problem, plan.attention, choice).floats);
      };
      count({});
      llvm::for_each(choicesFor(plan.module, problem.name()), count);
    }
    return {threadRows(op, floats), {}, {}};
  }
  FewQueriesShape few{/*lanes=*/16, type.getShape().back()}; // of any CPU the most
  int64_t parts = keyPartsOf(type.getShape().take_front(heads),
                             cast<MemRefType>(key.getType()).getDimSize(batch),
                             plan.isGpu() ? KeyDivision::ofGpus(rows) : KeyDivision::ofCpus());
  int64_t weights = queries * FewQueriesShape::weightFloats, state = queries * few.stateFloats();
  if (parts == 1)
    return {threadRows(op, weights + state), {}, {}};
  SizePolynomial partialBytes = states * SizePolynomial(4 * parts * state);
  Value scratch = threadRows(op, weights);
  size_t slot = allocateSlot(partialBytes);
  releases.push_back({op, slot});
  Value partials = memrefOf(BufferView{slotPointer(slot, builder.getF32Type()), 0, {}},
                            {Atom{states, parts * state}, Atom{parts, state}, Atom{state, 1}});
  return {scratch, partials, partialBytes};
}

LogicalResult FunctionPlan::emitAttention(AttentionOp op) {
  RankedTensorType query = typeOf(op.getQuery()), key = typeOf(op.getKey()),
                   value = typeOf(op.getValue());
  auto q = readDense(op, op.getQuery()), k = readDense(op, op.getKey()),
       v = readDense(op, op.getValue());
  if (failed(q) || failed(k) || failed(v))
    return failure();
  std::vector<BufferView> outputs; // the output, then the further results
  for (Value result : op.getResults())
    outputs.push_back(outputOf(result));
  QueryAxes axes = divideAxes(op, *q, outputs);
  int64_t queries = 1;
  for (int64_t d : axes.rows)
    queries =
        queries < 0 || query.isDynamicDim(d) ? ShapedType::kDynamic : queries * query.getDimSize(d);
  // A CPU's kernels of many queries read f32, or what they round to.
  if (!plan.isGpu() && !areFewQueries(op, queries))
    for (FailureOr<BufferView> *view : {&k, &v}) {
      Type element = (*view)->element();
      if (element.isF32() || (element.isInteger(16) && areRounded(op)))
        continue;
      BufferView wide = allocate(view == &k ? key : value, op);
      if (failed(copy(op, **view, wide)))
        return failure();
      *view = wide;
    }

  // [batch..., rows, last axis]; key and value are repeated along batch dims that they lack.
  auto operand = [&](const BufferView &view, RankedTensorType type, int64_t rowAxis) {
    SmallVector<Atom> atoms;
    for (int64_t d : axes.batch) {
      int64_t own = axisIndex(type, axesOf(query)[d]);
      atoms.push_back(own < 0 ? Atom{sizeOf(query, d), 0} : atomOf(view, own, type));
    }
    atoms.push_back(rowAxis < 0 ? rowsOf(view, axes.rows) : atomOf(view, rowAxis, type));
    atoms.push_back(atomOf(view, type.getRank() - 1, type));
    return memrefOf(view, atoms);
  };
  SmallVector<Value> buffers;
  for (auto [view, result] : llvm::zip_equal(outputs, op.getResults())) {
    RankedTensorType type = typeOf(result);
    SmallVector<Atom> atoms;
    for (int64_t d : axes.batch)
      atoms.push_back(atomOf(view, d, type));
    atoms.push_back(rowsOf(view, axes.rows));
    if (type.getRank() == query.getRank()) // all but lse
      atoms.push_back(atomOf(view, type.getRank() - 1, type));
    buffers.push_back(memrefOf(view, atoms));
  }
  SmallVector<Value> captures;
  for (Value capture : op.getCaptures()) {
    BufferView view = viewOf(capture);
    auto oneRun = readDense(op, capture);
    if (failed(oneRun))
      return failure();
    SmallVector<Atom> atoms;
    for (int64_t d = 0; d < typeOf(capture).getRank(); ++d)
      atoms.push_back(atomOf(*oneRun, d, typeOf(capture)));
    captures.push_back(memrefOf(*oneRun, atoms));
  }

  int64_t inKey = axisIndex(key, op.getKeyAxis());
  Value queryBuffer = operand(*q, query, -1), keyBuffer = operand(*k, key, inKey),
        valueBuffer = operand(*v, value, axisIndex(value, op.getKeyAxis()));
  SizePolynomial heads(1);
  for (int64_t d : axes.batch)
    heads = heads * sizeOf(query, d);
  AttentionWork work = workOf(op, heads, keyBuffer, valueBuffer, buffers.front());
  auto lowering = plan.attention ? AttentionLoweringAttr::get(op.getContext(), *plan.attention)
                                 : AttentionLoweringAttr();
  auto kernel = AttentionKernelOp::create(
      builder, op.getLoc(), queryBuffer, keyBuffer, valueBuffer, captures, buffers.front(),
      ArrayRef(buffers).drop_front(), work.scratch, work.partials,
      static_cast<uint64_t>(axes.batch.size()), op.getNormaliser(), op.getReturnedAttr(), lowering,
      plan.multipliesPairs() ? TypeAttr::get(plan.roundedTo()) : TypeAttr());
  auto hook = [&](Region &from, Region &to, size_t own, bool hasKey) {
    cloneHook(builder, from, to, own, axes, hasKey, captures, scalars,
              [&](StringRef name) { return dim(name); });
  };
  hook(op.getScore(), kernel.getScore(), 2, true);
  hook(op.getBias(), kernel.getBias(), 1, true);
  op.getCap().cloneInto(&kernel.getCap(), scalars);
  hook(op.getMask(), kernel.getMask(), 0, true);
  hook(op.getSink(), kernel.getSink(), 0, false);
  barrier(op, costOf(op, {{op.getKey(), k->element()}, {op.getValue(), v->element()}}));
  if (work.partials) {
    CombineKernelOp::create(builder, op.getLoc(), work.partials, buffers.front());
    barrier(op, KernelCost::ofCombination(work.partialBytes));
  }
  return success();
}
