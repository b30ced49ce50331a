// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The places of the largest elements of rows, against a sort: many are equal, some are infinite,
// and a NaN counts as -inf.
#include "test/unit/cpu/RowsKernelTest.h"
#include <algorithm>
#include <limits>
#include <numeric>

namespace attn::test {
namespace {

/// The `chosen` largest of [n, columns], elements `stride` apart.
std::string topkText(int64_t columns, int64_t chosen, int64_t stride) {
  return llvm::formatv(R"(
    func.func @topk({0}, %in: memref<f32>, %to: memref<i32>) {{
      %x = memref.reinterpret_cast %in to offset: [0], sizes: [%n, {1}], strides: [{4}, {3}]
        : memref<f32> to memref<?x{1}xf32, strided<[{4}, {3}]>>
      %out = memref.reinterpret_cast %to to offset: [0], sizes: [%n, {2}], strides: [{2}, 1]
        : memref<i32> to memref<?x{2}xi32>
      attn.topk_kernel %x into %out : memref<?x{1}xf32, strided<[{4}, {3}]>>, memref<?x{2}xi32>
      return
    })",
                       arguments, columns, chosen, stride, columns * stride);
}

/// The places of the largest; of equal ones the first.
vector<int32_t> largest(const float *row, int64_t columns, int64_t chosen, int64_t stride) {
  auto key = [&](int32_t n) { return std::isnan(row[n * stride]) ? -infinity : row[n * stride]; };
  vector<int32_t> places(columns);
  std::iota(places.begin(), places.end(), 0);
  std::sort(places.begin(), places.end(),
            [&](int32_t a, int32_t b) { return std::pair(key(b), a) < std::pair(key(a), b); });
  places.resize(chosen);
  return places;
}

TEST_P(RowsKernelTest, PlacesOfTheLargest) {
  for (auto [columns, chosen, stride] : {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1},
                                         {8, 2, 1},
                                         {16, 16, 1},
                                         {33, 4, 1},
                                         {70, 3, 3},
                                         {501, 7, 1}}) {
    auto runner = KernelRunner::create(topkText(columns, chosen, stride), GetParam(), 1);
    ASSERT_TRUE(runner);
    constexpr int64_t n = 5;
    vector<float> x = random(n * columns * stride);
    for (float &value : x) // many are equal
      value = std::round(value * 2) / 2;
    for (int64_t s = 0; s < columns * stride; ++s) {
      x[s] = -infinity;                   // none is larger than another
      x[columns * stride + s] = infinity; // none, and from the front
      x[2 * columns * stride + s] = NAN;
    }
    x[3 * columns * stride] = NAN;
    x[4 * columns * stride] = -infinity; // before a NAN, which is no less
    if (columns > 1)
      x[4 * columns * stride + stride] = NAN;
    vector<int32_t> out(n * chosen + 1, 77);
    runner->run("topk", 2, nullptr, nullptr, n, x.data(), out.data());
    EXPECT_EQ(out.back(), 77) << "written past the end";
    for (int64_t i = 0; i < n; ++i) {
      vector<int32_t> expected = largest(&x[i * columns * stride], columns, chosen, stride);
      for (int64_t k = 0; k < chosen; ++k)
        EXPECT_EQ(out[i * chosen + k], expected[k])
            << "choice " << k << " of " << columns << " columns, row " << i;
    }
  }
}

} // namespace
} // namespace attn::test
