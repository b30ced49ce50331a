// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A LinearShape and measured choices to the sizes of blocks, parts and groups, by the caches of
// TargetModel.h.
#include "compiler/cpu/linear/LinearTiling.h"
#include "compiler/kernels/KernelRemarks.h"
#include "compiler/transforms/TargetModel.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

/// Registers of a block that hold no sums: a step's vectors of weights, and an element of the rows.
static constexpr int64_t blockVectors = 3, otherRegisters = blockVectors + 1;

/// The most rows of a group.
static constexpr int64_t groupRows = TargetModel::tokens;
static constexpr int64_t panelBytes = TargetModel::floatBytes * panelWidth;

/// Steps of a part, at most, for rows of `rowBytes` a step. The group's rows, the part of a panel
/// and the next one stay in the second-level cache, beside a panel's columns of what is written and
/// what an epilogue reads. `rows`: those of the group.
static constexpr int64_t partSteps(int64_t rowBytes, int64_t rows = groupRows) {
  constexpr int64_t bytes = TargetModel::l2Bytes - 2 * groupRows * panelBytes;
  int64_t steps = bytes / (TargetModel::floatBytes * rows + 2 * panelBytes) / 32 * 32;
  return steps * TargetModel::floatBytes / rowBytes;
}
static_assert(partSteps(4) == TargetModel::partDepth);

LinearTiling LinearTiling::of(const LinearShape &shape, const CpuTarget &target,
                              const KernelChoice &choice, std::optional<int64_t> rowCount) {
  LinearTiling tiling;
  int64_t lanes = target.lanes, all = llvm::alignTo(shape.n, lanes);
  tiling.columns = std::min<int64_t>(all, blockVectors * lanes);
  // A power of two, for any number of rows is made up of blocks of such.
  tiling.rows =
      choice.get(Knob::Rows)
          .value_or(TargetModel::powerBelow((target.registers - otherRegisters) / blockVectors));
  // With 16 registers, patches of pictures lose nothing by more steps.
  bool areShortLoops = shape.ks.size() > 1 && !target.hasManyRegisters();
  // Two steps make one of squares.
  bool areSquares =
      !target.squareBytes.empty() && !shape.isWidened && shape.precision != Precision::F32;
  int64_t unroll = areShortLoops ? 8 : areSquares ? 2 : shape.unroll();
  tiling.unroll = choice.get(Knob::Unroll).value_or(unroll);
  tiling.unroll = std::min(tiling.unroll, shape.steps(shape.ks.size() - 1));
  if (shape.format().hasGroups() && !shape.isOfBytes)
    tiling.unroll = scaleGroup / shape.group();
  if (shape.format().hasGroups() && !shape.becomesBytes()) {
    // Sums of those that share a scale are kept, too, of all vectors or of one (scaledSteps).
    bool isOfOneVector = shape.format().isOfHalfBytes() && !target.takesWords();
    tiling.rows = isOfOneVector && !choice.get(Knob::Rows)
                      ? (target.registers - otherRegisters) / (blockVectors + 1)
                      : std::max<int64_t>(tiling.rows / 2, 1);
  }
  // Two floats, or eight bytes.
  int64_t rowBytes = shape.isWidened || shape.format().isOfHalfBytes() ? 8 : 4;
  // Few rows leave more of the cache to panels, and few blocks hide less of the time that the next
  // part of one takes from memory. Widened panels have no more room than the plan gives them.
  bool haveMoreRoom = rowCount && shape.precision == Precision::F32;
  int64_t rows = haveMoreRoom ? std::clamp<int64_t>(*rowCount, 1, groupRows) : groupRows;
  // A single block goes once through each panel: there is nothing to keep in a cache.
  bool isOneBlock = rowCount && llvm::divideCeil(*rowCount, tiling.rows) == 1;
  tiling.depth = isOneBlock || !shape.keepsSums
                     ? shape.steps(0)
                     : shape.depth(choice.get(Knob::Steps).value_or(partSteps(rowBytes, rows)),
                                   shape.isOfBytes ? scaleGroup / shape.group() : tiling.unroll);
  tiling.groupBlocks =
      std::max<int64_t>(choice.get(Knob::Group).value_or(groupRows) / tiling.rows, 1);
  return tiling;
}

bool LinearTiling::isSameFor(const LinearTiling &other, int64_t rowCount) const {
  auto sizes = [&](const LinearTiling &tiling) {
    int64_t blocks = llvm::divideCeil(rowCount, tiling.rows),
            groups = llvm::divideCeil(blocks, tiling.groupBlocks);
    return std::tuple(blocks, groups, tiling.depth, tiling.unroll);
  };
  return sizes(*this) == sizes(other);
}

std::string attn::linearName(LinearKernelOp op, const LinearShape &shape) {
  std::string contracted =
      llvm::join(llvm::map_range(shape.ks, [](int64_t size) { return std::to_string(size); }), "*");
  return llvm::formatv("linear {0}, {1} of {2} -> {3}", stringifyPrecision(shape.precision),
                       rowsText(op.getOut()), contracted, shape.n);
}
