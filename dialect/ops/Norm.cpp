// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// #attn.norm and attn.norm: verification.
#include "dialect/AttnDialect.h"

using namespace mlir;
using namespace attn;

LogicalResult NormAttr::verify(function_ref<InFlightDiagnostic()> emitError, NormKind,
                               FloatAttr eps, FloatAttr offset) {
  if (!(eps.getValueAsDouble() >= 0)) // norm_c3
    return emitError() << "expected eps of at least 0, but got " << eps.getValueAsDouble();
  if (offset && !offset.getValue().isFinite()) // norm_c4
    return emitError() << "expected a finite offset, but got " << offset.getValueAsDouble();
  return success();
}

llvm::StringRef NormAttr::title() const {
  switch (getKind()) {
  case NormKind::Layer:
    return "norm";
  case NormKind::RootMeanSquare:
    return "rms norm";
  case NormKind::Euclidean:
    return "l2 norm";
  }
  llvm_unreachable("all kinds of norms have a title");
}

LogicalResult NormOp::verify() {
  RankedTensorType input = getInput().getType();
  auto axes = static_cast<int64_t>(getAxes());
  if (axes < 1 || axes > input.getRank() ||
      ShapedType::isDynamicShape(input.getShape().take_back(axes))) // norm_c1
    return emitOpError("expected to be over 1 to ")
           << input.getRank() << " last axes, all of static size, of " << input << ", but got "
           << axes;
  for (Value row : {getWeight(), getBias()})
    if (row && cast<RankedTensorType>(row.getType()).getShape() !=
                   input.getShape().take_back(axes)) // norm_c2
      return emitOpError("expected weight and bias over the last ")
             << axes << " axes of " << input << ", but got " << row.getType();
  return success();
}

bool NormOp::writesHalves(bool mapsToo) { return true; }
