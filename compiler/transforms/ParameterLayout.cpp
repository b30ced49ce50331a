// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slots of the packed block.
#include "compiler/transforms/ParameterLayout.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace attn;

SlotOp ParameterLayout::slot(ArrayRef<ParamOp> params, int64_t k, Precision precision) {
  SmallVector<Attribute> refs;
  int64_t columns = 0;
  std::string name = k ? "panels" : "rows";
  if (!k && precision != Precision::F32)
    name += ("." + stringifyPrecision(precision)).str();
  for (ParamOp param : params) {
    auto type = cast<RankedTensorType>(param.getType());
    refs.push_back(FlatSymbolRefAttr::get(param.getSymNameAttr()));
    columns += type.getNumElements() / std::max<int64_t>(k, 1);
    name += ("." + param.getSymName()).str();
  }
  if (auto known = symbols.lookup<SlotOp>(name))
    return known;
  ParamOp first = params.front();
  OpBuilder builder(module.getBodyRegion());
  builder.setInsertionPointAfter(first);
  int64_t width = k ? panelWidth : 0;
  int64_t rows = std::max<int64_t>(k, 1);
  const WeightFormat &format = formatOf(precision);
  int64_t bytes = width ? PanelPlaces(format, rows, paddedColumns(columns, width)).end
                        : format.bits / 8 * rows * columns;
  return add(SlotOp::create(builder, first.getLoc(), name, builder.getArrayAttr(refs), AnglesAttr(),
                            rows, columns, width, precision, bytes, first.getLayers().value_or(1),
                            0, 0));
}

SlotOp ParameterLayout::slot(AnglesAttr angles, Location loc) {
  SlotOp &slot = tables[angles];
  if (slot)
    return slot;
  OpBuilder builder(module.getBodyRegion());
  std::string name = ("table." + stringifyAngleFunction(angles.getFunction())).str();
  int64_t positions = angles.positions(), pairs = angles.getFrequencies().size();
  return slot = add(SlotOp::create(builder, loc, name, builder.getArrayAttr({}), angles, positions,
                                   pairs, /*width=*/0, Precision::F32, 4 * positions * pairs,
                                   /*layers=*/1, 0, 0));
}

SlotOp ParameterLayout::add(SlotOp slot) {
  symbols.insert(slot);
  slots.push_back(slot);
  return slot;
}

void ParameterLayout::place() {
  // Slots of one stack depth stand together: [layer 0: its slots][layer 1: ...].
  llvm::MapVector<int64_t, SmallVector<SlotOp>> groups;
  for (SlotOp slot : slots)
    groups[slot.getLayers()].push_back(slot);
  int64_t offset = 0;
  for (auto &[layers, group] : groups) {
    int64_t stride = 0;
    for (SlotOp slot : group) {
      slot.setOffset(offset + stride);
      stride += llvm::alignTo(slot.getBytes(), 64);
    }
    for (SlotOp slot : group)
      slot.setLayerStride(layers > 1 ? stride : 0);
    offset += stride * layers;
  }
}
