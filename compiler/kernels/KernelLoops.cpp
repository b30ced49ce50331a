// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops and tiles to nested boxes: branches are left out where it is known how often each is taken,
// since what is inside says so.
#include "compiler/kernels/KernelLoops.h"

#include "compiler/kernels/LoopCounts.h"
#include "compiler/kernels/TileWork.h"
#include "dialect/Locations.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace attn;

namespace {

/// A loop, a branch or a tile.
struct Box {
  Operation *op;
  std::string kind, text, part; ///< "for", "case", or the name of a tile
  bool isLoop = false, isTail = false;
  std::optional<double> runs = {}; ///< of a loop's body
  std::optional<int64_t> trips = {}, step = {};
  double flop = 0;
  bool isFlopKnown = true, isCounted = false;
  double size = 0; ///< of a tile that multiplies: operations of one run
  std::vector<Box> body = {};
};

/// What is seen of a tile while ops are counted.
struct Seen {
  double runs = 0, flop = 0;
  bool isFlopKnown = true;
  std::vector<Extent> numbers = {};
};

class LoopTree {
public:
  LoopTree(func::FuncOp function, Operation *kernel);

  llvm::json::Array describe();

private:
  ArrayRef<Value> numbersOf(Operation *op);
  void visit(Operation *op, ArrayRef<std::optional<int64_t>> numbers, double runs);

  std::vector<Box> boxesOf(Block &block);
  Box boxOf(scf::ForOp loop);
  void addChoice(Operation *choice, std::vector<Box> &boxes);
  std::optional<Box> boxOf(Operation *tile);
  static void merge(std::vector<Box> &boxes);
  static void nameTails(std::vector<Box> &boxes);
  static llvm::json::Object describe(const Box &box);

  func::FuncOp function;
  Operation *kernel;
  llvm::DenseMap<Operation *, TileWork> tiles;
  llvm::DenseMap<Operation *, Seen> seen;
  std::optional<LoopCounts> counts;
};

} // namespace

/// Gives a box the operations of what is in it.
static void addUp(Box &box) {
  for (const Box &own : box.body)
    box.flop += own.flop, box.isFlopKnown &= own.isFlopKnown, box.isCounted |= own.isCounted;
}

LoopTree::LoopTree(func::FuncOp function, Operation *kernel) : function(function), kernel(kernel) {
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == kernel)
      return WalkResult::skip();
    if (std::optional<TileWork> work = TileWork::of(op)) {
      tiles[op] = std::move(*work);
      return WalkResult::skip();
    }
    return WalkResult::advance();
  });
  counts.emplace(
      function, [&](Operation *op) { return numbersOf(op); },
      [&](Operation *op, ArrayRef<std::optional<int64_t>> numbers, double runs) {
        visit(op, numbers, runs);
      });
}

ArrayRef<Value> LoopTree::numbersOf(Operation *op) {
  auto tile = tiles.find(op);
  return tile == tiles.end() ? ArrayRef<Value>() : ArrayRef<Value>(tile->second.values);
}

void LoopTree::visit(Operation *op, ArrayRef<std::optional<int64_t>> numbers, double runs) {
  Seen &own = seen[op];
  own.runs += runs;
  own.numbers.resize(numbers.size());
  const TileWork &work = tiles[op];
  double flop = runs * work.flopOf(numbers).value_or(0);
  own.flop += flop;
  own.isFlopKnown &= !work.isCounted || work.flopOf(numbers).has_value();
  for (auto [extent, number] : llvm::zip(own.numbers, numbers))
    if (number)
      extent.add(*number);
}

std::optional<Box> LoopTree::boxOf(Operation *tile) {
  auto known = seen.find(tile);
  const RunCount &around = counts->of(tile->getBlock());
  if (around.isKnown && (known == seen.end() || known->second.runs == 0))
    return std::nullopt;
  const Seen &own = seen[tile];
  const TileWork &work = tiles[tile];
  Box box{tile, work.name, work.textOf(own.numbers), work.part};
  bool isSure = around.isKnown && !around.isAsIf;
  if (isSure)
    box.runs = own.runs;
  box.isCounted = work.isCounted;
  box.isFlopKnown = own.isFlopKnown && around.isKnown;
  box.flop = own.flop;
  box.isTail = work.isTail;
  box.size = own.runs > 0 ? own.flop / own.runs : 0;
  return box;
}

Box LoopTree::boxOf(scf::ForOp loop) {
  Block &body = *loop.getBody();
  Box box{loop, "for", "", ""};
  box.isLoop = true;
  box.body = boxesOf(body);
  addUp(box);
  const RunCount &count = counts->of(&body);
  bool isSure = count.isKnown && !count.isAsIf;
  if (isSure)
    box.runs = count.runs, box.trips = count.trips.constant();
  box.step = getConstantIntValue(loop.getStep());
  std::string over = axesOf(loop), bounds;
  std::optional<int64_t> from = count.from.constant(), to = count.to.constant();
  if (from && to)
    bounds = std::to_string(*from) + " to " + std::to_string(*to);
  else if (count.trips.most)
    bounds =
        std::to_string(*count.trips.least) + " to " + std::to_string(*count.trips.most) + " turns";
  else
    bounds = "turns that a run decides";
  if (over.empty())
    box.text = bounds;
  else
    box.text = over + (from && to ? " " : ", ") + bounds;
  return box;
}

/// The most queries that tiles inside are of, by which the cases of a switch differ.
static int64_t queriesOf(ArrayRef<Box> boxes) {
  int64_t most = 0;
  for (const Box &box : boxes) {
    if (auto queries = box.op->getAttrOfType<IntegerAttr>("queries"))
      most = std::max(most, queries.getInt());
    most = std::max(most, queriesOf(box.body));
  }
  return most;
}

