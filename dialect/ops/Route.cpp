// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.route, attn.group_kernel: verification, and the axes of what is routed.
#include "dialect/Choices.h"
#include "dialect/ops/Buffers.h"

using namespace mlir;
using namespace attn;

int64_t RouteOp::rowAxes() { return tensorOf(getPlaces()).getRank() - 1; }

int64_t RouteOp::choices() { return tensorOf(getPlaces()).getShape().back(); }

Value RouteOp::routed() { return cast<RoutedOp>(getBody().front().getTerminator()).getValue(); }

StringRef RouteOp::rowsName() {
  return parseLinearSize(axesOf(rows().getType()).front().getValue())->dim;
}

/// Whether two tensors have `count` axes in common from these on.
static bool agreeFrom(RankedTensorType a, int64_t from, RankedTensorType b, int64_t to,
                      int64_t count) {
  return from + count <= a.getRank() && to + count <= b.getRank() &&
         a.getShape().slice(from, count) == b.getShape().slice(to, count) &&
         axesOf(a).slice(from, count) == axesOf(b).slice(to, count);
}

/// Whether `rows` is one axis of rows, then that of `whole` behind the first `front`.
static bool areRowsOf(Type rows, RankedTensorType whole, int64_t front) {
  auto type = cast<RankedTensorType>(rows);
  return whole.getRank() == front + 1 && type.getRank() == whole.getRank() - front + 1 &&
         type.isDynamicDim(0) && type.getElementType().isF32() &&
         agreeFrom(type, 1, whole, front, whole.getRank() - front);
}

LogicalResult RouteOp::verifyRegions() {
  RankedTensorType input = tensorOf(getInput()), places = tensorOf(getPlaces()),
                   weights = tensorOf(getWeights()), result = tensorOf(getResult());
  Type element = places.getElementType();
  if ((!element.isInteger(32) && !element.isInteger(64)) || places.getRank() < 2 ||
      places.isDynamicDim(places.getRank() - 1)) // route_c1
    return emitOpError("expected places of integers [rows..., choices], but got ") << places;
  if (!weights.getElementType().isF32() || weights.getShape() != places.getShape() ||
      axesOf(weights) != axesOf(places)) // route_c2
    return emitOpError("expected a weight of each place of ") << places << ", but got " << weights;
  int64_t rank = rowAxes();
  if (!agreeFrom(input, 0, places, 0, rank) || input.getRank() != rank + 1 ||
      input.isDynamicDim(rank) || !input.getElementType().isF32()) // route_c3
    return emitOpError("expected rows of f32 with the axes of ") << places << ", but got " << input;
  if (static_cast<int64_t>(getExperts()) < 1) // route_c4
    return emitOpError("expected at least 1 expert, but got ")
           << static_cast<int64_t>(getExperts());
  Block &block = getBody().front();
  if (block.getNumArguments() != 2 || !block.getArgument(0).getType().isIndex() ||
      !areRowsOf(block.getArgument(1).getType(), input, rank)) // route_c5
    return emitOpError("expected a body of an expert's number and its rows [rows, features]");
  auto last = dyn_cast<RoutedOp>(block.getTerminator());
  if (!last || !areRowsOf(last.getValue().getType(), result, rank) ||
      axesOf(last.getValue().getType()).front() != axesOf(rows().getType()).front() ||
      !agreeFrom(result, 0, places, 0, rank)) // route_c6
    return emitOpError("expected a body that ends with attn.routed of rows of ") << result;
  return success();
}

LogicalResult GroupKernelOp::verify() {
  auto sizeOf = [](Value buffer) { return cast<MemRefType>(buffer.getType()).getDimSize(0); };
  if (sizeOf(getFirsts()) != sizeOf(getCounts()) ||
      ShapedType::isDynamic(sizeOf(getCounts()))) // group_kernel_c1
    return emitOpError("expected a first place and a count of each expert");
  if (cast<MemRefType>(getPlaces().getType()).getRank() < 2 ||
      sizeOf(getTokens()) != sizeOf(getSlots())) // group_kernel_c2
    return emitOpError("expected places [rows..., choices], and a token and a slot for each");
  return success();
}
