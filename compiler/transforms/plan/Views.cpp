// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fused -> memory, what is no kernel: views of tensors and of constants, and concats, whose parts
// are computed in place or copied.
#include "compiler/transforms/plan/Buffers.h"
#include "compiler/transforms/plan/Operands.h"
#include "compiler/transforms/plan/Ops.h"
#include "compiler/transforms/plan/Places.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace attn::planning {

/// The last elements of a dynamic axis.
static BufferView endOf(const BufferView &view, SliceOp slice) {
  int64_t axis = slice.getAxis();
  SizePolynomial all = sizeOf(typeOf(slice.getInput()), axis),
                 size = slice.getDrop() ? 1 : sizeOf(typeOf(slice.getResult()), axis);
  BufferView end = view.window(axis, all - size, size);
  if (slice.getDrop())
    end.axes.erase(end.axes.begin() + axis);
  return end;
}

/// Whether cutting or splitting this axis needs it to be one run of memory, which it is not.
static bool isScattered(ArrayRef<Atom> axis) { return collapse(axis).size() > 1; }

LogicalResult emitView(FunctionPlan &plan, Operation *op) {
  Value input = op->getOperand(0), result = op->getResult(0);
  BufferView view = viewOf(plan, input);
  bool scattered = false;
  if (auto slice = dyn_cast<SliceOp>(op)) {
    scattered = isScattered(view.axes[slice.getAxis()]);
  } else if (auto rearrange = dyn_cast<RearrangeOp>(op)) {
    for (auto [d, count] : llvm::enumerate(rearrange.getSplit()))
      scattered |= count > 1 && isScattered(view.axes[d]);
  } else if (auto windows = dyn_cast<WindowsOp>(op)) {
    for (int64_t axis : windows.getAxes())
      scattered |= isScattered(view.axes[axis]);
  }
  if (scattered) {
    // Whatever else cuts the same tensor reads the same copy.
    bool isShared = input.getParentBlock() == op->getBlock();
    BufferView whole =
        allocate(plan, typeOf(input),
                 lastUse(plan.places, isShared ? input : result, op->getBlock()), view.element());
    if (failed(copy(plan, op, view, whole)))
      return failure();
    if (isShared)
      plan.places.views[input] = whole;
    view = whole;
  }
  plan.places.views[result] =
      llvm::TypeSwitch<Operation *, BufferView>(op)
          .Case([&](RelabelOp) { return view; })
          .Case([&](SliceOp slice) {
            int64_t axis = slice.getAxis();
            if (slice.getEnd())
              return endOf(view, slice);
            if (!slice.getDrop() && typeOf(result).isDynamicDim(axis))
              return view.window(axis, slice.getOffset(), sizeOf(typeOf(result), axis));
            int64_t size = slice.getDrop() ? 1 : typeOf(result).getDimSize(axis);
            return view.slice(axis, slice.getOffset(), size, slice.getDrop());
          })
          .Case([&](WindowsOp windows) { return view.windows(windows); })
          .Case([&](RearrangeOp rearrange) { return view.rearrange(rearrange); });
  return success();
}

/// A pointer to constants of the code's own.
static Value pointerTo(FunctionPlan &plan, DenseElementsAttr elements, Location loc) {
  memref::GlobalOp global = plan.module.constants(elements, loc);
  Value whole =
      memref::GetGlobalOp::create(plan.builder, loc, global.getType(), global.getSymName());
  return memref::ReinterpretCastOp::create(plan.builder, loc,
                                           MemRefType::get({}, elements.getElementType()), whole,
                                           OpFoldResult(plan.builder.getIndexAttr(0)),
                                           ArrayRef<OpFoldResult>(), ArrayRef<OpFoldResult>());
}

/// A view of constants, in which dynamic axes are shorter than the elements go.
LogicalResult emit(FunctionPlan &plan, TableOp op) {
  Value pointer;
  if (auto angles = dyn_cast<AnglesAttr>(op.getElements()))
    pointer = pointerTo(plan, plan.module.layout.slot(angles, op.getLoc()), Value(),
                        plan.builder.getF32Type());
  else if (auto elements = dyn_cast<DenseElementsAttr>(op.getElements()))
    pointer = pointerTo(plan, elements, op.getLoc());
  else
    return op.emitError("memory stage: expected dense elements");
  ShapedType elements = TableOp::typeOfElements(op.getElements());
  RankedTensorType type = typeOf(op.getResult());
  BufferView view{pointer, 0, {}};
  SizePolynomial stride(1);
  view.axes.resize(type.getRank());
  for (int64_t d = type.getRank() - 1; d >= 0; --d) {
    view.axes[d] = {Atom{sizeOf(type, d), stride}};
    stride = stride * SizePolynomial(elements.getDimSize(d));
  }
  plan.places.views[op.getResult()] = view;
  return success();
}

LogicalResult emit(FunctionPlan &plan, ConcatOp op) {
  auto known = plan.places.views.find(op.getResult());
  BufferView whole =
      known != plan.places.views.end() ? known->second : outputOf(plan, op.getResult());
  auto result = typeOf(op.getResult());
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    int64_t along = op.getAlong()[i];
    auto placed = plan.places.partOf.find(withoutRelabels(input));
    if (placed == plan.places.partOf.end() || placed->second.first != op) { // not computed in place
      // The axis has one name, which says its size, in the part and in its place.
      SmallVector<StringAttr> names(axesOf(input.getType())), places(axesOf(result));
      StringRef size = names[along].getValue().rsplit(':').second;
      names[along] = places[op.getAxis()] =
          plan.builder.getStringAttr("concat:" + (size.empty() ? names[along].getValue() : size));
      SmallVector<int64_t> shape(result.getShape());
      shape[op.getAxis()] = typeOf(input).getDimSize(along);
      Type from = axesTensor(result.getElementType(), typeOf(input).getShape(), names);
      Type to = axesTensor(result.getElementType(), shape, places);
      if (failed(
              copy(plan, op, broadcast(viewOf(plan, input), from, to), partOfConcat(op, i, whole))))
        return failure();
    }
  }
  return success();
}

} // namespace attn::planning
