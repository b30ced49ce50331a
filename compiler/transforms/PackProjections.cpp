// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linears that read the same tensor become one, whose outputs lie side by side:
//   q = linear x, Wq; k = linear x, Wk; v = linear x, Wv   ->   y = linear x, Wq, Wk, Wv; q, k, v =
//   slices of y
// but not those of different precisions.
// One pass over x, one barrier, and panels as wide as the sum.
#include "compiler/transforms/Passes.h"
#include "dialect/AttnDialect.h"
#include "dialect/Reasons.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

namespace attn {
#define GEN_PASS_DEF_PACKPROJECTIONSPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// The flattened number of outputs of a linear.
static int64_t outputsOf(LinearOp linear) {
  auto type = cast<RankedTensorType>(linear.getResult().getType());
  int64_t lifted =
      cast<RankedTensorType>(linear.getInput().getType()).getRank() - linear.getContract();
  int64_t count = 1;
  for (int64_t size : type.getShape().drop_front(lifted))
    count *= size;
  return count;
}

/// The linear's result, cut out of the packed result [lifted..., all outputs] at `offset`.
static Value unpack(OpBuilder &builder, LinearOp linear, Value packed, int64_t offset) {
  auto result = cast<RankedTensorType>(linear.getResult().getType());
  auto type = cast<RankedTensorType>(packed.getType());
  int64_t last = type.getRank() - 1, outputs = outputsOf(linear);
  SmallVector<int64_t> shape(type.getShape());
  SmallVector<StringAttr> names(axesOf(type));
  shape[last] = outputs;
  SmallVector<StringRef> parts;
  for (StringAttr axis : axesOf(result).drop_front(last))
    parts.push_back(axis.getValue());
  names[last] = builder.getStringAttr(llvm::join(parts, "*"));
  auto sliced = axesTensor(type.getElementType(), shape, names);
  Value slice =
      SliceOp::create(builder, linear.getLoc(), sliced, packed, last, offset, false, false);
  // Split the last axis into the linear's own output axes.
  SmallVector<int64_t> split(last, 1), atoms(type.getShape().drop_back()), order;
  split.push_back(result.getRank() - last);
  for (int64_t &atom : atoms)
    atom = ShapedType::isDynamic(atom) ? -1 : atom;
  llvm::append_range(atoms, result.getShape().drop_front(last));
  for (size_t a = 0; a < atoms.size(); ++a)
    order.push_back(a);
  SmallVector<int64_t> merge(atoms.size(), 1);
  return RearrangeOp::create(builder, linear.getLoc(), result, slice, split, atoms, order, merge);
}

/// One linear for all of `group`, placed at the first of them.
static void packGroup(ArrayRef<LinearOp> group) {
  LinearOp first = group.front();
  OpBuilder builder(group.front());
  SmallVector<Value> weights, biases;
  SmallVector<Location> locations;
  int64_t outputs = 0;
  for (LinearOp linear : group) {
    llvm::append_range(weights, linear.getWeights());
    llvm::append_range(biases, linear.getBiases());
    locations.push_back(linear.getLoc());
    outputs += outputsOf(linear);
  }
  auto input = cast<RankedTensorType>(first.getInput().getType());
  int64_t lifted = input.getRank() - first.getContract();
  SmallVector<int64_t> shape(input.getShape().take_front(lifted));
  SmallVector<StringAttr> names(axesOf(input).take_front(lifted));
  shape.push_back(outputs);
  names.push_back(builder.getStringAttr("packed"));
  auto packed = LinearOp::create(builder, FusedLoc::get(builder.getContext(), locations),
                                 axesTensor(input.getElementType(), shape, names), first.getInput(),
                                 weights, biases, first.getContract());
  builder.setInsertionPointAfter(packed);
  int64_t offset = 0;
  for (LinearOp linear : group) {
    linear.getResult().replaceAllUsesWith(unpack(builder, linear, packed, offset));
    offset += outputsOf(linear);
  }
  for (LinearOp linear : group)
    linear->erase();
}

/// The map of several tensors that alone reads a linear, if only through functions of its result by
/// itself: `*` of `silu(a) * b`. Null where there is none.
static MapOp combinationOf(LinearOp linear) {
  Value value = linear.getResult();
  while (value.hasOneUse()) {
    auto map = dyn_cast<MapOp>(*value.user_begin());
    if (!map || map.getResult().getType() != linear.getResult().getType())
      return {};
    if (map.getInputs().size() > 1)
      return map;
    value = map.getResult();
  }
  return {};
}

/// Drops linears of a group that one map combines, as in gated MLPs: apart, the map is in the
/// epilogue of one of them, which reads the other's result once. Packed, the product would be
/// written, read, and written again.
static void dropCombined(SmallVector<LinearOp> &group) {
  llvm::SmallDenseMap<Operation *, int> readers;
  for (LinearOp linear : group)
    if (MapOp map = combinationOf(linear))
      ++readers[map];
  llvm::erase_if(group, [&](LinearOp linear) {
    MapOp map = combinationOf(linear);
    return map && readers.lookup(map) > 1;
  });
}

/// The layer whose weights a linear reads: parameters of a slot have one. Null where there is none.
static Value layerOf(LinearOp linear) {
  auto get = linear.getWeights().front().getDefiningOp<GetOp>();
  return get ? get.getLayer() : Value();
}

/// Why two linears of one tensor are of two groups.
static std::string differenceOf(LinearOp a, LinearOp b) {
  if (a.getBiases().empty() != b.getBiases().empty())
    return "one of them has a bias, the other has none";
  if (saidPrecision(a.getWeights().front()) != saidPrecision(b.getWeights().front()))
    return "their precisions differ";
  if (a.getContract() != b.getContract())
    return "they contract other axes";
  return "";
}

/// Gives the reason where linears of one tensor, side by side, stay apart.
static void explainApart(ArrayRef<LinearOp> linears) {
  LinearOp first = linears.front();
  for (LinearOp later : linears.drop_front()) {
    std::string difference = differenceOf(first, later);
    bool areBiases = later.getBiases().empty() != first.getBiases().empty();
    if (!difference.empty())
      return missed(
          later, Reason::NotPacked,
          "this and another linear map of the same tensor are two products: " + difference,
          areBiases ? "a bias of zeros for the one that has none makes one product of them" : "");
  }
}

namespace {
struct PackProjectionsPass : attn::impl::PackProjectionsPassBase<PackProjectionsPass> {
  void runOnOperation() override {
    using Key = std::tuple<Value, int64_t, int, Block *, Value, std::optional<Precision>>;
    llvm::MapVector<Key, SmallVector<LinearOp>> groups;
    getOperation().walk([&](LinearOp linear) {
      if (linear.getEpilogue().empty() && !linear.getNorm() && linear.getWeights().size() == 1)
        groups[{withoutRelabels(linear.getInput()), static_cast<int64_t>(linear.getContract()),
                !linear.getBiases().empty(), linear->getBlock(), layerOf(linear),
                saidPrecision(linear.getWeights().front())}]
            .push_back(linear);
    });
    if (wantsReasons(getOperation())) {
      llvm::MapVector<std::pair<Value, Block *>, SmallVector<LinearOp>> beside;
      for (auto &[key, group] : groups)
        beside[{std::get<0>(key), std::get<3>(key)}].push_back(group.front());
      for (auto &[input, linears] : beside)
        explainApart(linears);
    }
    for (auto &[key, group] : groups) {
      dropCombined(group);
      if (group.size() > 1 && fetchParameters(group))
        packGroup(group);
    }
  }

  /// The packed linear stands where the first of the group stood: parameters are fetched before it.
  static bool fetchParameters(ArrayRef<LinearOp> group) {
    LinearOp first = group.front();
    for (LinearOp linear : group.drop_front())
      for (Value operand : linear->getOperands().drop_front()) {
        Operation *definition = operand.getDefiningOp();
        if (!definition || definition->getBlock() != first->getBlock() ||
            definition->isBeforeInBlock(first))
          continue;
        if (!isa<GetOp>(definition))
          return false;
        definition->moveBefore(first);
      }
    return true;
  }
};
} // namespace
