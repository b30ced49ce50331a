// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packing against plain loops over the slot's formula, on random shapes.
#include "weights/Pack.h"
#include "TestSupport.h"
#include "base/Dtype.h"
#include "base/Team.h"
#include "io/Checkpoint.h"
#include "weights/PanelLayout.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace attn;

static int64_t pick(std::mt19937 &random, std::initializer_list<int64_t> values) {
  return values.begin()[random() % values.size()];
}

template <typename T> static void put(std::vector<char> &block, int64_t at, T value) {
  memcpy(block.data() + at, &value, sizeof value);
}

template <typename T> static T get(const std::vector<char> &block, int64_t at) {
  T value;
  memcpy(&value, block.data() + at, sizeof value);
  return value;
}

/// The squares of errors where 16 numbers are spread evenly from the least value to the greatest,
/// or without offsets, and of fewer than 32 values, where they are multiples of -1/8 of that of
/// largest magnitude.
static double errorOfRounding(const std::vector<float> &values, bool hasOffsets) {
  float low = values[0], high = values[0], extreme = 0;
  for (float value : values) {
    low = std::min(low, value), high = std::max(high, value);
    extreme = std::abs(value) > std::abs(extreme) ? value : extreme;
  }
  double spread = 0, symmetric = 0, step = double(high - low) / 15, other = double(extreme) / -8;
  for (float value : values) {
    double code = step > 0 ? std::nearbyint((value - low) / step) : 0,
           number = other != 0 ? std::fmin(std::nearbyint(value / other), 7) : 0;
    spread += std::pow(low + step * code - value, 2);
    symmetric += std::pow(other * number - value, 2);
  }
  return values.size() < 32 || !hasOffsets ? symmetric : spread;
}

/// Column n of a slot in half bytes: what is stored by the formulas of abi.h is nearer to the
/// values than rounding would be, and its sums and bytes are those of what is stored.
static void checkHalves(const attn_abi_slot &slot, const std::vector<float> &matrix, int64_t n,
                        const std::vector<char> &block) {
  int64_t width = slot.width, groups = (slot.k + 31) / 32;
  int64_t panels = (slot.columns + width - 1) / width, panel = n / width, lane = n % width;
  bool hasOffsets = slot.layout == ATTN_PACK_PANELS_INT4;
  int64_t numbers = hasOffsets ? 2 : 1, lines = slot.offset + panels * groups * 16 * width,
          sums = lines + panels * groups * 2 * numbers * width, scales = sums + panels * 4 * width,
          byteSums = scales + panels * 4 * width;
  double sum = 0, largest = 0;
  auto scale = get<float>(block, scales + 4 * n);
  int32_t byteSum = 0;
  for (int64_t group = 0; group < groups; ++group) {
    int64_t line = lines + 2 * ((panel * groups + group) * numbers * width + lane);
    float d = halfToFloat(get<uint16_t>(block, line)),
          o = hasOffsets ? halfToFloat(get<uint16_t>(block, line + 2 * width)) / 16 : 0;
    float factor = scale != 0 ? d * (256 / scale) : 0;
    auto f = int32_t(std::nearbyint(factor)), p = int32_t(std::nearbyint(factor * o));
    std::vector<float> values;
    double error = 0, magnitude = 0;
    for (int64_t i = 0; i < 32; ++i) {
      int64_t row = 32 * group + i,
              at =
                  slot.offset + 4 * (((panel * groups + group) * 4 + i / 8) * width + lane) + i % 4;
      int number = ((uint8_t(block[size_t(at)]) >> (i % 8 < 4 ? 0 : 4)) & 15) - 8;
      double weight = double(d) * (number + double(o));
      sum += weight, largest = std::fmax(largest, std::abs(weight));
      auto byte = int8_t(int16_t(number * f + p + 128) >> 8);
      byteSum += byte;
      EXPECT_NEAR(weight, double(byte) * double(scale), 0.6 * double(scale));
      if (row >= slot.k) {
        EXPECT_EQ(0, weight);
        EXPECT_EQ(0, o);
        continue;
      }
      values.push_back(matrix[size_t(row * slot.columns + n)]);
      error += std::pow(weight - double(values.back()), 2);
      magnitude += std::pow(weight, 2);
    }
    // Scales and offsets are rounded to f16.
    EXPECT_LE(error, 1.01 * errorOfRounding(values, hasOffsets) + 1e-5 * magnitude)
        << n << " " << group;
  }
  EXPECT_NEAR(sum, double(get<float>(block, sums + 4 * n)), 1e-5 * largest * double(slot.k));
  EXPECT_NEAR(largest / 127, double(scale), 1e-6 * largest);
  EXPECT_EQ(byteSum, get<int32_t>(block, byteSums + 4 * n));
}

