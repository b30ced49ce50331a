// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A linear kernel as register blocks. A unit of work is a panel of weights and a block of rows:
//   for group of blocks:
//     for part of k:
//       for panel in those of the thread's share of the group:
//         attn.widen_tile          where many rows of f32 meet panels of 16 bits, or many rows
//         attn.widen_bytes_tile    of bytes panels of int4, or of int8 in groups; or
//         attn.widen_numbers_tile  where bytes have sums of 16 bits
//         for block in those of the thread's share:
//           attn.linear_tile ... at row(block), panel * width, part * depth
// A group's rows of a part stay in the second-level cache while all panels pass by, and a part of a
// panel while all blocks do; the part of the next panel is fetched meanwhile. A share may begin and
// end within a panel, so that threads have the same to do but for one block. Where the whole
// matrix stays in a second-level cache, threads with many rows divide these instead, as those of
// norms do: a core reads what it has written itself, not what is in the other's cache.
#include "compiler/cpu/linear/Linear.h"
#include "compiler/cpu/linear/LinearTiling.h"
#include "compiler/cpu/linear/PanelShare.h"
#include "compiler/kernels/KernelFacts.h"
#include "compiler/kernels/KernelRemarks.h"
#include "compiler/transforms/TargetModel.h"
#include "dialect/Reasons.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

/// Rows of a thread, at least, where threads divide the rows: weights come faster than so many are
/// multiplied with them.
static constexpr int64_t rowsOfThread = 64;

/// How many lines ahead a core asks for weights that it reads once: enough for them to come from
/// the third-level cache, and few enough to stay in the first.
static constexpr int64_t nearLines = 64;

/// The smallest block that so many rows or more are ever divided into.
static int64_t smallestBlock(int64_t rows, int64_t most) {
  int64_t smallest = most;
  for (; rows <= most * most; ++rows) // beyond, it is `most` - 1 at least
    smallest = std::min<int64_t>(smallest, rows / llvm::divideCeil(rows, most));
  return std::min(smallest, std::max<int64_t>(most - 1, 1));
}

namespace {

class LinearTiler {
public:
  /// Writes before `op`, or where `at` is.
  LinearTiler(LinearKernelOp op, const CpuTiling &context, const LinearShape &shape,
              const OpBuilder &at)
      : op(op), context(context), panelPieces(context.pieces), shape(shape), builder(at),
        index(builder, op.getLoc()) {
    rowCount = index.product(op.getOut(), 0, op.getOut().getType().getRank() - 1);
    chosen = choiceFor(op, context.target.name, linearName(op, shape));
    tiling = LinearTiling::of(shape, context.target, chosen, constantIndex(rowCount));
    depth = tiling.depth, columns = tiling.columns;
    blocks = index.ceilDiv(rowCount, index.constant(tiling.rows));
    ownBlocks = {index.constant(0), blocks};
    if (mayDivideRows())
      divideRows();
    parts = llvm::divideCeil(shape.steps(0), depth);
    int64_t partSteps = shape.steps() / shape.steps(0) * depth;
    partElements = partSteps * shape.stepElements();
    Value count = index.sub(ownBlocks.to, ownBlocks.from);
    groups = index.ceilDiv(count, index.constant(tiling.groupBlocks));
    groupBlocks = index.ceilDiv(count, index.max(groups, index.constant(1)));
    isReadOnce = constantIndex(blocks) == 1;
    pace = isReadOnce ? shape.stepElements()
                      : llvm::divideCeil(shape.width, tilesOfGroup()) * shape.words();
    fetched = partSteps * pace;
    // No row at all is no block; only the divisions need one.
    divisor = builder.createOrFold<arith::MaxUIOp>(op.getLoc(), blocks, index.constant(1));
    rowsAtLeast = index.div(rowCount, divisor);
    longer = index.rem(rowCount, divisor);
  }

