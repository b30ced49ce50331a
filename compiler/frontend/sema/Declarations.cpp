// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declarations: names into scopes, then dims, parameters and stacks of the model.
#include "compiler/frontend/sema/Declarations.h"
#include "compiler/frontend/sema/Dims.h"
#include "compiler/frontend/sema/Limits.h"
#include "compiler/frontend/sema/Names.h"
#include "compiler/frontend/sema/Params.h"
#include "compiler/frontend/sema/Parts.h"

namespace attn::frontend {

using namespace ast;

static void declareStack(Sema &sema, Decl &stack);

constexpr int64_t mostLayers = 1 << 16;

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

void declareItem(Sema &sema, Scope &in, const Item &item) {
  auto declarePaths = [&](Decl::Kind kind, const std::vector<Path> &names, const Binding &binding,
                          const Type *type = nullptr) {
    for (const Path &path : names)
      if (Decl *decl = declare(sema, in, kind, &item, path.str(), path.range)) {
        decl->path = &path;
        decl->binding = &binding;
        decl->type = type;
      }
  };
  auto declareUnsupported = [&](llvm::StringRef name, SourceRange range) {
    if (Decl *decl = declare(sema, in, Decl::Kind::Unsupported, &item, name, range))
      decl->used = true;
  };
  switch (item.kind) {
  case Item::Kind::Dim:
    for (const auto &entry : llvm::cast<DimDecl>(item).entries)
      if (Decl *decl = declare(sema, in, Decl::Kind::Dim, &item, entry.name.text, entry.name.range))
        decl->expr = entry.value.get();
    break;
  case Item::Kind::Dyn:
    for (const auto &entry : llvm::cast<DynDecl>(item).entries)
      if (Decl *decl =
              declare(sema, in, Decl::Kind::Dim, &item, entry.name.text, entry.name.range)) {
        decl->expr = entry.bound.get();
        decl->dynamic = true;
        decl->size = {decl->name, 1, 1, false};
      }
    break;
  case Item::Kind::Linear:
    declarePaths(Decl::Kind::Linear, llvm::cast<LinearDecl>(item).names,
                 llvm::cast<LinearDecl>(item).binding);
    break;
  case Item::Kind::Norm: {
    auto &norm = llvm::cast<NormDecl>(item);
    bool layerNorm = norm.norm == NormDecl::Norm::Layer;
    if (!layerNorm)
      sema.report.unsupported(
          norm.keyword, "`rmsnorm`",
          "declare `param norm.weight: [D]` and write `x * rsqrt(mean(D, x * x) + 1e-6) * "
          "norm.weight`");
    declarePaths(layerNorm ? Decl::Kind::Norm : Decl::Kind::Unsupported, norm.names, norm.binding);
    break;
  }
  case Item::Kind::Param: {
    auto &param = llvm::cast<ParamDecl>(item);
    bool isParam = param.role == ParamDecl::Role::Param;
    if (!isParam)
      sema.report.unsupported(param.keyword, "`state`");
    for (const auto &group : param.groups) {
      const Expr *condition = group.binding.condition.get();
      std::optional<bool> isThere =
          condition ? evalCondition(sema, *condition) : std::optional(true);
      if (isThere.value_or(true))
        declarePaths(isParam && isThere ? Decl::Kind::Param : Decl::Kind::Unsupported, group.names,
                     group.binding, &group.type);
    }
    break;
  }
  case Item::Kind::Embedding:
    declarePaths(Decl::Kind::Embedding, llvm::cast<EmbeddingDecl>(item).names,
                 llvm::cast<EmbeddingDecl>(item).binding);
    break;
  case Item::Kind::Stack: {
    auto &stack = llvm::cast<StackDecl>(item);
    if (&in != &sema.names.modelScope) {
      sema.report.unsupported(item.keyword, "a stack in a block");
      declareUnsupported(stack.name.str(), stack.name.range);
    } else {
      declare(sema, in, Decl::Kind::Stack, &item, stack.name.str(), stack.name.range);
    }
    break;
  }
  case Item::Kind::Part:
    declarePaths(Decl::Kind::Part, llvm::cast<PartDecl>(item).names,
                 llvm::cast<PartDecl>(item).binding);
    break;
  case Item::Kind::Block: {
    auto &block = llvm::cast<BlockDecl>(item);
    if (block.isCell)
      sema.report.unsupported(item.keyword, "`cell`");
    if (!block.signature.name.text.empty())
      declare(sema, in, block.isCell ? Decl::Kind::Unsupported : Decl::Kind::Block, &item,
              block.signature.name.text, block.signature.name.range);
    break;
  }
  case Item::Kind::Hook: {
    auto &hook = llvm::cast<HookDecl>(item);
    Decl *decl = declare(sema, in, Decl::Kind::Hook, &item, hook.name.text, hook.name.range);
    if (!decl)
      break;
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
        sema.report.unsupported(own->range, "a linear map in a " + sema.source.text(hook.keyword));
        decl->wrong = true;
      }
    break;
  }
  case Item::Kind::Entry: {
    auto &entry = llvm::cast<EntryDecl>(item);
    declare(sema, in, Decl::Kind::Entry, &item, entry.signature.name.text,
            entry.signature.name.range);
    if (entry.isForward && !sema.names.forward)
      sema.names.forward = &entry;
    break;
  }
  case Item::Kind::Image:
    if (sema.names.image)
      sema.report
          .error(DiagCode::DuplicateImage, item.keyword, "a model says once what a picture becomes")
          .at(sema.names.image->keyword, "it is said here already");
    else
      sema.names.image = &llvm::cast<ImageDecl>(item);
    break;
  case Item::Kind::Cache:
    declare(sema, in, Decl::Kind::Cache, &item, llvm::cast<CacheDecl>(item).name.text,
            llvm::cast<CacheDecl>(item).name.range);
    break;
  case Item::Kind::Table:
    declare(sema, in, Decl::Kind::Table, &item, llvm::cast<TableDecl>(item).name.text,
            llvm::cast<TableDecl>(item).name.range);
    break;
  default:
    break; // ignore, let, return
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
    // Of params, group by group.
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
    (*sema.output.module)->setAttr("attn.ignore", sema.builder.getArrayAttr(ignored));
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

static void declareStack(Sema &sema, Decl &stack) {
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

} // namespace attn::frontend
