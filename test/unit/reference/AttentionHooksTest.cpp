// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.attention with captures, vectors, sinks, every normaliser and every result, against loops
// over one batch.
#include "TestSupport.h"
#include <cmath>
#include <limits>

using namespace attn::reference;
using namespace attn::reference::test;

namespace {
constexpr int64_t heads = 2, queries = 3, keys = 5, features = 4, width = 2;
constexpr int64_t pairs = heads * queries * keys;

/// What the tests attend with, and what they capture.
struct Case {
  explicit Case(unsigned seed)
      : draw(seed), q(draw({heads, queries, features})), k(draw({heads, keys, features})),
        v(draw({heads, keys, width})), slope(draw({heads})) {}

  double dot(int64_t h, int64_t i, int64_t j) const {
    double sum = 0;
    for (int64_t e = 0; e < features; ++e)
      sum += q.data[(h * queries + i) * features + e] * k.data[(h * keys + j) * features + e];
    return sum;
  }

  /// weights . v
  Tensor output(const std::vector<double> &weights) const {
    Tensor y = zeros({heads, queries, width});
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < queries; ++i)
        for (int64_t j = 0; j < keys; ++j)
          for (int64_t d = 0; d < width; ++d)
            y.data[(h * queries + i) * width + d] +=
                weights[(h * queries + i) * keys + j] * v.data[(h * keys + j) * width + d];
    return y;
  }

  Draw draw;
  Tensor q, k, v, slope;
};
} // namespace

static const std::string queryType = type({heads, queries, features}, {"H", "T", "E"}),
                         keyType = type({heads, keys, features}, {"H", "S", "E"}),
                         valueType = type({heads, keys, width}, {"H", "S", "F"}),
                         resultType = type({heads, queries, width}, {"H", "T", "F"}),
                         pairType = type({heads, queries, keys}, {"H", "T", "S"}),
                         rowType = type({heads, queries}, {"H", "T"});

/// ", %c0: tensor<…>" for each capture.
static std::string captureArguments(const std::vector<std::string> &captures) {
  std::string text;
  for (size_t i = 0; i < captures.size(); ++i)
    text += ", %c" + std::to_string(i) + ": " + captures[i];
  return text;
}

static std::string dotScore(const std::vector<std::string> &captures) {
  return "score { ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %h: index, %i: index, %j: index" +
         captureArguments(captures) +
         "): %d = attn.dot %a, %b : tensor<4xf32>, tensor<4xf32> attn.yield %d : f32 } ";
}

/// mask {...}: j <= i + 1.
static std::string nextMask(const std::vector<std::string> &captures) {
  return "mask { ^bb0(%h: index, %i: index, %j: index" + captureArguments(captures) +
         "): %one = arith.constant 1 : index %n = arith.addi %i, %one : index "
         "%m = arith.cmpi sle, %j, %n : index attn.yield %m : i1 } ";
}

/// @f of query, key, value and captures, which returns all results of the op.
static std::string attention(const std::vector<std::string> &captures, std::string attributes,
                             const std::vector<std::string> &further, std::string regions) {
  std::vector<std::string> operands = {queryType, keyType, valueType};
  operands.insert(operands.end(), captures.begin(), captures.end());
  std::string arguments, types, results = resultType, captured, values = "%r#0";
  for (size_t i = 0; i < operands.size(); ++i) {
    std::string comma = i ? ", " : "";
    arguments += comma + "%" + std::to_string(i) + ": " + operands[i];
    types += comma + operands[i];
    if (i >= 3)
      captured += (i > 3 ? ", %" : "captures(%") + std::to_string(i);
  }
  for (size_t i = 0; i < further.size(); ++i) {
    results += ", " + further[i];
    values += ", %r#" + std::to_string(i + 1);
  }
  return "func.func @f(" + arguments + ") -> (" + results +
         ") {\n  %r:" + std::to_string(further.size() + 1) +
         " = attn.attention %0 over %1, %2 along \"S\" " + captured +
         (captures.empty() ? "" : ") ") + attributes + " : (" + types + ") -> (" + results + ") " +
         regions + "\n  return " + values + " : " + results + "\n}\n";
}