/// Column n of a slot of bytes in groups: each weight is next to its value, by a scale of f16 that
/// is as small as it can be, and sums and bytes of a column are those of what is stored.
static void checkGroupedBytes(const attn_abi_slot &slot, const std::vector<float> &matrix,
                              int64_t n, const std::vector<char> &block) {
  int64_t width = slot.width, groups = (slot.k + 31) / 32;
  int64_t panels = (slot.columns + width - 1) / width, panel = n / width, lane = n % width;
  int64_t lines = slot.offset + panels * groups * 32 * width,
          sums = lines + panels * groups * 2 * width, scales = sums + panels * 4 * width,
          byteSums = scales + panels * 4 * width;
  double sum = 0, largest = 0;
  auto scale = get<float>(block, scales + 4 * n);
  int32_t byteSum = 0;
  for (int64_t group = 0; group < groups; ++group) {
    auto d =
        halfToFloat(get<uint16_t>(block, lines + 2 * ((panel * groups + group) * width + lane)));
    float factor = scale != 0 ? d * (256 / scale) : 0;
    double extreme = 0;
    for (int64_t i = 0; i < 32; ++i) {
      int64_t row = 32 * group + i,
              at =
                  slot.offset + 4 * (((panel * groups + group) * 8 + i / 4) * width + lane) + i % 4;
      int number = (get<uint8_t>(block, at) ^ 128) - 128;
      double weight = double(d) * number;
      sum += weight, largest = std::fmax(largest, std::abs(weight));
      auto byte = int8_t(int16_t(number * int32_t(std::nearbyint(factor)) + 128) >> 8);
      byteSum += byte;
      // Half a byte, and half of the last place of `factor` for each of up to 128.
      EXPECT_NEAR(weight, double(byte) * double(scale), 0.76 * double(scale));
      double value = row < slot.k ? double(matrix[size_t(row * slot.columns + n)]) : 0;
      extreme = std::fmax(extreme, std::abs(value));
      EXPECT_NEAR(value, weight, 0.5001 * double(d)) << n << " " << row;
    }
    EXPECT_GE(double(d), extreme / 127.001);
    EXPECT_LE(double(d), extreme / 127 * 1.001 + 6e-8);
  }
  EXPECT_NEAR(sum, double(get<float>(block, sums + 4 * n)), 1e-5 * largest * double(slot.k));
  EXPECT_NEAR(largest / 127, double(scale), 1e-6 * largest);
  EXPECT_EQ(byteSum, get<int32_t>(block, byteSums + 4 * n));
}

