// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.reduce, attn.softmax and attn.topk: elements along axes to one, normalised, or in order.
#include "compiler/reference/Region.h"
#include "dialect/Choices.h"
#include <cmath>
#include <limits>
#include <numeric>

using namespace mlir;
using namespace attn;
using namespace attn::reference;

namespace {
/// What elements along axes become, one by one.
struct Reducer {
  Reduction kind;
  double value, place = 0, count = 0;

  explicit Reducer(Reduction kind) : kind(kind) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    value = kind == Reduction::Min                                ? infinity
            : kind == Reduction::Max || kind == Reduction::ArgMax ? -infinity
                                                                  : 0;
  }
  void add(double x) {
    switch (kind) {
    case Reduction::Sum:
    case Reduction::Mean:
      value += x;
      break;
    case Reduction::Max:
      value = std::isnan(x) || x > value ? x : value;
      break;
    case Reduction::Min:
      value = std::isnan(x) || x < value ? x : value;
      break;
    case Reduction::ArgMax:
      if (x > value)
        value = x, place = count;
      break;
    }
    ++count;
  }
  double result() const {
    return kind == Reduction::ArgMax ? place : kind == Reduction::Mean ? value / count : value;
  }
};
} // namespace

llvm::Expected<Tensor> attn::reference::evaluate(ReduceOp op, const Scope &scope) {
  RankedTensorType result = op.getResult().getType();
  auto shape = shapeFromNames(op, result, op.getInputs(), scope);
  if (!shape)
    return shape.takeError();
  // The axes of the result, then those that are reduced.
  SmallVector<int64_t> reduced, sizes(result.getShape());
  SmallVector<StringAttr> names(axesOf(result));
  for (Attribute attribute : op.getOver()) {
    auto name = cast<StringAttr>(attribute);
    auto input = llvm::find_if(op.getInputs(),
                               [&](Value value) { return axisIndex(value.getType(), name) >= 0; });
    int64_t d = axisIndex((*input).getType(), name);
    reduced.push_back(scope.tensor(*input).shape[d]);
    names.push_back(name);
    sizes.push_back(cast<RankedTensorType>((*input).getType()).getDimSize(d));
  }
  RankedTensorType all = axesTensor(Float32Type::get(op.getContext()), sizes, names);
  SmallVector<SmallVector<int64_t>> strides;
  for (Value input : op.getInputs())
    strides.push_back(stridesAlong(all, input.getType(), scope.tensor(input)));
  std::optional<RegionProgram> program;
  if (!op.getBody().empty()) {
    auto created = RegionProgram::create(op.getBody(), scope);
    if (!created)
      return created.takeError();
    program.emplace(std::move(*created));
  }
  Tensor y = zeros(*shape);
  double *element = y.data.data();
  forEachIndex(*shape, [&](ArrayRef<int64_t> kept) {
    Reducer reducer(op.getKind());
    forEachIndex(reduced, [&](ArrayRef<int64_t> inner) {
      SmallVector<int64_t> index(kept);
      index.append(inner.begin(), inner.end());
      auto read = [&](size_t i) {
        return scope.tensor(op.getInputs()[i]).data[offsetAt(index, strides[i])];
      };
      if (!program)
        return reducer.add(read(0));
      for (size_t i = 0; i < strides.size(); ++i)
        program->setScalar(i, read(i));
      reducer.add(program->runScalar());
    });
    *element++ = reducer.result();
  });
  return y;
}

llvm::Expected<Tensor> attn::reference::evaluate(SoftmaxOp op, const Scope &scope) {
  const Tensor &x = scope.tensor(op.getInput());
  int64_t axis = op.getAxis(), count = x.shape[axis], step = denseStrides(x.shape)[axis];
  Tensor y = zeros(x.shape);
  SmallVector<int64_t> rows(x.shape);
  rows[axis] = 1;
  forEachIndex(rows, [&](ArrayRef<int64_t> index) {
    int64_t first = offsetAt(index, denseStrides(x.shape));
    double most = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t n = 0; n < count; ++n) {
      double element = x.data[first + n * step];
      most = std::isnan(element) || element > most ? element : most;
    }
    if (most == -std::numeric_limits<double>::infinity())
      return; // zeros
    for (int64_t n = 0; n < count; ++n)
      sum += y.data[first + n * step] = std::exp(x.data[first + n * step] - most);
    for (int64_t n = 0; n < count; ++n)
      y.data[first + n * step] /= sum;
  });
  return y;
}

llvm::Expected<Tensor> attn::reference::evaluate(TopkOp op, const Scope &scope) {
  const Tensor &x = scope.tensor(op.getInput());
  int64_t axis = op.getAxis(), count = x.shape[axis], step = denseStrides(x.shape)[axis];
  SmallVector<int64_t> shape(x.shape), rows(x.shape);
  shape[axis] = op.getResult().getType().getDimSize(axis);
  rows[axis] = 1;
  Tensor y = zeros(shape);
  int64_t resultStep = denseStrides(shape)[axis];
  forEachIndex(rows, [&](ArrayRef<int64_t> index) {
    int64_t first = offsetAt(index, denseStrides(x.shape));
    auto key = [&](int64_t n) {
      double element = x.data[first + n * step];
      return std::isnan(element) ? -std::numeric_limits<double>::infinity() : element;
    };
    SmallVector<int64_t> places(count);
    std::iota(places.begin(), places.end(), 0);
    llvm::sort(places, [&](int64_t a, int64_t b) {
      return std::pair(key(b), a) < std::pair(key(a), b); // of equal ones the first
    });
    for (int64_t n = 0; n < shape[axis]; ++n)
      y.data[offsetAt(index, denseStrides(shape)) + n * resultStep] =
          static_cast<double>(places[n]);
  });
  return y;
}
