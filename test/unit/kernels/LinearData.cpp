// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operands of a case: random numbers, the forms in which kernels read them, and what their
// products should be.
#include "compiler/transforms/ParameterLayout.h"
#include "runtime/base/Dtype.h"
#include "test/gpu/interpreter/Numbers.h"
#include "test/unit/kernels/LinearCase.h"
#include <cmath>
#include <cstring>

namespace attn::test {

LinearData::LinearData(const LinearCase &test, std::mt19937 &random) : test(test) {
  std::normal_distribution<float> normal;
  auto fill = [&](std::vector<float> &values, int64_t count) {
    values.resize(count);
    for (float &value : values)
      value = normal(random);
  };
  int64_t k = test.depth();
  fill(in, test.in.elements());
  fill(panels, (test.n + 47) / 48 * k * 48);
  for (int64_t i = 0; i < int64_t(panels.size()); ++i)
    if (i / (k * 48) * 48 + i % 48 >= test.n)
      panels[i] = 0;
  fill(bias, test.n);
  out.resize(test.out.elements());
  for (size_t i = 0; i < test.captures.size(); ++i)
    fill(captures[i], test.captures[i].elements());
  store();
}

/// What `count` elements of T look like as floats.
template <typename T> static std::vector<float> asFloats(const std::vector<T> &elements) {
  std::vector<float> result((elements.size() * sizeof(T) + 3) / 4);
  std::memcpy(result.data(), elements.data(), elements.size() * sizeof(T));
  return result;
}

void LinearData::storePairs() {
  int64_t k = test.depth(), stored = test.panelRows() * 48;
  std::vector<uint16_t> pairs((test.n + 47) / 48 * stored);
  for (int64_t p = 0; p < int64_t(panels.size()); ++p) {
    int64_t panel = p / (k * 48), row = p / 48 % k, column = p % 48;
    uint16_t bits = test.halfOf(panels[p]);
    pairs[panel * stored + row / 2 * 96 + 2 * column + row % 2] = bits;
    panels[p] = test.floatOf(bits);
  }
  storedPanels = asFloats(pairs);
}

std::vector<float> LinearData::transposedPanels() const {
  std::vector<float> result(storedPanels.size());
  int64_t words = test.panelRows() / 2, panel = 48 * words;
  for (int64_t i = 0; i < int64_t(result.size()); ++i)
    result[i / panel * panel + i % 48 * words + i % panel / 48] = storedPanels[i];
  return result;
}

/// The rows that the panels are padded for, and 15 behind the last that nobody looks at. GPUs look
/// at no padding.
void LinearData::roundRows() {
  int64_t k = test.depth(), pitch = test.panelRows();
  std::vector<uint16_t> rows((test.rows() + 15) * pitch, 0x7fc0); // NaN, of f16, too
  for (int64_t row = 0; row < test.rows(); ++row)
    for (int64_t i = 0; i < pitch; ++i) {
      int64_t place = test.in.at(row, 0, test.in.sizes.size() - 1) + i;
      uint16_t bits = i < k ? test.halfOf(in[place]) : test.isNarrow ? 0x7fc0 : 0;
      rows[row * pitch + i] = bits;
      if (i < k)
        in[place] = test.floatOf(bits);
    }
  rounded = asFloats(rows);
}

/// Random bytes and scales: the kernel knows nothing of how they came about.
void LinearData::storeBytes() {
  int64_t k = test.depth(), columns = (test.n + 47) / 48 * 48, stored = test.panelRows() * 48;
  std::vector<int8_t> weights(columns / 48 * stored);
  sums.assign(columns, 0), scales.resize(columns);
  for (int64_t n = 0; n < columns; ++n)
    scales[n] = 0.01f + 0.001f * float(n % 7);
  for (int64_t p = 0; p < int64_t(panels.size()); ++p) {
    int64_t panel = p / (k * 48), row = p / 48 % k, column = p % 48;
    int8_t byte = int8_t(std::fmax(-127, std::fmin(127, std::round(panels[p] * 60))));
    weights[panel * stored + row / 4 * 192 + 4 * column + row % 4] = byte;
    sums[panel * 48 + column] += byte;
    panels[p] = float(byte) * scales[panel * 48 + column];
  }
  storedPanels = asFloats(weights);
}

/// 16 times the offset, where there are such, is behind the scale, a panel on.
static int64_t numbersOf(const LinearCase &test) { return test.hasOffsets() ? 2 : 1; }

int64_t LinearData::lineOf(int64_t p) const {
  int64_t k = test.depth(), panel = p / (k * 48), row = p / 48 % k,
          group = panel * (test.panelRows() / 32) + row / 32;
  return group * numbersOf(test) * 48 + p % 48;
}

std::vector<uint16_t> LinearData::randomLines() const {
  int64_t columns = (test.n + 47) / 48 * 48, groups = test.panelRows() / 32;
  std::vector<uint16_t> lines(numbersOf(test) * columns * groups);
  for (size_t i = 0; i < lines.size(); ++i) {
    bool isOffset = numbersOf(test) == 2 && i / 48 % 2;
    float scale = (i % 2 ? 0.1f : -0.1f) + 0.01f * float(i % 7);
    lines[i] = floatToHalf(isOffset              ? 5 * float(i % 13) - 30 // sixteenths
                           : test.areHalfBytes() ? scale
                                                 : scale / 16);
  }
  return lines;
}

/// As storeBytes: numbers from -8 to 7, a scale and an offset for each 32 of them; or bytes, and a
/// scale.
void LinearData::storeGroups() {
  int64_t k = test.depth(), columns = (test.n + 47) / 48 * 48, groups = test.panelRows() / 32;
  bool areHalves = test.areHalfBytes();
  std::vector<uint8_t> weights(columns * groups * (areHalves ? 16 : 32), areHalves ? 0x88 : 0);
  std::vector<uint16_t> lines = randomLines();
  std::vector<float> exact(columns);
  for (int64_t p = 0; p < int64_t(panels.size()); ++p) {
    int64_t panel = p / (k * 48), row = p / 48 % k, column = p % 48,
            group = panel * groups + row / 32, line = lineOf(p);
    float scale = halfToFloat(lines[line]),
          offset = test.hasOffsets() ? halfToFloat(lines[line + 48]) / 16 : 0;
    if (areHalves) {
      float number = std::fmax(-8, std::fmin(7, std::round(panels[p] * 4)));
      uint8_t &byte = weights[((group * 4 + row % 32 / 8) * 48 + column) * 4 + row % 4];
      int shift = row % 8 < 4 ? 0 : 4;
      byte = uint8_t((byte & ~(15 << shift)) | (int(number) + 8) << shift);
      panels[p] = (number + offset) * scale;
    } else {
      float number = std::fmax(-128, std::fmin(127, std::round(panels[p] * 60)));
      weights[((group * 8 + row % 32 / 4) * 48 + column) * 4 + row % 4] = uint8_t(int8_t(number));
      panels[p] = number * scale;
    }
    exact[panel * 48 + column] += panels[p];
  }
  storedPanels = asFloats(weights), scales = asFloats(lines);
  findBytes(lines);
  sums.resize(columns);
  std::memcpy(sums.data(), exact.data(), 4 * columns);
}

/// The bytes that weights of groups are as int8, by the formulas of abi.h.
void LinearData::findBytes(const std::vector<uint16_t> &lines) {
  int64_t k = test.depth(), columns = (test.n + 47) / 48 * 48;
  byteScales.assign(columns, 0), byteSums.assign(columns, 0);
  auto columnOf = [&](int64_t p) { return p / (k * 48) * 48 + p % 48; };
  for (int64_t p = 0; p < int64_t(panels.size()); ++p)
    byteScales[columnOf(p)] = std::fmax(byteScales[columnOf(p)], std::abs(panels[p]) / 127);
  for (int64_t p = 0; p < int64_t(panels.size()); ++p) {
    int64_t line = lineOf(p);
    float scale = halfToFloat(lines[line]), whole = byteScales[columnOf(p)],
          sixteenths = test.hasOffsets() ? halfToFloat(lines[line + 48]) : 0;
    float factor = whole > 0 ? scale * (256 / whole) : 0, shift = factor * (sixteenths * 0.0625f);
    auto number = int(std::round(panels[p] / scale - sixteenths / 16));
    auto byte = int8_t(
        int16_t(number * int(std::nearbyint(factor)) + int(std::nearbyint(shift)) + 128) >> 8);
    byteSums[columnOf(p)] += byte;
    if (test.areBytes)
      panels[p] = float(byte) * whole;
  }
}

/// Random bytes, scales and zeros of rows.
void LinearData::storeByteRows() {
  int64_t k = test.depth();
  range.clear();
  // Rows behind the last; in all a multiple of 64, so that they begin at one, as in a workspace.
  std::vector<uint8_t> bytes((in.size() + 15 * test.in.strides[0] + 127) / 64 * 64, 77);
  for (int64_t row = 0; row < test.rows(); ++row) {
    float scale = 0.02f + 0.003f * float(row % 5), zero = float(row * 37 % 256);
    range.insert(range.end(), {scale, zero});
    range.resize(range.size() + size_t(test.rangeColumns() - 2));
    for (int64_t i = 0; i < k; ++i) {
      int64_t place = test.in.at(row, 0, test.in.sizes.size() - 1) + i;
      float byte = std::fmax(0.0f, std::fmin(255.0f, std::round(in[place] * 80 + 128)));
      bytes[place] = uint8_t(byte), in[place] = (byte - zero) * scale;
      if (test.hasOffsets())
        range[size_t(row * test.rangeColumns() + 2 + i / 32)] += byte;
    }
  }
  storedIn = asFloats(bytes);
}

std::vector<float> LinearData::signedIn() const {
  std::vector<float> result = storedIn;
  for (float &word : result) {
    uint32_t bits;
    std::memcpy(&bits, &word, 4);
    bits ^= 0x80808080;
    std::memcpy(&word, &bits, 4);
  }
  return result;
}

std::vector<float> LinearData::signedRange() const {
  std::vector<float> result = range;
  for (size_t i = 0; i < result.size(); ++i)
    if (int64_t at = int64_t(i) % test.rangeColumns(); at > 0)
      result[i] -= at == 1 ? 128 : 32 * 128;
  return result;
}

void LinearData::store() {
  storedIn = in, storedPanels = panels;
  constexpr int64_t fewRows = 8; // which are multiplied as they are
  if (test.isTf32 && test.rows() > fewRows)
    for (std::vector<float> *values : {&in, &panels})
      for (float &value : *values)
        value = ptx::floatOf(ptx::roundToTf32(uint32_t(ptx::bitsOf(value))));
  if (test.panels == Panels::BF16 || test.panels == Panels::F16)
    storePairs();
  if (test.panels == Panels::Int8)
    storeBytes();
  if (test.hasGroups())
    storeGroups();
  if (test.hasByteRows())
    storeByteRows();
  if (test.isRounded) {
    roundRows();
    storedIn = in; // a few rows are read as f32
  }
}

std::pair<double, double> LinearData::expected(int64_t row, int64_t column) const {
  int64_t k = test.depth();
  size_t rowDims = test.in.sizes.size() - test.ks.size();
  const float *x = in.data() + test.in.at(row, 0, rowDims);
  const float *w = panels.data() + column / 48 * k * 48 + column % 48;
  double sum = test.hasBias ? bias[column] : 0.0, magnitude = std::abs(sum);
  for (int64_t i = 0; i < k; ++i) {
    double product = double(x[test.in.at(i, rowDims, test.in.sizes.size())]) * w[i * 48];
    sum += product, magnitude += std::abs(product);
  }
  double c[2] = {0, 0};
  for (size_t i = 0; i < test.captures.size(); ++i) {
    const Layout &layout = test.captures[i];
    c[i] = captures[i][layout.at(row, 0, layout.sizes.size() - 1) + column * layout.strides.back()];
  }
  switch (test.epilogue) {
  case Epilogue::None:
    break;
  case Epilogue::Relu:
    sum = std::max(sum, 0.0);
    break;
  case Epilogue::Gelu:
    sum = 0.5 * sum * (1 + std::erf(sum * double(0.707106769f)));
    break;
  case Epilogue::Residual:
    sum += c[0], magnitude += std::abs(c[0]);
    break;
  case Epilogue::ScaleAndShift:
    sum = sum * c[0] + c[1], magnitude = magnitude * std::abs(c[0]) + std::abs(c[1]);
    break;
  }
  return {sum, magnitude};
}

} // namespace attn::test
