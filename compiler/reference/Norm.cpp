// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.norm: rows normalised, times weights, plus biases.
#include "compiler/reference/Scope.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace attn;
using namespace attn::reference;

static double meanOf(ArrayRef<double> row) {
  double sum = 0;
  for (double x : row)
    sum += x;
  return sum / row.size();
}

/// The biased variance: the mean of (x - mean)^2.
static double varianceOf(ArrayRef<double> row, double mean) {
  double sum = 0;
  for (double x : row)
    sum += (x - mean) * (x - mean);
  return sum / row.size();
}

/// A row without its weights and biases.
static std::vector<double> normalised(ArrayRef<double> row, NormAttr norm) {
  std::vector<double> result;
  bool isCentred = norm.getKind() == NormKind::Layer; // about 0, the variance is the mean square
  double mean = isCentred ? meanOf(row) : 0, variance = varianceOf(row, mean);
  double divisor = norm.getKind() == NormKind::Euclidean
                       ? std::max(std::sqrt(variance * row.size()), norm.eps()) // NaN stays NaN
                       : std::sqrt(variance + norm.eps());
  for (double x : row)
    result.push_back((x - mean) / divisor);
  return result;
}

Tensor attn::reference::normalise(const Tensor &x, NormAttr norm, size_t width,
                                  const Tensor *weight, const Tensor *bias) {
  Tensor y = zeros(x.shape);
  for (size_t first = 0; first < x.data.size(); first += width) {
    std::vector<double> row = normalised(ArrayRef(&x.data[first], width), norm);
    for (size_t i = 0; i < width; ++i)
      y.data[first + i] =
          row[i] * (weight ? norm.offset() + weight->data[i] : 1) + (bias ? bias->data[i] : 0);
  }
  return y;
}

llvm::Expected<Tensor> attn::reference::evaluate(NormOp op, const Scope &scope) {
  const Tensor &x = scope.tensor(op.getInput());
  auto width = static_cast<size_t>(countOf(ArrayRef(x.shape).take_back(op.getAxes())));
  auto row = [&](Value value) { return value ? &scope.tensor(value) : nullptr; };
  return normalise(x, op.getNorm(), width, row(op.getWeight()), row(op.getBias()));
}
