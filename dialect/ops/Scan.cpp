// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.scan, attn.next: verification of recurrences.
#include "dialect/AttnDialect.h"

using namespace mlir;
using namespace attn;

OperandRange NextOp::outputs() {
  return getValues().drop_back(cast<ScanOp>((*this)->getParentOp()).getInitial().size());
}

OperandRange NextOp::states() {
  return getValues().take_back(cast<ScanOp>((*this)->getParentOp()).getInitial().size());
}

NextOp ScanOp::next() { return cast<NextOp>(getBody().front().getTerminator()); }

/// Whether `whole` is `step` with one axis more, which is `axis`.
static bool isAlong(Type whole, Type step, const StringAttr &axis) {
  auto type = cast<RankedTensorType>(whole);
  int64_t at = axisIndex(type, axis);
  return at >= 0 && type.getRank() > 1 && withoutAxis(type, at) == step;
}

LogicalResult ScanOp::verifyRegions() {
  Block &block = getBody().front();
  size_t inputs = getInputs().size(), states = getInitial().size();
  auto last = dyn_cast<NextOp>(block.getTerminator());
  if (inputs == 0) // scan_c1
    return emitOpError("expected an input at least");
  if (block.getNumArguments() != inputs + states) // scan_c2
    return emitOpError("expected a body of ")
           << inputs << " inputs and " << states << " states, but got " << block.getNumArguments()
           << " arguments";
  for (auto [input, argument] : llvm::zip(getInputs(), stepArguments()))
    if (!isAlong(input.getType(), argument.getType(), getAxisAttr())) // scan_c3
      return emitOpError("expected an input with the axis ")
             << getAxisAttr() << " and " << argument.getType() << " without it, but got "
             << input.getType();
  if (!last || last.getValues().size() != getValues().size() ||
      getValues().size() < states) // scan_c4
    return emitOpError("expected a body that ends with attn.next of ")
           << getValues().size() << " tensors";
  for (auto [value, step] : llvm::zip(outputs(), last.outputs()))
    if (!isAlong(value.getType(), step.getType(), getAxisAttr())) // scan_c5
      return emitOpError("expected a result with the axis ")
             << getAxisAttr() << " and " << step.getType() << " without it, but got "
             << value.getType();
  for (auto [initial, argument, next, state] :
       llvm::zip(getInitial(), stateArguments(), last.states(), this->states()))
    if (argument.getType() != initial.getType() || next.getType() != initial.getType() ||
        state.getType() != initial.getType()) // scan_c6
      return emitOpError("expected the state ")
             << initial.getType() << " everywhere, but got " << argument.getType() << ", "
             << next.getType() << " and " << state.getType();
  return success();
}
