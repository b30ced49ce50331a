// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of a stack's last layer only what is read is computed: a classifier reads one token.
//   y = stack(L, Block, x); slice(y)   ->   x' = stack(L - 1, Block, x); Block.last(L - 1, x')
// with the slice at the end of Block.last, from where it moves up (HoistSlices.h). Keys and values
// are still computed in full; queries, the feed-forward layers and the rest for the rows read. A
// slice of what a block computes moves into the block in the same way, and on into its stacks.
#include "compiler/transforms/HoistSlices.h"
#include "compiler/transforms/Passes.h"
#include "dialect/AttnDialect.h"
#include "dialect/Reasons.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace attn {
#define GEN_PASS_DEF_NARROWSTACKPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// The slices of a module that are still to be moved, and what moving them needs.
class SliceNarrowing {
public:
  explicit SliceNarrowing(ModuleOp module) : symbols(module), hoisting(hoistingPatterns(module)) {}

  void run(func::FuncOp function);

private:
  static FrozenRewritePatternSet hoistingPatterns(ModuleOp module) {
    RewritePatternSet patterns(module.getContext());
    populateSliceHoisting(patterns);
    return FrozenRewritePatternSet(std::move(patterns));
  }

  void narrow(SliceOp slice);
  /// Moves a slice of result `number` of a call into a copy of the callee.
  func::FuncOp moveInto(SliceOp slice, func::CallOp call, unsigned number);

  SymbolTable symbols;
  FrozenRewritePatternSet hoisting;
};

struct NarrowStackPass : attn::impl::NarrowStackPassBase<NarrowStackPass> {
  void runOnOperation() override {
    SliceNarrowing narrowing(getOperation());
    for (auto function : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      narrowing.run(function);
    eraseUncalled();
  }

  /// Erases blocks of which only narrowed copies are called.
  void eraseUncalled() {
    bool isChanged = true;
    while (isChanged) {
      isChanged = false;
      for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
        if (function.isPrivate() && SymbolTable::symbolKnownUseEmpty(function, getOperation())) {
          function.erase();
          isChanged = true;
        }
    }
  }
};

} // namespace

void SliceNarrowing::run(func::FuncOp function) {
  SmallVector<SliceOp> slices;
  function.walk([&](SliceOp slice) { slices.push_back(slice); });
  for (SliceOp slice : slices)
    narrow(slice);
}

/// Peels the last iteration off a loop over layers; what that gives, or null where the number of
/// iterations is not known.
static Value peelLast(scf::ForOp loop) {
  APInt first, bound, step;
  if (!matchPattern(loop.getLowerBound(), m_ConstantInt(&first)) ||
      !matchPattern(loop.getUpperBound(), m_ConstantInt(&bound)) ||
      !matchPattern(loop.getStep(), m_ConstantInt(&step)) || (bound - first).srem(step) != 0 ||
      !bound.sgt(first))
    return {};
  OpBuilder builder(loop);
  bool isOnly = first + step == bound;
  Value last =
      arith::ConstantIndexOp::create(builder, loop.getLoc(), (bound - step).getSExtValue());
  loop.setUpperBound(last);
  builder.setInsertionPointAfter(loop);
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), last);
  mapping.map(loop.getRegionIterArg(0), isOnly ? loop.getInitArgs()[0] : loop.getResult(0));
  for (Operation &op : loop.getBody()->without_terminator())
    builder.clone(op, mapping);
  Value result = mapping.lookup(loop.getBody()->getTerminator()->getOperand(0));
  if (isOnly) {
    loop.getResult(0).replaceAllUsesWith(result);
    loop.erase();
  }
  return result;
}

func::FuncOp SliceNarrowing::moveInto(SliceOp slice, func::CallOp call, unsigned number) {
  auto block = symbols.lookup<func::FuncOp>(call.getCallee());
  OpBuilder builder(block);
  auto last = cast<func::FuncOp>(builder.clone(*block));
  last.setSymName((block.getSymName() + ".last").str());
  symbols.insert(last);
  auto result = cast<func::ReturnOp>(last.getBody().front().getTerminator());
  builder.setInsertionPoint(result);
  // The block's axes may have other names than the caller's; the slice is by position.
  auto whole = cast<RankedTensorType>(result.getOperand(number).getType());
  auto type = cast<RankedTensorType>(slice.getResult().getType());
  SmallVector<StringAttr> names(axesOf(whole));
  if (slice.getDrop())
    names.erase(names.begin() + slice.getAxis());
  auto narrow = axesTensor(whole.getElementType(), type.getShape(), names);
  auto rows = SliceOp::create(builder, slice.getLoc(), narrow, result.getOperand(number),
                              slice.getAxis(), slice.getOffset(), slice.getEnd(), slice.getDrop());
  result.setOperand(number, rows);
  last.setFunctionType(builder.getFunctionType(block.getArgumentTypes(), result.getOperandTypes()));

  builder.setInsertionPoint(call);
  auto lastCall = func::CallOp::create(builder, call.getLoc(), last, call.getOperands());
  for (auto [i, old] : llvm::enumerate(call.getResults()))
    if (i != number)
      old.replaceAllUsesWith(lastCall.getResult(i));
  builder.setInsertionPoint(slice);
  slice.getResult().replaceAllUsesWith(
      RelabelOp::create(builder, slice.getLoc(), type, lastCall.getResult(number)));
  slice.erase();
  call.erase();
  return last;
}

void SliceNarrowing::narrow(SliceOp slice) {
  Value input = slice.getInput();
  auto all = cast<RankedTensorType>(input.getType());
  auto taken = cast<RankedTensorType>(slice.getResult().getType());
  if (all.getDimSize(slice.getAxis()) == 1 ||
      (!slice.getDrop() && taken.isDynamicDim(int64_t(slice.getAxis()))))
    return;
  if (!input.hasOneUse()) {
    if (isa_and_present<scf::ForOp, func::CallOp>(withoutRelabels(input).getDefiningOp()))
      missed(slice, Reason::SliceNotMoved,
             "the last layer is computed whole, though this takes only a part of it: its result " +
                 readersText(input),
             "an entry that returns less, or takes all it needs by one `first`, `last` or `slice`, "
             "computes less");
    return;
  }
  if (auto loop = input.getDefiningOp<scf::ForOp>(); loop && loop.getNumResults() == 1) {
    // The body ends with the call of a block.
    auto call = loop.getBody()->getTerminator()->getOperand(0).getDefiningOp<func::CallOp>();
    if (!call)
      return;
    Value last = peelLast(loop);
    if (!last)
      return;
    input = last;
    slice.getInputMutable().assign(last);
  }
  auto call = input.getDefiningOp<func::CallOp>();
  if (!call)
    return;
  func::FuncOp narrowed = moveInto(slice, call, cast<OpResult>(input).getResultNumber());
  (void)applyPatternsGreedily(narrowed, hoisting);
  run(narrowed);
}
