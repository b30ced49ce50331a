// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.attention, one query at a time: scores of all keys, bias, mask, normaliser, and the weighted
// sum of the values.
#include "compiler/reference/Region.h"
#include <limits>
#include <optional>

using namespace mlir;
using namespace attn;
using namespace attn::reference;

namespace {
/// Rows of key or value: how far apart they lie along the key axis, and where a query's batch
/// begins.
struct Rows {
  Rows(Value value, StringRef keyAxis, Type query, const Scope &scope)
      : tensor(scope.tensor(value)), width(tensor.shape.back()) {
    SmallVector<int64_t> strides = denseStrides(tensor.shape);
    int64_t axis = axisIndex(value.getType(), keyAxis);
    count = tensor.shape[axis];
    step = strides[axis];
    for (StringAttr name : axesOf(query).drop_back()) {
      int64_t d = axisIndex(value.getType(), name);
      bool isBatch = d >= 0 && d + 1 < static_cast<int64_t>(strides.size());
      batch.push_back(isBatch ? strides[d] : 0);
    }
  }

  ArrayRef<double> row(ArrayRef<int64_t> position, int64_t n) const {
    return ArrayRef(tensor.data).slice(offsetAt(position, batch) + n * step, width);
  }

  const Tensor &tensor;
  int64_t width, count, step;
  SmallVector<int64_t> batch; ///< strides along the query's axes
};

/// The op's regions; bias and mask may be absent.
struct Hooks {
  std::optional<RegionProgram> score, bias, mask, normaliser;
};
} // namespace

static llvm::Expected<Hooks> createHooks(AttentionOp op, const Scope &scope) {
  Hooks hooks;
  std::pair<Region *, std::optional<RegionProgram> *> all[] = {
      {&op.getScore(), &hooks.score},
      {&op.getBias(), &hooks.bias},
      {&op.getMask(), &hooks.mask},
      {&op.getNormaliser(), &hooks.normaliser}};
  for (auto [region, hook] : all) {
    if (region->empty())
      continue;
    auto program = RegionProgram::create(*region, scope);
    if (!program)
      return program.takeError();
    *hook = std::move(*program);
  }
  return hooks;
}

/// Sets a hook's index arguments, from `first` on: the query's position, then the key.
static void setPosition(RegionProgram &hook, unsigned first, ArrayRef<int64_t> position,
                        int64_t n) {
  for (int64_t p : position)
    hook.setScalar(first++, p);
  hook.setScalar(first, n);
}

static bool isLive(Hooks &hooks, ArrayRef<int64_t> position, int64_t n) {
  if (!hooks.mask)
    return true;
  setPosition(*hooks.mask, 0, position, n);
  return hooks.mask->runScalar() != 0;
}

static double scoreOf(Hooks &hooks, ArrayRef<double> q, ArrayRef<double> k,
                      ArrayRef<int64_t> position, int64_t n) {
  hooks.score->setRow(0, q);
  hooks.score->setRow(1, k);
  double score = hooks.score->runScalar();
  if (!hooks.bias)
    return score;
  hooks.bias->setScalar(0, score);
  setPosition(*hooks.bias, 1, position, n);
  return hooks.bias->runScalar();
}

/// The weights of all keys for one query; 0 for masked keys whatever the normaliser makes of them.
static std::vector<double> weightsOf(Hooks &hooks, ArrayRef<double> q, const Rows &keys,
                                     ArrayRef<int64_t> position) {
  std::vector<double> scores(keys.count, -std::numeric_limits<double>::infinity());
  std::vector<bool> live(keys.count);
  for (int64_t n = 0; n < keys.count; ++n)
    if ((live[n] = isLive(hooks, position, n)))
      scores[n] = scoreOf(hooks, q, keys.row(position, n), position, n);
  hooks.normaliser->setRow(0, scores);
  std::vector<double> weights = hooks.normaliser->runRow().vec();
  for (int64_t n = 0; n < keys.count; ++n)
    weights[n] = live[n] ? weights[n] : 0;
  return weights;
}

/// y = sum over live keys of weight * value; a weight of 0 adds nothing, not even 0 * inf.
static void addValues(ArrayRef<double> weights, const Rows &values, ArrayRef<int64_t> position,
                      double *y) {
  for (int64_t n = 0; n < values.count; ++n) {
    if (weights[n] == 0)
      continue;
    ArrayRef<double> v = values.row(position, n);
    for (int64_t d = 0; d < values.width; ++d)
      y[d] += weights[n] * v[d];
  }
}

llvm::Expected<Tensor> attn::reference::evaluate(AttentionOp op, const Scope &scope) {
  const Tensor &query = scope.tensor(op.getQuery()); // [batch..., positions..., feature]
  Rows keys(op.getKey(), op.getKeyAxis(), op.getQuery().getType(), scope);
  Rows values(op.getValue(), op.getKeyAxis(), op.getQuery().getType(), scope);
  auto hooks = createHooks(op, scope);
  if (!hooks)
    return hooks.takeError();
  SmallVector<int64_t> shape = query.shape;
  shape.back() = values.width;
  Tensor result = zeros(shape); // [batch..., positions..., value feature]
  const double *q = query.data.data();
  double *y = result.data.data();
  forEachIndex(ArrayRef(query.shape).drop_back(), [&](ArrayRef<int64_t> position) {
    addValues(weightsOf(*hooks, ArrayRef(q, keys.width), keys, position), values, position, y);
    q += keys.width;
    y += values.width;
  });
  return result;
}
