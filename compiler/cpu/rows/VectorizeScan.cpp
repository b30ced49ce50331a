// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tiled -> kernels, all steps of a piece of a recurrence's states. The piece lies in the thread's
// room, [depth, columns], while the steps go by:
//
//   room = initial
//   for each step
//     for each phase: for each place of depth { elements, and sums of these, in registers }
//   final = room
//
// What the body combines along depth ends a phase, since all places have to be known:
//   y = sum of q * (a * s + k * (v - sum of k * s))     has two
// What is the same along depth is computed once. The last phase stores the new states.
#include "compiler/cpu/rows/Rows.h"
#include "compiler/kernels/VectorizeRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>

using namespace mlir;
using namespace attn;

namespace {

/// Emits the tile of a piece.
class ScanEmitter {
public:
  ScanEmitter(ScanRowOp op, const RowVectors &rows)
      : op(op), rows(rows), index(rows.index), body(op.getBody().front()),
        stepOp(cast<StepOp>(body.getTerminator())) {}

  void run();

private:
  /// A vector for each place of the columns, by the value of the body.
  using Vectors = DenseMap<Value, SmallVector<Value>>;

  void analyze();
  void need(Value value, DenseSet<Operation *> &needed) const;
  bool isVarying(Value value) const { return varying.contains(value); }
  /// A product that is a part of the only sum that reads it.
  static bool isFused(Operation *product);

  void emitStep(Value step);
  void emitPhase(int64_t phase, Value step, Vectors &known);
  void emitDepth(int64_t phase, Value at, Value step, Vectors &known);
  void compute(Operation &inner, Vectors &known);
  Value computeAt(Operation &inner, size_t place, const Vectors &known);
  /// A value of the body, or a constant from outside of it.
  Value vectorAt(Value value, size_t place, const Vectors &known);
  SmallVector<Value> vectorsOf(Value value, const Vectors &known);
  Value add(Value sum, Value element, size_t place, const Vectors &known);
  Value combined(FoldOp fold, Value before, size_t place, const Vectors &known);
  Value startOf(FoldOp fold);

  /// body(place of depth) for all that a buffer has.
  void forDepth(int64_t count, llvm::function_ref<void(Value)> each) {
    if (count == 1)
      return each(index.constant(0));
    forLoop(index, index.constant(0), index.constant(count), 1, each);
  }
  static int64_t depthOf(Value buffer) {
    ArrayRef<int64_t> shape = cast<MemRefType>(buffer.getType()).getShape();
    return shape[shape.size() - 2];
  }
  SmallVector<Value> load(Value buffer, ValueRange at);
  void store(ArrayRef<Value> vectors, Value buffer, ValueRange at);
  /// Where in the room a state's columns are.
  Value roomOf(size_t state, Value at);
  SmallVector<Value> loadState(size_t state, Value at);
  void storeState(ArrayRef<Value> vectors, size_t state, Value at);
  Value row(Value buffer, ValueRange at);

  ScanRowOp op;
  const RowVectors &rows;
  IndexBuilder index;
  Block &body;
  StepOp stepOp;
  SmallVector<RowPlace> places;
  DenseSet<Value> varying;          ///< Not the same along depth.
  DenseMap<Value, int64_t> phaseOf; ///< In which of the phases a value can be computed.
  int64_t depth = 1, lastLoop = -1, lastPhase = 0;
};

} // namespace

bool ScanEmitter::isFused(Operation *product) {
  return isa<arith::MulFOp>(product) && product->hasOneUse() &&
         isa<arith::AddFOp, FoldOp>(*product->user_begin());
}

