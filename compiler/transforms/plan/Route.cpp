// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fused -> memory, routes: choices are sorted by expert, then a loop over experts computes each of
// its rows, whose number is a size that is read from where the sort has left it:
//
//   group_kernel %places -> firsts, counts, tokens, slots
//   rows = x[tokens]                            rows of one expert lie together
//   for e: if counts[e]: call @Expert(rows from firsts[e] on) into made from firsts[e] on
//   y = sum over choices of weights * made[slots]
//
// The host of a GPU does not know counts: kernels read them, and do nothing where there are none.
// Each expert gets its rows, and gives them, in one place there, since pointers are the host's.
#include "compiler/transforms/plan/Route.h"
#include "compiler/transforms/plan/Buffers.h"
#include "compiler/transforms/plan/Costs.h"
#include "compiler/transforms/plan/Function.h"
#include "compiler/transforms/plan/Operands.h"
#include "compiler/transforms/plan/Ops.h"
#include "compiler/transforms/plan/Places.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attn::planning {

Value rowsAt(FunctionPlan &plan, StringRef name, Value pointer) {
  Value most = plan.module.routed.lookup(name).most.emit(
      plan.builder, plan.loc, [&](StringRef dim) { return plan.dim(dim); });
  return RowsOp::create(plan.builder, plan.loc, plan.builder.getIndexType(), pointer, most);
}

namespace {

/// A route while it is planned.
struct RoutePlan {
  RoutePlan(FunctionPlan &plan, RouteOp op);

  LogicalResult sort();
  LogicalResult gather(const SizePolynomial &first, const SizePolynomial &count, Value rows);
  LogicalResult emitExperts();
  LogicalResult emitExpert(Value expert);
  LogicalResult combine();

  /// A pointer to `element`s `bytes` behind `base`, which is one to bytes.
  Value pointerAt(Value base, Value bytes, Type element);
  /// A table of i32 at a pointer.
  Value tableOf(Value pointer, const SizePolynomial &first, const SizePolynomial &count) {
    return memrefOf(plan, BufferView{pointer, first, {}}, {Atom{count, 1}});
  }
  Value takeBytes(const SizePolynomial &bytes) {
    return plan.frame.take(bytes, plan.builder.getI8Type(), op);
  }
  Value number(int64_t value) {
    return arith::ConstantIndexOp::create(plan.builder, op.getLoc(), value);
  }
  /// `rows` of a tensor of an expert at a pointer; bytes of one of them.
  BufferView rowsOf(RankedTensorType type, Value pointer, const SizePolynomial &rows) const;
  static int64_t rowBytes(RankedTensorType type);
  void cost(const llvm::Twine &title, const SizePolynomial &flop, const SizePolynomial &bytes) {
    barrier(plan, op, KernelCost{title.str(), flop, bytes});
  }

  FunctionPlan &plan;
  RouteOp op;
  OpBuilder &builder;
  Type i32;
  RankedTensorType taken, given;       ///< Rows of an expert.
  SizePolynomial rows, all;            ///< Of the input; choices of all of them.
  int64_t experts, choices;            ///< How many; of each row.
  std::string name, first;             ///< Of an expert's rows, and where they begin.
  Value firsts, counts, tokens, slots; ///< Pointers: the first two to bytes.
  Value sorted, made;                  ///< Pointers to bytes: rows, and what becomes of them.
};

} // namespace

RoutePlan::RoutePlan(FunctionPlan &plan, RouteOp op)
    : plan(plan), op(op), builder(plan.builder), i32(builder.getI32Type()),
      taken(typeOf(op.rows())), given(typeOf(op.routed())), experts(op.getExperts()),
      choices(op.choices()), name(op.rowsName()), first("#first of " + name) {
  RankedTensorType input = typeOf(op.getInput());
  rows = SizePolynomial(1);
  for (int64_t d = 0; d < op.rowAxes(); ++d)
    rows = rows * sizeOf(input, d);
  all = rows * SizePolynomial(choices);
}

