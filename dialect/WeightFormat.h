// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What weights of linear maps are stored in and multiplied as: a row of
// runtime/include/attn/formats.def for each case of Attn_Precision. Nothing else lists the formats,
// and code asks for what a format has, not for its name.
#pragma once

#include "dialect/AttnDialect.h"
#include "runtime/include/attn/panels.h"

namespace attn {

/// A format. Formats are rows of a table and compared by their precision.
struct WeightFormat : PanelFormat {
  Precision precision;
  int32_t rows; ///< ATTN_PACK_ROWS*: the layout of tables whose rows are only looked up
  double bound; ///< relative L2 error of results that rounding to the format explains

  /// As specs and `--precision` call it.
  llvm::StringRef name() const { return stringifyPrecision(precision); }
  /// Whether weights are pairs of 16 bits.
  bool isHalf() const { return bits == 16; }
  /// Whether rows are multiplied as bytes.
  bool takesBytes() const { return scale != PanelScale::None; }
  /// Elements of the panels' buffer that make up four bytes: bytes hold the pairs of half bytes.
  int64_t elementsPerWord() const { return isOfHalfBytes() ? 4 : group(); }
  /// Rows are read by so many elements.
  int64_t rowGranule() const { return hasGroups() ? scaleGroup : group(); }
};

/// All formats, wider ones first.
llvm::ArrayRef<WeightFormat> weightFormats();
/// The row of a precision.
const WeightFormat &formatOf(Precision precision);
/// Their names, with the last separator between the last two: "f32, tf32 or f16" for " or ".
std::string formatNames(llvm::StringRef lastSeparator);

/// What weights of linears are stored in: the first format with the same panels.
Precision storedPrecision(Precision precision);
/// What tables are stored in whose rows are only looked up: the first format with the same rows. Of
/// what is smaller than 16 bits, f16 has the more exact ones.
Precision rowPrecision(Precision precision);

/// What panels of a precision are made of: i8 holds a byte or two half bytes, i16 the bits of bf16.
mlir::Type panelElement(mlir::MLIRContext *context, Precision precision);

} // namespace attn