void ScanEmitter::analyze() {
  SmallVector<Value> buffers(op.getInputs());
  llvm::append_range(buffers, op.getInitial());
  for (auto [argument, buffer] : llvm::zip_equal(body.getArguments(), buffers)) {
    phaseOf[argument] = 0;
    if (depthOf(buffer) != 1)
      varying.insert(argument);
    depth = std::max(depth, depthOf(buffer));
  }
  for (Operation &inner : body.without_terminator()) {
    int64_t phase = 0;
    bool varies = false;
    for (Value operand : inner.getOperands())
      phase = std::max(phase, phaseOf.lookup(operand)), varies |= isVarying(operand);
    bool isFold = isa<FoldOp>(inner);
    if (isFold)
      lastLoop = std::max(lastLoop, phase);
    for (Value result : inner.getResults()) {
      phaseOf[result] = phase + (isFold ? 1 : 0);
      lastPhase = std::max(lastPhase, phaseOf[result]);
      if (varies && !isFold)
        varying.insert(result);
    }
  }
  SmallVector<Value> written(op.getOuts());
  llvm::append_range(written, op.getFinal());
  for (auto [value, buffer] : llvm::zip_equal(stepOp.getValues(), written))
    if (depthOf(buffer) != 1)
      lastLoop = std::max(lastLoop, phaseOf[value]);
}

Value ScanEmitter::row(Value buffer, ValueRange at) {
  SmallVector<OpFoldResult> offsets, sizes;
  for (Value place : at)
    offsets.push_back(place), sizes.push_back(index.builder.getIndexAttr(1));
  offsets.push_back(index.builder.getIndexAttr(0));
  Value columns = index.dim(buffer, rankOf(buffer) - 1);
  std::optional<int64_t> size = constantIndex(columns);
  sizes.push_back(size ? OpFoldResult(index.builder.getIndexAttr(*size)) : OpFoldResult(columns));
  return viewOf(index, buffer, offsets, sizes, static_cast<int64_t>(at.size()));
}

SmallVector<Value> ScanEmitter::load(Value buffer, ValueRange at) {
  Value own = rows.prepare(row(buffer, at));
  return llvm::map_to_vector(places, [&](const RowPlace &place) { return rows.load(own, place); });
}

void ScanEmitter::store(ArrayRef<Value> vectors, Value buffer, ValueRange at) {
  Value own = row(buffer, at);
  for (auto [vector, place] : llvm::zip_equal(vectors, places))
    rows.store(vector, own, place);
}

Value ScanEmitter::roomOf(size_t state, Value at) {
  int64_t width = static_cast<int64_t>(places.size()) * rows.target.lanes, before = 0;
  for (size_t earlier = 0; earlier < state; ++earlier)
    before += depthOf(op.getInitial()[earlier]) * mostScanColumns;
  return index.add(index.constant(before), index.mul(at, index.constant(width)));
}

SmallVector<Value> ScanEmitter::loadState(size_t state, Value at) {
  Value first = roomOf(state, at);
  return llvm::map_to_vector(places, [&](const RowPlace &place) {
    return rows.load(op.getRoom(), {index.add(first, place.column), {}});
  });
}

void ScanEmitter::storeState(ArrayRef<Value> vectors, size_t state, Value at) {
  Value first = roomOf(state, at);
  for (auto [vector, place] : llvm::zip_equal(vectors, places))
    rows.store(vector, op.getRoom(), {index.add(first, place.column), {}});
}

Value ScanEmitter::vectorAt(Value value, size_t place, const Vectors &known) {
  return value.getParentBlock() == &body ? known.find(value)->second[place] : rows.repeat(value);
}

SmallVector<Value> ScanEmitter::vectorsOf(Value value, const Vectors &known) {
  SmallVector<Value> vectors;
  for (size_t place = 0; place < places.size(); ++place)
    vectors.push_back(vectorAt(value, place, known));
  return vectors;
}

/// A product and a sum at once, where the element is a product that nothing else reads.
Value ScanEmitter::add(Value sum, Value element, size_t place, const Vectors &known) {
  Operation *product = element.getDefiningOp();
  if (!product || product->getBlock() != &body || !isFused(product))
    return rows.math.add(sum, vectorAt(element, place, known));
  return rows.math.fma(vectorAt(product->getOperand(0), place, known),
                       vectorAt(product->getOperand(1), place, known), sum);
}