  void run();
  /// The tiles chosen, in words.
  std::string choice() const;

private:
  /// What a block of the thread's share is computed with.
  struct Place {
    Value panel, part, firstPanel, lastPanel;
    Value firstBlock; ///< of the group
    int64_t depth;    ///< of the part
    Value widened;    ///< the panel's part in f32 or int8, or null
  };
  /// Whether threads might divide the rows: of f32, by blocks of two sizes.
  bool mayDivideRows() const {
    return shape.precision == Precision::F32 &&
           constantIndex(rowCount).value_or(INT64_MAX) >= 2 * rowsOfThread &&
           shape.steps() * shape.n * TargetModel::floatBytes <= TargetModel::l2Bytes &&
           smallestBlock(leastOf(rowCount), tiling.rows) == tiling.rows - 1;
  }
  /// Has each thread go through all panels with rows of its own, where it has many.
  void divideRows();
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return builder.createOrFold<arith::CmpIOp>(op.getLoc(), predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, op.getLoc(), condition, a, b);
  }
  /// Whether weights are few, and one block goes through them in order: they come from nearer
  /// caches, which a core asks by itself, and asking takes longer than waiting.
  bool comesByItself();
  /// The number of tiles of a panel in a group, during which the next part is fetched.
  int64_t tilesOfGroup();
  /// The room for a panel's part in f32 or int8, or null where it is not widened.
  Value roomToWiden();
  void widen(Value panel, Value part, int64_t depth, Value widened);
  void forGroups(Value widened);
  /// Blocks [first, first + count), the group that begins with `first`.
  void group(Value first, Value count, Value widened);
  /// The block's rows, as many as any other's or one more.
  void block(Value block, const Place &place);
  /// All columns of the panel for `rows` rows.
  void tiles(int64_t rows, Value row, const Place &place, Value ahead);
  /// Where a part of a panel begins in `panels`. Padded panels are no multiple of their parts.
  Value start(Value panel, Value part);
  /// Where the weights lie that are fetched while this block is computed: this block's share of the
  /// next part, or what follows soon where one block goes through all panels.
  Value ahead(Value block, const Place &place);

  LinearKernelOp op;
  const CpuTiling &context;
  Pieces panelPieces; ///< all of them where threads divide the rows
  LinearShape shape;
  OpBuilder builder;
  IndexBuilder index;
  KernelChoice chosen; ///< measured
  LinearTiling tiling;
  int64_t columns, depth, parts;
  bool isWidened = false; ///< panels, before they are multiplied
  bool isReadOnce;        ///< panels, by one block of rows
  int64_t partElements;   ///< of `panels`
  int64_t pace, fetched;  ///< elements fetched with a step of k, with a tile
  Value rowCount, blocks, divisor, groups, groupBlocks;
  UnitShare ownBlocks{};     ///< of the thread, of all of them where threads divide the panels
  Value rowsAtLeast, longer; ///< of a block; the blocks that have one more, the first ones
  SmallVector<int64_t, 4> rowSizes; ///< of the tiles written
};

} // namespace

void LinearTiler::divideRows() {
  // Each thread has as many blocks, of the sizes that there is code for.
  Value even = index.mul(index.ceilDiv(blocks, context.threads), context.threads);
  Value fit = compare(arith::CmpIPredicate::ule, index.mul(even, index.constant(tiling.rows - 1)),
                      rowCount);
  Value areMany = compare(arith::CmpIPredicate::uge, rowCount,
                          index.mul(context.threads, index.constant(rowsOfThread)));
  Value divides = arith::AndIOp::create(builder, op.getLoc(), fit, areMany);
  Value none = index.constant(0), one = index.constant(1);
  blocks = select(divides, even, blocks);
  UnitShare share = context.pieces.of(index, blocks);
  ownBlocks = {select(divides, share.from, none), select(divides, share.to, blocks)};
  panelPieces = {select(divides, none, context.pieces.from),
                 select(divides, one, context.pieces.to),
                 select(divides, one, context.pieces.count)};
}