/// Weights of scores by `normaliser`, of keys up to `i + 1` where `masked`.
static std::vector<double> weightsOf(std::string normaliser, const std::vector<double> &scores,
                                     bool masked) {
  std::vector<double> weights(pairs, 0.0);
  for (int64_t row = 0; row < heads * queries; ++row) {
    int64_t live = masked ? std::min(keys, row % queries + 2) : keys, best = 0;
    const double *s = &scores[row * keys];
    double *w = &weights[row * keys], sum = 0;
    for (int64_t j = 0; j < live; ++j) {
      best = s[j] > s[best] ? j : best;
      sum += std::exp(s[j]);
    }
    for (int64_t j = 0; j < live; ++j)
      w[j] = normaliser == "softmax"     ? std::exp(s[j]) / sum
             : normaliser == "sigmoid"   ? 1 / (1 + std::exp(-s[j]))
             : normaliser == "relu"      ? std::max(s[j], 0.0)
             : normaliser == "relu_mean" ? std::max(s[j], 0.0) / keys
             : normaliser == "hardmax"   ? (j == best ? 1 : 0)
                                         : s[j];
  }
  return weights;
}

TEST(AttentionHooks, every_normaliser_with_and_without_a_mask) {
  for (std::string normaliser : {"softmax", "sigmoid", "relu", "relu_mean", "hardmax", "identity"})
    for (bool masked : {false, true}) {
      SCOPED_TRACE(normaliser);
      Case c(1);
      std::vector<double> scores;
      for (int64_t p = 0; p < pairs; ++p)
        scores.push_back(c.dot(p / keys / queries, p / keys % queries, p % keys));
      std::vector<double> weights = weightsOf(normaliser, scores, masked);
      Outcome y = run(attention({},
                                "{normaliser = #attn<normaliser " + normaliser +
                                    ">, returned = [#attn<returned weights>]}",
                                {pairType}, dotScore({}) + (masked ? nextMask({}) : "")),
                      {c.q, c.k, c.v});
      ASSERT_EQ(y.outputs.size(), 2u) << y.error;
      expectNear(y.outputs[0], c.output(weights), 1e-12);
      expectNear(y.outputs[1], tensor({heads, queries, keys}, weights), 1e-12);
    }
}

TEST(AttentionHooks, scores_of_all_stages_and_lse_of_live_keys) {
  Case c(2);
  std::string slopes = type({heads}, {"H"});
  std::string bias = "bias { ^bb0(%s: f32, %h: index, %i: index, %j: index" +
                     captureArguments({slopes}) + "): %e = attn.element %c0[%h] : " + slopes +
                     " -> f32 %r = arith.addf %s, %e : f32 attn.yield %r : f32 } ";
  std::string cap = "cap { ^bb0(%s: f32): %r = math.tanh %s : f32 attn.yield %r : f32 } ";
  Outcome y = run(attention({slopes},
                            "{returned = [#attn<returned lse>, #attn<returned raw>, "
                            "#attn<returned biased>, #attn<returned capped>]}",
                            {rowType, pairType, pairType, pairType},
                            dotScore({slopes}) + bias + cap + nextMask({slopes})),
                  {c.q, c.k, c.v, c.slope});
  ASSERT_EQ(y.outputs.size(), 5u) << y.error;
  Tensor lse = zeros({heads, queries}), raw = zeros({heads, queries, keys}), biased = raw,
         capped = raw;
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < queries; ++i) {
      double sum = 0;
      for (int64_t j = 0; j < keys; ++j) {
        int64_t at = (h * queries + i) * keys + j;
        raw.data[at] = c.dot(h, i, j);
        biased.data[at] = raw.data[at] + c.slope.data[h];
        capped.data[at] = std::tanh(biased.data[at]);
        sum += j <= i + 1 ? std::exp(capped.data[at]) : 0;
      }
      lse.data[h * queries + i] = std::log(sum);
    }
  expectNear(y.outputs[0], c.output(weightsOf("softmax", capped.data, true)), 1e-12);
  expectNear(y.outputs[1], lse, 1e-12);
  expectNear(y.outputs[2], raw, 1e-12);
  expectNear(y.outputs[3], biased, 1e-12);
  expectNear(y.outputs[4], capped, 1e-12);
}

TEST(AttentionHooks, row_without_live_keys_has_lse_of_minus_infinity) {
  Case c(3);
  std::string mask = "mask { ^bb0(%h: index, %i: index, %j: index): %m = arith.constant false "
                     "attn.yield %m : i1 } ";
  Outcome y =
      run(attention({}, "{returned = [#attn<returned lse>]}", {rowType}, dotScore({}) + mask),
          {c.q, c.k, c.v});
  ASSERT_EQ(y.outputs.size(), 2u) << y.error;
  expectNear(y.outputs[0], zeros({heads, queries, width}), 0);
  for (double x : y.outputs[1].data)
    EXPECT_EQ(x, -infinity);
}

