// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks where they are applied: a call of a block's function. Then what nothing applies.
#include "compiler/frontend/sema/blocks/Blocks.h"
#include "compiler/frontend/sema/attention/Hooks.h"
#include "compiler/frontend/sema/blocks/BlockParts.h"
#include "compiler/frontend/sema/blocks/Declarations.h"
#include "compiler/frontend/sema/blocks/Instances.h"
#include "compiler/frontend/sema/blocks/Taps.h"
#include "compiler/frontend/sema/entries/Entries.h"
#include "compiler/frontend/sema/expressions/Apply.h"
#include "compiler/frontend/sema/parameters/LayerNames.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Statics.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "compiler/frontend/sema/sizes/Types.h"

#include "llvm/Support/SaveAndRestore.h"

namespace attn::frontend {

using namespace ast;

Axes axesOutside(const Instance &instance, Axes axes, const Type &type,
                 const std::map<std::string, Axis> &bound) {
  size_t lifted = axes.size() - type.dims.size();
  for (size_t d = 0; d < axes.size(); ++d)
    axes[d] = d < lifted ? instance.everyLiftedOutside[findAxis(instance.everyLifted, axes[d].name)]
                         : outerAxis(axes[d], *type.dims[d - lifted], bound);
  return axes;
}

SemaValue outside(Sema &sema, mlir::Value result, const Instance &instance, const BlockDecl &block,
                  size_t number, const std::map<std::string, Axis> &bound, SourceRange range) {
  Axes axes = axesOutside(instance, axesOfValue(result), block.signature.resultType(number), bound);
  for (const Axis &axis : axes)
    if (axis.name.size() > longestName) {
      sema.report
          .error(DiagCode::NestedTooDeeply, range, "the result has an axis whose name is too long")
          .at(block.signature.results[number].range, "declared here");
      return SemaValue::wrong();
    }
  for (size_t d = 0; d < axes.size(); ++d)
    if (findAxis(axes, axes[d].name) != static_cast<int>(d)) {
      sema.report
          .error(DiagCode::DuplicateAxis, range,
                 "the result would have the axis `" + axes[d].name + "` twice")
          .at(block.signature.results[number].range, "declared here");
      return SemaValue::wrong();
    }
  return SemaValue::of(relabel(sema, result, axes, locate(sema, range)));
}

llvm::SmallVector<mlir::Value> blockOperands(Sema &sema, const Instance &instance,
                                             const CallExpr &call,
                                             llvm::ArrayRef<SemaValue> arguments) {
  llvm::SmallVector<mlir::Value> operands;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].isTensor())
      operands.push_back(toParameter(sema, arguments[i].tensor, instance.parameters[i],
                                     call.arguments[i].value->range));
  llvm::append_range(operands, instance.captures);
  return operands;
}

bool checkOwnsNothing(Reporter &report, const Decl &decl, SourceRange applied) {
  auto &block = *llvm::cast<BlockDecl>(decl.item);
  for (const ItemPtr &item : block.items)
    if (item->kind == Item::Kind::Linear || item->kind == Item::Kind::Param ||
        item->kind == Item::Kind::Norm || item->kind == Item::Kind::Embedding ||
        item->kind == Item::Kind::Part || item->kind == Item::Kind::Stack) {
      report
          .error(DiagCode::BlockParameters, applied,
                 "`" + decl.name + "` has parameters of its own, and no path for them here")
          .at(item->range, "such as this")
          .help("declare `part name: " + decl.name + "` and apply `name`");
      return false;
    }
  return true;
}

std::vector<SemaValue> applyBlock(Sema &sema, Decl &decl, const CallExpr &call) {
  if (!checkOwnsNothing(sema.report, decl, call.range))
    return {SemaValue::wrong()};
  return callBlock(sema, decl, decl.name, Owner(), call, {});
}

//===------------------------------------------------------------------------------------------===//
// What nothing applies
//===------------------------------------------------------------------------------------------===//

/// Gives an instance that nothing applies the caches of the model, in their order; false where
/// there is none.
static bool giveCaches(Sema &sema, const Signature &signature, Instance &instance) {
  llvm::SmallVector<Decl *> caches;
  for (Decl *decl : sema.names.modelScope.order)
    if (decl->kind == Decl::Kind::Cache && !decl->size.error)
      caches.push_back(decl);
  size_t taken = 0;
  for (const Parameter &parameter : signature.parameters) {
    if (parameter.type.isCache() && caches.empty())
      return false;
    instance.caches.push_back(parameter.type.isCache() ? caches[taken++ % caches.size()] : nullptr);
  }
  if (taken)
    sema.entry.caches = caches, sema.entry.counter = caches.front();
  return true;
}

static void checkUnapplied(Sema &sema, const Decl &decl) {
  auto &block = *llvm::cast<BlockDecl>(decl.item);
  const Signature &signature = block.signature;
  Scope inside;
  inside.parent = decl.home ? decl.home : &sema.names.modelScope;
  int64_t size = 1009; // primes, so that two dims are never taken for each other
  for (const Name &dim : signature.dims)
    if (Decl *decl = declare(sema, inside, Decl::Kind::Dim, &block, dim.text, dim.range)) {
      decl->state = Decl::State::Done;
      decl->isParameter = true;
      decl->size = Size::of(size);
      size += 12;
    }
  Owner owner;
  owner.symbolPrefix = signature.name.text + ":";
  enterStack(owner, {signature.name.text, 1, false, "", ""}, signature.name.text + ":{n}");
  Instance instance;
  sema.entry.entry = nullptr;
  if (giveCaches(sema, signature, instance))
    buildInstance(sema, instance, block, owner, inside);
  sema.entry.caches.clear(), sema.entry.counter = nullptr;
}

void checkUnapplied(Sema &sema) {
  std::set<mlir::Operation *> built;
  for (mlir::Operation &op : *sema.output.module->getBody())
    built.insert(&op);
  mlir::Operation *header = sema.output.lastHeader;
  sema.report.unapplied = true;
  for (Scope *s : {&sema.names.library, &sema.names.modelScope})
    for (Decl *decl : std::vector<Decl *>(s->order)) {
      if (decl->kind == Decl::Kind::Hook && !decl->used)
        checkHook(sema, *decl);
      if (decl->kind != Decl::Kind::Block)
        continue;
      auto &block = *llvm::cast<BlockDecl>(decl->item);
      if (!sema.blocks.applied.count(&block) && block.signature.statics.empty())
        checkUnapplied(sema, *decl);
    }
  if (sema.names.forward && !sema.names.modelScope.find("forward")->used)
    buildEntry(sema, *sema.names.forward);
  sema.report.unapplied = false;
  sema.output.lastHeader = header;
  // Nothing of it is part of the model.
  llvm::SmallVector<mlir::Operation *> extra;
  for (mlir::Operation &op : *sema.output.module->getBody())
    if (!built.count(&op))
      extra.push_back(&op);
  for (mlir::Operation *op : llvm::reverse(extra))
    op->erase();
}

} // namespace attn::frontend