bool LinearTiler::comesByItself() {
  constexpr int64_t fewBytes = 2 * TargetModel::l2Bytes;
  return shape.precision == Precision::F32 && parts == 1 && isReadOnce &&
         shape.steps() * shape.n * TargetModel::floatBytes <= fewBytes;
}

int64_t LinearTiler::tilesOfGroup() {
  int64_t wide = shape.width / columns;
  if (auto known = constantIndex(groupBlocks))
    return std::max<int64_t>(*known, 1) * wide;
  // No fewer than that are known to be there, and no more than fetch a line with each iteration of
  // the loop over k: a tile for fewer of them takes as many instructions.
  int64_t least = llvm::divideCeil(leastOf(rowCount), tiling.rows) * wide;
  int64_t lineTiles = shape.width * tiling.unroll * shape.words() / lineElements(op.getPanels());
  return std::min(tiling.groupBlocks * wide, std::max(least, lineTiles));
}

Value LinearTiler::start(Value panel, Value part) {
  int64_t panelElements = shape.panelSteps() * shape.stepElements();
  return index.add(index.mul(panel, index.constant(panelElements)),
                   index.mul(part, index.constant(partElements)));
}

Value LinearTiler::ahead(Value block, const Place &place) {
  if (shape.panels * parts == 1 || comesByItself())
    return {};
  if (isReadOnce) // what comes soon after this
    return index.add(start(place.panel, place.part),
                     index.constant(nearLines * lineElements(op.getPanels())));
  // The next panel, or the first one of the next part; after the last part the first one again
  // where there are more groups, else that of the piece which the thread probably claims next.
  Value one = index.constant(1), nextPart = index.add(place.part, one);
  Value hasPart = compare(arith::CmpIPredicate::ult, nextPart, index.constant(parts));
  Value following = index.min(index.add(place.panel, one), index.constant(shape.panels - 1));
  if (constantIndex(groups) != 1)
    following = select(
        compare(arith::CmpIPredicate::ult, index.add(place.firstBlock, groupBlocks), ownBlocks.to),
        place.firstPanel, following);
  Value end = start(following, index.constant(0));
  Value later = select(hasPart, start(place.firstPanel, nextPart), end);
  Value next = select(compare(arith::CmpIPredicate::ult, place.panel, place.lastPanel),
                      start(index.add(place.panel, one), place.part), later);
  int64_t perBlock = fetched * llvm::divideCeil(shape.width, columns);
  Value own = index.sub(block, place.firstBlock);
  Value within = index.min(index.mul(own, index.constant(perBlock)),
                           index.constant(std::max<int64_t>(partElements - perBlock, 0)));
  return index.add(next, within);
}

void LinearTiler::tiles(int64_t rows, Value row, const Place &place, Value ahead) {
  if (!llvm::is_contained(rowSizes, rows))
    rowSizes.push_back(rows);
  Value first = index.mul(place.panel, index.constant(shape.width));
  Value start = index.mul(place.part, index.constant(depth));
  IntegerAttr unroll;
  if (tiling.unroll != shape.unroll())
    unroll = builder.getI64IntegerAttr(tiling.unroll);
  auto tile = [&](Value offset) {
    Value own = ahead;
    if (ahead && !isReadOnce) // each of the panel's tiles fetches as much
      own = index.add(
          ahead, index.mul(index.div(offset, index.constant(columns)), index.constant(fetched)));
    auto tile = LinearTileOp::create(
        builder, op.getLoc(), shape.rows, op.getPanels(),
        place.widened && !shape.isOfNumbers ? multipliedQuantization(op)
                                            : SmallVector<Value>(op.getQuantization()),
        place.widened, op.getBias(), op.getCaptures(), op.getOut(), row, index.add(first, offset),
        start, own, rows, columns, place.depth, static_cast<int64_t>(shape.ks.size()),
        shape.precision, pace, isReadOnce, unroll);
    IRMapping mapping;
    op.getEpilogue().cloneInto(&tile.getEpilogue(), mapping);
  };
  if (columns >= std::min(shape.n, shape.width))
    return tile(index.constant(0));
  Value left = index.sub(index.constant(shape.n), first);
  forLoop(index, index.constant(0), index.min(left, index.constant(shape.width)), columns, tile);
}

