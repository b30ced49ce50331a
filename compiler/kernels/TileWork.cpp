// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops of dialect/tiles to their work: a case for each that multiplies, and one for all others.
#include "compiler/kernels/TileWork.h"

#include "dialect/AttnDialect.h"
#include "dialect/Locations.h"
#include "dialect/Scans.h"
#include "dialect/WeightFormat.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

/// Adds a number of so many units, a constant where it is one.
static void add(TileWork &work, OpFoldResult number, StringRef unit) {
  if (std::optional<int64_t> known = getConstantIntValue(number))
    return work.factors.push_back({*known, unit.str()});
  work.values.push_back(cast<Value>(number));
  work.units.push_back(unit.str());
}

static void add(TileWork &work, int64_t number, StringRef unit) {
  work.factors.push_back({number, unit.str()});
}

static void addRange(TileWork &work, Value from, Value to, StringRef unit) {
  work.values = {from, to};
  work.units = {unit.str()};
  work.isRange = true;
}

static ArrayRef<int64_t> shapeOf(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getShape();
}

static void setProduct(TileWork &work) { work.scale = 2, work.isCounted = true; }

static void describe(TileWork &work, LinearTileOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getInput()).take_back(op.getContract());
  int64_t all = ShapedType::getNumElements(shape), depth = op.getDepth();
  // Steps are of the outermost contracted dim; of the only one, of what lies side by side.
  int64_t elements = op.getContract() > 1
                         ? depth * all / shape.front()
                         : std::min(depth * formatOf(op.getPrecision()).group(), all);
  add(work, op.getRows(), "rows"), add(work, op.getColumns(), "columns"), add(work, elements, "");
  setProduct(work);
}

static void describe(TileWork &work, LinearAmxTileOp op) {
  int64_t bits = cast<MemRefType>(op.getInput().getType()).getElementTypeBitWidth();
  add(work, 16 * int64_t(op.getTiles()), "rows"), add(work, 48, "columns");
  addRange(work, op.getFrom(), op.getTo(), "steps of 64 bytes");
  setProduct(work);
  work.scale *= 64 * 8 / double(bits);
}

static void describe(TileWork &work, ScoreTileOp op) {
  add(work, op.getQueries(), "queries"), add(work, op.getKeys(), "keys");
  add(work, shapeOf(op.getBlock()).front(), "");
  if (op.getSummed())
    work.note = ", of sums";
  else
    setProduct(work);
  if (!op.getScore().empty())
    work.note += ", pair by pair";
  work.isTail = op.getRepeats();
}

static void describe(TileWork &work, ValueTileOp op) {
  add(work, op.getRows(), "queries"), add(work, op.getColumns(), "features");
  add(work, op.getKeys(), "keys");
  setProduct(work);
}

static void describe(TileWork &work, PairTileOp op) {
  add(work, op.getRows(), "rows"), add(work, op.getQueries(), "queries");
  addRange(work, op.getFrom(), op.getTo(), "pairs");
  setProduct(work);
  work.scale *= 2;
}

static void describe(TileWork &work, SoftmaxTileOp op) {
  add(work, op.getQueries(), "queries"), add(work, op.getKeys(), "keys");
}

/// A row, or a piece of it, by the buffer that is written.
static void describeRow(TileWork &work, Value out) {
  int64_t size = shapeOf(out).back();
  auto view = out.getDefiningOp<memref::SubViewOp>();
  if (!ShapedType::isDynamic(size))
    return add(work, size, "elements");
  if (view)
    return add(work, view.getMixedSizes().back(), "elements");
  work.note = "elements";
}

static void describe(TileWork &work, MapRowOp op) {
  describeRow(work, op.getOut());
  work.scale = double(operationsOf(op.getBody()).size());
  work.isCounted = work.scale > 0;
}

/// Vectors of kernels without tiles.
static bool describeVector(TileWork &work, Operation *op) {
  if (op->getNumResults() != 1)
    return false;
  auto type = dyn_cast<VectorType>(op->getResult(0).getType());
  bool isSum = isa<vector::FMAOp>(op), isOther = isa<arith::MulFOp, arith::AddFOp>(op);
  if (!type || !(isSum || isOther))
    return false;
  add(work, type.getNumElements(), "lanes");
  work.scale = isSum ? 2 : 1;
  work.isCounted = true;
  return true;
}

/// Whether an op of the dialect is one of dialect/tiles.
static bool isTile(Operation *op) {
  StringRef name = op->getName().stripDialect();
  return isa<AttnDialect>(op->getDialect()) &&
         (name.ends_with("_tile") || isa<RowTileOpInterface>(op) ||
          isa<WeightRowsOp, LinearAmxFinishOp>(op));
}