void LoopTree::addChoice(Operation *choice, std::vector<Box> &boxes) {
  bool isDecided = counts->isDecided(choice);
  std::vector<std::vector<Box>> branches;
  for (Region &region : choice->getRegions())
    branches.push_back(region.empty() ? std::vector<Box>() : boxesOf(region.front()));
  auto flopOf = [](ArrayRef<Box> branch) {
    double flop = 0;
    for (const Box &box : branch)
      flop += box.flop;
    return flop;
  };
  // Behind a condition that a run decides, operations are counted as if it held; they are not known
  // where both sides take some, but not as many.
  double both = 0;
  for (ArrayRef<Box> branch : branches)
    both += flopOf(branch);
  for (auto [number, branch] : llvm::enumerate(branches)) {
    if (branch.empty())
      continue;
    int64_t queries = isa<scf::IndexSwitchOp>(choice) ? queriesOf(branch) : 0;
    if (isDecided && !queries) {
      llvm::append_range(boxes, std::move(branch));
      continue;
    }
    Box box{choice, "case",
            isDecided ? std::to_string(queries) + " queries" : "where a run decides", ""};
    const RunCount &inside = counts->of(&choice->getRegion(unsigned(number)).front());
    if (inside.isKnown && !inside.isAsIf)
      box.runs = inside.runs;
    box.body = std::move(branch);
    addUp(box);
    if (!isDecided && box.flop != both) {
      box.isFlopKnown &= box.flop * 2 == both;
      box.flop /= 2;
    }
    boxes.push_back(std::move(box));
  }
}

/// Whether boxes show the same.
static bool areAlike(const Box &a, const Box &b) {
  return a.kind == b.kind && a.text == b.text && a.part == b.part && a.trips == b.trips &&
         a.body.size() == b.body.size() && llvm::all_of(llvm::zip(a.body, b.body), [](auto pair) {
           return areAlike(std::get<0>(pair), std::get<1>(pair));
         });
}

static void addTo(Box &box, const Box &other) {
  box.runs = box.runs && other.runs ? std::optional(*box.runs + *other.runs) : std::nullopt;
  box.flop += other.flop, box.isFlopKnown &= other.isFlopKnown;
  for (auto [own, more] : llvm::zip(box.body, other.body))
    addTo(own, more);
}

void LoopTree::merge(std::vector<Box> &boxes) {
  std::vector<Box> merged;
  for (Box &box : boxes) {
    auto same = llvm::find_if(merged, [&](const Box &other) { return areAlike(other, box); });
    if (same == merged.end())
      merged.push_back(std::move(box));
    else
      addTo(*same, box);
  }
  boxes = std::move(merged);
}

/// The first tile inside that multiplies.
static const Box *firstProduct(const Box &box) {
  if (!box.isLoop && box.kind != "case")
    return box.isCounted ? &box : nullptr;
  for (const Box &inner : box.body)
    if (const Box *found = firstProduct(inner))
      return found;
  return nullptr;
}

void LoopTree::nameTails(std::vector<Box> &boxes) {
  for (Box &box : boxes) {
    const Box *own = firstProduct(box);
    if (!own || box.isLoop || box.kind == "case")
      continue;
    for (const Box &other : boxes) {
      const Box *product = firstProduct(other);
      box.isTail |= product && product->kind == own->kind && product->size > own->size;
    }
  }
}

std::vector<Box> LoopTree::boxesOf(Block &block) {
  std::vector<Box> boxes;
  for (Operation &op : block) {
    if (&op == kernel)
      continue;
    if (tiles.contains(&op)) {
      if (std::optional<Box> box = boxOf(&op))
        boxes.push_back(std::move(*box));
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      Box box = boxOf(loop);
      if (box.trips == 1) // at these sizes
        llvm::append_range(boxes, std::move(box.body));
      else if (!box.body.empty())
        boxes.push_back(std::move(box));
    } else if (isa<scf::IfOp, scf::IndexSwitchOp>(op)) {
      addChoice(&op, boxes);
    } else {
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          llvm::append_range(boxes, boxesOf(inner));
    }
  }
  merge(boxes);
  nameTails(boxes);
  return boxes;
}

llvm::json::Object LoopTree::describe(const Box &box) {
  bool isTile = !box.isLoop && box.kind != "case";
  llvm::json::Object described{
      {isTile ? "op" : "loop", box.kind},
      {"text", llvm::json::fixUTF8((box.isTail ? "tail: " : "") + box.text)}};
  if (box.isLoop) {
    described["trips"] = box.trips ? llvm::json::Value(*box.trips) : llvm::json::Value(nullptr);
    if (box.step)
      described["step"] = *box.step;
  }
  described["runs"] =
      box.runs ? llvm::json::Value(int64_t(std::llround(*box.runs))) : llvm::json::Value(nullptr);
  if (box.isCounted)
    described["flop"] = box.isFlopKnown ? llvm::json::Value(box.flop) : llvm::json::Value(nullptr);
  if (std::string at = placeText(box.op->getLoc()); !at.empty() && isTile)
    described["at"] = llvm::json::fixUTF8(at);
  if (!box.part.empty())
    described["part"] = box.part;
  if (!box.body.empty()) {
    llvm::json::Array body;
    for (const Box &inner : box.body)
      body.push_back(describe(inner));
    described["body"] = std::move(body);
  }
  return described;
}

llvm::json::Array LoopTree::describe() {
  llvm::json::Array loops;
  for (const Box &box : boxesOf(function.getBody().front()))
    loops.push_back(describe(box));
  return loops;
}

llvm::json::Array attn::describeLoops(func::FuncOp function, Operation *kernel) {
  return LoopTree(function, kernel).describe();
}
