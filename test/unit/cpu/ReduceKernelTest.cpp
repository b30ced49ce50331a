// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions and softmax of rows, against sums in double precision.
#include "test/unit/cpu/RowsKernelTest.h"
#include <limits>

namespace attn::test {
namespace {

/// `kind` over [n, height, width, columns] of products with [height, width], or with `across` over
/// the last two of [n, height, width].
std::string reduceText(const char *kind, int64_t columns, bool isAcross) {
  std::string input = isAcross
                          ? "sizes: [%n, %height, %width], strides: [%pitch, %width, 1]"
                          : "sizes: [%n, %height, %width, " + std::to_string(columns) +
                                "], strides: [%pitch, %step, " + std::to_string(columns) + ", 1]";
  std::string inputType =
      isAcross ? "memref<?x?x?xf32, strided<[?, ?, 1]>>"
               : llvm::formatv("memref<?x?x?x{0}xf32, strided<[?, ?, {0}, 1]>>", columns).str();
  std::string weights = isAcross ? "sizes: [%n, %height, %width], strides: [0, %width, 1]"
                                 : "sizes: [%n, %height, %width, " + std::to_string(columns) +
                                       "], strides: [0, %width, 1, 0]";
  std::string weightType =
      isAcross ? "memref<?x?x?xf32, strided<[0, ?, 1]>>"
               : llvm::formatv("memref<?x?x?x{0}xf32, strided<[0, ?, 1, 0]>>", columns).str();
  bool isPlace = std::string(kind) == "argmax";
  const char *element = isPlace ? "i32" : "f32";
  return llvm::formatv(R"(
    func.func @reduce({0}, %height: index, %width: index, %in: memref<f32>, %by: memref<f32>, %to: memref<{1}>) {{
      %columns = arith.constant {2} : index
      %step = arith.muli %width, %columns : index
      %pitch = arith.muli %step, %height : index
      %x = memref.reinterpret_cast %in to offset: [0], {3} : memref<f32> to {4}
      %w = memref.reinterpret_cast %by to offset: [0], {5} : memref<f32> to {6}
      %out = memref.reinterpret_cast %to to offset: [0], sizes: [%n, {2}], strides: [{2}, 1]
        : memref<{1}> to memref<?x{2}x{1}>
      attn.reduce_kernel {7}(%x, %w) into %out reduced 2 {8} : ({4}, {6}), memref<?x{2}x{1}> {{
      ^bb0(%a: f32, %b: f32):
        %p = arith.mulf %a, %b : f32
        attn.yield %p : f32
      }
      return
    })",
                       arguments, element, columns, input, inputType, weights, weightType, kind,
                       isAcross ? "across" : "");
}

/// What elements become in double precision, and the sum of their magnitudes.
struct Expected {
  double sum = 0, size = 0, most = -HUGE_VAL, least = HUGE_VAL;
  int32_t place = 0, count = 0;

  void add(double x) {
    sum += x, size += std::fabs(x);
    if (x > most)
      most = x, place = count;
    least = std::min(least, x), ++count;
  }
};

TEST_P(RowsKernelTest, ReductionsMatchDouble) {
  for (const char *kind : {"sum", "mean", "max", "min"})
    for (bool isAcross : {false, true})
      for (int64_t columns : {1, 5, 16, 70}) {
        if (isAcross && columns != 1)
          continue;
        auto runner = KernelRunner::create(reduceText(kind, columns, isAcross), GetParam(), 1);
        ASSERT_TRUE(runner);
        for (auto [n, height, width] : {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1},
                                        {3, 3, 3},
                                        {2, 1, 17},
                                        {2, 5, 64},
                                        {1, 2, 555}}) {
          int64_t pitch = height * width * columns;
          vector<float> x = random(n * pitch, 1), w = random(height * width, 1);
          vector<float> out(n * columns + 1, guard);
          runner->run("reduce", 2, nullptr, nullptr, n, height, width, x.data(), w.data(),
                      out.data());
          EXPECT_EQ(out.back(), guard) << "written past the end";
          for (int64_t i = 0; i < n; ++i)
            for (int64_t k = 0; k < columns; ++k) {
              Expected expected;
              for (int64_t s = 0; s < height * width; ++s)
                expected.add(x[i * pitch + s * columns + k] * w[s]);
              std::string name = kind;
              double value = name == "sum"    ? expected.sum
                             : name == "mean" ? expected.sum / expected.count
                             : name == "max"  ? expected.most
                                              : expected.least;
              // Products are rounded once, and sums of sums of at most 70 elements.
              double size = name == "mean" ? expected.size / expected.count : expected.size;
              double bound = name == "sum" || name == "mean" ? 5e-6 * size : 0;
              EXPECT_NEAR(out[i * columns + k], value, bound)
                  << kind << " of " << height << " x " << width << ", column " << k << " of "
                  << columns;
            }
        }
      }
}

/// Places of the largest of [n, height, columns] along the middle, or of [n, height].
std::string placeText(int64_t columns, bool isAcross) {
  std::string shape =
      isAcross ? "memref<?x?xf32, strided<[?, 1]>>"
               : llvm::formatv("memref<?x?x{0}xf32, strided<[?, {0}, 1]>>", columns).str();
  std::string view =
      isAcross
          ? "sizes: [%n, %height], strides: [%pitch, 1]"
          : llvm::formatv("sizes: [%n, %height, {0}], strides: [%pitch, {0}, 1]", columns).str();
  return llvm::formatv(R"(
    func.func @place({0}, %height: index, %in: memref<f32>, %to: memref<i32>) {{
      %columns = arith.constant {1} : index
      %pitch = arith.muli %height, %columns : index
      %x = memref.reinterpret_cast %in to offset: [0], {2} : memref<f32> to {3}
      %out = memref.reinterpret_cast %to to offset: [0], sizes: [%n, {1}], strides: [{1}, 1]
        : memref<i32> to memref<?x{1}xi32>
      attn.reduce_kernel argmax(%x) into %out reduced 1 {4} : ({3}), memref<?x{1}xi32>
      return
    })",
                       arguments, columns, view, shape, isAcross ? "across" : "");
}

TEST_P(RowsKernelTest, PlacesAreTheFirstOfTheLargest) {
  for (auto [columns, isAcross] :
       {std::pair<int64_t, bool>{1, false}, {7, false}, {40, false}, {1, true}}) {
    auto runner = KernelRunner::create(placeText(columns, isAcross), GetParam(), 1);
    ASSERT_TRUE(runner);
    for (int64_t height : {1, 2, 16, 33, 64, 65, 200, 1001}) {
      constexpr int64_t n = 3;
      vector<float> x = random(n * height * columns);
      for (float &value : x) // many are equal
        value = std::round(value * 2) / 2;
      for (int64_t s = 0; s < height * columns; ++s) // the first row has none that is larger
        x[s] = -infinity;
      vector<int32_t> out(n * columns + 1, 77);
      runner->run("place", 2, nullptr, nullptr, n, height, x.data(), out.data());
      EXPECT_EQ(out.back(), 77) << "written past the end";
      for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < columns; ++k) {
          Expected expected;
          for (int64_t s = 0; s < height; ++s)
            expected.add(x[(i * height + s) * columns + k]);
          EXPECT_EQ(out[i * columns + k], expected.place) << height << " of " << columns;
        }
    }
  }
}

/// Softmax of [n, columns], elements `stride` apart.
std::string softmaxText(int64_t stride) {
  return llvm::formatv(R"(
    func.func @softmax({0}, %columns: index, %in: memref<f32>, %to: memref<f32>) {{
      %stride = arith.constant {1} : index
      %pitch = arith.muli %columns, %stride : index
      %x = memref.reinterpret_cast %in to offset: [0], sizes: [%n, %columns], strides: [%pitch, {1}]
        : memref<f32> to memref<?x?xf32, strided<[?, {1}]>>
      %out = memref.reinterpret_cast %to to offset: [0], sizes: [%n, %columns], strides: [%pitch, {1}]
        : memref<f32> to memref<?x?xf32, strided<[?, {1}]>>
      attn.softmax_kernel %x into %out : memref<?x?xf32, strided<[?, {1}]>>, memref<?x?xf32, strided<[?, {1}]>>
      return
    })",
                       arguments, stride);
}

TEST_P(RowsKernelTest, SoftmaxMatchesDouble) {
  for (int64_t stride : {1, 3}) {
    auto runner = KernelRunner::create(softmaxText(stride), GetParam(), 1);
    ASSERT_TRUE(runner);
    for (int64_t columns : {1, 7, 16, 65, 300}) {
      constexpr int64_t n = 4;
      vector<float> x = random(n * columns * stride, 0, 10), out(n * columns * stride + 1, guard);
      for (int64_t i = 0; i < columns * stride; ++i)
        x[i] = -infinity;
      x[columns * stride] = -infinity; // one of the second row, which has others
      runner->run("softmax", 2, nullptr, nullptr, n, columns, x.data(), out.data());
      EXPECT_EQ(out.back(), guard) << "written past the end";
      for (int64_t i = 0; i < n; ++i) {
        double most = -HUGE_VAL, sum = 0;
        for (int64_t k = 0; k < columns; ++k)
          most = std::max(most, double(x[(i * columns + k) * stride]));
        for (int64_t k = 0; k < columns; ++k)
          sum += std::exp(x[(i * columns + k) * stride] - most);
        bool isEmpty = most == -HUGE_VAL;
        for (int64_t k = 0; k < columns; ++k) {
          double value = isEmpty ? 0 : std::exp(x[(i * columns + k) * stride] - most) / sum;
          // Rounding the difference, the exponential, the sum and the product.
          EXPECT_NEAR(out[(i * columns + k) * stride], value, 4e-6 * value + 1e-37)
              << columns << " columns, row " << i;
        }
      }
    }
  }
}

} // namespace
} // namespace attn::test
