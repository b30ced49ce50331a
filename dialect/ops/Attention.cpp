// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.attention and the ops of its regions: verification.
#include "dialect/AttnDialect.h"

using namespace mlir;
using namespace attn;

/// Checks the number of a region's arguments and the type it yields; an absent region passes.
static LogicalResult verifyRegion(AttentionOp op, Region &region, TypeRange arguments, Type yielded,
                                  StringRef what) {
  if (region.empty())
    return success();
  Block &block = region.front();
  if (block.getNumArguments() != arguments.size())
    return op.emitOpError("expected a ") << what << " of " << arguments.size()
                                         << " arguments, but got " << block.getNumArguments();
  for (auto [i, type] : llvm::enumerate(arguments))
    if (block.getArgument(i).getType() != type)
      return op.emitOpError("expected a ") << what << " whose argument " << i << " is " << type
                                           << ", but got " << block.getArgument(i).getType();
  auto yield = dyn_cast_or_null<YieldOp>(block.empty() ? nullptr : &block.back());
  if (!yield || yield.getValue().getType() != yielded)
    return op.emitOpError("expected a ") << what << " that yields " << yielded;
  return success();
}

LogicalResult AttentionOp::verify() {
  auto query = cast<RankedTensorType>(getQuery().getType()),
       key = cast<RankedTensorType>(getKey().getType());
  auto value = cast<RankedTensorType>(getValue().getType()),
       result = cast<RankedTensorType>(getResult().getType());
  StringRef keyAxis = getKeyAxis();
  for (RankedTensorType type : {query, key, value, result})
    if (!hasDistinctAxes(type)) // attention_c4
      return emitOpError("expected every axis once, but got ") << type;
  int64_t inKey = axisIndex(key, keyAxis), inValue = axisIndex(value, keyAxis);
  if (query.getRank() < 2 || inKey < 0 || inValue < 0 ||
      axisIndex(query, keyAxis) >= 0) // attention_c1
    return emitOpError("expected key axis \"")
           << keyAxis << "\" in key and value and not in query, but got " << query << ", " << key
           << ", " << value;
  if (inKey == key.getRank() - 1 || inValue == value.getRank() - 1 ||
      query.getShape().back() != key.getShape().back() ||
      query.isDynamicDim(query.getRank() - 1)) // attention_c2
    return emitOpError("expected query and key to end in one feature axis, but got ")
           << query << " and " << key;
  if (key.getDimSize(inKey) != value.getDimSize(inValue)) // attention_c3
    return emitOpError("expected as many keys as values, but got ")
           << key.getDimSize(inKey) << " and " << value.getDimSize(inValue);
  for (auto type : {key, value})
    for (int64_t d = 0; d + 1 < type.getRank(); ++d)
      if (int64_t q = axisIndex(query, axesOf(type)[d]);
          axesOf(type)[d] != keyAxis && (q < 0 || query.getDimSize(q) != type.getDimSize(d) ||
                                         q + 1 == query.getRank())) // attention_c4
        return emitOpError("expected batch axes of the query, but got ")
               << axesOf(type)[d] << " of " << type;
  SmallVector<int64_t> shape(query.getShape());
  shape.back() = value.getShape().back();
  if (shape != SmallVector<int64_t>(result.getShape())) // attention_c5
    return emitOpError("expected the query's axes with value's features, but got ") << result;
  Type f32 = Float32Type::get(getContext());
  // All of query's axes but the feature, and the key's.
  SmallVector<Type> positions(query.getRank(), IndexType::get(getContext())), scored = {f32};
  scored.append(positions);
  Type features = RankedTensorType::get({query.getShape().back()}, f32);
  Type row = RankedTensorType::get({key.getDimSize(inKey)}, f32);
  if (failed(verifyRegion(*this, getScore(), {features, features}, f32, "score")) || // attention_c6
      failed(verifyRegion(*this, getBias(), scored, f32, "bias")) ||                 // attention_c7
      failed(verifyRegion(*this, getMask(), positions, IntegerType::get(getContext(), 1),
                          "mask")) ||                                       // attention_c8
      failed(verifyRegion(*this, getNormaliser(), row, row, "normaliser"))) // attention_c9
    return failure();
  return success();
}

LogicalResult DotOp::verify() {
  if (getLhs().getType() != getRhs().getType()) // dot_c1
    return emitOpError("expected vectors of one size, but got ")
           << getLhs().getType() << " and " << getRhs().getType();
  return success();
}