void LinearTiler::block(Value block, const Place &place) {
  Value row = index.add(index.mul(block, rowsAtLeast), index.min(block, longer));
  Value fetchedFrom = ahead(block, place);
  // Two numbers of rows that occur have their own code.
  auto least = constantIndex(rowsAtLeast);
  auto extra = constantIndex(longer);
  if (least && *extra == 0)
    return tiles(*least, row, place, fetchedFrom);
  int64_t most = least ? *least + 1 : tiling.rows;
  int64_t fewest = least ? *least : smallestBlock(leastOf(rowCount), tiling.rows);
  Location loc = op.getLoc();
  Value isLonger = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, block, longer);
  Value rows = arith::SelectOp::create(builder, loc, isLonger,
                                       index.add(rowsAtLeast, index.constant(1)), rowsAtLeast);
  if (most - fewest == 1) { // blocks may all have `most` rows, none being longer then
    Value hasMost =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, rows, index.constant(most));
    choose(
        index, hasMost, [&] { tiles(most, row, place, fetchedFrom); },
        [&] { tiles(fewest, row, place, fetchedFrom); });
    return;
  }
  // Any number of rows: powers of two that make it up.
  for (int64_t size = TargetModel::powerBelow(most); size > 0; size /= 2) {
    auto masked = [&](int64_t mask) -> Value {
      return arith::AndIOp::create(builder, loc, rows, index.constant(mask));
    };
    Value isPart = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, masked(size),
                                         index.constant(0));
    Value first = index.add(row, masked(-2 * size)); // behind the larger ones
    choose(index, isPart, [&] { tiles(size, first, place, fetchedFrom); });
  }
}

Value LinearTiler::roomToWiden() {
  Value room = op.getScratch();
  // Two elements of 16 bits, or four numbers.
  int64_t words =
      shape.becomesBytes() ? partElements / shape.words() * shape.group() / 4 : partElements;
  if (!room || !(shape.isWidened || shape.becomesBytes()) ||
      words > cast<MemRefType>(room.getType()).getDimSize(1))
    return {};
  return viewOf(index, room, {context.thread, builder.getIndexAttr(0)},
                {builder.getIndexAttr(1), builder.getIndexAttr(words)}, 1);
}

void LinearTiler::widen(Value panel, Value part, int64_t depth, Value widened) {
  int64_t steps = depth * (shape.steps() / shape.steps(0));
  if (shape.isOfNumbers) {
    Value groups = index.constant(steps * shape.group() / scaleGroup);
    WidenNumbersTileOp::create(builder, op.getLoc(), op.getPanels(), widened, start(panel, part),
                               groups);
    return;
  }
  if (!shape.isOfBytes) {
    WidenTileOp::create(builder, op.getLoc(), op.getPanels(), widened, start(panel, part), steps);
    return;
  }
  int64_t stepsOfLine = scaleGroup / shape.group();
  Value before = index.add(index.mul(panel, index.constant(shape.panelSteps() / stepsOfLine)),
                           index.mul(part, index.constant(this->depth / stepsOfLine)));
  WidenBytesTileOp::create(
      builder, op.getLoc(), op.getPanels(), op.getQuantization()[1], op.getQuantization()[3],
      widened, start(panel, part),
      index.mul(before, index.constant(shape.format().lineNumbers() * shape.width)),
      index.mul(panel, index.constant(shape.width)), index.constant(steps / stepsOfLine),
      shape.precision, /*padded=*/false);
}

