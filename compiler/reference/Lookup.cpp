// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.lookup, attn.pick, attn.table: rows and elements by index, constants.
#include "compiler/reference/Scope.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace attn;
using namespace attn::reference;

llvm::Expected<Tensor> attn::reference::evaluate(LookupOp op, const Scope &scope) {
  const Tensor &table = scope.tensor(op.getTable()), &indices = scope.tensor(op.getIndices());
  int64_t rows = table.shape.front(), columns = countOf(ArrayRef(table.shape).drop_front());
  SmallVector<int64_t> shape(indices.shape);
  shape.append(table.shape.begin() + 1, table.shape.end());
  Tensor y = zeros(shape);
  for (auto [i, index] : llvm::enumerate(indices.data)) {
    if (index < 0 || index >= static_cast<double>(rows))
      return errorAt(op, "expected an index from 0 to " + Twine(rows - 1) + ", but got " +
                             Twine(static_cast<int64_t>(index)));
    std::copy_n(&table.data[static_cast<int64_t>(index) * columns], columns,
                &y.data[static_cast<int64_t>(i) * columns]);
  }
  return y;
}

llvm::Expected<Tensor> attn::reference::evaluate(PickOp op, const Scope &scope) {
  const Tensor &x = scope.tensor(op.getInput()), &indices = scope.tensor(op.getIndices());
  RankedTensorType type = op.getResult().getType();
  int64_t axis = op.getAxis(), rows = x.shape[axis];
  SmallVector<int64_t> shape(ArrayRef(x.shape).take_front(axis));
  for (int64_t i : op.newAxes())
    shape.push_back(indices.shape[i]);
  llvm::append_range(shape, ArrayRef(x.shape).drop_front(axis + 1));
  SmallVector<int64_t> xStrides = stridesAlong(type, op.getInput().getType(), x),
                       indexStrides = stridesAlong(type, op.getIndices().getType(), indices);
  int64_t step = denseStrides(x.shape)[axis];
  for (size_t i = 0; i < op.newAxes().size(); ++i)
    xStrides[axis + i] = 0; // one of them may be called like the picked axis
  Tensor y = zeros(shape);
  double *element = y.data.data();
  double beyond = 0;
  forEachIndex(shape, [&](ArrayRef<int64_t> at) {
    double index = indices.data[offsetAt(at, indexStrides)];
    bool isInside = index >= 0 && index < static_cast<double>(rows);
    beyond = isInside ? beyond : index;
    int64_t start = isInside ? static_cast<int64_t>(index) * step : 0;
    *element++ = x.data[offsetAt(at, xStrides) + start];
  });
  if (beyond != 0)
    return errorAt(op, "expected an index from 0 to " + Twine(rows - 1) + ", but got " +
                           Twine(static_cast<int64_t>(beyond)));
  return y;
}

llvm::Expected<Tensor> attn::reference::evaluate(TableOp op, const Scope &scope) {
  auto shape = shapeFromNames(op, op.getResult().getType(), {}, scope);
  if (!shape)
    return shape.takeError();
  Tensor y = zeros(*shape);
  if (auto angles = dyn_cast<AnglesAttr>(op.getElements())) {
    double *element = y.data.data();
    forEachIndex(*shape, [&](ArrayRef<int64_t> at) { *element++ = angles.at(at[0], at[1]); });
    return y;
  }
  auto elements = cast<DenseElementsAttr>(op.getElements());
  Tensor all = zeros(elements.getType().getShape());
  if (isa<FloatType>(elements.getElementType()))
    llvm::transform(elements.getValues<APFloat>(), all.data.begin(),
                    [](const APFloat &value) { return value.convertToDouble(); });
  else
    llvm::transform(elements.getValues<APInt>(), all.data.begin(),
                    [](const APInt &value) { return static_cast<double>(value.getSExtValue()); });
  copyStrided(*shape, all.data.data(), denseStrides(all.shape), y.data.data(),
              denseStrides(*shape));
  return y;
}
