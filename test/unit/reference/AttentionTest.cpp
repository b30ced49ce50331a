// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.attention: a worked example, and random shapes against loops of their own.
#include "TestSupport.h"
#include <cmath>
#include <limits>

using namespace attn::reference;
using namespace attn::reference::test;

static std::string f32(double value) {
  return "arith.constant " + std::to_string(value) + " : f32";
}

/// score {...}: the inner product of two rows, times a factor; `positions` are the query's and the
/// key's.
static std::string scaledDot(int64_t features, double scale, int64_t positions = 2) {
  std::string row = "tensor<" + std::to_string(features) + "xf32>", arguments;
  for (int64_t i = 0; i < positions; ++i)
    arguments += ", %p" + std::to_string(i) + ": index";
  return "score { ^bb0(%left: " + row + ", %right: " + row + arguments +
         "): %d = attn.dot %left, %right : " + row + ", " + row + " %c = " + f32(scale) +
         " %s = arith.mulf %d, %c : f32 attn.yield %s : f32 } ";
}

static std::string attention(std::string q, std::string k, std::string v, std::string result,
                             std::string regions, std::string attributes = "") {
  return function({q, k, v}, result,
                  "attn.attention %0 over %1, %2 along \"S\" " + attributes + " : (" + q + ", " +
                      k + ", " + v + ") -> " + result + " " + regions);
}

