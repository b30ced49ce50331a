// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.linear: verification, and what it costs.
#include "dialect/AttnDialect.h"
#include "dialect/Locations.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace attn;

/// The types that an epilogue's block takes: the sum, then one element of every capture.
static LogicalResult verifyEpilogue(LinearOp op) {
  if (op.getEpilogue().empty())
    return success();
  Block &block = op.getEpilogue().front();
  if (block.getNumArguments() != 1 + op.getCaptures().size()) // linear_c6
    return op.emitOpError("expected an epilogue of ")
           << 1 + op.getCaptures().size() << " arguments, but got " << block.getNumArguments();
  SmallVector<Type> elements = {op.getResult().getType().getElementType()};
  for (Value capture : op.getCaptures())
    elements.push_back(cast<RankedTensorType>(capture.getType()).getElementType());
  for (auto [argument, element] : llvm::zip(block.getArguments(), elements))
    if (argument.getType() != element) // linear_c6
      return op.emitOpError("expected an epilogue of ")
             << element << " elements, but got " << argument.getType();
  auto yield = dyn_cast_or_null<YieldOp>(block.empty() ? nullptr : &block.back());
  if (!yield || yield.getValue().getType() != elements.front()) // linear_c6
    return op.emitOpError("expected an epilogue that yields ") << elements.front();
  return success();
}

/// Checks that captures have axes of the result only, of the same size.
static LogicalResult verifyCaptures(LinearOp op) {
  auto result = op.getResult().getType();
  for (Value capture : op.getCaptures()) {
    auto type = cast<RankedTensorType>(capture.getType());
    for (auto [axis, size] : llvm::zip(axesOf(type), type.getShape()))
      if (int64_t d = axisIndex(result, axis); d < 0 || result.getDimSize(d) != size) // linear_c7
        return op.emitOpError("expected captures over axes of the result, but got axis ") << axis;
  }
  return success();
}

LogicalResult LinearOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  int64_t contract = getContract();
  if (contract < 1 || contract > input.getRank()) // linear_c1
    return emitOpError("expected to contract 1 to ")
           << input.getRank() << " axes, but got " << contract;
  auto lifted = input.getShape().drop_back(contract), in = input.getShape().take_back(contract);
  if (getWeights().empty()) // linear_c2
    return emitOpError("expected a weight");
  int64_t outputs = 0;
  for (Value weight : getWeights()) {
    auto type = cast<RankedTensorType>(weight.getType());
    if (type.getRank() < contract || type.getShape().take_back(contract) != in) // linear_c3
      return emitOpError("expected weights over the input's axes ")
             << input << ", but got " << type;
    auto out = countElements(type.getShape().drop_back(contract));
    if (!out) // linear_c3
      return emitOpError("expected static outputs of a weight, but got ") << type;
    outputs += *out;
  }
  if (!getBiases().empty() && getBiases().size() != getWeights().size()) // linear_c4
    return emitOpError("expected a bias for each of ")
           << getWeights().size() << " weights, but got " << getBiases().size();
  for (auto [bias, weight] : llvm::zip(getBiases(), getWeights())) {
    auto type = cast<RankedTensorType>(bias.getType());
    auto out = cast<RankedTensorType>(weight.getType()).getShape().drop_back(contract);
    if (type.getShape() != out) // linear_c4
      return emitOpError("expected a bias of the weight's outputs, but got ") << type;
  }
  if (result.getRank() < static_cast<int64_t>(lifted.size()) ||
      result.getShape().take_front(lifted.size()) != lifted ||
      countElements(result.getShape().drop_front(lifted.size())) != outputs) // linear_c5
    return emitOpError("expected the input's lifted axes and ")
           << outputs << " outputs, but got " << result;
  for (Value row : {getNormWeight(), getNormBias()}) {
    if (row && !getNorm()) // linear_c8
      return emitOpError("expected a norm where it has weights or biases");
    if (row && cast<RankedTensorType>(row.getType()).getShape() != in) // linear_c8
      return emitOpError("expected weights and biases of a norm over the contracted axes, but got ")
             << row.getType();
  }
  if (failed(verifyEpilogue(*this)))
    return failure();
  return verifyCaptures(*this);
}

bool LinearOp::writesHalves(bool mapsToo) { return true; }

/// Elements of a row, those of all contracted axes.
static int64_t depthOf(LinearOp op) {
  auto input = cast<RankedTensorType>(op.getInput().getType());
  return ShapedType::getNumElements(input.getShape().take_back(op.getContract()));
}

std::string LinearOp::costTitle() {
  int64_t k = depthOf(*this), n = 0;
  for (Value weights : getWeights())
    n += cast<RankedTensorType>(weights.getType()).getNumElements() / k;
  std::string words = llvm::join(wordsOf(getEpilogue()), ", ");
  return llvm::formatv("linear {0} -> {1}{2}{3}", k, n, words.empty() ? "" : ", ", words);
}

int64_t LinearOp::flopPerElement() {
  return 2 * depthOf(*this) + static_cast<int64_t>(operationsOf(getEpilogue()).size());
}