TEST(AttentionHooks, sink_takes_its_share_of_the_weights) {
  Case c(4);
  std::string sinks = type({heads}, {"H"});
  std::string sink = "sink { ^bb0(%h: index, %i: index" + captureArguments({sinks}) +
                     "): %e = attn.element %c0[%h] : " + sinks + " -> f32 attn.yield %e : f32 } ";
  Outcome y = run(attention({sinks}, "", {}, dotScore({sinks}) + sink), {c.q, c.k, c.v, c.slope});
  ASSERT_EQ(y.outputs.size(), 1u) << y.error;
  std::vector<double> weights(pairs);
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < queries; ++i) {
      double sum = std::exp(c.slope.data[h]);
      for (int64_t j = 0; j < keys; ++j)
        sum += std::exp(c.dot(h, i, j));
      for (int64_t j = 0; j < keys; ++j)
        weights[(h * queries + i) * keys + j] = std::exp(c.dot(h, i, j)) / sum;
    }
  expectNear(y.outputs[0], c.output(weights), 1e-12);
}

/// v[h] . tanh(q + 2 k): vectors of a region, and one that is read of a capture.
TEST(AttentionHooks, additive_score_of_vectors) {
  Case c(5);
  Tensor u = c.draw({heads, features});
  std::string vectors = type({heads, features}, {"H", "U"}), row = "tensor<4xf32>";
  std::string score =
      "score { ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %h: index, %i: index, %j: index" +
      captureArguments({vectors}) + "): %two = arith.constant dense<2.0> : " + row +
      " %k = arith.mulf %two, %b : " + row + " %s = arith.addf %a, %k : " + row +
      " %t = math.tanh %s : " + row + " %u = attn.element %c0[%h] : " + vectors + " -> " + row +
      " %d = attn.dot %u, %t : " + row + ", " + row + " attn.yield %d : f32 } ";
  Outcome y = run(attention({vectors}, "{returned = [#attn<returned raw>]}", {pairType}, score),
                  {c.q, c.k, c.v, u});
  ASSERT_EQ(y.outputs.size(), 2u) << y.error;
  Tensor raw = zeros({heads, queries, keys});
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < queries; ++i)
      for (int64_t j = 0; j < keys; ++j)
        for (int64_t e = 0; e < features; ++e)
          raw.data[(h * queries + i) * keys + j] +=
              u.data[h * features + e] * std::tanh(c.q.data[(h * queries + i) * features + e] +
                                                   2 * c.k.data[(h * keys + j) * features + e]);
  expectNear(y.outputs[1], raw, 1e-12);
  expectNear(y.outputs[0], c.output(weightsOf("softmax", raw.data, false)), 1e-12);
}

/// Documents, as integers, and a mask, as truth values, of keys.
TEST(AttentionHooks, masks_read_integers_and_truth_values) {
  Case c(6);
  std::string ids = type({keys}, {"S"}, "i32"), alive = type({queries, keys}, {"T", "S"}, "i1");
  std::string mask = "mask { ^bb0(%h: index, %i: index, %j: index" +
                     captureArguments({ids, alive}) + "): %a = attn.element %c0[%i] : " + ids +
                     " -> index %b = attn.element %c0[%j] : " + ids +
                     " -> index %same = arith.cmpi eq, %a, %b : index"
                     " %live = attn.element %c1[%i, %j] : " +
                     alive + " -> i1 %m = arith.andi %same, %live : i1 attn.yield %m : i1 } ";
  std::vector<double> id = {7, 7, -2, 7, -2}, live;
  for (int64_t p = 0; p < queries * keys; ++p)
    live.push_back(p % 4 != 1);
  Outcome y = run(attention({ids, alive}, "", {}, dotScore({ids, alive}) + mask),
                  {c.q, c.k, c.v, tensor({keys}, id), tensor({queries, keys}, live)});
  ASSERT_EQ(y.outputs.size(), 1u) << y.error;
  std::vector<double> weights(pairs, 0.0);
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < queries; ++i) {
      auto weight = [&](int64_t j) {
        return id[i] == id[j] && live[i * keys + j] ? std::exp(c.dot(h, i, j)) : 0;
      };
      double sum = 0;
      for (int64_t j = 0; j < keys; ++j)
        sum += weight(j);
      for (int64_t j = 0; j < keys; ++j)
        weights[(h * queries + i) * keys + j] = weight(j) / sum;
    }
  expectNear(y.outputs[0], c.output(weights), 1e-12);
}
