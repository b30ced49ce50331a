// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.map: verification, and what it costs.
#include "dialect/AttnDialect.h"
#include "dialect/Locations.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace attn;

LogicalResult MapOp::verify() {
  Block &block = getBody().front();
  if (block.getNumArguments() != getInputs().size()) // map_c1
    return emitOpError("expected ")
           << getInputs().size() << " block arguments, but got " << block.getNumArguments();
  auto result = cast<RankedTensorType>(getResult().getType());
  if (!hasDistinctAxes(result)) // map_c3
    return emitOpError("expected every axis once, but got ") << result;
  for (auto [input, argument] : llvm::zip(getInputs(), block.getArguments())) {
    auto type = cast<RankedTensorType>(input.getType());
    if (argument.getType() != type.getElementType()) // map_c2
      return emitOpError("expected a block argument of type ")
             << type.getElementType() << ", but got " << argument.getType();
    if (!hasDistinctAxes(type)) // map_c3
      return emitOpError("expected every axis once, but got ") << type;
    for (auto [axis, size] : llvm::zip(axesOf(type), type.getShape())) {
      int64_t d = axisIndex(result, axis);
      if (d < 0 || result.getDimSize(d) != size) // map_c3
        return emitOpError("expected an axis of the result, ")
               << result << ", but got " << axis << " of " << type;
    }
  }
  auto yield = dyn_cast<YieldOp>(block.back());
  if (!yield) // map_c4
    return emitOpError("expected to yield ") << result.getElementType();
  if (yield.getValue().getType() != result.getElementType()) // map_c4
    return emitOpError("expected to yield ")
           << result.getElementType() << ", but got " << yield.getValue().getType();
  return success();
}

bool MapOp::writesHalves(bool mapsToo) { return mapsToo; }

std::string MapOp::costTitle() {
  std::string words = llvm::join(wordsOf(getBody()), ", ");
  return words.empty() ? "map" : "map " + words;
}

int64_t MapOp::flopPerElement() { return static_cast<int64_t>(operationsOf(getBody()).size()); }