Value RoutePlan::pointerAt(Value base, Value bytes, Type element) {
  Value huge = number(int64_t(1) << 62);
  auto memory = memref::ReinterpretCastOp::create(
      builder, op.getLoc(), MemRefType::get({ShapedType::kDynamic}, builder.getI8Type()), base,
      OpFoldResult(builder.getIndexAttr(0)), ArrayRef<OpFoldResult>{huge},
      ArrayRef<OpFoldResult>{builder.getIndexAttr(1)});
  return memref::ViewOp::create(builder, op.getLoc(), MemRefType::get({}, element), memory, bytes,
                                ValueRange());
}

BufferView RoutePlan::rowsOf(RankedTensorType type, Value pointer,
                             const SizePolynomial &count) const {
  BufferView view = BufferView::dense(type, pointer, pitchOf(type));
  view.axes.front() = {Atom{count, SizePolynomial(rowBytes(type) / 4)}};
  return view;
}

int64_t RoutePlan::rowBytes(RankedTensorType type) {
  int64_t pitch = pitchOf(type);
  return 4 * (pitch ? pitch : type.getShape().back());
}

/// Sorts the choices by expert.
LogicalResult RoutePlan::sort() {
  auto places = readDense(plan, op, op.getPlaces());
  if (failed(places))
    return failure();
  SmallVector<Atom> atoms = atLeastOne(places->collapsed(0, op.rowAxes()));
  atoms.append(atLeastOne(places->collapsed(op.rowAxes(), op.rowAxes() + 1)));
  firsts = takeBytes(4 * experts), counts = takeBytes(4 * experts);
  SizePolynomial bytes = SizePolynomial(4) * all;
  tokens = plan.frame.take(bytes, i32, op), slots = plan.frame.take(bytes, i32, op);
  GroupKernelOp::create(builder, op.getLoc(), memrefOf(plan, *places, atoms),
                        tableOf(pointerAt(firsts, number(0), i32), 0, experts),
                        tableOf(pointerAt(counts, number(0), i32), 0, experts),
                        tableOf(tokens, 0, all), tableOf(slots, 0, all));
  cost("sort by " + llvm::Twine(experts) + " experts", 0, SizePolynomial(12) * all);
  return success();
}

/// Rows of the input, `count` of them in the order of experts from `first` on.
LogicalResult RoutePlan::gather(const SizePolynomial &first, const SizePolynomial &count,
                                Value rows) {
  RankedTensorType input = typeOf(op.getInput());
  int64_t rowAxes = op.rowAxes();
  BufferView view = viewOf(plan, op.getInput());
  bool isOneRun = view.collapsed(0, rowAxes).size() <= 1 &&
                  view.collapsed(rowAxes, input.getRank()).size() <= 1;
  if (!isOneRun) {
    BufferView whole = allocate(plan, input, op, view.element());
    if (failed(copy(plan, op, view, whole)))
      return failure();
    view = whole;
  }
  auto table = rowsAndColumns(plan, op, view, rowAxes),
       out = rowsAndColumns(plan, op, rowsOf(taken, rows, count), 1);
  if (failed(table) || failed(out))
    return failure();
  LookupKernelOp::create(builder, op.getLoc(), *table, tableOf(tokens, first, count), *out);
  cost("rows of experts", 0, SizePolynomial(2 * rowBytes(taken)) * count);
  return success();
}

/// The kernels of one expert.
LogicalResult RoutePlan::emitExpert(Value expert) {
  bool knowsCounts = plan.module.placement().callerKnowsCounts;
  Type f32 = builder.getF32Type();
  SizePolynomial count = SizePolynomial::dim(name), begin = SizePolynomial::dim(first);
  auto place = [&](Value base, RankedTensorType type) {
    Value bytes = number(0);
    if (knowsCounts)
      bytes = arith::MulIOp::create(builder, op.getLoc(), plan.dim(first), number(rowBytes(type)));
    return pointerAt(base, bytes, f32);
  };
  Value rows = place(sorted, taken), out;
  if (!knowsCounts && failed(gather(begin, count, rows)))
    return failure();
  out = knowsCounts ? place(made, given)
                    : plan.frame.take(SizePolynomial(rowBytes(given)) * count, f32, op);
  plan.scalars.map(op.expert(), expert);
  plan.places.views[op.rows()] = BufferView::dense(taken, rows, pitchOf(taken));
  BufferView result = BufferView::dense(given, out, pitchOf(given));
  Operation *end = op.getBody().front().getTerminator();
  chooseDestination(plan, op.routed(), result);
  if (failed(emitBlock(plan, op.getBody().front())) ||
      failed(deliver(plan, end, op.routed(), result)))
    return failure();
  plan.frame.releaseAfter(end);
  if (knowsCounts)
    return success();
  BufferView whole = rowsOf(given, pointerAt(made, number(0), f32), all);
  return copy(plan, op, result, whole.window(0, begin, count));
}

