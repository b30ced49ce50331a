// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of a stack's last layer only what is read is computed: a classifier reads one token.
//   y = stack(L, Block, x); slice(y)   ->   x' = stack(L - 1, Block, x); Block.last(L - 1, x')
// with the slice at the end of Block.last, from where it moves up (HoistSlices.h). Keys and values
// are still computed in full; queries, the feed-forward layers and the rest for the rows read.
#include "compiler/transforms/Passes.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

namespace attn {
#define GEN_PASS_DEF_NARROWSTACKPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

struct NarrowStackPass : attn::impl::NarrowStackPassBase<NarrowStackPass> {
  void runOnOperation() override {
    SmallVector<SliceOp> slices;
    getOperation().walk([&](SliceOp slice) { slices.push_back(slice); });
    SymbolTable symbols(getOperation());
    for (SliceOp slice : slices)
      narrow(slice, symbols);
  }

  static void narrow(SliceOp slice, SymbolTable &symbols) {
    auto loop = slice.getInput().getDefiningOp<scf::ForOp>();
    auto all = cast<RankedTensorType>(slice.getInput().getType());
    if (!loop || all.getDimSize(slice.getAxis()) == 1 || loop.getNumResults() != 1 ||
        !loop->hasOneUse())
      return;
    // The body is one call of a block: (layer, tensor) -> tensor.
    auto call = dyn_cast<func::CallOp>(loop.getBody()->front());
    APInt bound;
    if (!call || call->getNextNode() != loop.getBody()->getTerminator() ||
        call.getNumResults() != 1 || call.getNumOperands() != 2 ||
        call.getOperand(0) != loop.getInductionVar() ||
        call.getOperand(1) != loop.getRegionIterArg(0) ||
        !matchPattern(loop.getUpperBound(), m_ConstantInt(&bound)) ||
        !matchPattern(loop.getStep(), m_One()) || !matchPattern(loop.getLowerBound(), m_Zero()))
      return;
    auto block = symbols.lookup<func::FuncOp>(call.getCallee());

    OpBuilder builder(block);
    auto last = cast<func::FuncOp>(builder.clone(*block));
    last.setSymName((block.getSymName() + ".last").str());
    symbols.insert(last);
    auto result = cast<func::ReturnOp>(last.getBody().front().getTerminator());
    builder.setInsertionPoint(result);
    // The block's axes may have other names than the caller's; the slice is by position.
    auto whole = cast<RankedTensorType>(result.getOperand(0).getType());
    auto type = cast<RankedTensorType>(slice.getResult().getType());
    SmallVector<StringAttr> names(axesOf(whole));
    if (slice.getDrop())
      names.erase(names.begin() + slice.getAxis());
    auto narrow = axesTensor(whole.getElementType(), type.getShape(), names);
    auto rows =
        SliceOp::create(builder, slice.getLoc(), narrow, result.getOperand(0), slice.getAxis(),
                        slice.getOffset(), slice.getEnd(), slice.getDrop());
    result.setOperand(0, rows);
    last.setFunctionType(builder.getFunctionType(block.getArgumentTypes(), narrow));

    builder.setInsertionPoint(loop);
    Value before = arith::ConstantIndexOp::create(builder, loop.getLoc(), bound.getSExtValue() - 1);
    loop.setUpperBound(before);
    builder.setInsertionPoint(slice);
    auto lastCall =
        func::CallOp::create(builder, call.getLoc(), last, ValueRange{before, loop.getResult(0)});
    slice.getResult().replaceAllUsesWith(
        RelabelOp::create(builder, slice.getLoc(), type, lastCall.getResult(0)));
    slice.erase();
  }
};

} // namespace