/// The spec of one head: q [4, 3 of projections of x], k, v the same.
static const char *workedExample = R"(
attn.param @wq : tensor<3x4xf32, #attn.axes<"E", "D">> from #attn.source<"wq", [4, 3], offset = 0, strides = [1, 3]>
attn.param @wk : tensor<3x4xf32, #attn.axes<"E", "D">> from #attn.source<"wk", [4, 3], offset = 0, strides = [1, 3]>
attn.param @wv : tensor<3x4xf32, #attn.axes<"E", "D">> from #attn.source<"wv", [4, 3], offset = 0, strides = [1, 3]>
func.func @f(%x: tensor<3x4xf32, #attn.axes<"T", "D">>) -> tensor<3x3xf32, #attn.axes<"T", "E">> {
  %wq = attn.get @wq : tensor<3x4xf32, #attn.axes<"E", "D">>
  %wk = attn.get @wk : tensor<3x4xf32, #attn.axes<"E", "D">>
  %wv = attn.get @wv : tensor<3x4xf32, #attn.axes<"E", "D">>
  %q = attn.linear %x, %wq contract 1 : (tensor<3x4xf32, #attn.axes<"T", "D">>, tensor<3x4xf32, #attn.axes<"E", "D">>) -> tensor<3x3xf32, #attn.axes<"T", "E">>
  %kt = attn.linear %x, %wk contract 1 : (tensor<3x4xf32, #attn.axes<"T", "D">>, tensor<3x4xf32, #attn.axes<"E", "D">>) -> tensor<3x3xf32, #attn.axes<"T", "E">>
  %vt = attn.linear %x, %wv contract 1 : (tensor<3x4xf32, #attn.axes<"T", "D">>, tensor<3x4xf32, #attn.axes<"E", "D">>) -> tensor<3x3xf32, #attn.axes<"T", "E">>
  %k = attn.relabel %kt : tensor<3x3xf32, #attn.axes<"T", "E">> -> tensor<3x3xf32, #attn.axes<"S", "E">>
  %v = attn.relabel %vt : tensor<3x3xf32, #attn.axes<"T", "E">> -> tensor<3x3xf32, #attn.axes<"S", "E">>
  %y = attn.attention %q over %k, %v along "S" : (tensor<3x3xf32, #attn.axes<"T", "E">>, tensor<3x3xf32, #attn.axes<"S", "E">>, tensor<3x3xf32, #attn.axes<"S", "E">>) -> tensor<3x3xf32, #attn.axes<"T", "E">>
  )";

static Tensor runWorkedExample(double scale) {
  Checkpoint weights = {{"wq", tensor({4, 3}, {1, 0, 1, 1, 0, 0, 0, 0, 1, 0, 1, 1})},
                        {"wk", tensor({4, 3}, {0, 0, 1, 1, 1, 0, 0, 1, 0, 1, 1, 0})},
                        {"wv", tensor({4, 3}, {0, 2, 0, 0, 3, 0, 1, 0, 3, 1, 1, 0})}};
  std::string text = workedExample + scaledDot(3, scale) +
                     "\n  return %y : tensor<3x3xf32, #attn.axes<\"T\", \"E\">>\n}\n";
  return runOne(text, {tensor({3, 4}, {1, 0, 1, 0, 0, 2, 0, 2, 1, 1, 1, 1})}, weights);
}

TEST(Attention, worked_example_without_scale) {
  expectNear(runWorkedExample(1),
             tensor({3, 3}, {1.936621, 6.683105, 1.595068, 1.999994, 7.963992, 0.053976, 1.999705,
                             7.759892, 0.358389}),
             1e-6); // the example's numbers have six decimals
}

TEST(Attention, worked_example_divided_by_the_root_of_three) {
  // The scale is written with six decimals, which moves results by less than 1e-5.
  expectNear(runWorkedExample(1 / std::sqrt(3.0)),
             tensor({3, 3}, {1.863874, 6.319371, 1.704189, 1.999110, 7.814124, 0.273472, 1.992555,
                             7.479636, 0.735877}),
             1e-5);
}

/// Weights of one row of scores, masked ones -inf: an independent softmax without subtracting the
/// maximum.
static std::vector<double> expectedWeights(const std::vector<double> &scores) {
  std::vector<double> weights;
  double sum = 0;
  for (double s : scores)
    sum += std::exp(s);
  for (double s : scores)
    weights.push_back(sum == 0 ? 0 : std::exp(s) / sum);
  return weights;
}

/// Cross-attention with batch and heads, key batch-major and value heads-major; bias (j - i) / 8,
/// mask j <= i + 1.
TEST(Attention, matches_loops_on_random_shapes) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    Draw draw(seed);
    int64_t B = draw.size({1, 2, 3}), H = draw.size({1, 2, 5}), M = draw.size({1, 3, 7}),
            S = draw.size({1, 2, 5, 11}), E = draw.size({1, 3, 8, 17}), F = draw.size({1, 2, 7});
    Tensor q = draw({B, H, M, E}), k = draw({B, H, S, E}), v = draw({H, B, S, F});
    std::string text = attention(
        type({B, H, M, E}, {"B", "H", "T", "E"}), type({B, H, S, E}, {"B", "H", "S", "E"}),
        type({H, B, S, F}, {"H", "B", "S", "F"}), type({B, H, M, F}, {"B", "H", "T", "F"}),
        scaledDot(E, 0.5, 4) + R"(
    bias { ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
      %ii = arith.index_cast %i : index to i64 %ji = arith.index_cast %j : index to i64
      %d = arith.subi %ji, %ii : i64 %df = arith.sitofp %d : i64 to f32
      %c = arith.constant 0.125 : f32 %o = arith.mulf %df, %c : f32
      %r = arith.addf %s, %o : f32 attn.yield %r : f32 }
    mask { ^bb0(%b: index, %h: index, %i: index, %j: index):
      %one = arith.constant 1 : index %n = arith.addi %i, %one : index
      %m = arith.cmpi sle, %j, %n : index attn.yield %m : i1 } )");
    Tensor expected = zeros({B, H, M, F});
    for (int64_t b = 0; b < B; ++b)
      for (int64_t h = 0; h < H; ++h)
        for (int64_t i = 0; i < M; ++i) {
          std::vector<double> scores(S, -infinity);
          for (int64_t j = 0; j < S && j <= i + 1; ++j) {
            double sum = 0;
            for (int64_t e = 0; e < E; ++e)
              sum += q.data[((b * H + h) * M + i) * E + e] * k.data[((b * H + h) * S + j) * E + e];
            scores[j] = sum * 0.5 + (j - i) * 0.125;
          }
          auto weights = expectedWeights(scores);
          for (int64_t j = 0; j < S; ++j)
            for (int64_t f = 0; f < F; ++f)
              expected.data[((b * H + h) * M + i) * F + f] +=
                  weights[j] * v.data[((h * B + b) * S + j) * F + f];
        }
    expectNear(runOne(text, {q, k, v}), expected, 1e-12);
  }
}

/// Without a mask every key is live; with one that is false everywhere the row is zeros, and
/// infinite values do not leak.
TEST(Attention, row_without_live_keys_is_zero) {
  auto q = type({2, 1}, {"T", "E"}), k = type({3, 1}, {"S", "E"});
  std::string text = attention(q, k, k, q, scaledDot(1, 1) + R"(
    mask { ^bb0(%i: index, %j: index): %c = arith.constant 1 : index
      %m = arith.cmpi eq, %i, %c : index attn.yield %m : i1 } )");
  Tensor y =
      runOne(text, {tensor({2, 1}, {1, 0}), tensor({3, 1}, {1, 2, 3}), tensor({3, 1}, {3, 6, 9})});
  expectNear(y, tensor({2, 1}, {0, 6}), 1e-12);
}

/// A normaliser that gives masked keys a weight, and a value that is infinite there: selection, not
/// multiplication.
TEST(Attention, masked_key_has_weight_zero_whatever_the_normaliser_says) {
  auto q = type({1, 1}, {"T", "E"}), k = type({2, 1}, {"S", "E"});
  std::string text = attention(q, k, k, q, scaledDot(1, 1) + R"(
    mask { ^bb0(%i: index, %j: index): %c = arith.constant 0 : index
      %m = arith.cmpi eq, %j, %c : index attn.yield %m : i1 } )",
                               "{normaliser = #attn<normaliser identity>}");
  Tensor y =
      runOne(text, {tensor({1, 1}, {2}), tensor({2, 1}, {3, 4}), tensor({2, 1}, {5, infinity})});
  expectNear(y, tensor({1, 1}, {30}), 0); // score 2 * 3, kept as the weight, times 5
}

/// "subtract the maximum": scores of 1000 must not overflow.
TEST(Attention, large_scores_do_not_overflow) {
  auto q = type({1, 1}, {"T", "E"}), k = type({2, 1}, {"S", "E"});
  std::string text = attention(q, k, k, q, scaledDot(1, 1));
  Tensor y =
      runOne(text, {tensor({1, 1}, {1}), tensor({2, 1}, {1000, 1000}), tensor({2, 1}, {1, 3})});
  expectNear(y, tensor({1, 1}, {2}), 1e-12);
}
