// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory -> tiled, attention: which tiles one is cut into, and the loops over them, group by group
// of blocks of queries (TileGroup.cpp).
#include "compiler/cpu/attention/AttendFewQueries.h"
#include "compiler/cpu/attention/AttentionBlocks.h"
#include "compiler/cpu/attention/AttentionViews.h"
#include "compiler/cpu/attention/MaskVerdicts.h"
#include "compiler/cpu/attention/TileGroup.h"
#include "compiler/kernels/AssumedSizes.h"
#include "compiler/kernels/KernelFacts.h"
#include "compiler/kernels/KernelRemarks.h"
#include "compiler/support/Errors.h"
#include "compiler/transforms/FewQueries.h"
#include "dialect/Reasons.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace attn {

LogicalResult checkScratch(AttentionKernelOp op, int64_t floats) {
  int64_t own = cast<MemRefType>(op.getScratch().getType()).getShape().back();
  if (!ShapedType::isDynamic(own) && own < floats)
    return op.emitError("expected at least ") << floats << " floats of scratch, but got " << own;
  return success();
}

static LogicalResult check(AttentionTiling &tiling) {
  AttentionKernelOp op = tiling.op;
  for (Value buffer : {op.getQuery(), op.getKey(), op.getValue(), op.getOut()}) {
    auto type = cast<MemRefType>(buffer.getType());
    SmallVector<int64_t> strides;
    int64_t offset;
    if (type.getRank() != static_cast<int64_t>(op.getBatch()) + 2 ||
        failed(type.getStridesAndOffset(strides, offset)) || strides.back() != 1 ||
        type.isDynamicDim(type.getRank() - 1))
      return op.emitError("expected buffers [batch..., rows, features] with features element by "
                          "element, but got ")
             << type;
  }
  unsigned batch = op.getBatch();
  for (ElementOp vector : tiling.score.vectors) // the same for all pairs of a unit
    for (Value position : vector.getPositions()) {
      auto argument = dyn_cast<BlockArgument>(position);
      if (argument ? argument.getArgNumber() >= 2 + batch : !constantIndex(position))
        return emitErrorOf(ErrorKind::Input, op.getLoc())
               << "a score whose vectors depend on more than the head is not supported yet";
    }
  return success();
}

/// Chooses the tiles, and writes the loops over them.
static LogicalResult run(AttentionTiling &tiling) {
  AttentionKernelOp op = tiling.op;
  AttentionShape &shape = tiling.shape;
  OpBuilder &builder = tiling.builder;
  IndexBuilder &index = tiling.index;
  if (failed(check(tiling)))
    return failure();
  tiling.zero = index.constant(0);
  int64_t batch = op.getBatch();
  tiling.queryCount = index.dim(op.getOut(), batch);
  tiling.keyCount = index.dim(op.getKey(), batch);
  tiling.features = cast<MemRefType>(op.getKey().getType()).getShape().back();
  tiling.valueFeatures = cast<MemRefType>(op.getValue().getType()).getShape().back();
  auto problem = AttentionProblem::on(tiling.context.target, op);
  tiling.chosen = choiceFor(op, tiling.context.target.name, problem.name());
  shape = AttentionShape::of(problem, op.getLowering(), tiling.chosen);
  if (failed(checkScratch(op, shape.floats)))
    return failure();
  tiling.reason =
      describeLowering(op, problem, shape.lowering, tiling.chosen.get(Knob::Lowering).has_value());
  if (problem.mayBeOneStrip && problem.keyCount < 0)
    missed(op, Reason::SizesWhenRunning,
           "scores stand for a tile of keys at a time: how many keys there are is known only when "
           "running",
           "where it is always the same number, a `dim` in the place of the `dyn` lets the faster "
           "lowering be chosen");
  tiling.division.granule = constantIndex(tiling.queryCount) ? tiling.context.target.lanes : 16;

  if (op.getNormaliser() == Normaliser::ReluMean) {
    AtPlace place = tiling.writeFor(AttentionTerm::Weight);
    Value narrow =
        arith::IndexCastOp::create(builder, index.loc, builder.getI32Type(), tiling.keyCount);
    tiling.keyCountReal = arith::SIToFPOp::create(builder, index.loc, builder.getF32Type(), narrow);
  }
  auto variable = [&](Type type) {
    return memref::AllocaOp::create(builder, index.loc, MemRefType::get({}, type));
  };
  tiling.keysBefore = tiling.zero;
  if (!op.getMask().empty())
    tiling.group.turns = variable(builder.getIndexType());
  if (shape.weightsWait())
    tiling.multiplied = variable(builder.getIndexType());
  if (shape.packedTiles > 1)
    tiling.group.areAllFinite = variable(builder.getI1Type());
  divideQueries(tiling);
  tileGroups(tiling, [&] { tileGroup(tiling); });
  return success();
}

