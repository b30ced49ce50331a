// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.layernorm: (x - mean) / sqrt(variance + eps) * gamma + beta (Ba, Kiros, Hinton 2016).
#include "compiler/reference/Scope.h"
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

Tensor attn::reference::normalise(const Tensor &x, const Tensor &gamma, const Tensor &beta,
                                  double eps) {
  Tensor y = zeros(x.shape);
  size_t width = gamma.data.size();
  for (size_t first = 0; first < x.data.size(); first += width) {
    ArrayRef<double> row(&x.data[first], width);
    double mean = meanOf(row), deviation = std::sqrt(varianceOf(row, mean) + eps);
    for (size_t i = 0; i < width; ++i)
      y.data[first + i] = (row[i] - mean) / deviation * gamma.data[i] + beta.data[i];
  }
  return y;
}

llvm::Expected<Tensor> attn::reference::evaluate(LayerNormOp op, const Scope &scope) {
  return normalise(scope.tensor(op.getInput()), scope.tensor(op.getGamma()),
                   scope.tensor(op.getBeta()), op.getEps().convertToDouble());
}
