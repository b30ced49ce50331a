// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stacks: how many layers they have, whose their parameters are, and what layers pass on.
#include "compiler/frontend/sema/blocks/Stacks.h"
#include "compiler/frontend/sema/Limits.h"
#include "compiler/frontend/sema/Names.h"
#include "compiler/frontend/sema/blocks/Blocks.h"
#include "compiler/frontend/sema/blocks/Declarations.h"
#include "compiler/frontend/sema/blocks/Instances.h"
#include "compiler/frontend/sema/blocks/StackLayers.h"
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

/// Whether the number of the layer stands in a path, `{n}` or counted otherwise, `{n+5}`.
static bool hasOwnNumber(llvm::StringRef path) {
  return llvm::any_of(llvm::ArrayRef({"{n}", "{n*", "{n+"}),
                      [&](const char *word) { return path.contains(word); });
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
    if (!stack.shared && !hasOwnNumber(path)) {
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

namespace {

/// Applies a stack to its arguments.
class StackCall {
public:
  StackCall(Sema &sema, Decl &decl, const CallExpr &call)
      : sema(sema), decl(decl), call(call), stack(*llvm::cast<StackDecl>(decl.item)),
        loc(locate(sema, call.range, decl.name)) {}

  /// The results; an error value where it was reported.
  std::vector<SemaValue> apply();

private:
  bool readArguments();
  void readOwn();
  bool readCallees(Decl &stacked, const Owner &owner, LayerCalls &layers);
  Instance *instanceIn(Decl &stacked, const Owner &owner, Scope &scope);
  unsigned countMatching(const Instance &instance) const;
  llvm::SmallVector<unsigned> passedOn(unsigned matching) const;
  bool checkStackable(const Instance &instance, unsigned matching) const;
  bool checkSameTypes(const LayerCalls &layers) const;
  bool checkOwn(const LayerCalls &layers) const;
  SemaValue withLifted(const Instance &instance, unsigned parameter);
  SemaValue stackedAlong(const llvm::SmallVector<mlir::Value> &values, const Instance &instance,
                         size_t result);

  Sema &sema;
  Decl &decl;
  const CallExpr &call;
  const StackDecl &stack;
  Location loc;
  const BlockDecl *block = nullptr;
  std::optional<Axis> axis;         ///< Of the layers, where the number of layers is a dim.
  std::vector<SemaValue> arguments; ///< Of layer 0.
  std::vector<unsigned> tensors;    ///< Arguments that are no caches.
  std::vector<mlir::Value> own;     ///< By tensor: those of all layers, or null.
  llvm::SmallVector<unsigned> carried = {0}; ///< Parameters that are passed on.
  std::map<std::string, Axis> bound;
};

} // namespace

bool StackCall::readArguments() {
  std::optional<std::vector<SemaValue>> given = tensorArguments(sema, call, decl.name);
  if (!given || decl.wrong)
    return false;
  if (given->empty()) {
    plainArguments(sema.report, call, decl.name, 1, 1000, decl.name + "(x)");
    return false;
  }
  arguments = std::move(*given);
  for (unsigned i = 0; i < arguments.size(); ++i)
    if (!arguments[i].isCache())
      tensors.push_back(i);
  return true;
}

/// Finds what each layer has its own of: the axis in front is that of the layers, and its block
/// does not speak of it.
void StackCall::readOwn() {
  auto *count = llvm::dyn_cast<PathExpr>(stack.count.get());
  if (count)
    axis = Axis{count->path.str(), decl.size.offset};
  own.resize(tensors.size());
  for (size_t i = 1; i < tensors.size() && axis; ++i) {
    SemaValue &argument = arguments[tensors[i]];
    if (!argument.isTensor() || tensors[i] >= block->signature.parameters.size())
      continue;
    Axes axes = axesOfValue(argument.tensor);
    if (axes.size() <= block->signature.parameters[tensors[i]].type.dims.size() ||
        axes.front() != *axis)
      continue;
    own[i] = argument.tensor;
    axes.erase(axes.begin());
    argument = SemaValue::of(SliceOp::create(
        sema.builder, loc, tensorType(sema, axes, call.range, elementOf(own[i])), own[i], 0, 0,
        /*end=*/false, /*drop=*/true));
  }
}

/// How many results in front are what the block takes at the same places.
unsigned StackCall::countMatching(const Instance &instance) const {
  mlir::func::FuncOp function = instance.function;
  unsigned count = 0;
  for (; count < std::min(instance.results.size(), tensors.size()); ++count) {
    mlir::Type given = function.getResultTypes()[count];
    if (instance.results[count] != instance.parameters[tensors[count]] ||
        elementOf(function.getArgument(1 + count)) !=
            llvm::cast<mlir::RankedTensorType>(given).getElementType())
      break;
  }
  return count;
}

/// Whether a block gives what it takes first, as the layers of a stack do; reports where it does
/// not.
bool StackCall::checkStackable(const Instance &instance, unsigned matching) const {
  const Signature &signature = block->signature;
  if (matching == 0) {
    Diagnostic &diagnostic = sema.report.error(
        DiagCode::NotStackable, stack.block.range,
        "`" + signature.name.text + "` cannot be stacked, since it does not give what it takes");
    diagnostic.at(signature.parameters[0].type.range, "it takes this");
    if (!signature.results.empty())
      diagnostic.at(signature.results[0].range, "it gives this");
    return false;
  }
  for (unsigned i = matching; i < own.size(); ++i)
    if (own[i] && i < instance.results.size()) {
      sema.report
          .error(DiagCode::NotStackable, signature.results[i].range,
                 "each layer of `" + decl.name + "` gives another tensor than it takes")
          .at(signature.parameters[tensors[i]].type.range, "it takes this")
          .note("where layers have tensors of their own, a layer gives them in the order and of "
                "the types in which it takes them");
      return false;
    }
  return true;
}

/// What the first layer gets, repeated along the axes that it lacks and others have beside those
/// that the block speaks of.
SemaValue StackCall::withLifted(const Instance &instance, unsigned parameter) {
  const SemaValue &first = arguments[parameter];
  if (!first.isTensor())
    return first;
  Axes axes = axesOfValue(first.tensor), all = instance.everyLiftedOutside;
  size_t mine = instance.parameters[parameter].size() - all.size();
  llvm::append_range(all, llvm::ArrayRef(axes).take_back(mine));
  return SemaValue::of(spread(sema, first.tensor, all, loc));
}

/// The parameters that are passed on, where so many results are what the block takes.
llvm::SmallVector<unsigned> StackCall::passedOn(unsigned matching) const {
  llvm::SmallVector<unsigned> passed;
  for (unsigned i = 0; i < matching; ++i)
    if (!own[i])
      passed.push_back(tensors[i]);
  return passed;
}

/// The function of the layers of a scope, which finds what they pass on.
Instance *StackCall::instanceIn(Decl &stacked, const Owner &owner, Scope &scope) {
  for (;;) {
    bound.clear();
    Instance *instance = instantiate(sema, stacked, owner, arguments, call,
                                     {stack.dimArguments, stack.arguments, &scope, carried}, bound);
    if (!instance)
      return nullptr;
    unsigned matching = countMatching(*instance);
    if (!checkStackable(*instance, matching))
      return nullptr;
    llvm::SmallVector<unsigned> passed = passedOn(matching);
    if (passed == carried)
      return instance;
    if (passed.size() < carried.size()) { // with more axes, fewer are the same
      checkStackable(*instance, 0);
      return nullptr;
    }
    carried = passed;
  }
}

bool StackCall::readCallees(Decl &stacked, const Owner &owner, LayerCalls &layers) {
  for (Scope *scope : layers.scopes.all()) {
    Instance *instance = instanceIn(stacked, owner, *scope);
    if (!instance)
      return false;
    for (unsigned parameter : carried)
      arguments[parameter] = withLifted(*instance, parameter);
    layers.callees.push_back({instance, blockOperands(sema, *instance, call, arguments)});
  }
  for (const LayerCalls::Callee &callee : layers.callees)
    if (passedOn(countMatching(*callee.instance)) != carried)
      return checkStackable(*callee.instance, 0); // other layers pass on more
  layers.ownOperands = own;
  layers.isOfLayer.resize(layers.callees.front().instance->results.size(), true);
  for (size_t i = 0; i < std::min(layers.isOfLayer.size(), tensors.size()); ++i)
    layers.isOfLayer[i] = !llvm::is_contained(carried, tensors[i]);
  return checkSameTypes(layers) && checkOwn(layers);
}

/// Whether layers give each other what they take; reports where they do not.
bool StackCall::checkSameTypes(const LayerCalls &layers) const {
  const LayerCalls::Callee &first = layers.callees.front();
  for (const LayerCalls::Callee &callee : layers.callees)
    for (size_t i = 0; i < layers.isOfLayer.size(); ++i) {
      if (layers.isOfLayer[i] || callee.operands[i].getType() == first.operands[i].getType())
        continue;
      sema.report
          .error(DiagCode::NotStackable, stack.block.range,
                 "the layers of `" + stack.name.str() + "` take different tensors")
          .note("one takes " + showTensor(first.operands[i]))
          .note("another takes " + showTensor(callee.operands[i]));
      return false;
    }
  return true;
}

/// Whether layers that have tensors of their own are not too many, and have a name.
bool StackCall::checkOwn(const LayerCalls &layers) const {
  constexpr int64_t mostOfOwn = 1024;
  if (!layers.haveOwn())
    return true;
  if (!axis) {
    sema.report
        .error(DiagCode::NotStackable, stack.count->range,
               "each layer of `" + decl.name + "` gives a tensor, and their axis has no name")
        .at(block->signature.results.back().range, "this one")
        .help("declare `dim L = " + llvm::Twine(decl.size.offset) + "`, and write `L` here");
    return false;
  }
  if (layers.count <= mostOfOwn)
    return true;
  sema.report
      .error(DiagCode::SizeOverflow, stack.count->range,
             "a stack of " + llvm::Twine(layers.count) +
                 " layers, each of which has tensors of its own")
      .note("a stack has at most " + llvm::Twine(mostOfOwn) + " such layers");
  return false;
}

/// What each layer gives, along the axis of the layers, which stands in front.
SemaValue StackCall::stackedAlong(const llvm::SmallVector<mlir::Value> &values,
                                  const Instance &instance, size_t result) {
  llvm::SmallVector<mlir::Value> rows;
  Axes axes;
  for (mlir::Value value : values) {
    SemaValue row = outside(sema, value, instance, *block, result, bound, call.range);
    if (!row.isTensor())
      return row;
    axes = axesOfValue(row.tensor);
    if (findAxis(axes, axis->name) >= 0) {
      sema.report
          .error(DiagCode::DuplicateAxis, call.range,
                 "the result would have the axis `" + axis->name + "` twice")
          .at(block->signature.results[result].range, "each layer gives this");
      return SemaValue::wrong();
    }
    rows.push_back(withUnitInFront(sema, row.tensor, axis->name, loc));
    if (rows.back().getType() == rows.front().getType())
      continue;
    sema.report
        .error(DiagCode::NotStackable, block->signature.results[result].range,
               "the layers of `" + decl.name + "` give different tensors")
        .at(stack.block.range, "each of these layers gives one");
    return SemaValue::wrong();
  }
  if (rows.empty()) // the model is too large, which was reported
    return SemaValue::wrong();
  axes.insert(axes.begin(), *axis);
  mlir::RankedTensorType type = tensorType(sema, axes, call.range, elementOf(rows.front()));
  if (!type)
    return SemaValue::wrong();
  if (rows.size() == 1)
    return SemaValue::of(rows.front());
  return SemaValue::of(ConcatOp::create(
      sema.builder, loc, type, rows, sema.builder.getI64IntegerAttr(0),
      sema.builder.getDenseI64ArrayAttr(llvm::SmallVector<int64_t>(rows.size(), 0))));
}

std::vector<SemaValue> StackCall::apply() {
  if (!readArguments())
    return {SemaValue::wrong()};
  std::optional<Owner> owner =
      ownerOfStack(sema, decl, sema.function.owner ? *sema.function.owner : Owner());
  Scope &declaredIn = declaringScope(*sema.names.scope, decl);
  Decl *stacked = declaredIn.find(stack.block.text);
  if (!owner || !stacked)
    return {SemaValue::wrong()};
  block = llvm::cast<BlockDecl>(stacked->item);
  readOwn();
  LayerScopes scopes(sema, stack, declaredIn, decl.size.offset);
  LayerCalls layers{{}, {}, {}, scopes, decl.size.offset, decl.name, loc};
  if (!readCallees(*stacked, *owner, layers))
    return {SemaValue::wrong()};
  layers.first = firstLayer(sema, decl.size.offset, loc);
  std::vector<SemaValue> values;
  const Instance &last = *layers.callees.back().instance; // whose dims `bound` has
  for (auto [i, results] : llvm::enumerate(applyLayers(sema, layers)))
    values.push_back(layers.isOfLayer[i]
                         ? stackedAlong(results, last, i)
                         : outside(sema, results.front(), last, *block, i, bound, call.range));
  return values;
}

std::vector<SemaValue> applyStack(Sema &sema, Decl &decl, const CallExpr &call) {
  llvm::SaveAndRestore place(
      sema.report.usedAt, sema.source.isUsed(call.range.begin) ? sema.report.usedAt : call.range);
  return StackCall(sema, decl, call).apply();
}

} // namespace attn::frontend
