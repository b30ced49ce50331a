// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/transforms/FewQueries.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace mlir;

int64_t attn::keyPartsOf(ArrayRef<int64_t> heads, int64_t keyCount, KeyDivision division) {
  int64_t units = 1, most = division.mostParts;
  for (int64_t size : heads)
    units *= ShapedType::isDynamic(size) ? 1 : size;
  if (!ShapedType::isDynamic(keyCount))
    most = std::min(keyCount / division.leastKeys, most);
  int64_t parts = division.mayExceed ? llvm::divideCeil(division.wantedUnits, units)
                                     : division.wantedUnits / units;
  return std::max<int64_t>(std::min(parts, most), 1);
}