/// [k][columns] in the slot's layout, by the formulas of abi.h.
static void place(const attn_abi_slot &slot, const std::vector<float> &matrix,
                  std::vector<char> &block) {
  int64_t width = slot.width, k = slot.k, columns = slot.columns;
  int64_t group = slot.layout == ATTN_PACK_PANELS_INT8                                          ? 4
                  : slot.layout == ATTN_PACK_PANELS_BF16 || slot.layout == ATTN_PACK_PANELS_F16 ? 2
                                                                                                : 1;
  int64_t steps = (k + group - 1) / group;
  if (group > 1)
    steps = (steps + 15) / 16 * 16;
  int64_t padded = width ? (columns + width - 1) / width * width : 0;
  for (int64_t n = 0; n < columns; ++n) {
    float largest = 0;
    int32_t sum = 0;
    for (int64_t row = 0; row < k; ++row)
      largest = std::max(largest, std::abs(matrix[size_t(row * columns + n)]));
    for (int64_t row = 0; row < k; ++row) {
      float value = matrix[size_t(row * columns + n)];
      if (isOfRows(slot.layout)) {
        int64_t element = row * columns + n;
        if (slot.layout == ATTN_PACK_ROWS)
          put(block, slot.offset + 4 * element, value);
        else
          put(block, slot.offset + 2 * element,
              slot.layout == ATTN_PACK_ROWS_F16 ? floatToHalf(value) : floatToBfloat(value));
        continue;
      }
      int64_t at = slot.offset + 4 * (n / width * steps * width + row / group * width + n % width) +
                   row % group * (4 / group);
      if (group == 1)
        put(block, at, value);
      else if (group == 2)
        put(block, at,
            slot.layout == ATTN_PACK_PANELS_F16 ? floatToHalf(value) : floatToBfloat(value));
      else {
        auto byte = int8_t(largest > 0 ? std::nearbyint(value * (127 / largest)) : 0);
        put(block, at, byte);
        sum += byte;
      }
    }
    if (slot.layout == ATTN_PACK_PANELS_INT8) {
      int64_t scales = slot.offset + 4 * steps * padded;
      put(block, scales + 4 * n, largest / 127);
      put(block, scales + 4 * (padded + n), sum);
    }
  }
}

