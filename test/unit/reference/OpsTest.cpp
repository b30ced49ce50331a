// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.linear, attn.norm and attn.map against loops of their own.
#include "TestSupport.h"
#include <cmath>

using namespace attn::reference;
using namespace attn::reference::test;

TEST(Linear, by_hand) {
  auto x = type({2, 2}, {"T", "D"}), w = type({1, 2}, {"E", "D"}), b = type({1}, {"E"}),
       y = type({2, 1}, {"T", "E"});
  std::string text =
      function({x, w, b}, y,
               "attn.linear %0, %1 bias %2 contract 1 : (" + x + ", " + w + ", " + b + ") -> " + y);
  Tensor result =
      runOne(text, {tensor({2, 2}, {1, 2, 3, 4}), tensor({1, 2}, {10, 100}), tensor({1}, {0.5})});
  expectNear(result, tensor({2, 1}, {210.5, 430.5}), 0);
}

/// Two contracted axes, two weights with two and one output axes, biases, and a captured residual
/// over two of the axes.
TEST(Linear, matches_loops_on_random_shapes) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    Draw draw(seed);
    int64_t B = draw.size({1, 2, 3}), C = draw.size({1, 3, 13}), D = draw.size({1, 2, 11}),
            H = draw.size({1, 2}), E = draw.size({1, 5, 37}), F = draw.size({1, 7, 41});
    int64_t N = H * E + F;
    Tensor x = draw({B, C, D}), v = draw({H, E, C, D}), w = draw({F, C, D}), bv = draw({H, E}),
           bw = draw({F}), r = draw({N});
    auto tx = type({B, C, D}, {"B", "C", "D"}), tv = type({H, E, C, D}, {"H", "E", "C", "D"}),
         tw = type({F, C, D}, {"F", "C", "D"}), tbv = type({H, E}, {"H", "E"}),
         tbw = type({F}, {"F"}), tr = type({N}, {"N"}), ty = type({B, N}, {"B", "N"});
    std::string text = function(
        {tx, tv, tw, tbv, tbw, tr}, ty,
        "attn.linear %0, %1, %2 bias %3, %4 contract 2 captures(%5) epilogue { "
        "^bb0(%s: f32, %c: f32): %m = arith.mulf %s, %c : f32 attn.yield %m : f32 } : (" +
            tx + ", " + tv + ", " + tw + ", " + tbv + ", " + tbw + ", " + tr + ") -> " + ty);
    Tensor expected = zeros({B, N});
    for (int64_t b = 0; b < B; ++b)
      for (int64_t n = 0; n < N; ++n) {
        bool first = n < H * E;
        int64_t row = first ? n : n - H * E;
        double sum = first ? bv.data[row] : bw.data[row];
        for (int64_t i = 0; i < C * D; ++i)
          sum += x.data[b * C * D + i] * (first ? v : w).data[row * C * D + i];
        expected.data[b * N + n] = sum * r.data[n];
      }
    expectNear(runOne(text, {x, v, w, bv, bw, r}), expected,
               1e-11); // up to 143 products of at most 4
  }
}

/// norm is a layer norm before the product.
TEST(Linear, normalises_its_input_first) {
  auto x = type({2, 3}, {"T", "D"}), d = type({3}, {"D"}), w = type({2, 3}, {"E", "D"}),
       y = type({2, 2}, {"T", "E"});
  std::string fused = function(
      {x, d, d, w}, y,
      "attn.linear %0, %3 norm <layer, eps = 1.0e-5> norm_weight %1 norm_bias %2 contract 1 : (" +
          x + ", " + w + ", " + d + ", " + d + ") -> " + y);
  std::string apart =
      function({x, d, d, w}, y, "attn.linear %n, %3 contract 1 : (" + x + ", " + w + ") -> " + y);
  apart.insert(apart.find("%r = "),
               "%n = attn.norm %0 <layer, eps = 1.0e-5> over 1 weight %1 bias %2 : " + x +
                   " weight " + d + " bias " + d + "\n  ");
  Draw draw(3);
  std::vector<Tensor> inputs = {draw({2, 3}), draw({3}), draw({3}), draw({2, 3})};
  expectNear(runOne(fused, inputs), runOne(apart, inputs), 0);
}

