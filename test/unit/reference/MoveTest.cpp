// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.rearrange, attn.relabel, attn.slice, attn.reduce and attn.concat.
#include "TestSupport.h"

using namespace attn::reference;
using namespace attn::reference::test;

/// An image [B, 2*2, 3*2, C] into patches [B, 2*3, 2*2*C]: b (h p) (w q) c -> b (h w) (p q c), with
/// B known at run time.
TEST(Rearrange, image_into_patches) {
  auto x = type({-1, 4, 6, 3}, {"B", "Y", "X", "C"}), y = type({-1, 6, 12}, {"B", "T", "F"});
  std::string text = function({x}, y,
                              "attn.rearrange %0 split [1, 2, 2, 1] atoms [-1, 2, 2, 3, 2, 3] "
                              "order [0, 1, 3, 2, 4, 5] merge [1, 2, 3] : " +
                                  x + " -> " + y);
  for (int64_t B : {1, 2, 5}) {
    Tensor input = Draw(B)({B, 4, 6, 3}), expected = zeros({B, 6, 12});
    for (int64_t i = 0; i < B * 4 * 6 * 3; ++i) {
      int64_t c = i % 3, column = i / 3 % 6, row = i / 18 % 4, b = i / 72;
      int64_t patch = row / 2 * 3 + column / 2, inside = (row % 2 * 2 + column % 2) * 3 + c;
      expected.data[(b * 6 + patch) * 12 + inside] = input.data[i];
    }
    expectNear(runOne(text, {input}), expected, 0);
  }
}

/// A dynamic axis "2*T" splits into T and 2; an odd size contradicts its name.
TEST(Rearrange, dynamic_axis_that_splits) {
  auto x = type({-1}, {"2*T"}), y = type({2, -1}, {"P", "T"});
  std::string text = function({x}, y,
                              "attn.rearrange %0 split [2] atoms [-1, 2] order [1, 0] "
                              "merge [1, 1] : " +
                                  x + " -> " + y);
  expectNear(runOne(text, {tensor({6}, {0, 1, 2, 3, 4, 5})}), tensor({2, 3}, {0, 2, 4, 1, 3, 5}),
             0);
  EXPECT_NE(run(text, {zeros({5})}).error.find("expected size 4 along '2*T', but got 5"),
            std::string::npos);
}

TEST(Relabel, keeps_every_element) {
  auto x = type({2, 3}, {"A", "B"}), y = type({2, 3}, {"C", "D"});
  std::string text = function({x}, y, "attn.relabel %0 : " + x + " -> " + y);
  Tensor input = Draw(1)({2, 3});
  expectNear(runOne(text, {input}), input, 0);
}

TEST(Slice, every_axis_and_offset) {
  Tensor x = Draw(2)({2, 5, 3});
  auto from = type({2, 5, 3}, {"A", "B", "C"});
  for (int64_t offset = 0; offset < 4; ++offset) {
    auto to = type({2, 2, 3}, {"A", "E", "C"});
    Tensor expected = zeros({2, 2, 3});
    for (int64_t i = 0; i < 12; ++i)
      expected.data[i] = x.data[i / 6 * 15 + (i / 3 % 2 + offset) * 3 + i % 3];
    expectNear(runOne(function({from}, to,
                               "attn.slice %0 axis 1 at " + std::to_string(offset) + " : " + from +
                                   " -> " + to),
                      {x}),
               expected, 0);
  }
  auto dropped = type({2, 5}, {"A", "B"});
  Tensor last = zeros({2, 5});
  for (int64_t i = 0; i < 10; ++i)
    last.data[i] = x.data[i * 3 + 2];
  expectNear(runOne(function({from}, dropped,
                             "attn.slice %0 axis 2 at 2 drop : " + from + " -> " + dropped),
                    {x}),
             last, 0);
}

TEST(Reduce, every_axis) {
  Tensor x = tensor({2, 2, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  auto from = type({2, 2, 3}, {"A", "B", "C"});
  auto mean = [&](int axis, std::string to) {
    return runOne(function({from}, to,
                           "attn.reduce mean(%0) over [\"" + std::string(1, char('A' + axis)) +
                               "\"] : (" + from + ") -> " + to),
                  {x});
  };
  expectNear(mean(0, type({2, 3}, {"B", "C"})), tensor({2, 3}, {3, 4, 5, 6, 7, 8}), 1e-14);
  expectNear(mean(1, type({2, 3}, {"A", "C"})), tensor({2, 3}, {1.5, 2.5, 3.5, 7.5, 8.5, 9.5}),
             1e-14);
  expectNear(mean(2, type({2, 2}, {"A", "B"})), tensor({2, 2}, {1, 4, 7, 10}), 1e-14);
}

/// A class token [1, D], repeated over the batch, before tokens [B, T, D], and axes in another
/// order.
TEST(Concat, repeats_and_transposes) {
  auto cls = type({1, 2}, {"one", "D"}), x = type({2, -1, 3}, {"D", "B", "T"}),
       y = type({-1, 4, 2}, {"B", "N", "D"});
  std::string text = function(
      {cls, x}, y, "attn.concat(%0, %1) axis 1 along [0, 2] : (" + cls + ", " + x + ") -> " + y);
  for (int64_t B : {1, 3}) {
    Draw draw(B);
    Tensor token = draw({1, 2}), rest = draw({2, B, 3}), expected = zeros({B, 4, 2});
    for (int64_t i = 0; i < B * 8; ++i) {
      int64_t d = i % 2, n = i / 2 % 4, b = i / 8;
      expected.data[i] = n == 0 ? token.data[d] : rest.data[(d * B + b) * 3 + n - 1];
    }
    expectNear(runOne(text, {token, rest}), expected, 0);
  }
}
