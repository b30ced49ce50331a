// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Room for tensors and for threads to work in, and views of both as memrefs.
#include "compiler/transforms/plan/Buffers.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace attn::planning {

BufferView allocate(FunctionPlan &plan, RankedTensorType type, Operation *last, Type element) {
  int64_t pitch = pitchOf(type);
  SizePolynomial elements = elementsOf(type);
  if (pitch) {
    elements = SizePolynomial(pitch);
    for (int64_t d = 0; d + 1 < type.getRank(); ++d)
      elements = elements * sizeOf(type, d);
  }
  if (!element)
    element = plan.module.stored(type.getElementType());
  SizePolynomial bytes = elements * SizePolynomial(element.getIntOrFloatBitWidth() / 8);
  return BufferView::dense(type, plan.frame.take(bytes, element, last), pitch);
}

BufferView pitchedRows(FunctionPlan &plan, RankedTensorType type, int64_t contract, int64_t pitch,
                       int64_t spareRows, Type element, Operation *last) {
  int64_t lifted = type.getRank() - contract;
  SmallVector<SmallVector<Atom, 2>> axes(type.getRank());
  SizePolynomial stride(1);
  for (int64_t d = type.getRank() - 1; d >= 0; --d) {
    if (d == lifted - 1)
      stride = SizePolynomial(pitch);
    axes[d] = {Atom{sizeOf(type, d), stride}};
    stride = stride * sizeOf(type, d);
  }
  SizePolynomial elements = stride + SizePolynomial(spareRows * pitch);
  SizePolynomial bytes = elements * SizePolynomial(element.getIntOrFloatBitWidth() / 8);
  return BufferView{plan.frame.take(bytes, element, last), 0, std::move(axes)};
}

Value threadRows(FunctionPlan &plan, Operation *op, int64_t columns, int64_t shared, Type element) {
  if (!element)
    element = plan.builder.getF32Type();
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  // What prefetchers take to follow the end of a thread's row is nobody's: some 20 lines.
  constexpr int64_t gap = 11 * panelWidth * 4;
  if (plan.module.placement().threadsHaveRows)
    columns += gap / bytes;
  auto rows = SizePolynomial::dim("#threads") + SizePolynomial(shared);
  Value pointer = plan.frame.take(SizePolynomial(columns * bytes) * rows, element, op);
  return memrefOf(plan, BufferView{pointer, 0, {}}, {Atom{rows, columns}, Atom{columns, 1}});
}

Value pointerTo(FunctionPlan &plan, SlotOp slot, Value layer, Type element) {
  return AddressOp::create(plan.builder, plan.loc, MemRefType::get({}, element),
                           FlatSymbolRefAttr::get(slot.getSymNameAttr()), plan.arguments.packed,
                           layer);
}

BufferView viewOf(FunctionPlan &plan, Value tensor) {
  if (auto known = plan.places.views.find(tensor); known != plan.places.views.end())
    return known->second;
  auto get = tensor.getDefiningOp<GetOp>();
  ParamOp param = plan.module.op.lookupSymbol<ParamOp>(get.getParam());
  Value layer = get.getLayer() ? plan.scalars.lookup(get.getLayer()) : Value();
  Precision precision = plan.module.precisionOfRows(param);
  Type element = plan.builder.getF32Type();
  if (formatOf(precision).isHalf())
    element = plan.module.stored(precision == Precision::F16 ? plan.builder.getF16Type()
                                                             : plan.builder.getBF16Type());
  return BufferView::dense(
      cast<RankedTensorType>(param.getType()),
      pointerTo(plan, plan.module.layout.slot(param, 0, precision), layer, element));
}

Value memrefOf(FunctionPlan &plan, const BufferView &view, ArrayRef<Atom> atoms) {
  plan.frame.use(view.base);
  auto fold = [&](const SizePolynomial &value) -> OpFoldResult {
    if (value.isConstant())
      return plan.builder.getIndexAttr(value.constant());
    return value.emit(plan.builder, plan.loc, [&](StringRef name) { return plan.dim(name); });
  };
  auto constantOr = [](const SizePolynomial &value) {
    return value.isConstant() ? value.constant() : ShapedType::kDynamic;
  };
  SmallVector<OpFoldResult> sizes, strides;
  SmallVector<int64_t> shape, layout;
  for (const Atom &atom : atoms) {
    sizes.push_back(fold(atom.size)), strides.push_back(fold(atom.stride));
    shape.push_back(constantOr(atom.size)), layout.push_back(constantOr(atom.stride));
  }
  auto type = MemRefType::get(
      shape, cast<MemRefType>(view.base.getType()).getElementType(),
      StridedLayoutAttr::get(plan.builder.getContext(), constantOr(view.offset), layout));
  return memref::ReinterpretCastOp::create(plan.builder, plan.loc, type, view.base,
                                           fold(view.offset), sizes, strides);
}

BufferView laidOut(FunctionPlan &plan, Type type, Value pointer) {
  auto tensor = cast<RankedTensorType>(type);
  return BufferView::dense(tensor, pointer, plan.isEntry() ? 0 : pitchOf(tensor));
}

} // namespace attn::planning
