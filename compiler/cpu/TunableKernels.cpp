// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the memory stage to the values of knobs that make other code of them.
#include "compiler/cpu/TunableKernels.h"
#include "compiler/cpu/attention/Attention.h"
#include "compiler/cpu/linear/Linear.h"
#include "compiler/kernels/KernelRemarks.h"
#include "compiler/kernels/Loops.h"
#include "compiler/kernels/ScoreFunction.h"
#include "compiler/transforms/FewQueries.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace attn;

/// All of a dim.
static constexpr int64_t whole = int64_t(1) << 20;

ArrayRef<Knob> TunableKernel::knobs() const {
  static constexpr Knob ofLinear[] = {Knob::Steps, Knob::Rows, Knob::Group, Knob::Unroll};
  static constexpr Knob ofAttention[] = {Knob::Keys, Knob::Blocks, Knob::Lowering};
  return linear ? ArrayRef(ofLinear) : ArrayRef(ofAttention);
}

/// What is tried of a knob.
static SmallVector<int64_t> valuesOf(Knob knob, const CpuTarget &target) {
  KnobRange range = rangeOf(knob, target.name);
  switch (knob) {
  case Knob::Rows:
    return {range.most, range.most * 2 / 3, range.most / 2};
  case Knob::Steps:
    return {400, 1600, whole};
  case Knob::Group:
    return {96, 400, whole};
  case Knob::Unroll:
    return {1, 2, 8};
  case Knob::Keys:
    return {32, 64, 96, 128, 256};
  case Knob::Blocks:
    return {2, 4, 16};
  case Knob::Lowering:
    return {0, 1, 2};
  }
  return {};
}

SmallVector<int64_t> TunableKernel::alternatives(Knob knob, const KernelChoice &current) const {
  SmallVector<int64_t> values;
  auto collect = [&](auto tilingOf, auto isSame) {
    SmallVector<decltype(tilingOf(current))> known{tilingOf(current)};
    for (int64_t value : valuesOf(knob, target)) {
      KernelChoice choice = current;
      choice[knob] = value;
      auto tiling = tilingOf(choice);
      if (!rangeOf(knob, target.name).holds(value) ||
          llvm::any_of(known, [&](auto &other) { return isSame(tiling, other); }))
        continue;
      known.push_back(tiling);
      values.push_back(value);
    }
  };
  if (linear)
    collect(
        [&](const KernelChoice &choice) {
          return LinearTiling::of(*linear, target, choice,
                                  hasRows ? std::optional(rows) : std::nullopt);
        },
        [&](const LinearTiling &a, const LinearTiling &b) { return a.isSameFor(b, rows); });
  else
    collect(
        [&](const KernelChoice &choice) {
          return AttentionShape::of(*attention, std::nullopt, choice);
        },
        [&](const AttentionShape &a, const AttentionShape &b) {
          return a.lowering == b.lowering && a.blocks == b.blocks && a.tile == b.tile;
        });
  return values;
}

//===-- finding them ------------------------------------------------------------------------===//

/// The number that an index stands for in a function of the `memory` stage, whose arguments from
/// the sixth on are the dynamic dims.
static int64_t evaluate(Value size, ArrayRef<int64_t> dims) {
  if (auto constant = constantIndex(size))
    return *constant;
  if (auto product = size.getDefiningOp<arith::MulIOp>())
    return evaluate(product.getLhs(), dims) * evaluate(product.getRhs(), dims);
  if (auto sum = size.getDefiningOp<arith::AddIOp>())
    return evaluate(sum.getLhs(), dims) + evaluate(sum.getRhs(), dims);
  constexpr unsigned firstDim = 5;
  auto argument = dyn_cast<BlockArgument>(size);
  bool isDim = argument && isa<func::FuncOp>(argument.getOwner()->getParentOp()) &&
               argument.getArgNumber() >= firstDim &&
               argument.getArgNumber() < firstDim + dims.size();
  return isDim ? dims[argument.getArgNumber() - firstDim] : 1;
}

