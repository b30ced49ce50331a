// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The end of the memory stage: no tensor is left, and no kernel writes what it reads. Threads run a
// kernel's parts in any order, so a buffer that is written may hold what is read only where each
// element is read at its own place, just before it is written there:
//
//   map_kernel (%a, %b) into %a          the same bytes, in the same order: allowed
//   map_kernel (%a transposed) into %a   refused
//
// Buffers at different places of the workspace, and what functions are given, are different memory.
// Windows of one buffer, such as the parts of a concat, have to be shown not to overlap.
#include "compiler/transforms/BufferView.h"
#include "compiler/transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace attn {
#define GEN_PASS_DEF_CHECKMEMORYPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// The bytes that a buffer consists of: those of each element, `atoms` apart, from `offset` on in
/// the memory of `root`.
struct Footprint {
  Value root;
  SizePolynomial shift; ///< Of the pointer in that memory, where the planner has put it.
  SizePolynomial offset;
  SmallVector<Atom> atoms; ///< in bytes
  int64_t element = 1;

  bool operator==(const Footprint &other) const {
    auto isSame = [](const Atom &a, const Atom &b) {
      return a.size == b.size && a.stride == b.stride;
    };
    return root == other.root && shift == other.shift && offset == other.offset &&
           element == other.element && atoms.size() == other.atoms.size() &&
           llvm::all_of(llvm::zip(atoms, other.atoms),
                        [&](auto pair) { return isSame(std::get<0>(pair), std::get<1>(pair)); });
  }
};

/// Reads footprints from the ops that make up a buffer's address.
class Footprints {
public:
  Footprint of(Value buffer) {
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

private:
  SizePolynomial sizeOf(OpFoldResult size) {
    if (auto value = dyn_cast<Value>(size))
      return sizeOf(value);
    return SizePolynomial(cast<IntegerAttr>(cast<Attribute>(size)).getInt());
  }

  SizePolynomial sizeOf(Value value) {
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

  DenseMap<Value, size_t> numbers; ///< Of what is no sum or product.
};

/// The bytes from the first to the last that a footprint takes of each `pitch`, if its other atoms
/// go from pitch to pitch.
SizePolynomial extentOf(const Footprint &footprint, const std::optional<SizePolynomial> &pitch) {
  SizePolynomial extent(footprint.element);
  for (const Atom &atom : footprint.atoms)
    if (!pitch || !(atom.stride.remainder(*pitch) == SizePolynomial(0)))
      extent = extent + (atom.size - SizePolynomial(1)) * atom.stride;
  return extent;
}

/// Whether two footprints in one memory have no byte in common: one lies behind the other, or
/// beside it in each of the rows that are `pitch` bytes apart. False where that is not seen.
bool areDisjoint(const Footprint &a, const Footprint &b) {
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

/// Whether each element of `read` is needed for nothing but the element of `written` at its place.
bool isReadAtItsPlace(Operation *op, OpOperand &read) {
  if (isa<MapKernelOp>(op))
    return true;
  auto linear = dyn_cast<LinearKernelOp>(op);
  return linear && linear.getInPlace() && llvm::is_contained(linear.getCaptures(), read.get());
}

struct CheckMemoryPass : attn::impl::CheckMemoryPassBase<CheckMemoryPass> {
  LogicalResult checkOverlaps(Operation *op) {
    auto effects = dyn_cast<MemoryEffectOpInterface>(op);
    if (!effects)
      return success();
    Footprints footprints;
    SmallVector<MemoryEffects::EffectInstance> all;
    effects.getEffects(all);
    for (MemoryEffects::EffectInstance &effect : all) {
      auto *written = effect.getEffectValue<OpOperand *>();
      if (!written || !isa<MemoryEffects::Write>(effect.getEffect()))
        continue;
      Footprint place = footprints.of(written->get());
      for (OpOperand &other : op->getOpOperands()) {
        if (&other == written || !isa<MemRefType>(other.get().getType()))
          continue;
        Footprint own = footprints.of(other.get());
        bool isElsewhere = own.root != place.root || !(own.shift == place.shift);
        if (isElsewhere || areDisjoint(place, own) || (own == place && isReadAtItsPlace(op, other)))
          continue;
        return op->emitError("memory stage: operand ")
               << written->getOperandNumber() << " is written where operand "
               << other.getOperandNumber() << " is read";
      }
    }
    return success();
  }

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      auto result = function.walk([&](Operation *op) {
        for (Type type : op->getResultTypes()) // vectors inside a score have no place
          if (isa<TensorType>(type) && !isa<arith::ConstantOp>(op) &&
              !op->getParentOfType<AttentionKernelOp>()) {
            op->emitError("memory stage: a tensor is left that has no place");
            return WalkResult::interrupt();
          }
        return WalkResult(checkOverlaps(op));
      });
      if (result.wasInterrupted())
        return signalPassFailure();
    }
  }
};

} // namespace
