// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A linear kernel to test: its memory-stage text, its operands, and what it has to compute.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace attn::test {

using Dims = std::vector<int64_t>;

/// A buffer of these sizes; strides in elements.
struct Layout {
  Dims sizes, strides;

  /// Row-major with `pad` elements after each run of the last dim.
  static Layout dense(Dims sizes, int64_t pad = 0);
  int64_t elements() const;
  /// The element `flat` of dims [begin, end).
  int64_t at(int64_t flat, size_t begin, size_t end) const;
};

enum class Panels { F32, BF16, F16, Int8, Int8Groups, Int4, Int4Groups };
enum class Epilogue { None, Relu, Gelu, Residual, ScaleAndShift };

struct LinearCase {
  Dims ks;
  int64_t n;
  Layout in, out; ///< rows..., then ks or n
  Epilogue epilogue = Epilogue::None;
  std::vector<Layout> captures = {};
  bool hasBias = true;
  bool dynamic = false; ///< the leading dim of rows is known at run time
  Panels panels = Panels::F32;
  bool isRounded = false; ///< panels are halves, and there are rows of them, too
  bool isNarrow = false;  ///< those rows alone
  bool isOfBits = false;  ///< narrow rows are i16, as on CPUs, and so is the output
  bool hasRoom = false;   ///< scratch for each thread
  bool areBytes = false;  ///< panels of groups are multiplied as int8 of columns
  bool isTf32 = false;    ///< f32, rounded when it is multiplied
  bool isInPlace = false; ///< the first capture lies where the output does

  /// A case of dense rows.
  LinearCase(int64_t rows, int64_t k, int64_t n, Epilogue epilogue = Epilogue::None);
  LinearCase(Dims ks, int64_t n, Layout in, Layout out)
      : ks(std::move(ks)), n(n), in(std::move(in)), out(std::move(out)) {}

  int64_t rows() const;
  int64_t depth() const;
  static constexpr int64_t mostThreads = 64;
  /// A thread's scratch, and as many rows behind that of all threads.
  int64_t roomFloats() const;
  int64_t sharedRows() const;
  /// Scale and zero, and for offsets the sums of each 32 bytes.
  int64_t rangeColumns() const;
  /// Rows of a panel, the padding included.
  int64_t panelRows() const;
  /// What an element is rounded to, and back.
  uint16_t halfOf(float value) const;
  float floatOf(uint16_t half) const;
  /// The kernel's `precision`.
  const char *precisionName() const;
  bool hasByteRows() const { return panels >= Panels::Int8; }
  /// Whether 32 weights share a line or a scale.
  bool hasGroups() const { return panels >= Panels::Int8Groups; }
  bool areHalfBytes() const { return panels >= Panels::Int4; }
  /// Whether there is an offset beside the scale.
  bool hasOffsets() const { return panels == Panels::Int4; }
  /// A function
  ///   @name(%packed, %workspace, %call, %thread, %threads, %m: index, %in, %panels, %bias, %out,
  ///         %c0, %c1: memref<f32>, %range, %scales: memref<f32>, %sums: memref<i32>, %rounded:
  ///         memref<i16>, of halves where it is the input, %room, %bytescales: memref<f32>,
  ///         %bytesums: memref<i32>)
  /// with %in: memref<i8> where rows are bytes, and %panels of the panels' elements; of groups,
  /// scales are lines of f16, sums are f32, and those behind %room are as of int8.
  std::string text(const std::string &name) const;
};

/// Patches of an image [B, C, Y * P, X * P] as rows [B, Y, X] of [C, P, P].
LinearCase patches(int64_t b, int64_t c, int64_t y, int64_t x, int64_t p);
/// Shapes of panels that are not f32; `group` neighbours along k make up four bytes.
std::vector<LinearCase> casesOf(Panels panels, int64_t group, std::mt19937 &random);
/// Up to 8 rows, which GPUs have a kernel for: columns of 8 and of 16 at a time, steps of k that
/// fill no batch, rows that are known when running, and such that come to shared memory in chunks,
/// the last of which is shorter.
std::vector<LinearCase> fewRowsOf(Panels panels, int64_t group);

/// Operands of a case, random, in buffers that nothing may be read or written outside of.
class LinearData {
public:
  LinearData(const LinearCase &test, std::mt19937 &random);

  /// What out[row, column] should be, and the sum of the magnitudes that it is made of.
  std::pair<double, double> expected(int64_t row, int64_t column) const;

  /// After `in` or `panels` have been changed: what the kernel reads, and rounds them to what that
  /// means.
  void store();

  std::vector<float> in, panels, bias, out, captures[2];
  std::vector<float> storedIn, storedPanels; ///< as the kernel gets them, bit by bit
  std::vector<float> range, scales;          ///< of byte rows, bit by bit
  std::vector<float> rounded;                ///< dense rows of halves, padded, bit by bit
  /// The stored panels of halves, each transposed, as kernels of Hopper's read them: [48][k / 2]
  /// words.
  std::vector<float> transposedPanels() const;
  /// Rows of bytes for levels whose bytes have signs: each less 128, and so are the range's zeros.
  std::vector<float> signedIn() const;
  std::vector<float> signedRange() const;
  std::vector<int32_t> sums;
  std::vector<float> byteScales; ///< of groups
  std::vector<int32_t> byteSums;

private:
  void storePairs();
  void roundRows();
  void storeBytes();
  void storeGroups();
  /// Random lines, [columns / 48][k / 32][48] of numbers, and where that of a weight is.
  std::vector<uint16_t> randomLines() const;
  int64_t lineOf(int64_t p) const;
  void findBytes(const std::vector<uint16_t> &lines);
  void storeByteRows();

  const LinearCase &test;
};

} // namespace attn::test