static void checkOne(unsigned seed, Team &team) {
  std::mt19937 random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  int64_t k = pick(random, {1, 2, 3, 7, 16, 63, 64, 65, 130, 512});
  int32_t partCount = 1 + int32_t(random() % 3);
  auto layout = int32_t(random() % 10);
  layout = layout == 9 ? int32_t(ATTN_PACK_PANELS_INT4_GROUPS) : layout;
  int64_t width = pick(random, {1, 3, 4, 16, 32, 64});
  if (hasGroups(layout))
    width += width % 2;
  std::vector<attn_abi_part> parts;
  std::vector<attn_abi_parameter> parameters;
  std::vector<std::vector<int64_t>> shapes;
  std::vector<std::string> data;
  std::vector<int32_t> dtypes;
  int64_t column = 0;
  for (int32_t p = 0; p < partCount; ++p) {
    column += int64_t(random() % 3) * 5; // columns that no part fills
    int64_t inner = pick(random, {1, 2, 5, 8, 64}), outer = pick(random, {1, 2, 3, 11});
    int64_t count = inner * outer;
    attn_abi_part part = {p, column, count, 0, 1, inner, 0, 0, 0, 0};
    int64_t skipped = int64_t(random() % 3);
    switch (random() % 5) {
    case 0: // [out, in]
      part.kStride = 1, part.innerStride = k, part.outerStride = inner * k;
      break;
    case 1: // [in, out]
      part.kStride = count, part.innerStride = 1, part.outerStride = inner;
      break;
    case 2: // head by head, with other rows in between: [outer, 2 * inner, in]
      part.kStride = 1, part.innerStride = k, part.outerStride = 2 * inner * k;
      break;
    case 3: // a convolution's [out, channels, places], along places first
      part.kInner = 1 + int64_t(random() % uint64_t(k));
      part.kStride = (k + part.kInner - 1) / part.kInner, part.kOuterStride = 1;
      part.innerStride = part.kInner * part.kStride, part.outerStride = inner * part.innerStride;
      break;
    default: // [inner, in, outer]
      part.kStride = outer, part.innerStride = k * outer, part.outerStride = 1;
    }
    part.offset = skipped;
    int64_t kInner = part.kInner ? std::min(part.kInner, k) : k;
    int64_t last = skipped + (k - 1) / kInner * part.kOuterStride + (kInner - 1) * part.kStride +
                   (inner - 1) * part.innerStride + (outer - 1) * part.outerStride;
    shapes.push_back({last + 1});
    int32_t dtype = int32_t(pick(random, {ATTN_F32, ATTN_F32, ATTN_F16, ATTN_BF16, ATTN_F64}));
    dtypes.push_back(dtype);
    std::string bytes;
    for (int64_t i = 0; i <= last; ++i) {
      float value = float(int(random() % 2001) - 1000) / 8; // exact in f16
      uint16_t half = dtype == ATTN_F16 ? floatToHalf(value) : floatToBfloat(value);
      double wide = double(value);
      if (dtype == ATTN_F32)
        bytes.append(reinterpret_cast<char *>(&value), 4);
      else if (dtype == ATTN_F64)
        bytes.append(reinterpret_cast<char *>(&wide), 8);
      else
        bytes.append(reinterpret_cast<char *>(&half), 2);
    }
    data.push_back(bytes);
    parts.push_back(part);
    column += count;
  }
  int64_t columns = column + int64_t(random() % 7);
  int64_t padded = isOfRows(layout) ? columns : (columns + width - 1) / width * width;
  int64_t steps = layout == ATTN_PACK_PANELS_INT8 ? (k + 63) / 64 * 16 + 2
                  : layout == ATTN_PACK_PANELS_BF16 || layout == ATTN_PACK_PANELS_F16
                      ? (k + 31) / 32 * 16
                      : k;
  int64_t groupBytes = layout == ATTN_PACK_PANELS_INT4          ? 20
                       : layout == ATTN_PACK_PANELS_INT4_GROUPS ? 18
                                                                : 34;
  int64_t size = hasGroups(layout) ? padded * ((k + 31) / 32 * groupBytes + 12)
                 : isOfRows(layout) && !isOfFloats(layout) ? 2 * padded * k
                                                           : 4 * padded * steps;
  attn_abi_slot slot = {64,      0,      size,           1,         layout,      k,
                        columns, padded, int32_t(width), partCount, parts.data()};
  for (int32_t p = 0; p < partCount; ++p)
    parameters.push_back({"p", dtypes[size_t(p)], 0, 1, 0, shapes[size_t(p)].data(), ""});
  attn_abi_model tables = {};
  tables.parameterCount = partCount;
  tables.parameters = parameters.data();
  tables.packedBytes = slot.offset + slot.bytes;
  ASSERT_TRUE(isSlotSound(tables, slot));
  --tables.packedBytes;
  EXPECT_FALSE(isSlotSound(tables, slot));
  ++tables.packedBytes;
  shapes[0][0] -= 1;
  EXPECT_FALSE(isSlotSound(tables, slot));
  shapes[0][0] += 1;

  // Every other time the tensors lie one after the other in a file.
  SourceFile file;
  std::string bytes = "head";
  Vector<PackJob> jobs;
  std::vector<StoredTensor> stored(static_cast<size_t>(partCount));
  for (size_t p = 0; p < stored.size(); ++p) {
    stored[p].dtype = dtypes[p];
    stored[p].data = data[p].data();
    if (seed % 4 > 1) {
      stored[p].data = nullptr;
      stored[p].file = &file;
      stored[p].offset = bytes.size();
      bytes.append(data[p].begin(), data[p].end());
    }
    jobs.push({&slot, &parts[p], 0, &stored[p]});
  }
  Error error;
  test::writeText(test::scratchPath("tensors"), bytes);
  ASSERT_EQ(ATTN_OK, file.open(test::scratchPath("tensors").c_str(), error));
  std::vector<char> block(size_t(tables.packedBytes) + 64), expected;
  std::fill(block.begin() + tables.packedBytes, block.end(), 77); // guard
  expected = block;
  ASSERT_EQ(ATTN_OK, packAll(jobs, block.data(), team, error));
  std::vector<float> matrix(size_t(k * columns));
  for (size_t p = 0; p < parts.size(); ++p)
    for (int64_t n = 0; n < parts[p].count; ++n)
      for (int64_t row = 0; row < k; ++row) {
        const attn_abi_part &part = parts[p];
        int64_t kInner = part.kInner ? part.kInner : k;
        int64_t from = part.offset + row / kInner * part.kOuterStride +
                       row % kInner * part.kStride + n / part.inner * part.outerStride +
                       n % part.inner * part.innerStride;
        matrix[size_t(row * columns + part.column + n)] =
            loadFloat(data[p].data(), dtypes[p], from);
      }
  if (hasGroups(layout)) {
    for (int64_t n = 0; n < columns; ++n)
      (groupBytes < 34 ? checkHalves : checkGroupedBytes)(slot, matrix, n, block);
    expected.erase(expected.begin(), expected.begin() + tables.packedBytes);
    block.erase(block.begin(), block.begin() + tables.packedBytes);
    EXPECT_EQ(expected, block); // what is behind it
    return;
  }
  place(slot, matrix, expected);
  EXPECT_EQ(expected, block);
}

