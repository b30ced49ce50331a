// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What random integers are drawn from, by what a spec does with the input.
#include "../frontend/Models.h"
#include "compiler/emit/ModelInfo.h"
#include <gtest/gtest.h>

using namespace attn;

namespace {

constexpr char hooks[] = R"(attn 1
mask inside(b, j) with input lengths: i32[B] = j < lengths[b]
mask heard(b, j) with input samples: i32[B] = 20 * j + 30 <= samples[b]
mask outside(b, j) with input skip: i32[B] = not (j < skip[b])
mask upto(b, i, j) with input pos: i32[B, T] = j <= pos[b, i]
mask same(b, i, j) with input document: i32[B, T] = document[b, i] == document[b, j]
mask later(b, i, j) with input time: i64[B, T] = time[b, j] <= time[b, i]
mask near(b, i, j) with input width: i32[B] = i - j < width[b]
mask there(b, j) with input ids: i32[B, T] = ids[b, j] != 0 and ids[b, j] != -1
mask kind(b, j) with input label: i32[B, T] = label[b, j] == 7
mask large(b, j) with input value: i32[B, T] = value[b, j] > 40
bias pair(b, h, i, j) with param table: [9, H], input place: i32[B, T]
  = table[min(max(place[b, j] - place[b, i] + 4, 0), 8), h]
bias row(b, h, j) with param rows: [R, H], input which: i32[B, T]
  = rows[min(max(which[b, j], 0), R - 1), h]
bias far(b, h, i, j) with input place: i32[B, T] = -0.1 * abs(place[b, i] - place[b, j])
model Ranges {
  dim D = 8, H = 2, E = 4, V = 100, R = 12, L = 2
  dyn B <= 4, T <= 16, S <= 32
  cache kv capacity 64
  linear q, k, v: D -> H, E
  embedding wte: V -> D
)";

/// "ids 0 to 99 (0), label 0 to 11": the integers of the entry that is all of the model's text.
std::string rangesOf(const std::string &entry) {
  frontend::test::Built built(hooks + entry + "}\n");
  EXPECT_FALSE(built.diagnostics.hasErrors()) << built.errors();
  if (!built.module)
    return "";
  auto bound = [](const AxisInfo &bound) {
    if (!bound.isDynamic())
      return std::to_string(bound.offset);
    return (bound.scale == 1 ? "" : std::to_string(bound.scale) + "*") + bound.dim +
           (bound.offset ? std::to_string(bound.offset) : "");
  };
  std::string text;
  std::vector<EntryInfo> entries = entriesOf(*built.module);
  for (const TensorInfo &input : entries.front().inputs) {
    if (!input.elementType.isInteger(32) && !input.elementType.isInteger(64))
      continue;
    text += (text.empty() ? "" : ", ") + input.name;
    if (input.range)
      text += " " + bound(input.range->least) + " to " + bound(input.range->most);
    for (int64_t notable : input.range ? input.range->notable : llvm::SmallVector<int64_t>())
      text += " (" + std::to_string(notable) + ")";
  }
  return text;
}

TEST(InputRangesTest, LengthsGoUpToTheAxis) {
  EXPECT_EQ("lengths 1 to S, skip 1 to S", rangesOf(R"(
  entry run(x: [B, T, D], z: [B, S, D], lengths: i32[B], skip: i32[B]) -> [B, T, H, E] {
    return attend q(x) over k(z), v(z) along S { mask inside or outside }
  }
)"));
}

TEST(InputRangesTest, LengthsOfWhatFramesAreMadeOfGoUpToTheLastFrame) {
  EXPECT_EQ("samples 30 to 20*T10", rangesOf(R"(
  entry run(x: [B, T, D], samples: i32[B]) -> [B, T, H, E] {
    let inside = positions(T) * 20 + 30 <= repeat(samples, T)
    let y = if inside then x else 0
    return attend q(y) over k(y), v(y) along T as U { mask heard }
  }
)"));
}

TEST(InputRangesTest, PositionsLieOnTheirAxis) {
  EXPECT_EQ("pos 0 to T-1, document 0 to 3, time 0 to T-1, width 1 to T, place 0 to T-1",
            rangesOf(R"(
  entry run(x: [B, T, D], pos: i32[B, T], document: i32[B, T], time: i64[B, T], width: i32[B],
            place: i32[B, T]) -> [B, T, H, E] {
    return attend q(x) over k(x), v(x) along T as U { bias pair mask upto and same and later and near }
  }
)"));
}

TEST(InputRangesTest, NumbersThatAreCalculatedWithMayBePositions) {
  EXPECT_EQ("place 0 to T-1", rangesOf(R"(
  entry run(x: [B, T, D], place: i32[B, T]) -> [B, T, H, E] {
    return attend q(x) over k(x), v(x) along T as U { bias far }
  }
)"));
}

TEST(InputRangesTest, NullTokensAppearAndOthersStayInTheTable) {
  EXPECT_EQ("ids 0 to 99 (0), label 0 to 11 (7), value 40 to 41, which -1 to 12, plain",
            rangesOf(R"(
  entry run(ids: i32[B, T], label: i32[B, T], value: i32[B, T], which: i32[B, T], plain: i32[B, T])
      -> y: [B, T, H, E], same: i32[B, T] {
    let x = wte(ids)
    return attend q(x) over k(x), v(x) along T as U { bias row mask there and (kind or large) }, plain
  }
)"));
}

TEST(InputRangesTest, FollowsCacheBlocksAndStacks) {
  EXPECT_EQ("lengths 1 to kv", rangesOf(R"(
  stack layers: L of Layer
  block Layer[N](x: [B, N, D], kv: cache; allowed) -> [B, N, D] {
    linear q, k, v: D -> H, E
    linear o: H, E -> D
    return x + o(attend q(x) over kv.push(k(x), v(x)) along N as M { mask causal and allowed })
  }
  entry run[N](x: [B, N, D], lengths: i32[B], kv: cache) -> [B, N, D] {
    return layers(x, kv, allowed = inside)
  }
)"));
}

} // namespace
