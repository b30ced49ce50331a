// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stacks: a loop that calls the function of a block with the number of the layer. Where layers take
// turns, an iteration calls a function for each of them; where the turns change, another loop
// follows.
#include "compiler/frontend/sema/blocks/Stacks.h"
#include "compiler/frontend/sema/Limits.h"
#include "compiler/frontend/sema/Names.h"
#include "compiler/frontend/sema/blocks/Blocks.h"
#include "compiler/frontend/sema/blocks/Declarations.h"
#include "compiler/frontend/sema/blocks/Instances.h"
#include "compiler/frontend/sema/blocks/Taps.h"
#include "compiler/frontend/sema/expressions/Apply.h"
#include "compiler/frontend/sema/functions/Rearrange.h"
#include "compiler/frontend/sema/parameters/Bindings.h"
#include "compiler/frontend/sema/parameters/LayerNames.h"
#include "compiler/frontend/sema/parameters/LayerScopes.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Dims.h"
#include "compiler/frontend/sema/sizes/Statics.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "compiler/frontend/sema/sizes/Types.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/SaveAndRestore.h"

namespace attn::frontend {

using namespace ast;
using mlir::Location;

constexpr int64_t mostLayers = 1 << 16;

void declareStack(Sema &sema, Decl &stack) {
  auto &item = *llvm::cast<StackDecl>(stack.item);
  stack.size = evalSize(sema, *item.count);
  stack.wrong = stack.size.error;
  if (!stack.wrong && (!stack.size.isStatic() || stack.size.offset < 1)) {
    sema.report
        .error(DiagCode::SizeNotPositive, item.count->range,
               stack.size.isStatic() ? "a stack of " + std::to_string(stack.size.offset) + " layers"
                                     : "the number of layers must be known when compiling")
        .note("a stack has at least 1 layer");
    stack.wrong = true;
  } else if (!stack.wrong && stack.size.offset > mostLayers) {
    sema.report
        .error(DiagCode::SizeOverflow, item.count->range,
               "a stack of " + llvm::Twine(stack.size.offset) + " layers")
        .note("a stack has at most " + llvm::Twine(mostLayers) + " layers");
    stack.wrong = true;
  }
  stack.wrong |= !findBlock(sema, item.block);
}

/// Reports where stacks in stacks have too many layers in all.
static bool checkLayers(Reporter &report, const Decl &decl, const Owner &owner) {
  if (owner.layerCount <= mostLayers)
    return true;
  report
      .error(DiagCode::SizeOverflow, decl.range,
             "`" + decl.name + "` has " + llvm::Twine(owner.layerCount) +
                 " layers in all those of the stack around it")
      .note("stacks in stacks have at most " + llvm::Twine(mostLayers) + " layers");
  return false;
}

std::optional<Owner> ownerOfStack(Sema &sema, const Decl &decl, const Owner &around) {
  Reporter &report = sema.report;
  auto &stack = *llvm::cast<StackDecl>(decl.item);
  StackLevel level{decl.name, decl.size.offset, stack.shared, "", ""};
  std::string path = decl.name + (stack.shared ? "" : ".{n}");
  Owner owner = around;
  if (stack.binding.kind == Binding::Kind::String) {
    Name pattern = withNumbers(sema, stack.binding.pattern);
    owner.levels.push_back(level);
    owner.inStack = true;
    if (!checkPattern(report, pattern, owner, false))
      return std::nullopt;
    owner.levels.pop_back();
    path = pattern.text;
    if (!stack.shared && !llvm::StringRef(path).contains("{n}")) {
      report
          .error(DiagCode::BadPattern, stack.binding.pattern.range,
                 "the layers of `" + decl.name + "` would share their tensors")
          .help("write `{n}` where the number of the layer stands: `\"" + path +
                    ".{n}\"`, or `of shared " + stack.block.text + "`",
                Edit{stack.binding.pattern.range, "\"" + path + ".{n}\""});
      return std::nullopt;
    }
  } else if (stack.binding.kind != Binding::Kind::Path || stack.binding.optional ||
             !stack.binding.layouts.empty()) {
    report
        .error(DiagCode::BindingPlace, stack.binding.range,
               "the layers of a stack have tensors under one path")
        .help("write `= \"path.{n}\"`");
    return std::nullopt;
  }
  enterStack(owner, level, path);
  owner.symbolPrefix += decl.name + ".";
  return checkLayers(report, decl, owner) ? std::optional(owner) : std::nullopt;
}

/// Whether a block gives what it takes, as the layers of a stack do; reports where it does not.
static bool checkStackable(Reporter &report, const Instance &instance, const StackDecl &stack,
                           const Signature &signature) {
  auto elementsDiffer = [&] {
    mlir::func::FuncOp function = instance.function;
    return elementOf(function.getArgument(1)) !=
           llvm::cast<mlir::RankedTensorType>(function.getResultTypes()[0]).getElementType();
  };
  if (instance.results.size() == 1 && instance.results[0] == instance.parameters[0] &&
      !elementsDiffer())
    return true;
  Diagnostic &diagnostic = report.error(
      DiagCode::NotStackable, stack.block.range,
      "`" + signature.name.text + "` cannot be stacked, since it does not give what it takes");
  diagnostic.at(signature.parameters[0].type.range, "it takes this");
  if (!signature.results.empty())
    diagnostic.at(signature.results[0].range, "it gives this");
  return false;
}

/// The functions of a stack's layers, and what they are called with beside the layer's number and
/// the tensor that is passed on.
struct LayerCalls {
  /// A function that some of the layers share.
  struct Callee {
    const Instance *instance;
    llvm::SmallVector<mlir::Value> operands; ///< The first is what the first layer gets.
  };
  std::vector<Callee> callees;
  LayerScopes &scopes;
  int64_t count;
  std::string name; ///< Of the stack.
  Location loc;
  mlir::Value first = {}; ///< The number of layer 0, in a block of another stack.

