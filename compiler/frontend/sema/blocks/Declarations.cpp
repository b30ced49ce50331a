// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declarations: names into scopes, then dims, parameters and stacks of the model.
#include "compiler/frontend/sema/blocks/Declarations.h"
#include "compiler/frontend/sema/Limits.h"
#include "compiler/frontend/sema/Names.h"
#include "compiler/frontend/sema/blocks/BlockParts.h"
#include "compiler/frontend/sema/blocks/Stacks.h"
#include "compiler/frontend/sema/functions/Scans.h"
#include "compiler/frontend/sema/parameters/Params.h"
#include "compiler/frontend/sema/sizes/Dims.h"
#include "dialect/Attributes.h"

namespace attn::frontend {

using namespace ast;

Decl *declare(Sema &sema, Scope &in, Decl::Kind kind, const Item *item, llvm::StringRef name,
              SourceRange range) {
  auto &place = in.names[name];
  auto fromUsed = sema.names.used.names.find(name);
  Decl *first = place ? place.get()
                : &in == &sema.names.library && fromUsed != sema.names.used.names.end()
                    ? fromUsed->second.get()
                    : nullptr;
  if (first) {
    sema.report.error(DiagCode::DuplicateName, range, "`" + name + "` is declared twice")
        .at(first->range, "it is declared here already")
        .help("choose another name for one of them");
    first->used = first->clashing = true;
    if (!place)
      in.names.erase(name);
    return nullptr;
  }
  spend(sema, 1, range);
  place = std::make_unique<Decl>();
  place->kind = kind;
  place->item = item;
  place->name = name.str();
  place->range = range;
  place->home = &in == &sema.names.used || &in == &sema.names.library ? &in : nullptr;
  in.order.push_back(place.get());
  return place.get();
}

/// Declares the names of one binding.
static void declarePaths(Sema &sema, Scope &in, Decl::Kind kind, const Item &item,
                         const std::vector<Path> &names, const Binding &binding,
                         const Type *type = nullptr) {
  for (const Path &path : names)
    if (Decl *decl = declare(sema, in, kind, &item, path.str(), path.range)) {
      decl->path = &path;
      decl->binding = &binding;
      decl->type = type;
    }
}

static void declareDims(Sema &sema, Scope &in, const DimDecl &dims) {
  for (const auto &entry : dims.entries)
    if (Decl *decl = declare(sema, in, Decl::Kind::Dim, &dims, entry.name.text, entry.name.range))
      decl->expr = entry.value.get();
}

static void declareDyns(Sema &sema, Scope &in, const DynDecl &dyns) {
  for (const auto &entry : dyns.entries)
    if (Decl *decl = declare(sema, in, Decl::Kind::Dim, &dyns, entry.name.text, entry.name.range)) {
      decl->expr = entry.bound.get();
      decl->dynamic = true;
      decl->size = {decl->name, 1, 1, false};
    }
}

static void declareNorm(Sema &sema, Scope &in, const NormDecl &norm) {
  declarePaths(sema, in, Decl::Kind::Norm, norm, norm.names, norm.binding);
}

/// Declares the groups of a `param` that are there, by their `if`.
static void declareParam(Sema &sema, Scope &in, const ParamDecl &param) {
  Decl::Kind kind = param.role == ParamDecl::Role::Param ? Decl::Kind::Param : Decl::Kind::State;
  for (const auto &group : param.groups) {
    const Expr *condition = group.binding.condition.get();
    std::optional<bool> isThere = condition ? evalCondition(sema, *condition) : std::optional(true);
    if (isThere.value_or(true))
      declarePaths(sema, in, isThere ? kind : Decl::Kind::Unsupported, param, group.names,
                   group.binding, &group.type);
  }
}

static void declareBlock(Sema &sema, Scope &in, const BlockDecl &block) {
  if (block.signature.name.text.empty())
    return;
  bool isFine = !block.isCell || checkCell(sema.report, block.signature);
  declare(sema, in, isFine ? Decl::Kind::Block : Decl::Kind::Unsupported, &block,
          block.signature.name.text, block.signature.name.range);
}

static void declareHook(Sema &sema, Scope &in, const HookDecl &hook) {
  Decl *decl = declare(sema, in, Decl::Kind::Hook, &hook, hook.name.text, hook.name.range);
  if (!decl)
    return;
  bool isOfPair = hook.parameters.size() >= 2 && hook.parameters[0].text == "q" &&
                  hook.parameters[1].text == "k";
  if (hook.hook == HookDecl::Hook::Score && !isOfPair) {
    sema.report
        .error(DiagCode::ScoreParameters, hook.name.range, "a score is a function of `q` and `k`")
        .help("write `score " + hook.name.text + "(q, k) = …`");
    decl->wrong = true;
  }
  for (const ItemPtr &own : hook.with)
    if (hook.hook != HookDecl::Hook::Score && llvm::isa<LinearDecl>(*own)) {
      sema.report
          .error(DiagCode::ScoreExpression, own->range,
                 "a linear map belongs to a score, but this is a " + sema.source.text(hook.keyword))
          .note("linear maps are of the query's vector, or the key's, which a score alone has");
      decl->wrong = true;
    } else if (auto *linear = llvm::dyn_cast<LinearDecl>(own.get());
               linear && !linear->along.empty()) {
      sema.report
          .error(DiagCode::ScoreExpression, own->range,
                 "a linear map of a score takes one axis and gives one")
          .help("write `linear name: E -> R`");
      decl->wrong = true;
    }
}

static void declareEntry(Sema &sema, Scope &in, const EntryDecl &entry) {
  declare(sema, in, Decl::Kind::Entry, &entry, entry.signature.name.text,
          entry.signature.name.range);
  if (entry.isForward && !sema.names.forward)
    sema.names.forward = &entry;
}

static void declareCaches(Sema &sema, Scope &in, const CacheDecl &caches) {
  for (const CacheDecl::Entry &entry : caches.entries)
    if (Decl *decl =
            declare(sema, in, Decl::Kind::Cache, &caches, entry.name.text, entry.name.range)) {
      decl->expr = entry.capacity.get();
      decl->dtype = entry.dtype ? &*entry.dtype : nullptr;
    }
}

static void declareImage(Sema &sema, const ImageDecl &image) {
  if (sema.names.image)
    sema.report
        .error(DiagCode::DuplicateImage, image.keyword, "a model says once what a picture becomes")
        .at(sema.names.image->keyword, "it is said here already");
  else
    sema.names.image = &image;
}

static void declareSound(Sema &sema, const SoundDecl &sound) {
  if (sema.names.sound)
    sema.report
        .error(DiagCode::DuplicateImage, sound.keyword, "a model says once what a sound becomes")
        .at(sema.names.sound->keyword, "it is said here already");
  else
    sema.names.sound = &sound;
}

/// Where the weights are, as the spec says it.
static void declareWeights(Sema &sema, const ModelDecl &decl) {
  const WeightsDecl *first = nullptr;
  for (const ItemPtr &item : decl.items)
    if (auto *weights = llvm::dyn_cast<WeightsDecl>(item.get())) {
      if (first)
        sema.report
            .error(DiagCode::DuplicateImage, weights->keyword,
                   "a model says once where its weights are")
            .at(first->keyword, "it is said here already");
      else
        first = weights;
    }
  if (first && !first->file.text.empty())
    (*sema.output.module)
        ->setAttr(attributes::weights, sema.builder.getStringAttr(first->file.text));
}

void declareItem(Sema &sema, Scope &in, const Item &item) {
  auto bound = [&](Decl::Kind kind, const auto &decl) {
    declarePaths(sema, in, kind, item, decl.names, decl.binding);
  };
  auto named = [&](Decl::Kind kind, const Name &name) {
    declare(sema, in, kind, &item, name.text, name.range);
  };
  switch (item.kind) {
  case Item::Kind::Dim:
    return declareDims(sema, in, llvm::cast<DimDecl>(item));
  case Item::Kind::Dyn:
    return declareDyns(sema, in, llvm::cast<DynDecl>(item));
  case Item::Kind::Linear:
    return bound(Decl::Kind::Linear, llvm::cast<LinearDecl>(item));
  case Item::Kind::Norm:
    return declareNorm(sema, in, llvm::cast<NormDecl>(item));
  case Item::Kind::Param:
    return declareParam(sema, in, llvm::cast<ParamDecl>(item));
  case Item::Kind::Embedding:
    return bound(Decl::Kind::Embedding, llvm::cast<EmbeddingDecl>(item));
  case Item::Kind::Stack:
    declare(sema, in, Decl::Kind::Stack, &item, llvm::cast<StackDecl>(item).name.str(),
            llvm::cast<StackDecl>(item).name.range);
    return;
  case Item::Kind::Part:
    return bound(Decl::Kind::Part, llvm::cast<PartDecl>(item));
  case Item::Kind::Block:
    return declareBlock(sema, in, llvm::cast<BlockDecl>(item));
  case Item::Kind::Hook:
    return declareHook(sema, in, llvm::cast<HookDecl>(item));
  case Item::Kind::Entry:
    return declareEntry(sema, in, llvm::cast<EntryDecl>(item));
  case Item::Kind::Image:
    return declareImage(sema, llvm::cast<ImageDecl>(item));
  case Item::Kind::Sound:
    return declareSound(sema, llvm::cast<SoundDecl>(item));
  case Item::Kind::Cache:
    return declareCaches(sema, in, llvm::cast<CacheDecl>(item));
  case Item::Kind::Table:
    return named(Decl::Kind::Table, llvm::cast<TableDecl>(item).name);
  default:
    return; // ignore, weights, precision, let, return
  }
}

/// `if …` behind a declaration; of a `param`, behind one of its groups.
static const Expr *conditionOf(const Item &item) {
  auto of = [](const Binding &binding) -> const Expr * { return binding.condition.get(); };
  if (auto *linear = llvm::dyn_cast<LinearDecl>(&item))
    return of(linear->binding);
  if (auto *embedding = llvm::dyn_cast<EmbeddingDecl>(&item))
    return of(embedding->binding);
  if (auto *norm = llvm::dyn_cast<NormDecl>(&item))
    return of(norm->binding);
  if (auto *stack = llvm::dyn_cast<StackDecl>(&item))
    return of(stack->binding);
  if (auto *part = llvm::dyn_cast<PartDecl>(&item))
    return of(part->binding);
  if (auto *param = llvm::dyn_cast<ParamDecl>(&item))
    for (const auto &group : param->groups)
      if (const Expr *condition = of(group.binding))
        return condition;
  return nullptr;
}

void declareItems(Sema &sema, Scope &in, const std::vector<ItemPtr> &items, bool conditional) {
  for (const ItemPtr &item : items) {
    const Expr *condition = conditionOf(*item);
    if (static_cast<bool>(condition) != conditional)
      continue;
    // Params are declared group by group.
    bool isWhole = condition && !llvm::isa<ParamDecl>(*item);
    std::optional<bool> isThere = isWhole ? evalCondition(sema, *condition) : std::optional(true);
    if (!isThere.value_or(true))
      continue;
    size_t before = in.order.size();
    declareItem(sema, in, *item);
    for (Decl *decl : llvm::drop_begin(in.order, before))
      if (!isThere) // uses of it stay silent
        decl->kind = Decl::Kind::Unsupported;
  }
}

void declareModel(Sema &sema, const ModelDecl &decl) {
  declareItems(sema, sema.names.modelScope, decl.items, /*conditional=*/false);
  applySets(sema);
  declareItems(sema, sema.names.modelScope, decl.items, /*conditional=*/true);
  llvm::SmallVector<mlir::Attribute> ignored;
  for (const ItemPtr &item : decl.items)
    if (auto *ignore = llvm::dyn_cast<IgnoreDecl>(item.get()))
      for (const Name &pattern : ignore->patterns)
        ignored.push_back(sema.builder.getStringAttr(pattern.text));
  if (!ignored.empty())
    (*sema.output.module)->setAttr(attributes::ignore, sema.builder.getArrayAttr(ignored));
  declareWeights(sema, decl);
  emitDims(sema, sema.names.modelScope);
  setUpParameters(sema, sema.names.modelScope, Owner());
  for (Decl *stack : sema.names.modelScope.order)
    if (stack->kind == Decl::Kind::Stack)
      declareStack(sema, *stack);
    else if (stack->kind == Decl::Kind::Part)
      declarePart(sema, *stack);
}

Decl *findBlock(Sema &sema, const Name &name) {
  Decl *block = sema.names.scope->find(name.text);
  if (block)
    block->used = true;
  bool isBlock = block && block->kind == Decl::Kind::Block;
  if (isBlock || (block && (block->kind == Decl::Kind::Unsupported || block->clashing)))
    return isBlock ? block : nullptr;
  Diagnostic &diagnostic = sema.report.error(DiagCode::UnknownBlock, name.range,
                                             block ? "`" + name.text + "` is no block"
                                                   : "there is no block `" + name.text + "`");
  if (block)
    diagnostic.at(block->range, "declared here");
  else
    suggest(sema, diagnostic, name.text, [](const Decl &d) { return d.kind == Decl::Kind::Block; });
  return nullptr;
}

} // namespace attn::frontend