void LinearTiler::group(Value first, Value count, Value widened) {
  PanelShare share(index, shape.panels, count, panelPieces);
  auto panels = [&](Value part, int64_t depth) {
    share.forEachPanel([&](Value panel, Value from, Value to) {
      if (widened)
        widen(panel, part, depth, widened);
      forLoop(index, from, to, 1, [&](Value block) {
        this->block(index.add(first, block),
                    {panel, part, share.firstPanel, share.lastPanel, first, depth, widened});
      });
    });
  };
  int64_t rest = shape.steps(0) % depth, whole = parts - (rest != 0);
  if (whole == 1)
    panels(index.constant(0), depth);
  else
    forLoop(index, index.constant(0), index.constant(whole), 1,
            [&](Value part) { panels(part, depth); });
  if (rest != 0)
    panels(index.constant(whole), rest);
}

void LinearTiler::forGroups(Value widened) {
  if (constantIndex(groups) == 1)
    return group(ownBlocks.from, blocks, widened);
  forLoop(index, index.constant(0), groups, 1, [&](Value number) {
    Value first = index.add(ownBlocks.from, index.mul(number, groupBlocks));
    group(first, index.min(groupBlocks, index.sub(ownBlocks.to, first)), widened);
  });
}

void LinearTiler::run() {
  // Widening for one block by itself costs as much as for all.
  constexpr int64_t fewBlocks = 3;
  Value room = roomToWiden();
  isWidened = bool(room);
  if (!isWidened || shape.becomesBytes())
    return forGroups(room);
  int64_t known = llvm::divideCeil(leastOf(rowCount), tiling.rows);
  Value areMany = index.truth(true);
  if (known <= fewBlocks)
    areMany = builder.createOrFold<arith::CmpIOp>(op.getLoc(), arith::CmpIPredicate::ugt, blocks,
                                                  index.constant(fewBlocks));
  choose(index, areMany, [&] { forGroups(room); }, [&] { forGroups({}); });
}

std::string LinearTiler::choice() const {
  KernelFacts(op).append("tiles", llvm::json::Object{{"rows", llvm::json::Array(rowSizes)},
                                                     {"columns", columns},
                                                     {"panel", shape.width},
                                                     {"steps", depth},
                                                     {"parts", parts},
                                                     {"group", tiling.groupBlocks},
                                                     {"tuned", !chosen.empty()}});
  std::string text =
      (llvm::Twine("tiles of ") + joinNumbers(rowSizes) + " x " + llvm::Twine(columns)).str();
  if (parts > 1)
    text += ", in " + std::to_string(parts) + " parts";
  if (isWidened)
    text += shape.isOfBytes     ? ", of panels as int8"
            : shape.isOfNumbers ? ", of panels as bytes"
                                : ", of widened panels";
  if (!chosen.empty())
    text += "; tuned: " + choiceText(chosen);
  return text;
}

/// Whether there may be more rows than `most`.
static bool hasMoreRows(LinearKernelOp op, int64_t most) {
  ArrayRef<int64_t> sizes = op.getOut().getType().getShape().drop_back();
  return ShapedType::isDynamicShape(sizes) || ShapedType::getNumElements(sizes) > most;
}

bool attn::usesTileRegisters(LinearKernelOp op, const LinearShape &shape, const CpuTarget &target) {
  bool isNarrow = shape.precision == Precision::Int8 || op.getRounded() ||
                  op.getInput().getType().getElementType().isInteger(16);
  return target.amx && isNarrow && op.getScratch() && hasMoreRows(op, TargetModel::fewRows);
}

SmallVector<Value> attn::multipliedQuantization(LinearKernelOp op) {
  SmallVector<Value> own(op.getQuantization());
  if (formatOf(op.getPrecision()).hasGroups())
    return {own[0], own[3], own[4]};
  return own;
}

