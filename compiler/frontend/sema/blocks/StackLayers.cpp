// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop that calls the function of a block with the number of the layer. Where layers take turns,
// an iteration calls a function for each of them; where the turns change, another loop follows.
// Layers with tensors of their own are calls one after the other: what each takes is a slice of the
// tensor of all, and has no copy.
#include "compiler/frontend/sema/blocks/StackLayers.h"
#include "compiler/frontend/sema/Limits.h"
#include "compiler/frontend/sema/blocks/Taps.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "compiler/frontend/sema/sizes/Types.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace attn::frontend {

using mlir::Location;
using Values = llvm::SmallVector<mlir::Value>;

bool LayerCalls::haveOwn() const {
  return llvm::is_contained(isOfLayer, true) ||
         llvm::any_of(ownOperands, [](mlir::Value all) { return bool(all); });
}

mlir::Value firstLayer(Sema &sema, int64_t layers, Location loc) {
  if (!sema.function.layer)
    return nullptr;
  mlir::Value count = mlir::arith::ConstantIndexOp::create(sema.builder, loc, layers);
  return mlir::arith::MulIOp::create(sema.builder, loc, sema.function.layer, count);
}

namespace {

/// Layers from `first` on that take turns: `turns` of them, `times` times.
struct Turns {
  int64_t first, turns, times;

  int64_t end() const { return first + turns * times; }
};

/// Builds the calls.
class LayerBuilder {
public:
  LayerBuilder(Sema &sema, const LayerCalls &layers)
      : sema(sema), builder(sema.builder), layers(layers) {
    mlir::ValueRange operands = layers.callees.front().operands;
    for (size_t i = 0; i < layers.isOfLayer.size(); ++i)
      if (!layers.isOfLayer[i])
        carried.push_back(operands[i]);
  }

  /// The layers as loops, and as calls where a turn is one; all results are carried.
  void loop();
  /// The layers as calls one after the other, with all their intermediates where these are asked
  /// for; `given` are what each layer gives.
  void callEach(std::vector<Values> &given);

  Values carried; ///< Of the layer before.

private:
  mlir::func::CallOp call(int64_t layer, mlir::Value number, mlir::ValueRange carried);
  void loopOver(const Turns &turns);
  Turns takeTurns(int64_t first) const;
  mlir::Value ownOperand(mlir::Value all, mlir::Type type, int64_t layer);
  mlir::Value index(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(builder, layers.loc, value);
  }
  /// The number of a layer, which counts those of all stacks around.
  mlir::Value number(mlir::Value layer) {
    return layers.first ? mlir::arith::AddIOp::create(builder, layers.loc, layers.first, layer)
                        : layer;
  }

  Sema &sema;
  mlir::OpBuilder &builder;
  const LayerCalls &layers;
};

} // namespace

/// The layers from `first` on, or as many of them as the shortest period that goes furthest.
Turns LayerBuilder::takeTurns(int64_t first) const {
  constexpr int64_t mostTurns = 64;
  Turns best{first, 1, 1};
  for (int64_t turns = 1; turns <= std::min(mostTurns, (layers.count - first) / 2); ++turns) {
    int64_t same = first + turns;
    while (same < layers.count && layers.scopes.of(same) == layers.scopes.of(same - turns))
      ++same;
    int64_t times = (same - first) / turns;
    if (times > 1 && times * turns > best.turns * best.times)
      best = {first, turns, times};
    if (same == layers.count)
      break;
  }
  return best;
}

/// What `layer` has of a tensor of all layers, under the names of the axes that its block has.
mlir::Value LayerBuilder::ownOperand(mlir::Value all, mlir::Type type, int64_t layer) {
  Axes axes = axesOfValue(all);
  axes.erase(axes.begin());
  mlir::Value own = SliceOp::create(builder, layers.loc, tensorType(sema, axes, {}, elementOf(all)),
                                    all, 0, static_cast<uint64_t>(layer), /*end=*/false,
                                    /*drop=*/true);
  return own.getType() == type ? own : RelabelOp::create(builder, layers.loc, type, own);
}

mlir::func::CallOp LayerBuilder::call(int64_t layer, mlir::Value number, mlir::ValueRange passed) {
  const LayerCalls::Callee &callee = layers.of(layer);
  Values operands = callee.operands;
  for (auto [i, all] : llvm::enumerate(layers.ownOperands))
    if (all && layer > 0) // layer 0 has its own there
      operands[i] = ownOperand(all, callee.operands[i].getType(), layer);
  size_t next = 0;
  for (size_t i = 0; i < layers.isOfLayer.size(); ++i)
    if (!layers.isOfLayer[i])
      operands[i] = passed[next++];
  operands.insert(operands.begin(), number);
  return mlir::func::CallOp::create(builder, layers.loc, callee.instance->function, operands);
}

/// A loop in which layers take their turns, or a call where there is one layer.
void LayerBuilder::loopOver(const Turns &turns) {
  size_t results = layers.isOfLayer.size();
  auto resultsOf = [&](mlir::func::CallOp call) {
    return Values(call.getResults().take_front(results));
  };
  if (turns.times == 1 && layers.count > 1) {
    carried = resultsOf(call(turns.first, number(index(turns.first)), carried));
    return;
  }
  mlir::Value from = index(turns.first), to = index(turns.end()), step = index(turns.turns);
  auto loop = mlir::scf::ForOp::create(builder, layers.loc, from, to, step, carried);
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(loop.getBody());
  Values inner(loop.getRegionIterArgs());
  for (int64_t turn = 0; turn < turns.turns; ++turn) {
    mlir::Value layer = loop.getInductionVar();
    if (turn)
      layer = mlir::arith::AddIOp::create(builder, layers.loc, layer, index(turn));
    inner = resultsOf(call(turns.first + turn, number(layer), inner));
  }
  mlir::scf::YieldOp::create(builder, layers.loc, inner);
  carried = Values(loop.getResults());
}

void LayerBuilder::loop() {
  for (int64_t n = 0; n < layers.count;) {
    Turns turns = takeTurns(n);
    loopOver(turns);
    n = turns.end();
  }
}

void LayerBuilder::callEach(std::vector<Values> &given) {
  for (int64_t n = 0; n < layers.count && spend(sema, 1, {}); ++n) {
    mlir::func::CallOp called = call(n, number(index(n)), carried);
    tapCall(sema, *layers.of(n).instance, called, layers.name + "." + llvm::Twine(n));
    size_t next = 0;
    for (size_t i = 0; i < layers.isOfLayer.size(); ++i)
      if (layers.isOfLayer[i])
        given[i].push_back(called.getResult(i));
      else
        carried[next++] = called.getResult(i);
  }
}

std::vector<Values> applyLayers(Sema &sema, const LayerCalls &layers) {
  std::vector<Values> results(layers.isOfLayer.size());
  LayerBuilder builder(sema, layers);
  if (sema.options.taps || layers.haveOwn())
    builder.callEach(results);
  else
    builder.loop();
  size_t next = 0;
  for (size_t i = 0; i < results.size(); ++i)
    if (!layers.isOfLayer[i])
      results[i] = {builder.carried[next++]};
  return results;
}

} // namespace attn::frontend
