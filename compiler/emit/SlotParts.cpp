// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where each column of a packed slot is picked out of the checkpoint's tensors: axes with strides
// become parts of two nested loops (attn_abi_part).
#include "compiler/emit/SlotParts.h"
#include "compiler/support/Errors.h"

using namespace mlir;
using namespace attn;

llvm::SmallVector<SourceAxis> attn::mergeAxes(ArrayRef<SourceAxis> axes) {
  llvm::SmallVector<SourceAxis> merged;
  for (const SourceAxis &axis : axes) {
    if (axis.size == 1)
      continue;
    if (!merged.empty() && merged.back().stride == axis.size * axis.stride)
      merged.back() = {merged.back().size * axis.size, axis.stride};
    else
      merged.push_back(axis);
  }
  return merged;
}

/// Parts for columns that run over `axes`: two levels fit into one part, what is outside of them
/// takes a part for each index.
static void addColumns(ArrayRef<SourceAxis> axes, attn_abi_part part,
                       SmallVectorImpl<attn_abi_part> &parts) {
  if (axes.size() > 2) {
    int64_t inside = 1;
    for (const SourceAxis &axis : axes.drop_front())
      inside *= axis.size;
    for (int64_t i = 0; i < axes.front().size; ++i) {
      addColumns(axes.drop_front(), part, parts);
      part.column += inside;
      part.offset += axes.front().stride;
    }
    return;
  }
  SourceAxis inner = axes.empty() ? SourceAxis{1, 0} : axes.back();
  SourceAxis outer = axes.size() < 2 ? SourceAxis{1, 0} : axes.front();
  part.count = outer.size * inner.size;
  part.inner = inner.size, part.innerStride = inner.stride, part.outerStride = outer.stride;
  parts.push_back(part);
}

LogicalResult attn::addParts(ParamOp param, int32_t parameter, int64_t k, int64_t column,
                             SmallVectorImpl<attn_abi_part> &parts) {
  SourceAttr source = param.getSource();
  auto shape = cast<RankedTensorType>(param.getType()).getShape();
  SmallVector<SourceAxis> columns, rows;
  int64_t reached = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    SourceAxis axis{shape[d], source.getStrides()[d]};
    bool isRow = reached < k;
    (isRow ? rows : columns).insert((isRow ? rows : columns).begin(), axis);
    reached *= isRow ? axis.size : 1;
    if (axis.stride < 0)
      return emitErrorOf(ErrorKind::Input, param.getLoc())
             << "'" << param.getSymName()
             << "': elements that run backwards through the checkpoint cannot be packed";
  }
  rows = mergeAxes(rows);
  if (rows.size() > 2)
    return emitErrorOf(ErrorKind::Input, param.getLoc())
           << "'" << param.getSymName() << "': its inputs lie in another order than in the tensor '"
           << source.getPattern().getValue()
           << "' of the checkpoint; expected the linear's inputs in the order of the checkpoint";
  attn_abi_part part = {};
  part.parameter = parameter;
  part.column = column;
  part.offset = source.getOffset();
  part.kStride = rows.empty() ? 0 : rows.back().stride;
  if (rows.size() > 1)
    part.kInner = rows.back().size, part.kOuterStride = rows.front().stride;
  addColumns(mergeAxes(columns), part, parts);
  return success();
}