/// The size of a dim, as it will be measured.
static int64_t sizeOf(Value buffer, int64_t d, ArrayRef<int64_t> dims) {
  auto type = cast<MemRefType>(buffer.getType());
  if (!type.isDynamicDim(d))
    return type.getDimSize(d);
  auto view = buffer.getDefiningOp<memref::ReinterpretCastOp>();
  return view ? evaluate(view.getDynamicSize(d), dims) : 1;
}

/// The rows of a buffer, and whether there are always so many.
static std::pair<int64_t, bool> rowsOf(Value buffer, ArrayRef<int64_t> dims) {
  auto type = cast<MemRefType>(buffer.getType());
  int64_t rows = 1;
  bool isExact = true;
  for (int64_t d = 0; d + 1 < type.getRank(); ++d) {
    rows *= sizeOf(buffer, d, dims);
    isExact &= !type.isDynamicDim(d);
  }
  return {rows, isExact};
}

/// Without a name where there is nothing to choose.
static TunableKernel describe(Operation *op, const CpuTarget &target, ArrayRef<int64_t> dims) {
  TunableKernel kernel;
  kernel.target = target;
  if (auto linear = dyn_cast<LinearKernelOp>(op)) {
    auto shape = LinearShape::of(linear, !target.dotPairs.empty(), target.panelWidth);
    std::tie(kernel.rows, kernel.hasRows) = rowsOf(linear.getOut(), dims);
    if (failed(shape) || usesTileRegisters(linear, *shape, target))
      return kernel;
    // A size at which there is one block says nothing of others.
    if (!kernel.hasRows && kernel.rows <= rangeOf(Knob::Rows, target.name).most)
      return kernel;
    kernel.linear = *shape;
    kernel.name = linearName(linear, *shape);
  }
  if (auto attention = dyn_cast<AttentionKernelOp>(op)) {
    auto type = cast<MemRefType>(attention.getOut().getType());
    auto rows = static_cast<int64_t>(attention.getBatch());
    if (areFewQueries(attention, type.getDimSize(rows)))
      return kernel;
    // As for rows: a block of queries or a tile of keys, where there may be many.
    bool isSmall = sizeOf(attention.getOut(), rows, dims) <= AttentionShape::queries ||
                   sizeOf(attention.getKey(), rows, dims) <= AttentionShape::tileKeys;
    auto keys = cast<MemRefType>(attention.getKey().getType());
    if (isSmall && (type.isDynamicDim(rows) || keys.isDynamicDim(rows)))
      return kernel;
    if (failed(ScoreFunction::of(op, attention.getScore())))
      return kernel;
    kernel.attention = AttentionProblem::on(target, attention);
    kernel.name = kernel.attention->name();
  }
  return kernel;
}

std::vector<TunableKernel> attn::tunableKernels(ModuleOp memory, const CpuTarget &target,
                                                ArrayRef<int64_t> dims) {
  llvm::StringMap<int32_t> numbers;
  for (CostOp cost : memory.getOps<CostOp>())
    numbers.try_emplace(cost.getSymName(), static_cast<int32_t>(numbers.size()));
  std::vector<TunableKernel> kernels;
  memory.walk([&](Operation *op) {
    TunableKernel kernel = describe(op, target, dims);
    if (kernel.name.empty())
      return;
    auto barrier = dyn_cast_if_present<BarrierOp>(op->getNextNode());
    if (!barrier || !barrier.getCost())
      return;
    int32_t number = numbers.lookup(*barrier.getCost());
    auto known = llvm::find_if(
        kernels, [&](const TunableKernel &other) { return other.name == kernel.name; });
    if (known == kernels.end())
      known = kernels.insert(kernels.end(), std::move(kernel));
    known->numbers.push_back(number);
  });
  return kernels;
}