TEST(LayerNorm, by_hand) {
  auto x = type({2, 2}, {"T", "D"}), d = type({2}, {"D"});
  std::string text = function({x, d, d}, x,
                              "attn.norm %0 <layer, eps = 0.0> over 1 weight %1 bias %2 : " + x +
                                  " weight " + d + " bias " + d);
  Tensor y =
      runOne(text, {tensor({2, 2}, {1, 3, 10, 6}), tensor({2}, {2, 5}), tensor({2}, {0.5, 1})});
  // Rows have means 2 and 8, deviations 1 and 2: normalised they are -1, 1 and 1, -1.
  expectNear(y, tensor({2, 2}, {-1.5, 6, 2.5, -4}), 1e-15);
}

/// Over two axes, with E[x^2] - E[x]^2 as the other way to the variance; eps keeps constant rows
/// finite.
TEST(LayerNorm, matches_loops_on_random_shapes) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    Draw draw(seed);
    int64_t B = draw.size({1, 3}), C = draw.size({1, 2, 7}), D = draw.size({1, 5, 16}), n = C * D;
    Tensor x = draw({B, C, D}), gamma = draw({C, D}), beta = draw({C, D}), expected = x;
    auto tx = type({B, C, D}, {"B", "C", "D"}), td = type({C, D}, {"C", "D"});
    for (int64_t i = 0; i < B * n; ++i) {
      double sum = 0, squares = 0;
      for (int64_t j = i / n * n; j < i / n * n + n; ++j) {
        sum += x.data[j];
        squares += x.data[j] * x.data[j];
      }
      double mean = sum / n, variance = squares / n - mean * mean;
      expected.data[i] =
          (x.data[i] - mean) / std::sqrt(variance + 0.25) * gamma.data[i % n] + beta.data[i % n];
    }
    std::string text =
        function({tx, td, td}, tx,
                 "attn.norm %0 <layer, eps = 0.25> over 2 weight %1 bias %2 : " + tx + " weight " +
                     td + " bias " + td);
    expectNear(runOne(text, {x, gamma, beta}), expected, 1e-12);
  }
}

/// Axes in another order and missing ones; the second block argument is a boolean.
TEST(Map, matches_axes_by_name) {
  auto a = type({2, 3}, {"A", "B"}), b = type({3, 2}, {"B", "A"}), c = type({2}, {"A"}, "i1");
  std::string text = function(
      {a, b, c}, a, "attn.map(%0, %1, %2) : (" + a + ", " + b + ", " + c + ") -> " + a + R"( {
    ^bb0(%x: f32, %y: f32, %keep: i1): %d = arith.subf %x, %y : f32
      %r = arith.select %keep, %d, %y : f32 attn.yield %r : f32 })");
  Tensor y = runOne(text, {tensor({2, 3}, {1, 2, 3, 4, 5, 6}),
                           tensor({3, 2}, {10, 20, 30, 40, 50, 60}), tensor({2}, {1, 0})});
  expectNear(y, tensor({2, 3}, {1 - 10, 2 - 30, 3 - 50, 20, 40, 60}), 0);
}

/// GELU with the exact error function; the constant stands outside the region, where folding moves
/// it.
TEST(Map, gelu_with_a_constant_from_outside) {
  auto t = type({3}, {"D"});
  std::string text = function({t}, t, "attn.map(%0) : (" + t + ") -> " + t + R"( { ^bb0(%x: f32):
      %u = arith.mulf %x, %root : f32 %e = math.erf %u : f32 %s = arith.addf %e, %one : f32
      %h = arith.mulf %x, %half : f32 %y = arith.mulf %h, %s : f32 attn.yield %y : f32 })");
  text.insert(text.find("%r = "),
              "%one = arith.constant 1.0 : f32 %half = arith.constant 0.5 : f32 "
              "%root = arith.constant 0.70710678118654752 : f32\n  ");
  // Phi(1) = 0.841344746..., to the seven digits that the f32 constant has.
  expectNear(runOne(text, {tensor({3}, {1, 0, -1})}), tensor({3}, {0.8413447461, 0, -0.1586552539}),
             1e-7);
}
