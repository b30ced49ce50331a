// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element-wise functions, means and bytes of rows, against plain loops in double precision.
#include "test/unit/cpu/RowsKernelTest.h"

#include "runtime/base/Dtype.h"
#include "test/unit/kernels/Sample.h"

namespace attn::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Levels, RowsKernelTest,
                         testing::Values("x86-64-v3", "x86-64-v4", "neon", "sm_80"));

/// A buffer [n, rows, columns] of the strides, for a map.
std::string buffer(llvm::StringRef name, llvm::StringRef of, int64_t rows, int64_t columns,
                   vector<int64_t> strides) {
  return llvm::formatv("%{0} = memref.reinterpret_cast %{1} to offset: [0], sizes: [%n, {2}, {3}], "
                       "strides: [{4}, {5}, {6}] : memref<f32> to memref<?x{2}x{3}xf32, "
                       "strided<[{4}, {5}, {6}]>>\n",
                       name, of, rows, columns, strides[0], strides[1], strides[2]);
}

std::string bufferType(int64_t rows, int64_t columns, vector<int64_t> strides) {
  return llvm::formatv("memref<?x{0}x{1}xf32, strided<[{2}, {3}, {4}]>>", rows, columns, strides[0],
                       strides[1], strides[2]);
}

/// out = x > 0 ? x * y : y - x of [n, rows, columns].
std::string mapText(int64_t rows, int64_t columns, vector<int64_t> x, vector<int64_t> y,
                    vector<int64_t> out) {
  return llvm::formatv(R"(
    func.func @map({0}, %xs: memref<f32>, %ys: memref<f32>, %to: memref<f32>) {{
      {1} {2} {3}
      attn.map_kernel (%x, %y) into %out : ({4}, {5}), {6} {{
      ^bb0(%a: f32, %b: f32):
        %zero = arith.constant 0.0 : f32
        %positive = arith.cmpf ogt, %a, %zero : f32
        %product = arith.mulf %a, %b : f32
        %difference = arith.subf %b, %a : f32
        %result = arith.select %positive, %product, %difference : f32
        attn.yield %result : f32
      }
      return
    })",
                       arguments, buffer("x", "xs", rows, columns, x),
                       buffer("y", "ys", rows, columns, y), buffer("out", "to", rows, columns, out),
                       bufferType(rows, columns, x), bufferType(rows, columns, y),
                       bufferType(rows, columns, out));
}

TEST_P(RowsKernelTest, MapOfAnyStrides) {
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{1, 1},
                               {2, 5},
                               {3, 16},
                               {1, 33},
                               {20, 7},
                               {1, 1100},
                               {2, 512},
                               {197, 48}}) {
    int64_t plane = rows * columns;
    vector<vector<int64_t>> layouts = {{plane, columns, 1}, // dense
                                       {0, columns, 1},     // the same for all n
                                       {0, 0, 1},           // a row for all
                                       {rows, 1, 0},        // an element per row
                                       {0, 0, 0},           // one element
                                       {plane, 1, rows},    // transposed
                                       {3 * plane, 3 * columns, 3}};
    vector<std::pair<vector<int64_t>, vector<int64_t>>> cases; // of which a sample has all of xs
    for (const vector<int64_t> &outs : {layouts[0], layouts[5]})
      for (const vector<int64_t> &xs : layouts)
        cases.emplace_back(xs, outs);
    for (const auto &[xs, outs] : sampleOf(cases, GetParam())) {
      const vector<int64_t> &ys = layouts[generator() % layouts.size()];
      auto runner = KernelRunner::create(mapText(rows, columns, xs, ys, outs), GetParam(), 1);
      ASSERT_TRUE(runner);
      const int64_t n = 2;
      vector<float> x = random(3 * n * plane), y = random(3 * n * plane);
      vector<float> out(n * plane + 1, guard), expected = out;
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < rows; ++j)
          for (int64_t k = 0; k < columns; ++k) {
            float a = x[i * xs[0] + j * xs[1] + k * xs[2]];
            float b = y[i * ys[0] + j * ys[1] + k * ys[2]];
            expected[i * outs[0] + j * outs[1] + k * outs[2]] = a > 0 ? a * b : b - a;
          }
      runner->run("map", 3, nullptr, nullptr, n, x.data(), y.data(), out.data());
      EXPECT_EQ(out, expected) << rows << " x " << columns;
    }
  }
}