  const Callee &of(int64_t layer) const { return callees[scopes.of(layer)]; }
  /// The number of a layer, which counts those of all stacks around.
  mlir::Value number(mlir::OpBuilder &builder, mlir::Value layer) const {
    return first ? mlir::arith::AddIOp::create(builder, loc, first, layer) : layer;
  }
};

/// Layers from `first` on that take turns: `turns` of them, `times` times.
struct Turns {
  int64_t first, turns, times;

  int64_t end() const { return first + turns * times; }
};

/// The layers from `first` to `end`, or as many of them as the shortest period that goes furthest.
static Turns takeTurns(const LayerScopes &scopes, int64_t first, int64_t end) {
  constexpr int64_t mostTurns = 64;
  Turns best{first, 1, 1};
  for (int64_t turns = 1; turns <= std::min(mostTurns, (end - first) / 2); ++turns) {
    int64_t same = first + turns;
    while (same < end && scopes.of(same) == scopes.of(same - turns))
      ++same;
    int64_t times = (same - first) / turns;
    if (times > 1 && times * turns > best.turns * best.times)
      best = {first, turns, times};
    if (same == end)
      break;
  }
  return best;
}

static mlir::Value callLayer(mlir::OpBuilder &builder, const LayerCalls::Callee &callee,
                             mlir::Value number, mlir::Value carried, Location loc) {
  llvm::SmallVector<mlir::Value> passed{number, carried};
  llvm::append_range(passed, llvm::drop_begin(callee.operands));
  return mlir::func::CallOp::create(builder, loc, callee.instance->function, passed).getResult(0);
}

/// A loop in which layers take their turns, or a call where there is one layer.
static mlir::Value loopOver(mlir::OpBuilder &builder, const LayerCalls &layers, const Turns &turns,
                            mlir::Value carried) {
  auto index = [&](int64_t value) -> mlir::Value {
    return mlir::arith::ConstantIndexOp::create(builder, layers.loc, value);
  };
  if (turns.times == 1 && layers.count > 1)
    return callLayer(builder, layers.of(turns.first), layers.number(builder, index(turns.first)),
                     carried, layers.loc);
  mlir::Value from = index(turns.first), to = index(turns.end()), step = index(turns.turns);
  auto loop = mlir::scf::ForOp::create(builder, layers.loc, from, to, step, carried);
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(loop.getBody());
  mlir::Value inner = loop.getRegionIterArg(0);
  for (int64_t turn = 0; turn < turns.turns; ++turn) {
    mlir::Value number = loop.getInductionVar();
    if (turn)
      number = mlir::arith::AddIOp::create(builder, layers.loc, number, index(turn));
    inner = callLayer(builder, layers.of(turns.first + turn), layers.number(builder, number), inner,
                      layers.loc);
  }
  mlir::scf::YieldOp::create(builder, layers.loc, inner);
  return loop.getResult(0);
}

/// The layers as calls one after the other, with all their intermediates.
static mlir::Value tapLayers(Sema &sema, const LayerCalls &layers, mlir::Value carried) {
  for (int64_t n = 0; n < layers.count && spend(sema, 1, {}); ++n) {
    mlir::Value number = mlir::arith::ConstantIndexOp::create(sema.builder, layers.loc, n);
    const LayerCalls::Callee &callee = layers.of(n);
    carried =
        callLayer(sema.builder, callee, layers.number(sema.builder, number), carried, layers.loc);
    tapCall(sema, *callee.instance, carried.getDefiningOp<mlir::func::CallOp>(),
            layers.name + "." + llvm::Twine(n));
  }
  return carried;
}

/// The result of all layers.
static mlir::Value applyLayers(Sema &sema, const LayerCalls &layers) {
  mlir::Value carried = layers.callees.front().operands.front();
  if (sema.options.taps)
    return tapLayers(sema, layers, carried);
  for (int64_t n = 0; n < layers.count;) {
    Turns turns = takeTurns(layers.scopes, n, layers.count);
    carried = loopOver(sema.builder, layers, turns, carried);
    n = turns.end();
  }
  return carried;
}

/// Whether layers give each other what they take; reports where they do not.
static bool checkSameTypes(Reporter &report, const LayerCalls &layers, const StackDecl &stack) {
  for (const LayerCalls::Callee &callee : layers.callees)
    if (callee.operands.front().getType() != layers.callees.front().operands.front().getType()) {
      report
          .error(DiagCode::NotStackable, stack.block.range,
                 "the layers of `" + stack.name.str() + "` take different tensors")
          .note("one takes " + showTensor(layers.callees.front().operands.front()))
          .note("another takes " + showTensor(callee.operands.front()));
      return false;
    }
  return true;
}

/// What the first layer gets, repeated along the axes that it lacks and others have beside those
/// that the block speaks of.
static SemaValue withLifted(Sema &sema, const Instance &instance, const SemaValue &first,
                            Location loc) {
  if (!first.isTensor())
    return first;
  Axes axes = axesOfValue(first.tensor), all = instance.everyLiftedOutside;
  size_t own = instance.parameters.front().size() - all.size();
  llvm::append_range(all, llvm::ArrayRef(axes).take_back(own));
  return SemaValue::of(spread(sema, first.tensor, all, loc));
}

mlir::Value firstLayer(Sema &sema, int64_t layers, Location loc) {
  if (!sema.function.layer)
    return nullptr;
  mlir::Value count = mlir::arith::ConstantIndexOp::create(sema.builder, loc, layers);
  return mlir::arith::MulIOp::create(sema.builder, loc, sema.function.layer, count);
}

SemaValue applyStack(Sema &sema, Decl &decl, const CallExpr &call) {
  auto &stack = *llvm::cast<StackDecl>(decl.item);
  llvm::SaveAndRestore place(
      sema.report.usedAt, sema.source.isUsed(call.range.begin) ? sema.report.usedAt : call.range);
  std::optional<std::vector<SemaValue>> arguments = tensorArguments(sema, call, decl.name);
  if (!arguments || decl.wrong)
    return SemaValue::wrong();
  if (arguments->empty()) {
    plainArguments(sema.report, call, decl.name, 1, 1000, decl.name + "(x)");
    return SemaValue::wrong();
  }
  std::optional<Owner> owner =
      ownerOfStack(sema, decl, sema.function.owner ? *sema.function.owner : Owner());
  Scope &declaredIn = declaringScope(*sema.names.scope, decl);
  Decl *stacked = declaredIn.find(stack.block.text);
  if (!owner || !stacked)
    return SemaValue::wrong();
  auto &block = *llvm::cast<BlockDecl>(stacked->item);
  LayerScopes scopes(sema, stack, declaredIn, decl.size.offset);
  LayerCalls layers{{}, scopes, decl.size.offset, decl.name, locate(sema, call.range, decl.name)};
  constexpr unsigned carried = 0;
  std::map<std::string, Axis> bound;
  for (Scope *scope : scopes.all()) {
    bound.clear();
    Instance *instance = instantiate(sema, *stacked, *owner, *arguments, call,
                                     {stack.dimArguments, stack.arguments, scope, carried}, bound);
    if (!instance || !checkStackable(sema.report, *instance, stack, block.signature))
      return SemaValue::wrong();
    (*arguments)[carried] = withLifted(sema, *instance, (*arguments)[carried], layers.loc);
    layers.callees.push_back({instance, blockOperands(sema, *instance, call, *arguments)});
  }
  if (!checkSameTypes(sema.report, layers, stack))
    return SemaValue::wrong();
  layers.first = firstLayer(sema, decl.size.offset, layers.loc);
  mlir::Value result = applyLayers(sema, layers);
  return outside(sema, result, *layers.callees.back().instance, block, 0, bound, call.range);
}

} // namespace attn::frontend
