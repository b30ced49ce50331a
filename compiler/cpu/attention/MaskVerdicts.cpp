// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mask to how many of its tiles are empty, full or tested, where positions are known when
// compiling.
#include "compiler/cpu/attention/MaskVerdicts.h"
#include "dialect/Attributes.h"

#include "compiler/kernels/AssumedSizes.h"
#include "compiler/kernels/KernelFacts.h"
#include "compiler/kernels/KernelRemarks.h"
#include "compiler/transforms/MaskIntervals.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace attn;

namespace {

struct TileCounts {
  int64_t empty = 0, full = 0, tested = 0;
  int64_t pairs = 0; ///< of tiles that are not empty
};

} // namespace

/// A copy of the mask in which sizes that are assumed are numbers.
static void takeMask(AttentionKernelOp op, Block &constants, Region &mask) {
  OpBuilder builder(op.getContext());
  builder.setInsertionPointToStart(&constants);
  IRMapping mapping;
  op.getMask().walk([&](Operation *inside) {
    for (Value operand : inside->getOperands()) {
      if (!operand.getType().isIndex() || operand.getParentRegion() == &op.getMask() ||
          mapping.contains(operand))
        continue;
      if (std::optional<int64_t> size = AssumedSizes::of(operand))
        mapping.map(operand,
                    arith::ConstantIndexOp::create(builder, op.getLoc(), *size).getResult());
    }
  });
  op.getMask().cloneInto(&mask, mapping);
}

/// Counts the tiles of the first head. Bounds of a mask of known positions fold to constants, those
/// of other masks do not.
static std::optional<TileCounts> countTiles(AttentionKernelOp op, ArrayRef<int64_t> queries,
                                            ArrayRef<int64_t> keys) {
  OpBuilder builder(op.getContext());
  Block constants;
  Region mask;
  takeMask(op, constants, mask);
  auto from = [&](int64_t lo, int64_t hi) -> Interval {
    return {arith::ConstantIndexOp::create(builder, op.getLoc(), lo),
            arith::ConstantIndexOp::create(builder, op.getLoc(), hi)};
  };
  TileCounts counts;
  for (size_t i = 0; i + 1 < queries.size(); ++i) {
    Block folded; // what the bounds of a row of tiles are computed by, which nothing runs
    builder.setInsertionPointToStart(&folded);
    SmallVector<Interval> positions(op.getBatch(), from(0, 0));
    positions.append({from(queries[i], queries[i + 1] - 1), {}});
    for (size_t j = 0; j + 1 < keys.size(); ++j) {
      positions.back() = from(keys[j], keys[j + 1] - 1);
      std::optional<LivePairs> live =
          judgePairs(builder, op.getLoc(), mask, positions, op.getCaptures());
      if (!live)
        return std::nullopt;
      ++(*live == LivePairs::None  ? counts.empty
         : *live == LivePairs::All ? counts.full
                                   : counts.tested);
      if (*live != LivePairs::None)
        counts.pairs += (queries[i + 1] - queries[i]) * (keys[j + 1] - keys[j]);
    }
  }
  return counts;
}

SmallVector<int64_t> attn::tileStarts(std::optional<int64_t> count, int64_t size) {
  SmallVector<int64_t> starts;
  if (count && *count / size > mostJudgedTiles)
    return starts;
  for (int64_t at = 0; count && at < *count; at += size)
    starts.push_back(at);
  if (count)
    starts.push_back(*count);
  return starts;
}

std::string attn::describeVerdicts(AttentionKernelOp op, ArrayRef<int64_t> queries,
                                   ArrayRef<int64_t> keys) {
  bool isAsked = op.getContext()->getRemarkEngine() ||
                 op->getParentOfType<ModuleOp>()->hasAttr(attributes::sizes);
  if (op.getMask().empty() || !isAsked)
    return {};
  bool readsTensors = !op.getMask().front().getOps<ElementOp>().empty();
  std::optional<TileCounts> counts;
  if (!queries.empty() && !keys.empty() && !readsTensors &&
      static_cast<int64_t>(queries.size() * keys.size()) <= mostJudgedTiles)
    counts = countTiles(op, queries, keys);
  if (!counts)
    return "; tiles are judged when running" + pairWork(op, std::nullopt) + ", as if dense";
  KernelFacts(op).add("verdicts", llvm::json::Object{{"query_starts", llvm::json::Array(queries)},
                                                     {"key_starts", llvm::json::Array(keys)},
                                                     {"empty", counts->empty},
                                                     {"full", counts->full},
                                                     {"tested", counts->tested},
                                                     {"pairs", counts->pairs}});
  double all = double(queries.back()) * double(keys.back());
  op->setAttr(attributes::liveShare,
              Builder(op.getContext()).getF64FloatAttr(double(counts->pairs) / all));
  return llvm::formatv("; of {0} x {1} tiles {2} are empty, {3} full, {4} tested{5}",
                       queries.size() - 1, keys.size() - 1, counts->empty, counts->full,
                       counts->tested, pairWork(op, counts->pairs));
}