TEST(PackTest, MatchesPlainLoops) {
  Team one, three;
  ASSERT_TRUE(three.start(3));
  for (unsigned seed = 1; seed <= 300; ++seed)
    checkOne(seed, seed % 2 ? one : three);
}

/// Packs one column of `values` in half bytes, and gives back what is stored.
static std::vector<float> packedHalves(const std::vector<float> &values, bool hasOffsets = true) {
  auto k = int64_t(values.size()), numbers = int64_t(hasOffsets ? 2 : 1);
  attn_abi_slot slot = {};
  slot.layout = hasOffsets ? ATTN_PACK_PANELS_INT4 : ATTN_PACK_PANELS_INT4_GROUPS;
  slot.k = k, slot.columns = slot.padded = slot.width = 2;
  std::vector<char> block(size_t(2 * ((k + 31) / 32 * (16 + 2 * numbers) + 12)));
  storePanel(slot, values.data(), nullptr, 0, 1, block.data());
  std::vector<float> result;
  for (int64_t i = 0; i < k; ++i) {
    int code = (uint8_t(block[size_t(i / 8 * 8 + i % 4)]) >> (i % 8 < 4 ? 0 : 4)) & 15;
    int64_t line = (k + 31) / 32 * 32 + i / 32 * 4 * numbers;
    float offset = hasOffsets ? halfToFloat(get<uint16_t>(block, line + 4)) / 16 : 0;
    result.push_back(halfToFloat(get<uint16_t>(block, line)) * (float(code - 8) + offset));
  }
  return result;
}

TEST(PackTest, HalfBytesOfAnySize) {
  auto near = [](const std::vector<float> &values, double bound) {
    std::vector<float> packed = packedHalves(values);
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(packed[i], values[i], bound) << i;
  };
  std::vector<float> values(64, 3), narrow(32), wide(32);
  near(values, 0);
  near(std::vector<float>(32, 0), 0);
  near(std::vector<float>(33, -0.0f), 0);
  near(std::vector<float>(32, 1e-9f), 1e-9); // below f16
  for (int i = 0; i < 32; ++i)
    narrow[size_t(i)] = 100 + 1e-4f * float(i), wide[size_t(i)] = float(i % 16) * 1000 - 3000;
  near(narrow, 0.05); // steps that f16 has no offset for
  near(wide, 0);
  for (float value : {std::nanf(""), INFINITY, 1e30f}) {
    values[40] = value;
    std::vector<float> packed = packedHalves(values);
    EXPECT_EQ(3, packed[0]);
    EXPECT_FALSE(std::isfinite(packed[40])) << value;
  }
}