/// Whether many rows meet half bytes as bytes with the same scales: where those are summed in 16
/// bits (LinearProducts), their products take less time than those of int8, and taking them apart
/// for each block of rows takes a fifth of it.
static bool multipliesNumbers(const LinearShape &shape, const CpuTarget &target) {
  return shape.precision == Precision::Int4Groups && target.addsIn16Bits() &&
         !target.hasManyRegisters();
}

/// Panels of groups: as they are for few rows, as int8 for many, or as bytes. Which, may be known
/// when running. Of int8 it is tile registers that this is worth while for.
static FailureOr<std::string> tileGroups(LinearKernelOp op, const LinearShape &shape,
                                         const CpuTiling &context) {
  OpBuilder builder(op);
  IndexBuilder index(builder, op.getLoc());
  int64_t few = context.target.amx ? TargetModel::fewRows : TargetModel::fewRowsOfHalfBytes;
  std::string text;
  auto say = [&](const std::string &choice) { text += (text.empty() ? "" : "; ") + choice; };
  auto asTheyAre = [&] {
    LinearTiler tiler(op, context, shape, builder);
    tiler.run();
    say(tiler.choice());
  };
  bool isBroken = false, asNumbers = multipliesNumbers(shape, context.target);
  auto asBytes = [&] {
    LinearShape bytes = shape;
    (asNumbers ? bytes.isOfNumbers : bytes.isOfBytes) = true;
    if (context.target.amx) {
      auto choice = tileLinearAmx(op, bytes, context, builder);
      isBroken |= failed(choice);
      return say(succeeded(choice) ? *choice + ", of panels as int8" : "");
    }
    LinearTiler tiler(op, context, bytes, builder);
    tiler.run();
    say(tiler.choice());
  };
  Value rows = index.product(op.getOut(), 0, op.getOut().getType().getRank() - 1);
  Value areMany = index.truth(false);
  bool hasRoom = op.getScratch() &&
                 (context.target.amx || shape.keepsSums || shape.k <= TargetModel::byteDepth);
  hasRoom &= context.target.amx || asNumbers ||
             (shape.format().isOfHalfBytes() && !context.target.dotBytes.empty());
  if (hasRoom && hasMoreRows(op, few))
    areMany = builder.createOrFold<arith::CmpIOp>(op.getLoc(), arith::CmpIPredicate::ugt, rows,
                                                  index.constant(few));
  choose(index, areMany, asBytes, asTheyAre);
  if (isBroken)
    return failure();
  return text;
}

/// Gives the reason why a precision of two bytes multiplies no faster on a level.
static void explainPrecision(LinearKernelOp op, Precision precision, const CpuTarget &target) {
  bool isPairs = precision == Precision::BF16;
  if ((!isPairs && precision != Precision::F16) || (isPairs && target.multipliesPairs()))
    return;
  std::string name = stringifyPrecision(precision).str(), levels;
  for (const CpuTarget &other : cpuTargets())
    if (other.multipliesPairs() && other.architecture == target.architecture)
      levels += (levels.empty() ? "`" : ", `") + other.name.str() + "`";
  missed(op, Reason::NothingGained,
         "weights in " + name + " take half the memory, and are multiplied as f32: " + target.name +
             " has no fast products of " + name,
         levels.empty() ? "" : "levels that multiply pairs of bf16 are " + levels, target.name);
}

FailureOr<std::string> attn::tileLinear(LinearKernelOp op, const CpuTiling &context) {
  auto shape = LinearShape::of(op, !context.target.dotPairs.empty(), context.target.panelWidth);
  if (failed(shape))
    return failure();
  explainPrecision(op, shape->precision, context.target);
  if (shape->format().hasGroups())
    return tileGroups(op, *shape, context);
  OpBuilder builder(op);
  if (usesTileRegisters(op, *shape, context.target))
    return tileLinearAmx(op, *shape, context, builder);
  LinearTiler tiler(op, context, *shape, builder);
  tiler.run();
  return tiler.choice();
}
