// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a linear's tile does in one step of k, for each precision of its panels. `a` are the rows'
// elements, `w` the panel's, of as many neighbours along k as make up four bytes:
//   f32    sum += a * w
//   f16    sum = fma(a[1], w[1], fma(a[0], w[0], sum)), w widened to f32
//   bf16   the same; of rows in bf16 what vdpbf16ps makes of it, denormals being zero
//   int8   sum += a[0] * w[0] + ... + a[3] * w[3] in i32: exact, so in whatever order
//   int4   the same of 32 elements by themselves and 16 times their numbers; sum += scale * (theirs
//          + 16 * offset * the elements' sum) in f32, which LinearEpilogue divides by 16
//   int8_groups  as int8 of 32 elements by themselves; sum += scale * theirs in f32
#pragma once

#include "compiler/kernels/LinearShape.h"
#include "compiler/kernels/Loops.h"
#include "compiler/target/CpuTarget.h"

namespace attn {

/// Writes the products of one linear kernel, for a CPU level and a precision.
class LinearProducts {
public:
  /// A vector for each vector of columns, or row.
  using Values = llvm::SmallVector<mlir::Value>;

  /// `areNumbers`: weights of groups are bytes from -8 to 7, and their sums 16 times as large, as
  /// those of half bytes.
  LinearProducts(IndexBuilder index, const CpuTarget &target, Precision precision,
                 bool areNumbers = false)
      : index(index), target(target), precision(precision), format(formatOf(precision)),
        areNumbers(areNumbers) {}

  /// The type of a vector of sums: f32, or i32 for int8.
  mlir::VectorType sumType() const;

  /// From here on, has `steps` multiply squares where the target can and calls of it are always of
  /// an even number of steps: sums[r][v] and sums[r + 1][v] of an even r then hold both rows, the
  /// first half of the columns and the second.
  void multiplySquares(llvm::ArrayRef<mlir::Value> rows);
  /// Between sums by rows and those of squares, either way; as they are where squares are not
  /// multiplied.
  llvm::SmallVector<mlir::Value> turned(llvm::ArrayRef<mlir::Value> sums, size_t rows) const;

  /// The steps that one call of `steps` takes, at most.
  int64_t stepsTogether(llvm::ArrayRef<mlir::Value> rows) const;

  /// Adds the products of `count` steps to sums[rows][vectors]. `rows` are views of the rows'
  /// contracted dims, `ks` the position of the first step's first element in them; `weights` is the
  /// place of its first weight in `panels`, the next step's are `pitch` elements further.
  void steps(int64_t count, llvm::ArrayRef<mlir::Value> rows, llvm::ArrayRef<mlir::Value> ks,
             mlir::Value panels, mlir::Value weights, int64_t pitch,
             llvm::MutableArrayRef<mlir::Value> sums) const;

  /// The lower halves of each 32 bytes of the rows and behind them the upper ones, for
  /// scaledSteps, from the first of `steps` steps on; or the rows themselves, where they are not
  /// taken so. For rows of one contracted dim.
  Values splitRows(llvm::ArrayRef<mlir::Value> rows, mlir::Value step, int64_t steps);

  /// Where 32 weights of each column of a tile lie that share a line, and what goes with them.
  struct ScaledWeights {
    mlir::Value panels, weights; ///< the place of the first step's
    int64_t pitch;               ///< from one step to the next
    mlir::Value lines, line;     ///< the place of the first column's scale; offsets are a panel on
    llvm::ArrayRef<mlir::Value> rowSums; ///< of the elements, f32, of each row, for offsets
  };
  /// Adds the products of the steps whose weights share a line or a scale: `k` is the place of the
  /// first step's elements.
  void scaledSteps(llvm::ArrayRef<mlir::Value> rows, mlir::Value k, const ScaledWeights &weights,
                   llvm::MutableArrayRef<mlir::Value> sums) const;

  /// Widens a step's weights, from `place` of `panels` on, to as many steps of f32 from `to` on of
  /// `widened`.
  void widen(mlir::Value panels, mlir::Value place, mlir::Value widened, mlir::Value to) const;

  /// Writes the numbers of a step of half bytes, from `place` of `panels` on, as two steps of bytes
  /// from word `to` on of `widened`.
  void widenNumbers(mlir::Value panels, mlir::Value place, mlir::Value widened,
                    mlir::Value to) const;