/// Without offsets, weights of a group are multiples of its scale, which has either sign.
TEST(PackTest, HalfBytesWithoutOffsets) {
  std::vector<float> values(96, 0);
  for (int i = 0; i < 32; ++i)
    values[size_t(i)] = -0.5f * float(i % 16 - 8), values[size_t(64 + i)] = 1e-9f; // below f16
  std::vector<float> packed = packedHalves(values, /*hasOffsets=*/false);
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(double(values[i]), double(packed[i]), i < 32 ? 0 : 1e-9) << i;
  for (float value : {std::nanf(""), INFINITY, 1e30f}) {
    values[40] = value;
    packed = packedHalves(values, /*hasOffsets=*/false);
    EXPECT_EQ(values[0], packed[0]);
    EXPECT_FALSE(std::isfinite(packed[40])) << value;
  }
}

/// Steps are taken where a group's values are multiples of them that fit into bytes.
TEST(PackTest, GroupedBytesOfGivenSteps) {
  constexpr int64_t k = 96;
  attn_abi_slot slot = {};
  slot.layout = ATTN_PACK_PANELS_INT8_GROUPS;
  slot.k = k, slot.columns = slot.padded = slot.width = 2;
  std::vector<float> values(k);
  for (int64_t i = 0; i < k; ++i)
    values[size_t(i)] = (i < 32 ? 0.25f : i < 64 ? -0.5f : 0.25f) * float(i % 32 - 16);
  values[31] = 0.25f * -128, values[63] = -0.5f * 127;
  values[95] = 0.25f * 128; // does not fit
  CodeLine lines[3] = {{0.25f, -32}, {-0.5f, 64}, {0.25f, -32}};
  std::vector<char> block(size_t(2 * (k + k / 32 * 2 + 12)));
  storePanel(slot, values.data(), lines, 0, 1, block.data());
  float scales[3];
  for (int64_t group = 0; group < 3; ++group)
    scales[group] = halfToFloat(get<uint16_t>(block, 2 * k + group * 4));
  EXPECT_EQ(0.25f, scales[0]);
  EXPECT_EQ(-0.5f, scales[1]);
  EXPECT_NEAR(32.0 / 127, double(scales[2]), 3e-4);
  for (int64_t i = 0; i < k; ++i) {
    float weight = scales[i / 32] * float(int8_t(block[size_t(i / 4 * 8 + i % 4)]));
    EXPECT_NEAR(double(values[size_t(i)]), double(weight), i < 64 ? 0 : 0.13) << i;
  }
  for (float value : {std::nanf(""), INFINITY, 1e30f}) {
    values[40] = value;
    storePanel(slot, values.data(), lines, 0, 1, block.data());
    EXPECT_EQ(0.25f, halfToFloat(get<uint16_t>(block, 2 * k)));
    EXPECT_FALSE(std::isfinite(halfToFloat(get<uint16_t>(block, 2 * k + 4)))) << value;
  }
}

