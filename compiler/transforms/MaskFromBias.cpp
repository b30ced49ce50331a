// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bias that is -inf where a formula says so becomes a mask there:
//   bias { select(j > i, -inf, b) }   ->   bias { b } mask { j <= i }
// Tiles that it empties are passed by then.
#include "compiler/transforms/AttentionShape.h"
#include "compiler/transforms/BiasParts.h"
#include "compiler/transforms/MaskTiles.h"
#include "compiler/transforms/Passes.h"
#include "dialect/AttnDialect.h"
#include "dialect/Locations.h"
#include "dialect/Reasons.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace attn {
#define GEN_PASS_DEF_MASKFROMBIASPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// What a bias adds to its score; null where it does something else.
static Value addedBy(Region &bias) {
  auto sum = cast<YieldOp>(bias.front().getTerminator()).getValue().getDefiningOp<arith::AddFOp>();
  Value score = bias.getArgument(0);
  if (!sum || (sum.getLhs() == score) == (sum.getRhs() == score))
    return {};
  return sum.getLhs() == score ? sum.getRhs() : sum.getLhs();
}

/// Why -inf is no mask in this attention; empty where it is one.
static StringRef differenceToMask(AttentionOp op) {
  if (!op.getCap().empty())
    return "the cap makes a finite score of it, which has a weight";
  if (op.getNormaliser() == Normaliser::Identity)
    return "without a normaliser the weight is -inf, too";
  for (Returned kind : op.returnedKinds())
    if (kind == Returned::Biased || kind == Returned::Capped)
      return "the scores that are returned hold it";
  return "";
}

/// The words of a bias: "`late`".
static std::string biasName(Region &bias) {
  StringRef words = wordsAt(bias.front().getTerminator()->getLoc());
  return words.empty() ? "the bias" : ("`" + words + "`").str();
}

/// Removes what nothing in a block reads.
static void eraseUnread(Block &block) {
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
}

namespace {

/// One attention's bias on its way to a mask.
class BiasOfMask {
public:
  explicit BiasOfMask(AttentionOp op) : op(op), builder(op.getContext()) {}

  /// Builds the mask that the bias is, joined with the op's own; false where it is none.
  bool build();
  /// Whether tiles are empty for the sake of the new part.
  bool emptiesTiles();
  /// Puts the mask in the place of what it was made of.
  void replace();

private:
  void addOwnMask(Block &block, Value live);

  AttentionOp op;
  OpBuilder builder;
  Region mask, alone; ///< joined with the op's own, and without it
};

} // namespace

bool BiasOfMask::build() {
  Block &bias = op.getBias().front();
  Location loc = bias.getTerminator()->getLoc();
  for (Region *region : {&alone, &mask}) {
    Block &block = region->emplaceBlock();
    IRMapping mapping;
    for (BlockArgument argument : bias.getArguments().drop_front())
      mapping.map(argument, block.addArgument(argument.getType(), argument.getLoc()));
    builder.setInsertionPointToStart(&block);
    // The score stands for itself until nothing reads it.
    Value score = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0));
    mapping.map(bias.getArgument(0), score);
    for (Operation &inner : bias.without_terminator())
      builder.clone(inner, mapping);
    Liveness live = BiasParts(builder).liveWhere(mapping.lookupOrDefault(addedBy(op.getBias())));
    if (live.kind == Liveness::Always)
      return false;
    if (live.kind == Liveness::Never)
      live.when = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(false));
    if (region == &mask)
      addOwnMask(block, live.when);
    else
      YieldOp::create(builder, loc, live.when);
    eraseUnread(block);
  }
  return true;
}

void BiasOfMask::addOwnMask(Block &block, Value live) {
  Location loc = op.getBias().front().getTerminator()->getLoc();
  std::string words = (wordsAt(loc) + " where not -inf").str();
  if (!op.getMask().empty()) {
    Block &own = op.getMask().front();
    IRMapping mapping;
    mapping.map(own.getArguments(), block.getArguments());
    for (Operation &inner : own.without_terminator())
      builder.clone(inner, mapping);
    auto yield = cast<YieldOp>(own.getTerminator());
    live = arith::AndIOp::create(builder, loc, mapping.lookupOrDefault(yield.getValue()), live);
    words = (wordsAt(yield.getLoc()) + " and " + words).str();
  }
  auto place = loc->findInstanceOf<FileLineColLoc>();
  YieldOp::create(builder, inWords(place ? Location(place) : op.getLoc(), words), live);
}

bool BiasOfMask::emptiesTiles() { return lookAtTiles(op, alone, /*isExact=*/false).isSomeEmpty; }

void BiasOfMask::replace() {
  Block &bias = op.getBias().front();
  auto yield = cast<YieldOp>(bias.getTerminator());
  builder.setInsertionPoint(yield);
  Value rest = BiasParts(builder).restOf(addedBy(op.getBias()));
  if (rest) {
    yield.getValueMutable().assign(
        arith::AddFOp::create(builder, yield.getLoc(), bias.getArgument(0), rest));
    eraseUnread(bias);
  } else {
    op.getBias().getBlocks().clear();
  }
  op.getMask().takeBody(mask);
}

/// Why a bias that a pair has no weight by is no mask.
static void explainBias(AttentionOp op) {
  Region &bias = op.getBias();
  if (std::optional<double> low = BiasParts::lowConstant(bias))
    return missed(
        op, Reason::LowBias,
        biasName(bias) + " adds " + std::to_string(static_cast<int64_t>(*low)) +
            " to scores, and all pairs are computed",
        "write -inf, or a `mask`, where a pair is to have no weight: tiles that are empty "
        "are passed by then");
  for (ElementOp read : BiasParts::unknownElements(bias, op))
    if (read.getPositions().size() > 1)
      return missed(
          op, Reason::BiasNotMask,
          biasName(bias) + " is read from a tensor that is known only when running, which "
                           "may hold -inf",
          "where it does, a `mask` beside it that asks for `… > -inf` of the same element "
          "passes empty tiles by");
}

namespace {
struct MaskFromBiasPass : attn::impl::MaskFromBiasPassBase<MaskFromBiasPass> {
  void runOnOperation() override {
    getOperation().walk([&](AttentionOp op) {
      if (!op.getBias().empty())
        visit(op);
      explainMask(op);
    });
  }

  static void visit(AttentionOp op) {
    if (!addedBy(op.getBias()))
      return;
    BiasOfMask mask(op);
    if (!mask.build())
      return explainBias(op);
    if (StringRef difference = differenceToMask(op); !difference.empty())
      return missed(op, Reason::BiasNotMask,
                    biasName(op.getBias()) + " is -inf for some pairs, but " + difference,
                    "write a `mask` where a pair is to have no weight");
    if (mask.emptiesTiles())
      return mask.replace();
    missed(op, Reason::BiasNotMask,
           biasName(op.getBias()) + " is -inf for some pairs, but for no whole tile of " +
               std::to_string(AttentionShape::queries) + " queries and " +
               std::to_string(AttentionShape::maskedTileKeys) + " keys");
  }
};
} // namespace
