// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stack may give its layers different statics, so that one layer has tensors that another lacks.
// The functions of blocks take the number of the layer, and which numbers these are follows from
// the calls. A parameter that layers 3, 7 and 11 of 12 read is one of 3 layers,
//   attn.param @q … from <"layers.{n@3,7,11}.q.weight", …> layers 3
// of which layer 7 reads the second: attn.get @q[7 / 4].
#include "compiler/frontend/sema/parameters/LayersOf.h"
#include "dialect/Caches.h"
#include "dialect/Choices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

namespace attn::frontend {

namespace arith = mlir::arith;
namespace func = mlir::func;

/// Numbers of layers, rising.
using Layers = std::set<int64_t>;

namespace {

/// The numbers of layers that functions are called with.
class LayerFlow {
public:
  explicit LayerFlow(mlir::ModuleOp module) : module(module) { run(); }

  /// What an index may be, of constants, loops and numbers of layers.
  Layers valuesOf(mlir::Value value) const;

private:
  void run();
  bool pass(func::CallOp call);

  mlir::ModuleOp module;
  mlir::DenseMap<mlir::Operation *, Layers> ofFunction;
};

/// An op that reads a layer of a parameter or of a cache.
struct Reader {
  mlir::Operation *op;
  mlir::OpOperand *layer;
};

/// Makes what some layers read theirs alone.
class LayerKeeper {
public:
  explicit LayerKeeper(Sema &sema) : sema(sema), flow(*sema.output.module) {}
  void run();

private:
  void keep(mlir::Operation *symbol, int64_t count, llvm::ArrayRef<Reader> readers);
  mlir::Value placeIn(const Layers &all, mlir::Value layer);
  void checkVariants();

  Sema &sema;
  LayerFlow flow;
  llvm::StringMap<Layers> layersOf; ///< By symbol, where not all layers read it.
  std::map<std::pair<void *, std::vector<int64_t>>, mlir::Value> places;
};

} // namespace

void LayerFlow::run() {
  llvm::SmallVector<func::CallOp> calls;
  module.walk([&](func::CallOp call) { calls.push_back(call); });
  for (bool changed = true; changed;) {
    changed = false;
    for (func::CallOp call : calls)
      changed |= pass(call);
  }
}

/// Adds the layer that a call gives its function, if it takes one.
bool LayerFlow::pass(func::CallOp call) {
  if (call.getNumOperands() == 0 || !call.getOperand(0).getType().isIndex())
    return false;
  Layers given = valuesOf(call.getOperand(0));
  Layers &known = ofFunction[module.lookupSymbol<func::FuncOp>(call.getCallee())];
  size_t before = known.size();
  known.insert(given.begin(), given.end());
  return known.size() != before;
}

Layers LayerFlow::valuesOf(mlir::Value value) const {
  llvm::APInt constant;
  if (mlir::matchPattern(value, mlir::m_ConstantInt(&constant)))
    return {constant.getSExtValue()};
  if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value)) {
    mlir::Operation *owner = argument.getOwner()->getParentOp();
    if (auto loop = llvm::dyn_cast<mlir::scf::ForOp>(owner)) {
      Layers from = valuesOf(loop.getLowerBound()), to = valuesOf(loop.getUpperBound()),
             step = valuesOf(loop.getStep()), all;
      if (from.size() == 1 && to.size() == 1 && step.size() == 1 && *step.begin() > 0)
        for (int64_t n = *from.begin(); n < *to.begin(); n += *step.begin())
          all.insert(n);
      return all;
    }
    if (auto route = llvm::dyn_cast<RouteOp>(owner)) {
      Layers experts;
      for (int64_t n = 0; n < static_cast<int64_t>(route.getExperts()); ++n)
        experts.insert(experts.end(), n);
      return experts;
    }
    return ofFunction.lookup(owner);
  }
  mlir::Operation *op = value.getDefiningOp();
  if (!op || op->getNumOperands() != 2)
    return {};
  Layers left = valuesOf(op->getOperand(0)), right = valuesOf(op->getOperand(1)), all;
  for (int64_t a : left)
    for (int64_t b : right) {
      if (llvm::isa<arith::AddIOp>(op))
        all.insert(a + b);
      else if (llvm::isa<arith::MulIOp>(op))
        all.insert(a * b);
      else if (llvm::isa<arith::DivUIOp>(op) && b)
        all.insert(a / b);
      else if (llvm::isa<arith::RemUIOp>(op) && b)
        all.insert(a % b);
    }
  return all;
}

/// Runs of numbers: `0-2,4-6,8`.
static std::string textOf(const Layers &layers) {
  std::string text;
  for (auto at = layers.begin(); at != layers.end();) {
    int64_t first = *at, last = first;
    for (++at; at != layers.end() && *at == last + 1; ++at)
      last = *at;
    text += (text.empty() ? "" : ",") + std::to_string(first);
    text += last > first ? "-" + std::to_string(last) : "";
  }
  return text;
}

/// A pattern of names in which `n` counts these layers.
static std::string patternOf(llvm::StringRef pattern, const Layers &layers) {
  std::string text, numbers = "{n@" + textOf(layers);
  for (;;) {
    auto [before, after] = pattern.split("{n");
    text += before;
    if (before.size() == pattern.size())
      return text;
    text += numbers;
    pattern = after;
  }
}

