// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps that follow each other run without a barrier between them, where each thread reads nothing
// but what it has written itself:
//
//   map_kernel (%gates, %c) into %new     threads share the rows of both in the same way:
//   map_kernel (%gates, %new) into %h     thread t needs of %new what thread t has written
//
// The steps of a recurrence are so short that a barrier takes a good part of one.
#include "compiler/transforms/Footprint.h"
#include "compiler/transforms/Passes.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace attn {
#define GEN_PASS_DEF_MERGEBARRIERSPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// The map that comes next, before anything else that touches memory; null where there is none.
static MapKernelOp mapAfter(BarrierOp barrier) {
  Operation *op = barrier->getNextNode();
  while (op && isMemoryEffectFree(op) && !op->hasTrait<OpTrait::IsTerminator>())
    op = op->getNextNode();
  return dyn_cast_if_present<MapKernelOp>(op);
}

/// The maps in front of a barrier with no other barrier among them, the last one first; none where
/// another kernel is among them.
static SmallVector<MapKernelOp> mapsBefore(BarrierOp barrier) {
  SmallVector<MapKernelOp> maps;
  for (Operation *op = barrier->getPrevNode(); op && !isa<BarrierOp>(op); op = op->getPrevNode()) {
    if (auto map = dyn_cast<MapKernelOp>(op))
      maps.push_back(map);
    else if (!isMemoryEffectFree(op))
      return {};
  }
  return maps;
}

/// Whether threads divide the rows and columns of two buffers in the same way.
static bool areDividedAlike(Value a, Value b, Footprints &footprints) {
  Footprint first = footprints.of(a), second = footprints.of(b);
  return cast<MemRefType>(a.getType()).getShape() == cast<MemRefType>(b.getType()).getShape() &&
         first.atoms.size() == second.atoms.size() &&
         llvm::all_of(llvm::zip(first.atoms, second.atoms),
                      [](auto pair) { return std::get<0>(pair).size == std::get<1>(pair).size; });
}

/// Whether `later` may begin in one thread while `earlier` goes on in others.
static bool mayFollow(MapKernelOp earlier, MapKernelOp later, Footprints &footprints) {
  if (!areDividedAlike(earlier.getOut(), later.getOut(), footprints))
    return false;
  auto isApartOrSame = [&](const Footprint &written, Value other) {
    Footprint own = footprints.of(other);
    return own.isElsewhere(written) || areDisjoint(written, own) || own == written;
  };
  Footprint first = footprints.of(earlier.getOut()), second = footprints.of(later.getOut());
  return llvm::all_of(later.getInputs(),
                      [&](Value input) { return isApartOrSame(first, input); }) &&
         llvm::all_of(earlier.getInputs(),
                      [&](Value input) { return isApartOrSame(second, input); }) &&
         isApartOrSame(first, later.getOut());
}

namespace {

struct MergeBarriersPass : attn::impl::MergeBarriersPassBase<MergeBarriersPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<BarrierOp> barriers;
    getOperation().walk([&](BarrierOp barrier) { barriers.push_back(barrier); });
    Footprints footprints;
    for (BarrierOp barrier : barriers) {
      SmallVector<MapKernelOp> earlier = mapsBefore(barrier);
      MapKernelOp later = earlier.empty() ? MapKernelOp() : mapAfter(barrier);
      auto last = later ? dyn_cast_if_present<BarrierOp>(later->getNextNode()) : BarrierOp();
      auto follows = [&](MapKernelOp map) { return mayFollow(map, later, footprints); };
      if (!last || !llvm::all_of(earlier, follows))
        continue;
      addCost(symbols, barrier, last);
      barrier.erase();
    }
  }

  /// What is measured at the last barrier is of both kernels.
  static void addCost(SymbolTable &symbols, BarrierOp dropped, BarrierOp kept) {
    if (!dropped.getCostAttr() || !kept.getCostAttr())
      return;
    auto first = symbols.lookup<CostOp>(*dropped.getCost()),
         both = symbols.lookup<CostOp>(*kept.getCost());
    auto sum = [&](ArrayAttr a, ArrayAttr b) {
      SmallVector<Attribute> terms(a.getValue());
      llvm::append_range(terms, b.getValue());
      return ArrayAttr::get(a.getContext(), terms);
    };
    both.setTitle((first.getTitle() + "; " + both.getTitle()).str());
    both.setFlopAttr(sum(first.getFlop(), both.getFlop()));
    both.setBytesAttr(sum(first.getBytes(), both.getBytes()));
    symbols.erase(first);
  }
};

} // namespace