/// The loop over experts.
LogicalResult RoutePlan::emitExperts() {
  Location loc = op.getLoc();
  auto loop = scf::ForOp::create(builder, loc, number(0), number(experts), number(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value expert = loop.getInductionVar();
  Value bytes = arith::MulIOp::create(builder, loc, expert, number(4));
  Value count = pointerAt(counts, bytes, i32);
  plan.arguments.counts[name] = count;
  plan.arguments.dims[name] = rowsAt(plan, name, count);
  plan.arguments.dims[first] = rowsAt(plan, name, pointerAt(firsts, bytes, i32));
  if (plan.module.placement().callerKnowsCounts) {
    Value isChosen =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, plan.dim(name), number(0));
    auto choice = scf::IfOp::create(builder, loc, isChosen, /*withElseRegion=*/false);
    builder.setInsertionPointToStart(choice.thenBlock());
  }
  return emitExpert(expert);
}

/// The weighted sums of what experts have made of each row.
LogicalResult RoutePlan::combine() {
  Location loc = op.getLoc();
  Type f32 = builder.getF32Type();
  int64_t columns = given.getShape().back();
  BufferView rowsMade = rowsOf(given, pointerAt(made, number(0), f32), all);
  Value picked = plan.frame.take(SizePolynomial(4 * columns) * all, f32, op);
  auto table = rowsAndColumns(plan, op, rowsMade, 1);
  auto weights = readDense(plan, op, op.getWeights());
  BufferView place = outputOf(plan, op.getResult());
  auto out = rowsAndColumns(plan, op, place, op.rowAxes());
  if (failed(table) || failed(weights) || failed(out))
    return failure();
  BufferView flat{picked, 0, {}};
  LookupKernelOp::create(builder, loc, *table, tableOf(slots, 0, all),
                         memrefOf(plan, flat, {Atom{all, columns}, Atom{columns, 1}}));
  SizePolynomial bytes = SizePolynomial(4 * columns) * all;
  cost("rows of choices", 0, SizePolynomial(2) * bytes);
  SmallVector<Atom> share = atLeastOne(weights->collapsed(0, op.rowAxes()));
  share.append(atLeastOne(weights->collapsed(op.rowAxes(), op.rowAxes() + 1)));
  share.push_back(Atom{columns, 0});
  Value inputs[] = {
      memrefOf(plan, flat,
               {Atom{rows, choices * columns}, Atom{choices, columns}, Atom{columns, 1}}),
      memrefOf(plan, *weights, share)};
  auto kernel = ReduceKernelOp::create(builder, loc, inputs, *out, Reduction::Sum, 1,
                                       /*across=*/false);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&kernel.getBody(), {}, {f32, f32}, {loc, loc});
  YieldOp::create(
      builder, loc,
      arith::MulFOp::create(builder, loc, block->getArgument(0), block->getArgument(1)));
  builder.setInsertionPointAfter(kernel);
  cost("sum of " + llvm::Twine(choices) + " experts", SizePolynomial(2 * columns) * all,
       bytes + SizePolynomial(4 * columns) * rows);
  return success();
}

LogicalResult emit(FunctionPlan &plan, RouteOp op) {
  RoutePlan route(plan, op);
  if (failed(route.sort()))
    return failure();
  bool knowsCounts = plan.module.placement().callerKnowsCounts;
  route.sorted = route.takeBytes(SizePolynomial(RoutePlan::rowBytes(route.taken)) * route.all);
  route.made = route.takeBytes(SizePolynomial(RoutePlan::rowBytes(route.given)) * route.all);
  Value rows = route.pointerAt(route.sorted, route.number(0), plan.builder.getF32Type());
  if (knowsCounts && failed(route.gather(0, route.all, rows)))
    return failure();
  if (failed(route.emitExperts()))
    return failure();
  return route.combine();
}

} // namespace attn::planning
