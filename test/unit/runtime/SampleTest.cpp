// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn_sample: what is no score, ties, and what is kept of a distribution.
#include "attn/attn.h"
#include <cmath>
#include <gtest/gtest.h>
#include <set>
#include <vector>

namespace {

constexpr float infinite = INFINITY, none = NAN;
constexpr attn_sampling greedy = {0, 1, 0, 1, 0, 0, 0, 0, 0, 0};
constexpr attn_sampling drawn_of_all = {1, 1, 0, 1, 0, 0, 0, 0, 0, 0};

int64_t sample(std::vector<float> scores, attn_sampling sampling = greedy,
               std::vector<int32_t> previous = {}) {
  return attn_sample(&sampling, scores.data(), int64_t(scores.size()), previous.data(),
                     int64_t(previous.size()));
}

/// All tokens that many seeds draw.
std::set<int64_t> drawn(const std::vector<float> &scores, attn_sampling sampling) {
  std::set<int64_t> tokens;
  for (sampling.seed = 0; sampling.seed < 500; ++sampling.seed)
    tokens.insert(sample(scores, sampling));
  return tokens;
}

} // namespace

TEST(Sample, takes_the_first_of_the_largest) {
  EXPECT_EQ(sample({1, 3, 2, 3}), 1);
  EXPECT_EQ(sample({-1, -2}), 0);
  EXPECT_EQ(sample({-0.0f, 0.0f, -1}), 1); // in the order of floats' bits, 0 is more than -0
}

TEST(Sample, never_takes_what_is_no_number) {
  EXPECT_EQ(sample({none, 1, none}), 1);
  EXPECT_EQ(sample({none, none}), -1);
  EXPECT_EQ(sample({-infinite, -infinite}), -1);
  EXPECT_EQ(sample({1, infinite, 2}, {1, 1, 0, 1, 0, 7, 0, 0, 0, 0}), 1);
  EXPECT_EQ(drawn({none, 0, -infinite, 0}, {1, 1, 0, 1, 0, 0, 0, 0, 0, 0}),
            (std::set<int64_t>{1, 3}));
}

TEST(Sample, refuses_null_pointers) {
  float score = 1;
  EXPECT_EQ(attn_sample(nullptr, &score, 1, nullptr, 0), -1);
  EXPECT_EQ(attn_sample(&greedy, nullptr, 1, nullptr, 0), -1);
  EXPECT_EQ(attn_sample(&greedy, &score, 0, nullptr, 0), -1);
}

TEST(Sample, keeps_the_largest) {
  std::vector<float> scores = {0, 1, 2, 3, -50};
  EXPECT_EQ(drawn(scores, {1, 1, 0, 1, 2, 0, 0, 0, 0, 0}), (std::set<int64_t>{2, 3}));
  EXPECT_EQ(drawn(scores, {1, 1, 0, 1, 1, 0, 0, 0, 0, 0}), (std::set<int64_t>{3}));
  // Equal scores are kept together.
  EXPECT_EQ(drawn({1, 1, 1, 0}, {1, 1, 0, 1, 2, 0, 0, 0, 0, 0}), (std::set<int64_t>{0, 1, 2}));
  // Of e^3 : e^2 : e^1 : e^0, the first has 0.64, the first two 0.88.
  EXPECT_EQ(drawn(scores, {1, 0.6f, 0, 1, 0, 0, 0, 0, 0, 0}), (std::set<int64_t>{3}));
  EXPECT_EQ(drawn(scores, {1, 0.7f, 0, 1, 0, 0, 0, 0, 0, 0}), (std::set<int64_t>{2, 3}));
  EXPECT_EQ(drawn(scores, {1, 1, 0.2f, 1, 0, 0, 0, 0, 0, 0}), (std::set<int64_t>{2, 3}));
}

TEST(Sample, keeps_what_is_typical_or_probable) {
  // Probabilities 0.64, 0.24, 0.09 and 0.03, with an entropy of 0.94: the second is the nearest to
  // it, then the first.
  std::vector<float> scores = {3, 2, 1, 0};
  attn_sampling sampling = drawn_of_all;
  sampling.typicalP = 0.2f;
  EXPECT_EQ(drawn(scores, sampling), (std::set<int64_t>{1}));
  sampling.typicalP = 0.8f;
  EXPECT_EQ(drawn(scores, sampling), (std::set<int64_t>{0, 1}));
  sampling.typicalP = 0, sampling.epsilon = 0.05f;
  EXPECT_EQ(drawn(scores, sampling), (std::set<int64_t>{0, 1, 2}));
  sampling.epsilon = 0.9f; // the largest stays
  EXPECT_EQ(drawn(scores, sampling), (std::set<int64_t>{0}));
  // The smaller of 0.3 and sqrt(0.3) * exp(-0.94) = 0.21.
  sampling.epsilon = 0, sampling.eta = 0.3f;
  EXPECT_EQ(drawn(scores, sampling), (std::set<int64_t>{0, 1}));
}

TEST(Sample, keeps_a_share_of_the_entropy) {
  // Of probabilities 0.64, 0.24, 0.09 and 0.03, the terms -p log p are 0.28, 0.34, 0.21 and 0.11,
  // of 0.95 in all.
  std::vector<float> scores = {3, 2, 1, 0};
  attn_sampling sampling = drawn_of_all;
  sampling.topH = 0.1f; // the largest stays
  EXPECT_EQ(drawn(scores, sampling), (std::set<int64_t>{0}));
  sampling.topH = 0.64f;
  EXPECT_EQ(drawn(scores, sampling), (std::set<int64_t>{0}));
  sampling.topH = 0.67f;
  EXPECT_EQ(drawn(scores, sampling), (std::set<int64_t>{0, 1}));
  sampling.topH = 0.9f;
  EXPECT_EQ(drawn(scores, sampling), (std::set<int64_t>{0, 1, 2}));
  // What is kept first is all that others count: the first two have all of it.
  sampling.topH = 0.67f, sampling.topP = 0.8f;
  EXPECT_EQ(drawn(scores, sampling), (std::set<int64_t>{0, 1}));
  // All of the entropy is that of the 100 largest.
  std::vector<float> many(300);
  for (size_t i = 0; i < many.size(); ++i)
    many[i] = 0.001f * float((i * 7) % 300);
  attn_sampling all = drawn_of_all;
  all.topH = 1;
  for (int64_t token : drawn(many, all))
    EXPECT_GE((token * 7) % 300, 200) << token;
}

TEST(Sample, makes_what_was_chosen_less_likely) {
  EXPECT_EQ(sample({4, 3, -1}, {0, 1, 0, 2, 0, 0, 0, 0, 0, 0}, {0, 0, 9, -1}),
            1); // once, however often
  EXPECT_EQ(sample({-1, -1.5f}, {0, 1, 0, 2, 0, 0, 0, 0, 0, 0}, {0}), 1);
}
