// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Into how many parts the keys of a head are divided, by the sizes of an attention alone.
#include "compiler/transforms/FewQueries.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace mlir;
using namespace attn;

bool attn::hasManyQueries(AttentionOp op) {
  if (isOfRows(op))
    return true;
  auto query = cast<RankedTensorType>(op.getQuery().getType());
  for (int64_t d = 0; d + 1 < query.getRank(); ++d)
    if (StringAttr name = axesOf(query)[d];
        axisIndex(op.getKey().getType(), name) < 0 &&
        axisIndex(op.getValue().getType(), name) < 0 &&
        (query.isDynamicDim(d) || query.getDimSize(d) > FewQueriesShape::mostQueries))
      return true;
  return false;
}

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