Value ScanEmitter::computeAt(Operation &inner, size_t place, const Vectors &known) {
  auto of = [&](Value operand) { return vectorAt(operand, place, known); };
  OpBuilder &builder = index.builder;
  Location loc = inner.getLoc();
  if (inner.hasTrait<OpTrait::ConstantLike>())
    return splat(builder, loc, builder.clone(inner)->getResult(0), rows.target.lanes);
  if (isa<arith::AddFOp>(inner)) {
    Value a = inner.getOperand(0), b = inner.getOperand(1);
    auto isProduct = [](Value value) {
      return value.getDefiningOp() && isFused(value.getDefiningOp());
    };
    if (isProduct(a) && isProduct(b)) {
      Operation *first = a.getDefiningOp();
      Value whole = rows.math.mul(of(first->getOperand(0)), of(first->getOperand(1)));
      return add(whole, b, place, known);
    }
    return isProduct(a) ? add(of(b), a, place, known) : add(of(a), b, place, known);
  }
  SmallVector<Value> operands = llvm::map_to_vector(inner.getOperands(), of);
  auto type = VectorType::get({rows.target.lanes}, inner.getResult(0).getType());
  return builder.create(loc, inner.getName().getIdentifier(), operands, {type}, inner.getAttrs())
      ->getResult(0);
}

void ScanEmitter::compute(Operation &inner, Vectors &known) {
  SmallVector<Value> vectors;
  for (size_t place = 0; place < places.size(); ++place)
    vectors.push_back(computeAt(inner, place, known));
  known[inner.getResult(0)] = vectors;
}

/// Collects what varies along depth, of what a value is computed from.
void ScanEmitter::need(Value value, DenseSet<Operation *> &needed) const {
  Operation *from = value.getDefiningOp();
  if (!from || !isVarying(value) || !needed.insert(from).second)
    return;
  for (Value operand : from->getOperands())
    need(operand, needed);
}

Value ScanEmitter::startOf(FoldOp fold) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  float start = fold.getKind() == Reduction::Max   ? -infinity
                : fold.getKind() == Reduction::Min ? infinity
                                                   : 0.0f;
  return rows.repeat(rows.number(start));
}

Value ScanEmitter::combined(FoldOp fold, Value before, size_t place, const Vectors &known) {
  if (fold.getKind() == Reduction::Sum || fold.getKind() == Reduction::Mean)
    return add(before, fold.getElement(), place, known);
  Value element = vectorAt(fold.getElement(), place, known);
  return fold.getKind() == Reduction::Max ? rows.math.larger(before, element)
                                          : rows.math.smaller(before, element);
}

/// One place of depth: what the phase needs of it is `known` afterwards, and stored.
void ScanEmitter::emitDepth(int64_t phase, Value at, Value step, Vectors &known) {
  DenseSet<Operation *> needed;
  for (Operation &inner : body)
    if (auto fold = dyn_cast<FoldOp>(inner); fold && phaseOf[fold.getElement()] == phase)
      need(fold.getElement(), needed);
  if (phase == lastLoop)
    for (Value value : stepOp.getValues())
      need(value, needed);
  size_t inputs = op.getInputs().size();
  auto isRead = [&](Value argument) {
    return llvm::any_of(argument.getUsers(), [&](Operation *user) {
      return needed.contains(user) || (user == stepOp && phase == lastLoop) || isa<FoldOp>(user);
    });
  };
  for (auto [i, argument] : llvm::enumerate(body.getArguments()))
    if (isVarying(argument) && isRead(argument))
      known[argument] =
          i < inputs ? load(op.getInputs()[i], {step, at}) : loadState(i - inputs, at);
  for (Operation &inner : body.without_terminator())
    if (needed.contains(&inner) && !isFused(&inner))
      compute(inner, known);
  if (phase != lastLoop)
    return;
  for (auto [o, value] : llvm::enumerate(stepOp.getValues()))
    if (size_t outs = op.getOuts().size(); o < outs && depthOf(op.getOuts()[o]) != 1)
      store(vectorsOf(value, known), op.getOuts()[o], {step, at});
    else if (o >= outs && depthOf(op.getFinal()[o - outs]) != 1)
      storeState(vectorsOf(value, known), o - outs, at);
}