std::optional<TileWork> TileWork::of(Operation *op) {
  TileWork work;
  work.name = op->getName().stripDialect().str();
  if (std::optional<AttentionTerm> term = termOf(op->getLoc()))
    work.part = stringifyAttentionTerm(*term).str();
  if (describeVector(work, op)) {
    work.values = {Value()};
    return work;
  }
  if (!op->getDialect() || !isTile(op))
    return std::nullopt;
  llvm::TypeSwitch<Operation *>(op)
      .Case<LinearTileOp, LinearAmxTileOp, ScoreTileOp, ValueTileOp, PairTileOp, SoftmaxTileOp,
            MapRowOp>([&](auto tile) { describe(work, tile); })
      .Case([&](ScanRowOp scan) { describeRow(work, scan.getFinal()[0]); })
      .Case([&](RowTileOpInterface row) { describeRow(work, row->getOperands().back()); })
      .Default([&](Operation *other) {
        if (auto queries = other->getAttrOfType<IntegerAttr>("queries"))
          add(work, queries.getInt(), "queries");
      });
  if (work.values.empty())
    work.values = {Value()};
  return work;
}

std::string TileWork::textOf(ArrayRef<Extent> numbers) const {
  SmallVector<std::string> parts;
  auto part = [&](const std::string &number, StringRef unit) {
    parts.push_back(unit.empty() ? number : number + " " + unit.str());
  };
  for (const Factor &factor : factors)
    part(std::to_string(factor.number), factor.unit);
  if (isRange) {
    bool isKnown = numbers.size() == 2 && numbers[0].constant() && numbers[1].constant();
    part(isKnown ? std::to_string(*numbers[1].most - *numbers[0].most) : "", units.front());
  } else {
    for (auto [extent, unit] : llvm::zip(numbers, units))
      part(!extent.most        ? ""
           : extent.constant() ? std::to_string(*extent.most)
                               : "up to " + std::to_string(*extent.most),
           unit);
  }
  return llvm::join(parts, " x ") + note;
}

std::optional<double> TileWork::flopOf(ArrayRef<std::optional<int64_t>> numbers) const {
  if (!isCounted)
    return std::nullopt;
  double flop = scale;
  for (const Factor &factor : factors)
    flop *= double(factor.number);
  if (isRange)
    return numbers[0] && numbers[1] ? std::optional(flop * double(*numbers[1] - *numbers[0]))
                                    : std::nullopt;
  for (auto [value, number] : llvm::zip(values, numbers)) {
    if (value && !number)
      return std::nullopt;
    flop *= value ? double(*number) : 1;
  }
  return flop;
}

/// What an operand of a tile says about a number that places it; empty where it says nothing.
static StringRef axisOf(OpOperand &use) {
  Operation *op = use.getOwner();
  Value value = use.get();
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case<LinearTileOp>([&](auto tile) {
        return value == tile.getRow()      ? "rows"
               : value == tile.getColumn() ? "columns"
               : value == tile.getStart()  ? "k"
                                           : "";
      })
      .Case([&](LinearAmxTileOp tile) {
        return value == tile.getRow()                             ? "rows"
               : value == tile.getColumn()                        ? "columns"
               : value == tile.getFrom() || value == tile.getTo() ? "k"
                                                                  : "";
      })
      .Case([&](QueryTileOp tile) { return value == tile.getRow() ? "queries" : ""; })
      .Case([&](ScoreTileOp tile) {
        return value == tile.getRow() || value == tile.getKey() ? "keys"
               : value == tile.getLane()                        ? "queries"
                                                                : "";
      })
      .Case([&](ValueTileOp tile) {
        return value == tile.getValue()    ? "keys"
               : value == tile.getRow()    ? "queries"
               : value == tile.getColumn() ? "features"
                                           : "";
      })
      .Case([&](OutputTileOp tile) { return value == tile.getOut() ? "queries" : ""; })
      .Case([&](RowTileOpInterface) { return isa<MemRefType>(value.getType()) ? "rows" : ""; })
      .Default([](Operation *) { return ""; });
}

std::string attn::axesOf(scf::ForOp loop) {
  llvm::SetVector<StringRef> axes;
  SmallVector<Value> next{loop.getInductionVar()};
  DenseSet<Value> known;
  while (!next.empty()) {
    Value value = next.pop_back_val();
    if (!known.insert(value).second)
      continue;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (auto inner = dyn_cast<scf::ForOp>(user))
        next.push_back(inner.getInductionVar());
      else if (StringRef axis = axisOf(use); !axis.empty())
        axes.insert(axis);
      else if (isa<arith::ArithDialect>(user->getDialect()) || isa<memref::SubViewOp>(user))
        llvm::append_range(next, user->getResults());
    }
  }
  constexpr size_t few = 2;
  return axes.size() > few ? "" : llvm::join(axes, ", ");
}
