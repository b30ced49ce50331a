// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.scan_kernel: verification of recurrences that are one kernel.
#include "dialect/Scans.h"
#include "dialect/ops/Buffers.h"

using namespace mlir;
using namespace attn;

LogicalResult ScanKernelOp::verify() {
  if (getInputs().empty() || getInitial().empty() ||
      getInitial().size() != getFinal().size()) // scan_kernel_c1
    return emitOpError("expected an input at least, a state, and as many states at the end");
  int64_t columns = columnsOf(getInitial()[0]), rows = rowsOf(getInitial()[0], 2);
  auto fits = [&](Value buffer, int64_t own) {
    return typeOf(buffer).getRank() > own && agree(columnsOf(buffer), columns) &&
           agree(rowsOf(buffer, own), rows);
  };
  for (auto [buffers, own] : {std::pair(ValueRange(getInputs()), 3),
                              {ValueRange(getOuts()), 3},
                              {ValueRange(getInitial()), 2},
                              {ValueRange(getFinal()), 2}})
    for (Value buffer : buffers)
      if (!fits(buffer, own)) // scan_kernel_c2
        return emitOpError("expected rows and columns of the first state, but got ")
               << buffer.getType();
  Block &body = getBody().front();
  auto step = dyn_cast<StepOp>(body.back());
  bool isOfAll = step && step.getValues().size() == getOuts().size() + getFinal().size() &&
                 body.getNumArguments() == getInputs().size() + getInitial().size() &&
                 llvm::all_of(body.getArgumentTypes(), [](Type type) { return type.isF32(); });
  if (!isOfAll) // scan_kernel_c3
    return emitOpError("expected a body (elements of the inputs and states...) -> elements of the "
                       "outputs and states");
  return success();
}
