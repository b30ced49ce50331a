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
  return std::max<int64_t>(std::min<int64_t>(llvm::divideCeil(division.wantedUnits, units), most),
                           1);
}
