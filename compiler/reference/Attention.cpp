// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.attention, one query at a time: scores of all keys, bias, cap, mask, normaliser, the
// weighted sum of the values, and what else is returned.
#include "compiler/reference/Region.h"
#include <cmath>
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

/// The op's regions; all but the score may be absent.
struct Hooks {
  std::optional<RegionProgram> score, bias, cap, mask, sink;
};

/// What one query computes; masked keys have the score -inf where it is not asked for.
struct Row {
  std::vector<double> raw, biased, capped, weights;
  std::vector<bool> live;
  double sink = -std::numeric_limits<double>::infinity();
};
} // namespace

constexpr double infinity = std::numeric_limits<double>::infinity();

static llvm::Expected<Hooks> createHooks(AttentionOp op, const Scope &scope) {
  Hooks hooks;
  std::pair<Region *, std::optional<RegionProgram> *> all[] = {{&op.getScore(), &hooks.score},
                                                               {&op.getBias(), &hooks.bias},
                                                               {&op.getCap(), &hooks.cap},
                                                               {&op.getMask(), &hooks.mask},
                                                               {&op.getSink(), &hooks.sink}};
  for (auto [region, hook] : all) {
    if (region->empty())
      continue;
    auto program = RegionProgram::create(*region, scope);
    if (!program)
      return program.takeError();
    *hook = std::move(*program);
    if (region == &op.getCap())
      continue;
    unsigned first = region->getNumArguments() - op.getCaptures().size();
    for (auto [i, capture] : llvm::enumerate(op.getCaptures()))
      (*hook)->setTensor(first + i, scope.tensor(capture));
  }
  return hooks;
}

/// Sets a hook's index arguments, from `first` on: the query's position, then the key.
static void setPosition(RegionProgram &hook, unsigned first, ArrayRef<int64_t> position,
                        std::optional<int64_t> n) {
  for (int64_t p : position)
    hook.setScalar(first++, p);
  if (n)
    hook.setScalar(first, *n);
}

static bool isLive(Hooks &hooks, ArrayRef<int64_t> position, int64_t n) {
  if (!hooks.mask)
    return true;
  setPosition(*hooks.mask, 0, position, n);
  return hooks.mask->runScalar() != 0;
}

static void scorePair(Hooks &hooks, ArrayRef<double> q, ArrayRef<double> k,
                      ArrayRef<int64_t> position, int64_t n, Row &row) {
  hooks.score->setRow(0, q);
  hooks.score->setRow(1, k);
  setPosition(*hooks.score, 2, position, n);
  double score = row.raw[n] = hooks.score->runScalar();
  if (hooks.bias) {
    hooks.bias->setScalar(0, score);
    setPosition(*hooks.bias, 1, position, n);
    score = hooks.bias->runScalar();
  }
  row.biased[n] = score;
  if (hooks.cap) {
    hooks.cap->setScalar(0, score);
    score = hooks.cap->runScalar();
  }
  row.capped[n] = score;
}

/// Softmax over live keys, and the sink where there is one.
static std::vector<double> softmaxOf(const Row &row, bool hasSink) {
  std::vector<double> scores;
  for (size_t n = 0; n < row.live.size(); ++n)
    scores.push_back(row.live[n] ? row.capped[n] : -infinity);
  if (hasSink)
    scores.push_back(row.sink);
  std::vector<double> weights = softmax(scores);
  weights.resize(row.live.size());
  return weights;
}

/// 1 for the first of the largest live scores; a score of -inf has no weight.
static std::vector<double> hardmaxOf(const Row &row) {
  std::vector<double> weights(row.live.size(), 0.0);
  std::optional<size_t> best;
  for (size_t n = 0; n < weights.size(); ++n)
    if (row.live[n] && row.capped[n] > (best ? row.capped[*best] : -infinity))
      best = n;
  if (best)
    weights[*best] = 1;
  return weights;
}

/// The weight that a score alone makes.
static double weightOf(Normaliser normaliser, double score, int64_t keys) {
  double positive = score < 0 ? 0 : score;
  switch (normaliser) {
  case Normaliser::Sigmoid:
    return 1 / (1 + std::exp(-score));
  case Normaliser::Relu:
    return positive;
  case Normaliser::ReluMean:
    return positive / static_cast<double>(keys);
  default:
    return score;
  }
}

