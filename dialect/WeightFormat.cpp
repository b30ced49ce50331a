// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows of formats.def as a table of the compiler.
#include "dialect/WeightFormat.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace attn {

static constexpr WeightFormat formatRows[] = {
#define ATTN_FORMAT(precision, panels, bits, scale, offsets, granule, rows, bound)                 \
  {{panels, bits, PanelScale::scale, offsets != 0, granule}, Precision::precision, rows, bound},
#include "runtime/include/attn/formats.def"
};

static_assert(std::size(formatRows) == getMaxEnumValForPrecision() + 1,
              "each case of Attn_Precision has a row of formats.def");

ArrayRef<WeightFormat> weightFormats() { return formatRows; }

const WeightFormat &formatOf(Precision precision) {
  const WeightFormat *found = llvm::find_if(
      formatRows, [&](const WeightFormat &format) { return format.precision == precision; });
  assert(found != std::end(formatRows) && "each precision has a row of formats.def");
  return *found;
}

std::string formatNames(StringRef lastSeparator) {
  std::string names;
  for (auto [i, format] : llvm::enumerate(formatRows)) {
    StringRef separator = i + 1 == std::size(formatRows) ? lastSeparator : ", ";
    names += ((i ? separator : "") + format.name()).str();
  }
  return names;
}

Precision storedPrecision(Precision precision) {
  int32_t panels = formatOf(precision).layout;
  return llvm::find_if(formatRows,
                       [&](const WeightFormat &format) { return format.layout == panels; })
      ->precision;
}

Precision rowPrecision(Precision precision) {
  int32_t rows = formatOf(precision).rows;
  return llvm::find_if(formatRows, [&](const WeightFormat &format) { return format.rows == rows; })
      ->precision;
}

Type panelElement(MLIRContext *context, Precision precision) {
  const WeightFormat &format = formatOf(precision);
  if (format.bits == 32)
    return Float32Type::get(context);
  if (precision == Precision::F16)
    return Float16Type::get(context);
  return IntegerType::get(context, format.isHalf() ? 16 : 8);
}

} // namespace attn
