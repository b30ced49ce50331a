// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ops on tensors answer to ComputeOpInterface where they do not say otherwise.
#include "dialect/AttnDialect.h"

using namespace mlir;
using namespace attn;

std::string attn::titleWithColumns(Operation *op, Type type) {
  std::string title = op->getName().stripDialect().str();
  ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
  int64_t last = shape.empty() ? 1 : shape.back();
  return ShapedType::isDynamic(last) ? title : title + " " + std::to_string(last);
}

SmallVector<Value> attn::operandsAndResults(Operation *op) {
  SmallVector<Value> tensors;
  for (ValueRange values : {ValueRange(op->getOperands()), ValueRange(op->getResults())})
    llvm::copy_if(values, std::back_inserter(tensors),
                  [](Value value) { return isa<RankedTensorType>(value.getType()); });
  return tensors;
}