/// Where blocks of queries begin, and their end, at the sizes that are assumed; nothing where these
/// are not known, or there is no mask to be judged.
static SmallVector<int64_t> blockStarts(AttentionTiling &tiling) {
  SmallVector<int64_t> starts;
  std::optional<int64_t> blocks = AssumedSizes::of(tiling.division.blockCount),
                         queries = AssumedSizes::of(tiling.queryCount);
  if (tiling.op.getMask().empty() || !blocks || !queries || *blocks > mostJudgedTiles)
    return starts;
  for (int64_t block = 0; block < *blocks; ++block)
    if (auto first = AssumedSizes::of(firstOf(tiling, tiling.index.constant(block))))
      starts.push_back(*first);
  starts.push_back(*queries);
  return starts;
}

/// The tiles chosen, in words.
static std::string choice(AttentionTiling &tiling) {
  const AttentionShape &shape = tiling.shape;
  QueryDivision &division = tiling.division;
  std::string text = tiling.isPointwise() ? "weights of their own in strips of "
                     : shape.lowering == AttentionLowering::Strip   ? "one strip of "
                     : shape.lowering == AttentionLowering::Unfused ? "unfused strips of "
                     : !tiling.op.getMask().empty() ? "online softmax over live strips of "
                                                    : "online softmax over strips of ";
  bool isOnline = shape.lowering == AttentionLowering::Online;
  int64_t keys = isOnline ? shape.scoreKeys : constantIndex(tiling.keyCount).value_or(shape.keys);
  KernelFacts facts(tiling.op);
  facts.append("tiles", llvm::json::Object{{"keys", keys},
                                           {"queries", llvm::json::Array(blockSizes(tiling))},
                                           {"group", shape.blocks > 1 ? division.groupSize : 1},
                                           {"packed", isPacked(tiling)},
                                           {"tuned", !tiling.chosen.empty()}});
  llvm::json::Object rule{{"granule", division.granule},
                          {"most_queries", AttentionShape::queries},
                          {"keys", shape.tile}};
  if (constantIndex(tiling.queryCount)) // a period of the mask may part them (divideQueries)
    rule["least_part"] = AttentionShape::tileKeys;
  facts.add("division", std::move(rule));
  text += std::to_string(keys) + " keys, blocks of " + joinNumbers(blockSizes(tiling)) + " queries";
  if (division.partQueries != tiling.queryCount)
    text += " within " + std::to_string(*constantIndex(division.partQueries));
  if (shape.blocks > 1)
    text += ", up to " + std::to_string(division.groupSize) + " of them together";
  if (shape.weightsWait())
    text += ", weights waiting for those of " + std::to_string(shape.tile) + " keys";
  if (shape.packedTiles > 1)
    text += ", all keys packed first";
  if (shape.pairs)
    text += ", in pairs of bf16";
  else if (isPacked(tiling))
    text += ", values packed by " + std::to_string(shape.tile);
  if (!tiling.chosen.empty())
    text += "; tuned: " + choiceText(tiling.chosen);
  text += tiling.reason;
  return text + describeVerdicts(tiling.op, blockStarts(tiling),
                                 tileStarts(AssumedSizes::of(tiling.keyCount), shape.tile));
}

FailureOr<std::string> tileAttention(AttentionKernelOp op, const CpuTiling &context) {
  auto score = ScoreFunction::of(op, op.getScore());
  if (failed(score))
    return failure();
  int64_t batch = static_cast<int64_t>(op.getBatch());
  if (areFewQueries(op, cast<MemRefType>(op.getOut().getType()).getDimSize(batch)))
    return attendFewQueries(op, context, *score);
  AttentionTiling tiling(op, context, *score);
  if (failed(run(tiling)))
    return failure();
  return choice(tiling);
}

} // namespace attn