TEST_P(RowsKernelTest, MapThroughIntegersAndIndices) {
  // The last bit of a whole number, and which side of a captured index it is on.
  auto runner = KernelRunner::create(llvm::formatv(R"(
    func.func @map({0}, %xs: memref<f32>, %to: memref<f32>) {{
      %x = memref.reinterpret_cast %xs to offset: [0], sizes: [%n], strides: [1] : memref<f32> to memref<?xf32>
      %out = memref.reinterpret_cast %to to offset: [0], sizes: [%n], strides: [1] : memref<f32> to memref<?xf32>
      attn.map_kernel (%x) into %out : (memref<?xf32>), memref<?xf32> {{
      ^bb0(%a: f32):
        %one = arith.constant 1 : i32
        %whole = arith.fptosi %a : f32 to i32
        %bit = arith.andi %whole, %one : i32
        %i = arith.index_cast %whole : i32 to index
        %below = arith.cmpi slt, %i, %n : index
        %odd = arith.cmpi eq, %bit, %one : i32
        %both = arith.andi %below, %odd : i1
        %f = arith.sitofp %whole : i32 to f32
        %zero = arith.constant 0.0 : f32
        %r = arith.select %both, %f, %zero : f32
        attn.yield %r : f32
      }
      return
    })",
                                                   arguments)
                                         .str(),
                                     GetParam());
  ASSERT_TRUE(runner);
  for (int64_t n : {1, 15, 16, 50, 600, 1300}) {
    vector<float> x(n), out(n + 1, guard);
    const int64_t half = n / 2;
    for (int64_t i = 0; i < n; ++i)
      x[i] = float(2 * i - half) + float(i % 2);
    runner->run("map", 2, nullptr, nullptr, n, x.data(), out.data());
    EXPECT_EQ(out[n], guard) << "written past the end";
    for (int64_t i = 0; i < n; ++i)
      EXPECT_EQ(out[i], int64_t(x[i]) < n && (int64_t(x[i]) & 1) ? x[i] : 0.0f);
  }
}

/// Means of [n, height, columns] over the middle.
std::string meanText(int64_t columns, int64_t stride) {
  return llvm::formatv(R"(
    func.func @mean({0}, %height: index, %pitch: index, %in: memref<f32>, %to: memref<f32>) {{
      %x = memref.reinterpret_cast %in to offset: [0], sizes: [%n, %height, {1}], strides: [{2}, %pitch, {3}]
        : memref<f32> to memref<?x?x{1}xf32, strided<[{2}, ?, {3}]>>
      %out = memref.reinterpret_cast %to to offset: [0], sizes: [%n, {1}], strides: [{1}, 1]
        : memref<f32> to memref<?x{1}xf32>
      attn.reduce_kernel mean(%x) into %out reduced 1 : (memref<?x?x{1}xf32, strided<[{2}, ?, {3}]>>), memref<?x{1}xf32>
      return
    })",
                       arguments, columns, columns * stride, stride);
}

TEST_P(RowsKernelTest, MeanMatchesDouble) {
  for (int64_t columns : {1, 5, 16, 40, 64, 65, 100, 192})
    for (int64_t stride : {1, 2}) {
      auto runner = KernelRunner::create(meanText(columns, stride), GetParam(), 1);
      ASSERT_TRUE(runner);
      for (auto [n, height] : {std::pair<int64_t, int64_t>{1, 1}, {2, 16}, {3, 197}, {1, 1000}}) {
        const int64_t pitch = n * columns * stride;
        vector<float> x = random(height * pitch, 5);
        vector<float> out(n * columns + 1, guard);
        runner->run("mean", 2, nullptr, nullptr, n, height, pitch, x.data(), out.data());
        EXPECT_EQ(out.back(), guard) << "written past the end";
        for (int64_t i = 0; i < n; ++i)
          for (int64_t k = 0; k < columns; ++k) {
            double mean = 0, size = 0;
            for (int64_t s = 0; s < height; ++s) {
              double value = x[i * columns * stride + s * pitch + k * stride];
              mean += value / double(height), size += std::fabs(value) / double(height);
            }
            // 16 sums and one of these for every 16 rows.
            EXPECT_NEAR(out[i * columns + k], mean, 2e-6 * size) << columns << " x " << height;
          }
      }
    }
}

/// Rows of [n, columns] as bytes, `pitch` apart.
std::string quantizeText(int64_t columns, int64_t pitch, const char *element = "f32") {
  return llvm::formatv(R"(
    func.func @quantize({0}, %in: memref<{3}>, %to: memref<i8>, %r: memref<f32>) {{
      %x = memref.reinterpret_cast %in to offset: [0], sizes: [%n, {1}], strides: [{1}, 1]
        : memref<{3}> to memref<?x{1}x{3}>
      %out = memref.reinterpret_cast %to to offset: [0], sizes: [%n, {2}], strides: [{2}, 1]
        : memref<i8> to memref<?x{2}xi8>
      %range = memref.reinterpret_cast %r to offset: [0], sizes: [%n, 2], strides: [2, 1]
        : memref<f32> to memref<?x2xf32>
      attn.quantize_kernel %x into %out range %range : memref<?x{1}x{3}>, memref<?x{2}xi8>, memref<?x2xf32>
      return
    })",
                       arguments, columns, pitch, element);
}

TEST_P(RowsKernelTest, BytesAreTheNearestOfTheRowsRange) {
  const CpuTarget *target = CpuTarget::find(GetParam());
  bool areSigned = target && target->signedBytes;
  for (int64_t columns : {1, 2, 15, 16, 17, 63, 64, 65, 100, 768}) {
    const int64_t pitch = (columns + 63) / 64 * 64, n = 5;
    auto runner = KernelRunner::create(quantizeText(columns, pitch), GetParam());
    ASSERT_TRUE(runner);
    vector<float> x = random(n * columns), range(2 * n + 1, guard);
    for (int64_t i = 0; i < columns; ++i) {
      x[i] = std::fabs(x[i]);                          // nothing below zero
      x[columns + i] = -3 * std::fabs(x[columns + i]); // nothing above
      x[2 * columns + i] = 0;
      x[3 * columns + i] = 1000 + x[3 * columns + i];
    }
    vector<uint8_t> bytes(n * pitch + 1, 77);
    runner->run("quantize", 2, nullptr, nullptr, n, x.data(), bytes.data(), range.data());
    EXPECT_EQ(bytes.back(), 77) << "written past the end";
    EXPECT_EQ(range.back(), guard) << "written past the end";
    for (int64_t row = 0; row < n; ++row) {
      const float *values = &x[row * columns];
      double low = 0, high = 0;
      for (int64_t i = 0; i < columns; ++i)
        low = std::fmin(low, values[i]), high = std::fmax(high, values[i]);
      double scale = (high - low) / 255, zero = scale > 0 ? std::nearbyint(-low / scale) : 0;
      EXPECT_NEAR(range[2 * row], scale, 1e-6 * scale);
      EXPECT_EQ(range[2 * row + 1], areSigned ? zero - 128 : zero);
      for (int64_t i = 0; i < columns; ++i) {
        double exact = scale > 0 ? values[i] / scale + zero : 0;
        // Half a step, and what f32 errs by where it lies between two; the ends are clamped.
        uint8_t byte = bytes[row * pitch + i];
        EXPECT_NEAR(areSigned ? int8_t(byte) + 128 : byte, exact,
                    0.5 + 0.5 * (exact < 0 || exact > 255) + 1e-4)
            << "row " << row << ", column " << i << " of " << columns;
      }
    }
  }
}

TEST_P(RowsKernelTest, BytesOfBf16AreThoseOfTheSameNumbers) {
  if (KernelRunner::isGpu(GetParam()))
    GTEST_SKIP() << "bytes are made of f32 there";
  for (int64_t columns : {1, 17, 64, 100, 768}) {
    const int64_t pitch = (columns + 63) / 64 * 64, n = 5;
    auto ofFloats = KernelRunner::create(quantizeText(columns, pitch), GetParam()),
         ofHalves = KernelRunner::create(quantizeText(columns, pitch, "i16"), GetParam());
    ASSERT_TRUE(ofFloats && ofHalves);
    vector<float> x = random(n * columns), range(2 * n), sameRange(2 * n);
    vector<uint16_t> halves(x.size());
    for (size_t i = 0; i < x.size(); ++i)
      halves[i] = floatToBfloat(x[i]), x[i] = bfloatToFloat(halves[i]);
    vector<uint8_t> bytes(n * pitch, 77), same(bytes);
    ofFloats->run("quantize", 2, nullptr, nullptr, n, x.data(), bytes.data(), range.data());
    ofHalves->run("quantize", 2, nullptr, nullptr, n, halves.data(), same.data(), sameRange.data());
    EXPECT_EQ(range, sameRange);
    for (int64_t row = 0; row < n; ++row)
      EXPECT_EQ(vector(&bytes[row * pitch], &bytes[row * pitch + columns]),
                vector(&same[row * pitch], &same[row * pitch + columns]))
          << "row " << row << " of " << columns << " columns";
  }
}

TEST_P(RowsKernelTest, ScalesOfRowsWithoutARangeSaySo) {
  const int64_t columns = 37, n = 3;
  auto runner = KernelRunner::create(quantizeText(columns, 64), GetParam());
  ASSERT_TRUE(runner);
  vector<float> x = random(n * columns), range(2 * n);
  x[20] = std::nanf(""), x[columns + 36] = -INFINITY;
  vector<uint8_t> bytes(n * 64);
  auto check = [&] {
    EXPECT_TRUE(std::isnan(range[0]));
    EXPECT_TRUE(std::isinf(range[2]));
    EXPECT_TRUE(std::isfinite(range[4]));
  };
  runner->run("quantize", 1, nullptr, nullptr, n, x.data(), bytes.data(), range.data());
  check();
  if (KernelRunner::isGpu(GetParam()))
    return;
  auto ofHalves = KernelRunner::create(quantizeText(columns, 64, "i16"), GetParam());
  ASSERT_TRUE(ofHalves);
  vector<uint16_t> halves(x.size());
  for (float nan : {std::nanf(""), -std::nanf("")}) {
    x[20] = nan;
    llvm::transform(x, halves.begin(), floatToBfloat);
    range.assign(2 * n, 0);
    ofHalves->run("quantize", 1, nullptr, nullptr, n, halves.data(), bytes.data(), range.data());
    check();
  }
}

} // namespace
} // namespace attn::test
