// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops that make up a buffer's address -> the bytes that it consists of.
#include "compiler/transforms/Footprint.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attn;

bool Footprint::operator==(const Footprint &other) const {
  auto isSame = [](const Atom &a, const Atom &b) {
    return a.size == b.size && a.stride == b.stride;
  };
  return root == other.root && shift == other.shift && offset == other.offset &&
         element == other.element && atoms.size() == other.atoms.size() &&
         llvm::all_of(llvm::zip(atoms, other.atoms),
                      [&](auto pair) { return isSame(std::get<0>(pair), std::get<1>(pair)); });
}

Footprint Footprints::of(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  Footprint result;
  result.element = type.getElementType().getIntOrFloatBitWidth() / 8;
  SizePolynomial bytes(result.element);
  Value pointer = buffer;
  if (auto cast = buffer.getDefiningOp<memref::ReinterpretCastOp>()) {
    pointer = cast.getSource();
    result.offset = sizeOf(cast.getMixedOffsets().front()) * bytes;
    for (auto [size, stride] : llvm::zip(cast.getMixedSizes(), cast.getMixedStrides()))
      result.atoms.push_back({sizeOf(size), sizeOf(stride) * bytes});
  }
  result.root = pointer;
  if (auto view = pointer.getDefiningOp<memref::ViewOp>()) {
    auto whole = view.getSource().getDefiningOp<memref::ReinterpretCastOp>();
    result.root = whole ? whole.getSource() : view.getSource();
    result.shift = sizeOf(view.getByteShift());
  }
  return result;
}

SizePolynomial Footprints::sizeOf(OpFoldResult size) {
  if (auto value = dyn_cast<Value>(size))
    return sizeOf(value);
  return SizePolynomial(cast<IntegerAttr>(cast<Attribute>(size)).getInt());
}

SizePolynomial Footprints::sizeOf(Value value) {
  if (auto size = known.find(value); size != known.end())
    return size->second;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return SizePolynomial(constant.getSExtValue());
  if (auto sum = value.getDefiningOp<arith::AddIOp>())
    return sizeOf(sum.getLhs()) + sizeOf(sum.getRhs());
  if (auto difference = value.getDefiningOp<arith::SubIOp>())
    return sizeOf(difference.getLhs()) - sizeOf(difference.getRhs());
  if (auto product = value.getDefiningOp<arith::MulIOp>())
    return sizeOf(product.getLhs()) * sizeOf(product.getRhs());
  auto [number, isNew] = numbers.try_emplace(value, numbers.size());
  return SizePolynomial::dim("value " + std::to_string(number->second));
}

/// The bytes from the first to the last that a footprint takes of each `pitch`, if its other atoms
/// go from pitch to pitch.
static SizePolynomial extentOf(const Footprint &footprint,
                               const std::optional<SizePolynomial> &pitch) {
  SizePolynomial extent(footprint.element);
  for (const Atom &atom : footprint.atoms)
    if (!pitch || !(atom.stride.remainder(*pitch) == SizePolynomial(0)))
      extent = extent + (atom.size - SizePolynomial(1)) * atom.stride;
  return extent;
}

bool attn::areDisjoint(const Footprint &a, const Footprint &b) {
  SmallVector<std::optional<SizePolynomial>> pitches{std::nullopt};
  for (const Footprint *footprint : {&a, &b})
    for (const Atom &atom : footprint->atoms)
      if (!(atom.stride == SizePolynomial(0)))
        pitches.push_back(atom.stride);
  for (const auto &pitch : pitches) {
    SizePolynomial extentA = extentOf(a, pitch), extentB = extentOf(b, pitch);
    auto isBehind = [&](const SizePolynomial &distance, const SizePolynomial &first,
                        const SizePolynomial &second) {
      return (distance - first).isNeverNegative() &&
             (!pitch || (*pitch - distance - second).isNeverNegative());
    };
    SizePolynomial distance = b.offset - a.offset;
    if (pitch)
      distance = distance.remainder(*pitch);
    if (isBehind(distance, extentA, extentB) ||
        isBehind(SizePolynomial(0) - distance, extentB, extentA))
      return true;
  }
  return false;
}
