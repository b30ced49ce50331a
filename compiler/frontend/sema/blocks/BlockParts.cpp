// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts: blocks with parameters of their own, under the name of the part.
#include "compiler/frontend/sema/blocks/BlockParts.h"
#include "compiler/frontend/sema/Names.h"
#include "compiler/frontend/sema/blocks/Blocks.h"
#include "compiler/frontend/sema/blocks/Declarations.h"
#include "compiler/frontend/sema/blocks/Instances.h"
#include "compiler/frontend/sema/blocks/Taps.h"
#include "compiler/frontend/sema/parameters/Bindings.h"
#include "compiler/frontend/sema/parameters/LayerNames.h"
#include "compiler/frontend/sema/sizes/Statics.h"
#include "compiler/frontend/sema/sizes/Tensors.h"

#include "llvm/Support/SaveAndRestore.h"

namespace attn::frontend {

using namespace ast;

void declarePart(Sema &sema, Decl &part) {
  auto &item = *llvm::cast<PartDecl>(part.item);
  part.wrong = !findBlock(sema, item.block);
}

static std::optional<Owner> ownerOfPart(Sema &sema, const Decl &part) {
  const Binding &binding = llvm::cast<PartDecl>(part.item)->binding;
  Owner own = sema.function.owner ? *sema.function.owner : Owner();
  own.symbolPrefix += part.name + ".";
  if (binding.kind == Binding::Kind::Path) {
    own.prefix += part.name + ".";
  } else if (binding.kind == Binding::Kind::String) {
    // An empty one leaves the names of the tensors as they are.
    ast::Name pattern = withNumbers(sema, binding.pattern);
    bool isEmpty = pattern.text.empty();
    if (!isEmpty && !checkPattern(sema.report, pattern, own, /*weightOrBias=*/false))
      return std::nullopt;
    own.prefix = isEmpty ? own.prefix : inStacks(own, pattern.text) + ".";
  }
  if (binding.kind == Binding::Kind::Path || binding.kind == Binding::Kind::String)
    if (!binding.optional && binding.layouts.empty())
      return own;
  Diagnostic &diagnostic = sema.report.error(DiagCode::BindingPlace, binding.range,
                                             "the tensors of a part are under one path");
  if (binding.kind == Binding::Kind::Tied)
    diagnostic.help("apply the other part itself: its parameters are the same then");
  else
    diagnostic.help("write `= \"path\"`");
  return std::nullopt;
}

std::vector<SemaValue> callBlock(Sema &sema, Decl &block, llvm::StringRef name, const Owner &own,
                                 const CallExpr &call, const Given &given) {
  llvm::SaveAndRestore place(
      sema.report.usedAt, sema.source.isUsed(call.range.begin) ? sema.report.usedAt : call.range);
  std::optional<std::vector<SemaValue>> arguments = tensorArguments(sema, call, name);
  if (!arguments)
    return {SemaValue::wrong()};
  std::map<std::string, Axis> bound;
  Instance *instance = instantiate(sema, block, own, *arguments, call, given, bound);
  if (!instance)
    return {SemaValue::wrong()};
  llvm::SmallVector<mlir::Value> operands;
  if (own.inStack)
    operands.push_back(sema.function.layer);
  llvm::append_range(operands, blockOperands(sema, *instance, call, *arguments));
  auto result = mlir::func::CallOp::create(sema.builder, locate(sema, call.range, name),
                                           instance->function, operands);
  tapCall(sema, *instance, result, name);
  std::vector<SemaValue> values; // taps come behind them
  for (size_t i = 0; i < instance->results.size(); ++i)
    values.push_back(outside(sema, result.getResult(i), *instance,
                             *llvm::cast<BlockDecl>(block.item), i, bound, call.range));
  return values;
}

std::optional<PartOf> partOf(Sema &sema, Decl &part) {
  auto &item = *llvm::cast<PartDecl>(part.item);
  if (part.wrong)
    return std::nullopt;
  Scope *declaredIn = &declaringScope(*sema.names.scope, part);
  std::optional<Owner> own = ownerOfPart(sema, part);
  Decl *block = declaredIn->find(item.block.text);
  if (!own || !block)
    return std::nullopt;
  return PartOf{*own, block, declaredIn};
}

std::vector<SemaValue> applyPart(Sema &sema, Decl &part, const CallExpr &call) {
  auto &item = *llvm::cast<PartDecl>(part.item);
  std::optional<PartOf> of = partOf(sema, part);
  if (!of)
    return {SemaValue::wrong()};
  return callBlock(sema, *of->block, part.name, of->owner, call,
                   {item.dimArguments, item.arguments, of->declaredIn});
}

} // namespace attn::frontend
