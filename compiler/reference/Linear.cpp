// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.linear: y[lifted, out] = epilogue(sum over in of x[lifted, in] * w[out, in] + b[out],
// captures...).
#include "compiler/reference/Region.h"

using namespace mlir;
using namespace attn;
using namespace attn::reference;

/// y[m, first + n] = x[m, :] . w[n, :] for m < rows and all n; `width` outputs in a row of y.
static void multiply(const Tensor &x, const Tensor &w, int64_t in, int64_t first, int64_t width,
                     Tensor &y) {
  constexpr int64_t block = 32; // rows of w that stay in the cache while all rows of x pass by
  int64_t rows = x.data.size() / in, outputs = w.data.size() / in;
  for (int64_t begin = 0; begin < outputs; begin += block)
    for (int64_t m = 0; m < rows; ++m)
      for (int64_t n = begin; n < std::min(begin + block, outputs); ++n)
        y.data[m * width + first + n] = dot(&x.data[m * in], &w.data[n * in], in);
}

/// y[m, first + n] += bias[n].
static void addBias(const Tensor &bias, int64_t first, int64_t width, Tensor &y) {
  for (size_t m = 0; m < y.data.size() / width; ++m)
    for (size_t n = 0; n < bias.data.size(); ++n)
      y.data[m * width + first + n] += bias.data[n];
}

/// y[i] = epilogue(y[i], captures...), captures matched by axis name.
static llvm::Error applyEpilogue(LinearOp op, const Scope &scope, Tensor &y) {
  auto program = RegionProgram::create(op.getEpilogue(), scope);
  if (!program)
    return program.takeError();
  SmallVector<SmallVector<int64_t>> strides;
  for (Value capture : op.getCaptures())
    strides.push_back(
        stridesAlong(op.getResult().getType(), capture.getType(), scope.tensor(capture)));
  double *element = y.data.data();
  forEachIndex(y.shape, [&](ArrayRef<int64_t> index) {
    program->setScalar(0, *element);
    for (auto [i, capture] : llvm::enumerate(op.getCaptures()))
      program->setScalar(1 + i, scope.tensor(capture).data[offsetAt(index, strides[i])]);
    *element++ = program->runScalar();
  });
  return llvm::Error::success();
}

/// The input, normalised over its contracted axes where the op says so.
static Tensor normalisedInput(LinearOp op, const Scope &scope) {
  const Tensor &x = scope.tensor(op.getInput());
  NormAttr norm = op.getNormAttr();
  if (!norm)
    return x;
  auto width = static_cast<size_t>(countOf(ArrayRef(x.shape).take_back(op.getContract())));
  auto row = [&](Value value) { return value ? &scope.tensor(value) : nullptr; };
  return normalise(x, norm, width, row(op.getNormWeight()), row(op.getNormBias()));
}

llvm::Expected<Tensor> attn::reference::evaluate(LinearOp op, const Scope &scope) {
  Tensor x = normalisedInput(op, scope); // [lifted..., in...]
  size_t lifted = x.shape.size() - op.getContract();
  int64_t in = countOf(ArrayRef(x.shape).drop_front(lifted));
  SmallVector<int64_t> shape(op.getResult().getType().getShape());
  std::copy_n(x.shape.begin(), lifted, shape.begin());
  Tensor y = zeros(shape); // [lifted..., out...]
  int64_t width = countOf(ArrayRef(shape).drop_front(lifted)), first = 0;
  for (auto [i, weight] : llvm::enumerate(op.getWeights())) {
    const Tensor &w = scope.tensor(weight); // [out..., in...]
    multiply(x, w, in, first, width, y);
    if (!op.getBiases().empty())
      addBias(scope.tensor(op.getBiases()[i]), first, width, y);
    first += w.data.size() / in;
  }
  if (!op.getEpilogue().empty())
    if (llvm::Error error = applyEpilogue(op, scope, y))
      return std::move(error);
  return y;
}