/// The loop over depth of a phase, with what it combines.
void ScanEmitter::emitPhase(int64_t phase, Value step, Vectors &known) {
  SmallVector<FoldOp> folds;
  for (auto fold : body.getOps<FoldOp>())
    if (phaseOf[fold.getElement()] == phase)
      folds.push_back(fold);
  SmallVector<Value> starts;
  for (FoldOp fold : folds)
    starts.append(places.size(), startOf(fold));
  SmallVector<Value> ends = carryingLoop(index, depth, starts, [&](Value at, ValueRange before) {
    Vectors own = known;
    emitDepth(phase, at, step, own);
    SmallVector<Value> after;
    for (FoldOp fold : folds)
      for (size_t place = 0; place < places.size(); ++place)
        after.push_back(combined(fold, before[after.size()], place, own));
    return after;
  });
  for (auto [f, fold] : llvm::enumerate(folds)) {
    SmallVector<Value> vectors(ArrayRef(ends).slice(f * places.size(), places.size()));
    if (fold.getKind() == Reduction::Mean)
      for (Value &vector : vectors)
        vector = rows.math.div(vector, rows.repeat(rows.number(double(depth))));
    known[fold.getResult()] = vectors;
  }
}

void ScanEmitter::emitStep(Value step) {
  Vectors known;
  Value none = index.constant(0);
  size_t inputs = op.getInputs().size(), outs = op.getOuts().size();
  for (auto [i, argument] : llvm::enumerate(body.getArguments()))
    if (!isVarying(argument))
      known[argument] =
          i < inputs ? load(op.getInputs()[i], {step, none}) : loadState(i - inputs, none);
  for (int64_t phase = 0; phase <= lastPhase; ++phase) {
    for (Operation &inner : body.without_terminator())
      if (Value result = inner.getResult(0);
          !isVarying(result) && phaseOf[result] == phase && !isa<FoldOp>(inner))
        compute(inner, known);
    if (phase <= lastLoop)
      emitPhase(phase, step, known);
  }
  for (auto [o, value] : llvm::enumerate(stepOp.getValues()))
    if (o < outs && depthOf(op.getOuts()[o]) == 1)
      store(vectorsOf(value, known), op.getOuts()[o], {step, none});
    else if (o >= outs && depthOf(op.getFinal()[o - outs]) == 1)
      storeState(vectorsOf(value, known), o - outs, none);
}

void ScanEmitter::run() {
  analyze();
  Value columns = index.dim(op.getFinal()[0], 1);
  int64_t most = scanColumns(rows.target.lanes) / rows.target.lanes;
  rows.forPlaces(columns, most,
                 [&](ArrayRef<RowPlace> all) { places.assign(all.begin(), all.end()); });
  for (auto [s, initial] : llvm::enumerate(op.getInitial()))
    forDepth(depthOf(initial),
             [&, s = s, initial = initial](Value at) { storeState(load(initial, at), s, at); });
  Value steps = index.dim(op.getInputs()[0], 0);
  forLoop(index, index.constant(0), steps, 1, [&](Value number) {
    emitStep(op.getReverse() ? index.sub(index.sub(steps, index.constant(1)), number) : number);
  });
  for (auto [s, final] : llvm::enumerate(op.getFinal()))
    forDepth(depthOf(final),
             [&, s = s, final = final](Value at) { store(loadState(s, at), final, at); });
}

void attn::emitScan(ScanRowOp op, const RowVectors &rows) { ScanEmitter(op, rows).run(); }
