// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names: looking them up in scopes, guessing which one was meant, and saying which are unused.
#include "compiler/frontend/sema/Names.h"

namespace attn::frontend {

using namespace ast;

Decl *Scope::find(llvm::StringRef name) {
  Scope *model = nullptr;
  for (Scope *in = this; in; in = in->parent) {
    if (auto found = in->names.find(name); found != in->names.end())
      return found->second.get();
    model = in->model ? in->model : model;
  }
  if (!model)
    return nullptr;
  auto found = model->names.find(name);
  return found == model->names.end() ? nullptr : found->second.get();
}

Scope &declaringScope(Scope &from, const Decl &decl) {
  Scope *in = &from;
  while (in->find(decl.name) == &decl && !in->names.count(decl.name))
    in = in->parent;
  return *in;
}

std::string unusedAxis(Sema &sema) {
  std::string name = "S";
  for (unsigned i = 2; sema.names.scope->find(name); ++i)
    name = "S" + std::to_string(i);
  return name;
}

void suggest(Sema &sema, Diagnostic &diagnostic, llvm::StringRef name,
             llvm::function_ref<bool(const Decl &)> filter) {
  if (sema.report.isUnread(diagnostic))
    return;
  std::vector<llvm::StringRef> names;
  for (Scope *s = sema.names.scope; s; s = s->parent)
    for (Decl *decl : s->order)
      if (!filter || filter(*decl))
        names.push_back(decl->name);
  if (std::optional<llvm::StringRef> near = nearestName(name, names)) {
    diagnostic.didYouMean(*near);
    if (Decl *decl = sema.names.scope->find(*near))
      diagnostic.at(decl->range, "`" + *near + "` is declared here");
  }
}

void noteUnused(Sema &sema, Scope &in) {
  for (Decl *decl : in.order) {
    llvm::StringRef what;
    switch (decl->kind) {
    case Decl::Kind::Dim:
      what = "dim";
      break;
    case Decl::Kind::Linear:
    case Decl::Kind::Embedding:
    case Decl::Kind::Norm:
    case Decl::Kind::Param:
      what = "parameter";
      break;
    case Decl::Kind::Table:
      what = "table";
      break;
    case Decl::Kind::Stack:
      what = "stack";
      break;
    case Decl::Kind::Part:
      what = "part";
      break;
    case Decl::Kind::Block:
      what = "block";
      break;
    case Decl::Kind::Hook:
      what = "hook";
      break;
    case Decl::Kind::Cache:
      what = "cache";
      break;
    case Decl::Kind::State:
      what = "state";
      break;
    case Decl::Kind::Value:
      what = "value";
      break;
    default:
      continue;
    }
    if (decl->isParameter || sema.source.isUsed(decl->range.begin))
      continue;
    bool hasTensor = what == "parameter";
    // A block may be built several times; what one of them uses is used. Of several values that one
    // `let` names, one has to be: the others have their names for who taps them.
    SourceRange place = decl->range;
    if (auto *let = llvm::dyn_cast_or_null<LetStmt>(decl->item); let && let->patterns.size() > 1)
      place = let->patterns.front().range;
    auto [it, first] = sema.names.usages.insert(
        {{place.begin, place.end}, {what.str(), decl->name, hasTensor, decl->used}});
    it->second.used |= decl->used;
  }
}

/// Of a state that nothing reads: the parameters of entries that have its name.
static void sayWhatHides(Sema &sema, Diagnostic &diagnostic, llvm::StringRef state) {
  bool isHidden = false;
  for (const ItemPtr &item : sema.names.model->items) {
    auto *entry = llvm::dyn_cast<EntryDecl>(item.get());
    if (!entry)
      continue;
    for (const Parameter &parameter : entry->signature.parameters)
      if (parameter.name.text == state) {
        diagnostic.at(parameter.name.range, "this parameter hides it");
        isHidden = true;
      }
  }
  if (isHidden)
    diagnostic.help("leave the parameter out: an entry reads a state by its name");
}

void warnUnused(Sema &sema) {
  constexpr unsigned most = 100;
  unsigned count = 0;
  for (const auto &[place, usage] : sema.names.usages) {
    if (usage.used || ++count > most)
      continue;
    Diagnostic &diagnostic =
        sema.report.warning(DiagCode::UnusedName, {place.first, place.second},
                            "the " + usage.what + " `" + usage.name + "` is never used");
    if (usage.what == "state")
      sayWhatHides(sema, diagnostic, usage.name);
    if (usage.isParameter)
      diagnostic.note("its tensor must still be in the checkpoint; `ignore` names tensors that are "
                      "left out");
    if (count == most)
      diagnostic.note("more names that are never used are not shown");
  }
}

} // namespace attn::frontend