/// The weights of all keys for one query; 0 for masked keys whatever the normaliser makes of them.
static std::vector<double> weightsOf(const Row &row, Normaliser normaliser, bool hasSink) {
  std::vector<double> weights(row.live.size());
  if (normaliser == Normaliser::Softmax)
    weights = softmaxOf(row, hasSink);
  else if (normaliser == Normaliser::Hardmax)
    weights = hardmaxOf(row);
  else
    for (size_t n = 0; n < weights.size(); ++n)
      weights[n] = weightOf(normaliser, row.capped[n], static_cast<int64_t>(weights.size()));
  for (size_t n = 0; n < weights.size(); ++n)
    weights[n] = row.live[n] ? weights[n] : 0;
  return weights;
}

/// log of the sum of exp(score) over live keys and the sink; -inf for none.
static double logSumExp(const Row &row) {
  double largest = row.sink, sum = 0;
  for (size_t n = 0; n < row.live.size(); ++n)
    largest = row.live[n] ? std::fmax(largest, row.capped[n]) : largest;
  for (size_t n = 0; n < row.live.size(); ++n)
    if (row.live[n] && row.capped[n] != -infinity)
      sum += std::exp(row.capped[n] - largest);
  if (row.sink != -infinity)
    sum += std::exp(row.sink - largest);
  return sum == 0 ? -infinity : largest + std::log(sum);
}

static Row computeRow(AttentionOp op, Hooks &hooks, ArrayRef<double> q, const Rows &keys,
                      ArrayRef<int64_t> position) {
  Row row;
  for (std::vector<double> *scores : {&row.raw, &row.biased, &row.capped})
    scores->assign(keys.count, -infinity);
  row.live.resize(keys.count);
  bool asksForAll = llvm::any_of(op.returnedKinds(), [](Returned kind) {
    return kind == Returned::Raw || kind == Returned::Biased || kind == Returned::Capped;
  });
  for (int64_t n = 0; n < keys.count; ++n)
    if ((row.live[n] = isLive(hooks, position, n)) || asksForAll)
      scorePair(hooks, q, keys.row(position, n), position, n, row);
  if (hooks.sink) {
    setPosition(*hooks.sink, 0, position, std::nullopt);
    row.sink = hooks.sink->runScalar();
  }
  row.weights = weightsOf(row, op.getNormaliser(), hooks.sink.has_value());
  return row;
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

/// Appends what `kind` asks for of one query.
static void append(Returned kind, const Row &row, std::vector<double> &result) {
  switch (kind) {
  case Returned::LogSumExp:
    result.push_back(logSumExp(row));
    return;
  case Returned::Weights:
    result.insert(result.end(), row.weights.begin(), row.weights.end());
    return;
  case Returned::Raw:
    result.insert(result.end(), row.raw.begin(), row.raw.end());
    return;
  case Returned::Biased:
    result.insert(result.end(), row.biased.begin(), row.biased.end());
    return;
  case Returned::Capped:
    result.insert(result.end(), row.capped.begin(), row.capped.end());
    return;
  }
}

llvm::Expected<std::vector<Tensor>> attn::reference::evaluate(AttentionOp op, const Scope &scope) {
  const Tensor &query = scope.tensor(op.getQuery()); // [batch..., positions..., feature]
  Rows keys(op.getKey(), op.getKeyAxis(), op.getQuery().getType(), scope);
  Rows values(op.getValue(), op.getKeyAxis(), op.getQuery().getType(), scope);
  auto hooks = createHooks(op, scope);
  if (!hooks)
    return hooks.takeError();
  SmallVector<Returned> kinds = op.returnedKinds();
  SmallVector<int64_t> shape = query.shape;
  shape.back() = values.width;
  std::vector<Tensor> results = {zeros(shape)}; // [batch..., positions..., value feature]
  for (Returned kind : kinds) {
    Tensor &further = results.emplace_back();
    further.shape.append(query.shape.begin(), query.shape.end() - 1);
    if (kind != Returned::LogSumExp)
      further.shape.push_back(keys.count);
  }
  const double *q = query.data.data();
  double *y = results.front().data.data();
  forEachIndex(ArrayRef(query.shape).drop_back(), [&](ArrayRef<int64_t> position) {
    Row row = computeRow(op, *hooks, ArrayRef(q, keys.width), keys, position);
    addValues(row.weights, values, position, y);
    for (auto [i, kind] : llvm::enumerate(kinds))
      append(kind, row, results[i + 1].data);
    q += keys.width;
    y += values.width;
  });
  return results;
}
