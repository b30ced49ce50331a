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

/// The regions' arguments: their own, all positions, the captures.
static LogicalResult verifyHooks(AttentionOp op) {
  MLIRContext *context = op.getContext();
  auto query = cast<RankedTensorType>(op.getQuery().getType());
  Type f32 = Float32Type::get(context), index = IndexType::get(context);
  Type features = RankedTensorType::get({query.getShape().back()}, f32);
  auto arguments = [&](ArrayRef<Type> own, int64_t positions) {
    SmallVector<Type> types(own);
    types.append(positions, index);
    llvm::append_range(types, op.getCaptures().getTypes());
    return types;
  };
  int64_t rank = query.getRank(); // positions: the query's axes but the feature, and the key's
  Type truth = IntegerType::get(context, 1);
  if (failed(verifyRegion(op, op.getScore(), arguments({features, features}, rank), f32,
                          "score")) ||                                               // c6
      failed(verifyRegion(op, op.getBias(), arguments({f32}, rank), f32, "bias")) || // c7
      failed(verifyRegion(op, op.getCap(), f32, f32, "cap")) ||                      // c7
      failed(verifyRegion(op, op.getMask(), arguments({}, rank), truth, "mask")) ||  // c8
      failed(verifyRegion(op, op.getSink(), arguments({}, rank - 1), f32, "sink")))  // c9
    return failure();
  return success();
}

/// The types of the further results.
static LogicalResult verifyReturned(AttentionOp op) {
  auto query = cast<RankedTensorType>(op.getQuery().getType()),
       key = cast<RankedTensorType>(op.getKey().getType());
  SmallVector<Returned> kinds = op.returnedKinds();
  if (kinds.size() != op.getFurther().size()) // attention_c11
    return op.emitOpError("expected ")
           << kinds.size() << " further results, but got " << op.getFurther().size();
  for (auto [kind, value] : llvm::zip_equal(kinds, op.getFurther())) {
    SmallVector<int64_t> shape(query.getShape().drop_back());
    SmallVector<StringAttr> names(axesOf(query).drop_back());
    if (kind != Returned::LogSumExp) {
      shape.push_back(key.getDimSize(axisIndex(key, op.getKeyAxis())));
      names.push_back(axesOf(key)[axisIndex(key, op.getKeyAxis())]);
    }
    Type expected = axesTensor(query.getElementType(), shape, names);
    if (value.getType() != expected) // attention_c11
      return op.emitOpError("expected ") << stringifyReturned(kind) << " of type " << expected
                                         << ", but got " << value.getType();
    if (kind == Returned::LogSumExp && op.getNormaliser() != Normaliser::Softmax) // attention_c11
      return op.emitOpError("expected lse with softmax alone");
  }
  return success();
}

template <typename Op> static SmallVector<Returned> kindsOf(Op op) {
  SmallVector<Returned> kinds;
  for (Attribute kind : op.getReturned().value_or(ArrayAttr::get(op.getContext(), {})))
    kinds.push_back(cast<ReturnedAttr>(kind).getValue());
  return kinds;
}

SmallVector<Returned> AttentionOp::returnedKinds() { return kindsOf(*this); }
SmallVector<Returned> AttentionKernelOp::returnedKinds() { return kindsOf(*this); }

Value AttentionKernelOp::furtherOf(Returned kind) {
  SmallVector<Returned> kinds = returnedKinds();
  auto found = llvm::find(kinds, kind);
  return found == kinds.end() ? Value() : getFurther()[found - kinds.begin()];
}

LogicalResult ElementOp::verify() {
  auto type = cast<ShapedType>(getTensor().getType());
  auto vector = dyn_cast<RankedTensorType>(getResult().getType());
  if (type.getRank() !=
      static_cast<int64_t>(getPositions().size()) + (vector ? 1 : 0)) // element_c1
    return emitOpError("expected a position for each axis")
           << (vector ? " but the last" : "") << " of " << type;
  Type element = type.getElementType();
  bool isTruth = element.isInteger(1) || element.isInteger(8); // a byte in memory
  Type expected = isa<FloatType>(element) ? Type(Float32Type::get(getContext()))
                  : isTruth               ? Type(IntegerType::get(getContext(), 1))
                                          : Type(IndexType::get(getContext()));
  if (vector)
    expected = RankedTensorType::get({type.getShape().back()}, Float32Type::get(getContext()));
  if (getResult().getType() != expected || (vector && !element.isF32())) // element_c2
    return emitOpError("expected an element as ")
           << expected << ", but got " << getResult().getType();
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
  if (failed(verifyHooks(*this)))
    return failure();
  if (!getSink().empty() && getNormaliser() != Normaliser::Softmax) // attention_c10
    return emitOpError("expected a sink with softmax alone");
  return verifyReturned(*this);
}

bool DotOp::isOfQueryAndKey() {
  Block &score = *getOperation()->getBlock();
  Value query = score.getArgument(0), key = score.getArgument(1);
  return (getLhs() == query && getRhs() == key) || (getLhs() == key && getRhs() == query);
}

LogicalResult DotOp::verify() {
  if (getLhs().getType() != getRhs().getType()) // dot_c1
    return emitOpError("expected vectors of one size, but got ")
           << getLhs().getType() << " and " << getRhs().getType();
  return success();
}

bool AttentionOp::writesHalves(bool mapsToo) { return true; }

std::string AttentionOp::costTitle() {
  return (getMask().empty() ? "" : "masked ") + titleWithColumns(*this, getQuery().getType());
}
