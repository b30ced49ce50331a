// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.reduce, attn.softmax and attn.topk: verification, and what they cost.
#include "dialect/ops/Reduce.h"
#include "dialect/Choices.h"
#include "dialect/Locations.h"
#include "dialect/ops/Buffers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace attn;

LogicalResult attn::verifyReduced(Operation *op, ValueRange inputs, Region &body) {
  if (body.empty())
    return inputs.size() == 1
               ? success()
               : op->emitOpError("expected one input where there is no body, but got ")
                     << inputs.size();
  Block &block = body.front();
  auto yield = dyn_cast_or_null<YieldOp>(block.empty() ? nullptr : &block.back());
  bool fits =
      block.getNumArguments() == inputs.size() && yield && yield.getValue().getType().isF32();
  for (size_t i = 0; fits && i < inputs.size(); ++i)
    fits = block.getArgument(i).getType().isF32();
  return fits ? success() : op->emitOpError("expected a body (f32 of each input...) -> f32");
}

/// The axis called `name` of the first input that has it, and its input; null where none has it.
static std::pair<RankedTensorType, int64_t> findAxis(ReduceOp op, StringRef name) {
  for (Value input : op.getInputs())
    if (int64_t d = axisIndex(input.getType(), name); d >= 0)
      return {tensorOf(input), d};
  return {};
}

/// Checks that axes are reduced, or those of the result.
static LogicalResult verifyAxes(ReduceOp op, const llvm::StringSet<> &over) {
  RankedTensorType result = tensorOf(op.getResult());
  if (!hasDistinctAxes(result)) // reduce_c2
    return op.emitOpError("expected every axis once, but got ") << result;
  for (Value input : op.getInputs()) {
    RankedTensorType type = tensorOf(input);
    if (!hasDistinctAxes(type)) // reduce_c2
      return op.emitOpError("expected every axis once, but got ") << type;
    for (auto [axis, size] : llvm::zip(axesOf(type), type.getShape())) {
      auto [other, at] = findAxis(op, axis.getValue());
      if (other.getDimSize(at) != size) // reduce_c2
        return op.emitOpError("expected one size of axis ") << axis << ", but got " << type;
      int64_t d = axisIndex(result, axis);
      if (!over.contains(axis.getValue()) && (d < 0 || result.getDimSize(d) != size)) // reduce_c2
        return op.emitOpError("expected an axis of the result, ")
               << result << ", but got " << axis << " of " << type;
    }
  }
  return success();
}

LogicalResult ReduceOp::verify() {
  if (getInputs().empty() || getOver().empty()) // reduce_c1
    return emitOpError("expected an input, and an axis to reduce");
  llvm::StringSet<> over;
  for (StringRef name : getOver().getAsValueRange<StringAttr>())
    if (!over.insert(name).second || !findAxis(*this, name).first ||
        axisIndex(getResult().getType(), name) >= 0) // reduce_c1
      return emitOpError("expected axes of inputs that the result lacks, but got \"")
             << name << '"';
  if (failed(verifyAxes(*this, over)))
    return failure();
  bool isPlace = getKind() == Reduction::ArgMax;
  Type element = tensorOf(getResult()).getElementType();
  if (isPlace ? !element.isInteger(32) : !element.isF32()) // reduce_c3
    return emitOpError("expected a result of ")
           << (isPlace ? "i32" : "f32") << ", but got " << element;
  if (isPlace && getOver().size() != 1) // reduce_c3
    return emitOpError("expected one axis to find a place on, but got ") << getOver().size();
  for (Value input : getInputs())
    if (!tensorOf(input).getElementType().isF32()) // reduce_c4
      return emitOpError("expected inputs of f32, but got ") << input.getType();
  return verifyReduced(*this, getInputs(), getBody()); // reduce_c4
}

/// The elements that become one; nothing where their number is known only when running.
static std::optional<int64_t> reducedElements(ReduceOp op) {
  SmallVector<int64_t> sizes;
  for (StringRef name : op.getOver().getAsValueRange<StringAttr>()) {
    auto [type, d] = findAxis(op, name);
    if (type.isDynamicDim(d))
      return std::nullopt;
    sizes.push_back(type.getDimSize(d));
  }
  return countElements(sizes);
}

std::string ReduceOp::costTitle() {
  return titleWithColumns(*this, getResult().getType())
      .replace(0, strlen("reduce"), stringifyReduction(getKind()).str());
}

Value ReduceOp::workTensor() {
  return reducedElements(*this) ? getResult() : Value(getInputs().front());
}

int64_t ReduceOp::flopPerElement() {
  int64_t each = 1 + (getBody().empty() ? 0 : static_cast<int64_t>(operationsOf(getBody()).size()));
  return reducedElements(*this).value_or(1) * each;
}

LogicalResult SoftmaxOp::verify() {
  RankedTensorType type = tensorOf(getInput());
  int64_t axis = getAxis();
  if (axis < 0 || axis >= type.getRank()) // softmax_c1
    return emitOpError("expected an axis of ") << type << ", but got " << axis;
  if (!type.getElementType().isF32()) // softmax_c2
    return emitOpError("expected elements of f32, but got ") << type;
  return success();
}

/// A comparison, a difference, what makes the exponential of it, a sum, a product.
int64_t SoftmaxOp::flopPerElement() { return 5; }

LogicalResult TopkOp::verify() {
  RankedTensorType input = tensorOf(getInput()), result = tensorOf(getResult());
  auto axis = static_cast<int64_t>(getAxis());
  if (axis < 0 || axis >= input.getRank() || input.isDynamicDim(axis)) // topk_c1
    return emitOpError("expected a static axis of ") << input << ", but got " << axis;
  if (!input.getElementType().isF32() || !result.getElementType().isInteger(32)) // topk_c2
    return emitOpError("expected elements of f32 and places of i32, but got ")
           << input << " and " << result;
  bool fits = result.getRank() == input.getRank() && hasDistinctAxes(result);
  for (int64_t d = 0; fits && d < input.getRank(); ++d)
    fits = d == axis ? !result.isDynamicDim(d) && result.getDimSize(d) <= input.getDimSize(d)
                     : result.getDimSize(d) == input.getDimSize(d) &&
                           axesOf(result)[d] == axesOf(input)[d];
  if (!fits) // topk_c3
    return emitOpError("expected the input's axes, with at most as many choices in the place of ")
           << axesOf(input)[axis] << ", but got " << result;
  return success();
}

Value TopkOp::workTensor() { return getInput(); }

/// Two comparisons of each element for each choice.
int64_t TopkOp::flopPerElement() { return 2 * tensorOf(getResult()).getDimSize(getAxis()); }