/// Codes of a few bits are stored as they are: what the formulas of abi.h give is the numbers that
/// they stand for, and the sums and bytes of columns are those of these.
TEST(PackTest, CodesAsTheyAre) {
  std::mt19937 random(11);
  std::uniform_real_distribution<float> real(0.01f, 0.3f);
  for (int trial = 0; trial < 60; ++trial) {
    attn_abi_slot slot = {};
    bool hasOffsets = trial % 3 == 0, areHalves = trial % 3 < 2;
    slot.layout = hasOffsets  ? ATTN_PACK_PANELS_INT4
                  : areHalves ? ATTN_PACK_PANELS_INT4_GROUPS
                              : ATTN_PACK_PANELS_INT8_GROUPS;
    slot.k = 32 * int64_t(1 + random() % 5), slot.padded = slot.width = 6;
    slot.columns = int64_t(1 + random() % 6); // of the first panel
    int64_t groups = slot.k / 32, columns = slot.columns;
    std::vector<unsigned char> codes(size_t(columns * slot.k));
    std::vector<CodeLine> lines(size_t(columns * groups));
    std::vector<float> matrix(codes.size());
    for (auto &line : lines) {
      line.step = halfToFloat(floatToHalf(real(random) * (random() % 2 ? 1.f : -1.f)));
      line.least = (hasOffsets ? float(random() % 64) / -4 : areHalves ? -8 : -128) * line.step;
    }
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t k = 0; k < slot.k; ++k) {
        auto code = static_cast<unsigned char>(random() % (areHalves ? 16 : 256));
        codes[size_t(j * slot.k + k)] = code;
        const CodeLine &line = lines[size_t(k / 32 * columns + j)];
        matrix[size_t(k * columns + j)] = line.least + line.step * float(code);
      }
    ASSERT_TRUE(takesCodes(slot.layout, areHalves ? 4 : 8, lines.data(), columns * groups));
    std::vector<char> block(size_t(slot.width * (slot.k + groups * 4 + 12)));
    storeCodes(slot, codes.data(), lines.data(), 0, columns, block.data());
    int64_t perWord = areHalves ? 8 : 4;
    for (int64_t j = 0; j < columns; ++j) {
      for (int64_t k = 0; k < slot.k; ++k) {
        auto at = size_t(4 * (k / perWord * slot.width + j) + k % 4);
        auto byte = uint8_t(block[at]);
        int stored = areHalves ? byte >> (k % 8 < 4 ? 0 : 4) & 15 : byte ^ 128;
        EXPECT_EQ(int(codes[size_t(j * slot.k + k)]), stored);
      }
      if (areHalves)
        checkHalves(slot, matrix, j, block);
      else {
        std::vector<char> ofValues(block.size());
        storePanel(slot, matrix.data(), lines.data(), 0, columns, ofValues.data());
        EXPECT_EQ(ofValues, block);
      }
    }
    lines[0].least += lines[0].step;
    EXPECT_EQ(hasOffsets, takesCodes(slot.layout, areHalves ? 4 : 8, lines.data(), 1));
  }
}

/// Whatever their codes are: a line without a step, one whose step is nothing in f16, and one whose
/// step is nothing beside its least number.
TEST(PackTest, CodesOfLinesThatAreOneNumber) {
  CodeLine lines[3] = {{0, 0}, {1e-9f, -8e-9f}, {1e-4f, 3}};
  double expected[3] = {0, 0, 3.00075};
  attn_abi_slot slot = {};
  slot.layout = ATTN_PACK_PANELS_INT4;
  slot.k = 32, slot.columns = slot.padded = slot.width = 3;
  std::vector<unsigned char> codes(96);
  for (size_t i = 0; i < codes.size(); ++i)
    codes[i] = static_cast<unsigned char>(i * 7 % 16);
  std::vector<char> block(size_t(3 * (16 + 4 + 12)));
  storeCodes(slot, codes.data(), lines, 0, 3, block.data());
  for (int64_t j = 0; j < 3; ++j) {
    float scale = halfToFloat(get<uint16_t>(block, 48 + 2 * j)),
          offset = halfToFloat(get<uint16_t>(block, 54 + 2 * j)) / 16;
    for (int64_t k = 0; k < 32; ++k) {
      int code = get<uint8_t>(block, 4 * (k / 8 * 3 + j) + k % 4) >> (k % 8 < 4 ? 0 : 4) & 15;
      EXPECT_NEAR(expected[j], double(scale) * (code - 8 + double(offset)), 2e-3) << j << " " << k;
      EXPECT_EQ(j < 2 ? 0 : 8, code);
    }
    EXPECT_NEAR(32 * expected[j], double(get<float>(block, 60 + 4 * j)), 0.05);
  }
}
