// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// States: what an entry reads of them is an input that the caller may leave out, and what it sets
// is a result. The runtime carries one to the other.
#include "compiler/frontend/sema/entries/States.h"
#include "compiler/frontend/sema/blocks/Declarations.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "compiler/frontend/sema/sizes/Types.h"
#include "dialect/Attributes.h"

namespace attn::frontend {

using namespace ast;
using mlir::RankedTensorType;
using mlir::func::FuncOp;

/// The model's states, in the order of their declarations: their numbers are places in this.
static llvm::SmallVector<Decl *> statesOf(Sema &sema) {
  llvm::SmallVector<Decl *> states;
  llvm::copy_if(sema.names.modelScope.order, std::back_inserter(states),
                [](const Decl *decl) { return decl->kind == Decl::Kind::State; });
  return states;
}

void readStates(Sema &sema) {
  sema.names.scope = &sema.names.modelScope;
  for (Decl *state : statesOf(sema)) {
    std::vector<Axes> axes;
    llvm::SmallVector<mlir::Type> types;
    if (readType(sema, *state->type, axes, types, "a state", TypePlace::Entry))
      state->element = types.front();
    else
      state->wrong = state->used = true;
  }
}

void addStates(Sema &sema, FuncOp function, Scope &scope) {
  for (auto [number, state] : llvm::enumerate(statesOf(sema))) {
    if (state->wrong) {
      if (Decl *own =
              declare(sema, scope, Decl::Kind::Unsupported, state->item, state->name, state->range))
        own->used = true;
      continue;
    }
    mlir::Location loc = locate(sema, state->range, state->name);
    unsigned argument = function.getNumArguments();
    mlir::DictionaryAttr attributes = sema.builder.getDictionaryAttr(
        {sema.builder.getNamedAttr(attributes::name, sema.builder.getStringAttr(state->name)),
         sema.builder.getNamedAttr(attributes::state, sema.builder.getI64IntegerAttr(number))});
    if (mlir::failed(function.insertArgument(argument, state->element, attributes, loc)))
      continue;
    mlir::Value value = function.getArgument(argument);
    if (llvm::isa<mlir::FloatType>(elementOf(value)))
      value = convert(sema, value, sema.builder.getF32Type(), loc);
    if (Decl *own =
            declare(sema, scope, Decl::Kind::Value, state->item, state->name, state->range)) {
      own->isParameter = true;
      own->value = SemaValue::of(value);
    }
  }
}

/// Whether every dim of a state that is known only when running is one of an input, too.
static bool checkSizes(Sema &sema, FuncOp function, const Decl &state, SourceRange entry) {
  auto dimsOf = [&](mlir::Type type) {
    std::set<std::string> dims;
    for (const Axis &axis : axesOfType(type))
      if (auto size = axis.isDynamic() ? parseLinearSize(axis.name) : std::nullopt)
        dims.insert(size->dim.str());
    return dims;
  };
  std::set<std::string> known;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (!function.getArgAttr(i, attributes::state))
      known.merge(dimsOf(function.getArgumentTypes()[i]));
  for (const std::string &dim : dimsOf(state.element)) {
    if (known.count(dim))
      continue;
    sema.report
        .error(DiagCode::StateUse, entry,
               "no input of this entry says how large `" + dim + "` is, which the state `" +
                   state.name + "` has")
        .at(state.range, "declared here")
        .note("before the first call, a state holds zeros of the sizes that the inputs have");
    return false;
  }
  return true;
}

void finishStates(Sema &sema, const Signature &signature, FuncOp function, Scope &scope) {
  llvm::SmallVector<Decl *> states = statesOf(sema);
  for (unsigned i = function.getNumArguments(); i-- > 0;) {
    auto number = function.getArgAttrOfType<mlir::IntegerAttr>(i, attributes::state);
    if (!number)
      continue;
    Decl &state = *states[number.getInt()], *own = scope.find(state.name);
    state.used |= own && own->used;
    if (own && own->used) {
      checkSizes(sema, function, state, signature.name.range);
      continue;
    }
    for (mlir::Operation *user : llvm::make_early_inc_range(function.getArgument(i).getUsers()))
      user->erase(); // the conversion to f32
    if (mlir::failed(function.eraseArgument(i)))
      continue;
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto name = function.getResultAttrOfType<mlir::StringAttr>(i, attributes::name);
    auto found = llvm::find_if(
        states, [&](const Decl *state) { return name && state->name == name.getValue(); });
    if (found == states.end() || !signature.resultNames[i])
      continue;
    Decl &state = **found;
    state.isSet = true;
    if (state.wrong)
      continue;
    function.setResultAttr(i, attributes::state,
                           sema.builder.getI64IntegerAttr(found - states.begin()));
    mlir::Type type = function.getResultTypes()[i];
    if (type == state.element)
      continue;
    auto show = [](mlir::Type type) {
      mlir::Type element = llvm::cast<RankedTensorType>(type).getElementType();
      std::string word;
      if (!element.isF32())
        llvm::raw_string_ostream(word) << element;
      return word + showAxes(axesOfType(type));
    };
    sema.report
        .error(DiagCode::StateUse, signature.results[i].range,
               "this sets the state `" + state.name + "`, which is " + show(state.element) +
                   ", to " + show(type))
        .at(state.range, "declared here")
        .help("give the result another name, or the type of the state");
  }
}

void checkStates(Sema &sema) {
  if (sema.report.diagnostics.hasErrors()) // the entry that sets it may be wrong
    return;
  for (Decl *state : statesOf(sema))
    if (!state->isSet && !state->wrong)
      sema.report
          .error(DiagCode::StateUse, state->range, "the state `" + state->name + "` is never set")
          .help("an entry sets it by a result of its name: `" + state->name + ": " +
                showAxes(axesOfType(state->element)) + "`");
}

void reportStateInBlock(Sema &sema, const Decl &state, SourceRange range) {
  sema.report
      .error(DiagCode::StateUse, range,
             "`" + state.name + "` is a state, which is read in entries alone")
      .at(state.range, "declared here")
      .help("give it to the block: a parameter `" + state.name + ": " +
            (state.wrong ? std::string("[…]") : showAxes(axesOfType(state.element))) + "`");
}

} // namespace attn::frontend
