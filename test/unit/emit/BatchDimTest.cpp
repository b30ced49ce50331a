// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which dims count a batch, by what a spec does along them.
#include "../frontend/Models.h"
#include "compiler/emit/ModelInfo.h"
#include <gtest/gtest.h>

using namespace attn;

namespace {

constexpr char head[] = R"(attn 1
mask inside(b, j) with input lengths: i32[B] = j < lengths[b]
mask second(b, j) = b > 0 or j < 1
mask document(b, i, j) with input kind: i32[B, T] = kind[b, i] == kind[b, j]
bias place(b, h, i, j) = -0.1 * abs(i - j)
model Batches {
  dim D = 8, H = 2, E = 4, V = 100, K = 3, L = 2, Y = 3, P = 2
  dyn B <= 4, T <= 16
  cache kv capacity 64
  linear q, k, v: D -> H, E
  linear fc: D -> K
  embedding wte: V -> D
)";

/// The dim of the entry that is all of the model's text, or "none".
std::string batchOf(const std::string &entry) {
  frontend::test::Built built(head + entry + "}\n");
  EXPECT_FALSE(built.diagnostics.hasErrors()) << built.errors();
  if (!built.module)
    return "";
  std::string batch = entriesOf(*built.module).front().batch;
  return batch.empty() ? "none" : batch;
}

TEST(BatchDimTest, IsFoundWhereRowsAreApart) {
  EXPECT_EQ("B", batchOf("entry run(x: [B, D]) -> [B, K] = fc(x)\n"));
  EXPECT_EQ("B", batchOf(R"(
  entry run(ids: i32[B, T], lengths: i32[B], kind: i32[B, T]) -> [B, T, H, E] {
    let x = wte(ids)
    return attend q(x) over k(x), v(x) along T as U { bias place mask inside and document }
  }
)"));
}

TEST(BatchDimTest, IsTheSecondAxisWhereTheFirstIsMixed) {
  EXPECT_EQ("B", batchOf("entry run(x: [T, B, D]) -> [B, D] = mean(T, x)\n"));
}

TEST(BatchDimTest, IsKeptByStacksWithCaches) {
  EXPECT_EQ("B", batchOf(R"(
  stack layers: L of Layer
  block Layer[N](x: [B, N, D], kv: cache) -> [B, N, D] {
    linear q, k, v: D -> H, E
    linear o: H, E -> D
    return x + o(attend q(x) over kv.push(k(x), v(x)) along N as M { mask causal })
  }
  entry run[N](x: [B, N, D], kv: cache) -> [B, N, D] {
    return layers(x, kv)
  }
)"));
}

TEST(BatchDimTest, IsKeptByWindowsThatSplitOtherAxes) {
  EXPECT_EQ("B", batchOf(R"(
  entry run(x: [B, Y*P, D]) -> [B, Y, D] = mean(P, split(x, "b (y p) d -> b y p d"))
)"));
}

TEST(BatchDimTest, IsNoneWhereRowsAreCombined) {
  // Along the only dim that could be one.
  EXPECT_EQ("none", batchOf("entry run(x: [B, D]) -> [B, D] = softmax(B, x)\n"));
  EXPECT_EQ("none", batchOf("entry run(x: [B, D]) -> [B, D] = x - mean(B, x)\n"));
  EXPECT_EQ("none", batchOf(R"(
  entry run(x: [B, D]) -> [B, H, E] = attend q(x) over k(x), v(x) along B as U { score scaled_dot }
)"));
}

TEST(BatchDimTest, IsNoneWhereThePlaceOfARowMatters) {
  EXPECT_EQ("none", batchOf(R"(
  entry run(x: [B, T, D]) -> [B, T, H, E] {
    return attend q(x) over k(x), v(x) along T as U { mask second }
  }
)"));
}

TEST(BatchDimTest, IsNoneWhereAnInputOrOutputHasNoRows) {
  EXPECT_EQ("none", batchOf("entry run(x: [B, D], y: [D]) -> [B, D] = x + y\n"));
  EXPECT_EQ("none", batchOf(R"(
  entry run(x: [B, D]) -> y: [B, K], z: [D] {
    return fc(x), max(B, x)
  }
)"));
}

} // namespace