/// The place of `layer` among `all`, of which it is one.
mlir::Value LayerKeeper::placeIn(const Layers &all, mlir::Value layer) {
  mlir::Value &known = places[{layer.getAsOpaquePointer(), {all.begin(), all.end()}}];
  if (known)
    return known;
  mlir::OpBuilder builder(sema.builder.getContext());
  builder.setInsertionPointAfterValue(layer);
  mlir::Location loc = layer.getLoc();
  auto number = [&](int64_t value) -> mlir::Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  std::map<int64_t, int64_t> placeOf;
  for (int64_t n : all)
    placeOf.emplace(n, static_cast<int64_t>(placeOf.size()));
  Layers given = flow.valuesOf(layer);
  int64_t first = *given.begin(), shift = first - placeOf[first];
  if (given.size() == 1)
    return known = number(placeOf[first]);
  if (llvm::all_of(given, [&](int64_t n) { return placeOf[n] == n - shift; }))
    return known = arith::SubIOp::create(builder, loc, layer, number(shift));
  // Layers that take turns: of each period so many.
  constexpr int64_t mostTurns = 64;
  for (int64_t period = 2; period <= mostTurns; ++period) {
    auto own = static_cast<int64_t>(std::distance(all.begin(), all.lower_bound(period)));
    int64_t behind = first % period - (placeOf[first] - first / period * own);
    bool isSame = llvm::all_of(given, [&](int64_t n) { return n % period == first % period; });
    if (!llvm::all_of(
            given, [&](int64_t n) { return placeOf[n] == n / period * own + n % period - behind; }))
      continue;
    mlir::Value turns = arith::DivUIOp::create(builder, loc, layer, number(period));
    turns = arith::MulIOp::create(builder, loc, turns, number(own));
    mlir::Value within =
        isSame ? number(first % period - behind)
               : arith::SubIOp::create(builder, loc,
                                       arith::RemUIOp::create(builder, loc, layer, number(period)),
                                       number(behind));
    return known = arith::AddIOp::create(builder, loc, turns, within);
  }
  // Less those before it that are not among them.
  mlir::Value place = layer;
  int64_t next = 0;
  for (int64_t n : all) {
    if (n > next) {
      mlir::Value isBehind =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge, layer, number(n));
      mlir::Value gap =
          arith::SelectOp::create(builder, loc, isBehind, number(n - next), number(0));
      place = arith::SubIOp::create(builder, loc, place, gap);
    }
    next = n + 1;
  }
  return known = place;
}

void LayerKeeper::keep(mlir::Operation *symbol, int64_t count, llvm::ArrayRef<Reader> readers) {
  Layers all;
  for (const Reader &reader : readers) {
    Layers read = flow.valuesOf(reader.layer->get());
    if (read.empty()) // nothing is known
      return;
    all.insert(read.begin(), read.end());
  }
  if (all.empty() || static_cast<int64_t>(all.size()) >= count)
    return;
  layersOf[llvm::cast<mlir::SymbolOpInterface>(symbol).getName()] = all;
  mlir::Builder builder(symbol->getContext());
  auto layers = builder.getI64IntegerAttr(static_cast<int64_t>(all.size()));
  if (auto param = llvm::dyn_cast<ParamOp>(symbol)) {
    SourceAttr source = param.getSource();
    param.setLayersAttr(layers);
    param.setSourceAttr(SourceAttr::get(
        symbol->getContext(), builder.getStringAttr(patternOf(source.getPattern(), all)),
        source.getShape(), source.getOffset(), source.getStrides()));
  } else {
    llvm::cast<StateOp>(symbol).setLayersAttr(layers);
  }
  for (const Reader &reader : readers)
    reader.layer->set(placeIn(all, reader.layer->get()));
}

void LayerKeeper::run() {
  mlir::ModuleOp module = *sema.output.module;
  llvm::MapVector<mlir::Operation *, llvm::SmallVector<Reader>> readers;
  auto add = [&](auto op, llvm::StringRef symbol) {
    if (op.getLayer())
      readers[module.lookupSymbol(symbol)].push_back({op, &op.getLayerMutable()[0]});
  };
  module.walk([&](mlir::Operation *op) {
    if (auto get = llvm::dyn_cast<GetOp>(op))
      add(get, get.getParam());
    else if (auto push = llvm::dyn_cast<PushOp>(op))
      add(push, push.getState());
    else if (auto kept = llvm::dyn_cast<KeptOp>(op))
      add(kept, kept.getState());
  });
  for (auto &[symbol, of] : readers) {
    auto param = llvm::dyn_cast<ParamOp>(symbol);
    auto count = param ? static_cast<int64_t>(param.getLayers().value_or(1))
                       : static_cast<int64_t>(llvm::cast<StateOp>(symbol).getLayers());
    keep(symbol, count, of);
  }
  checkVariants();
}

/// Whether two parameters are read by one layer.
static bool meet(const llvm::StringMap<Layers> &layersOf, llvm::StringRef a, llvm::StringRef b) {
  auto ofA = layersOf.find(a), ofB = layersOf.find(b);
  if (ofA == layersOf.end() || ofB == layersOf.end())
    return true;
  return llvm::any_of(ofA->second, [&](int64_t n) { return ofB->second.count(n) > 0; });
}

void LayerKeeper::checkVariants() {
  for (const auto &both : sema.checkpoint.apart)
    if (meet(layersOf, both.first, both.second))
      both.report();
}

void keepLayersThatRead(Sema &sema) {
  if (!sema.report.diagnostics.hasErrors())
    LayerKeeper(sema).run();
}

} // namespace attn::frontend