  /// Whether rows are taken as splitRows has made them, each 32 elements as 64 bytes.
  bool areRowsSplit() const { return isSplit; }

private:
  /// Whether neighbours along the innermost contracted dim of a row are neighbours in memory.
  static bool isDense(mlir::Value row);
  /// The step's weights, a vector of four bytes for each column.
  Values load(mlir::Value panels, mlir::Value weights, size_t vectors) const;
  /// `count` words of 32 bits of a row, from an element on, where products take them out of one
  /// register; else null.
  mlir::Value registerOf(mlir::Value row, llvm::ArrayRef<mlir::Value> ks, int64_t count) const;
  /// Word `i` of these, or of the row, in all lanes of a vector of sumType.
  mlir::Value repeated(mlir::Value words, mlir::Value row, llvm::ArrayRef<mlir::Value> ks,
                       int64_t i) const;
  /// A word, in all lanes; an element that is one, of a row of any stride.
  mlir::Value repeatedElement(mlir::Value row, llvm::ArrayRef<mlir::Value> ks,
                              int64_t offset) const;
  mlir::Value repeatedBytes(mlir::Value row, mlir::Value k) const;
  Values turnedSquares(llvm::ArrayRef<mlir::Value> sums, size_t rows) const;
  /// Whether products of groups are added up in 16 bits, where a level multiplies bytes only so.
  /// Of a line's 32, each half of a word takes 16: of a byte (at most 255) and a number (-8 to 7),
  /// or of half of a row's byte (at most 15) and a weight (at least -128), so sums are within
  /// 32640.
  bool addsIn16Bits() const {
    return isSplit || areNumbers || (format.isOfHalfBytes() && target.addsIn16Bits());
  }
  /// Of half bytes: both numbers of each byte from `place` of `panels` on, in bytes of i32; the
  /// lower one is that of the earlier k. 16 times the numbers, but where halves are summed: in the
  /// upper half of a byte, a number has its sign once the first bit of what is 8 too large is
  /// turned.
  Values loadNumbers(mlir::Value panels, mlir::Value place) const;
  /// Words of four numbers each, [word][vector], of groups' weights from word `first` of a line on,
  /// for the vectors of columns [column, ...) of the tile.
  llvm::SmallVector<Values> loadGroupWords(const ScaledWeights &weights, int64_t first,
                                           int64_t count, llvm::ArrayRef<int64_t> columns) const;
  /// Add the products of neighbouring steps, or elements, to sums: weights[step][vector].
  void multiply(llvm::ArrayRef<mlir::Value> rows, llvm::ArrayRef<mlir::Value> ks,
                llvm::ArrayRef<Values> weights, llvm::MutableArrayRef<mlir::Value> sums) const;
  void multiplyFloats(llvm::ArrayRef<mlir::Value> rows, llvm::ArrayRef<mlir::Value> ks,
                      llvm::ArrayRef<Values> weights,
                      llvm::MutableArrayRef<mlir::Value> sums) const;
  void multiplyPairs(llvm::ArrayRef<mlir::Value> rows, llvm::ArrayRef<mlir::Value> ks,
                     llvm::ArrayRef<Values> weights, llvm::MutableArrayRef<mlir::Value> sums) const;
  /// Of two steps; of an odd number of rows, the last one by itself.
  void multiplySquares(llvm::ArrayRef<mlir::Value> rows, llvm::ArrayRef<mlir::Value> ks,
                       llvm::ArrayRef<Values> weights,
                       llvm::MutableArrayRef<mlir::Value> sums) const;
  /// `count` words of a row, from an element on, side by side.
  mlir::Value loadWords(mlir::Value row, llvm::ArrayRef<mlir::Value> ks, int64_t count) const;
  mlir::Value shuffled(mlir::Value a, mlir::Value b, llvm::ArrayRef<int64_t> order) const;
  void multiplyBytes(llvm::ArrayRef<mlir::Value> rows, llvm::ArrayRef<mlir::Value> ks,
                     llvm::ArrayRef<Values> weights, llvm::MutableArrayRef<mlir::Value> sums) const;
  /// The same without an instruction for it, of one step.
  void multiplyBytesInPairs(llvm::ArrayRef<mlir::Value> rows, mlir::Value k, const Values &weights,
                            llvm::MutableArrayRef<mlir::Value> sums) const;
  /// In 16 bits, of one step. Where bytes are split, the sums of upper halves are behind the
  /// others.
  void multiplyIn16Bits(llvm::ArrayRef<mlir::Value> rows, mlir::Value k, const Values &weights,
                        llvm::MutableArrayRef<mlir::Value> sums) const;
  /// A line's sums in 16 bits as sums in 32 bits; of half bytes 16 times these.
  Values widenedSums(llvm::ArrayRef<mlir::Value> sums) const;
  /// A vector of f16, as f32.
  mlir::Value loadHalves(mlir::Value halves, mlir::Value place) const;
  /// The even or odd ones of words of two halves, in f32.
  mlir::Value widened(mlir::Value words, bool isOdd) const;
  mlir::Value call(mlir::VectorType type, llvm::StringRef name, mlir::ValueRange operands) const;
  mlir::VectorType integers() const; ///< i32
  mlir::VectorType halves() const;   ///< twice as many i16
  mlir::Value bitcast(mlir::Value vector, int64_t lanes, mlir::Type element) const;

  IndexBuilder index;
  const CpuTarget &target;
  Precision precision;
  const WeightFormat &format;
  llvm::StringRef square; ///< the intrinsic, where squares are multiplied
  bool areNumbers;        ///< weights, in bytes
  bool isSplit = false;   ///< rows of bytes, into halves of them
};

} // namespace attn
