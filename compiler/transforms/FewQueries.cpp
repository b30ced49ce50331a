// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/transforms/FewQueries.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace mlir;

/// Units of work that keep as many threads busy as decoding has use for.
static constexpr int64_t wantedUnits = 64, mostParts = 16;
/// Reading fewer keys takes no longer than meeting at a barrier.
static constexpr int64_t leastKeys = 256;

int64_t attn::keyPartsOf(ArrayRef<int64_t> heads, int64_t keyCount) {
  int64_t units = 1;
  for (int64_t size : heads)
    units *= ShapedType::isDynamic(size) ? 1 : size;
  int64_t most =
      ShapedType::isDynamic(keyCount) ? mostParts : std::min(keyCount / leastKeys, mostParts);
  return std::max<int64_t>(std::min<int64_t>(llvm::divideCeil(wantedUnits, units), most), 1);
}
