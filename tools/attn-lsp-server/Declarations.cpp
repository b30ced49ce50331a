// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tree to the list of its declarations, with the range in which each can be used.
#include "Declarations.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

namespace attn::lsp {

using namespace attn::frontend;
using namespace attn::frontend::ast;

namespace {

using Kind = Declaration::Kind;

class Collector {
public:
  explicit Collector(const SourceFile &source) : source(source) {}

  void collect(const std::vector<ItemPtr> &items, SourceRange scope) {
    for (const ItemPtr &item : items)
      collect(*item, scope);
  }

  std::vector<Declaration> found;

private:
  void collect(const Item &item, SourceRange scope) {
    std::string text = oneLine(item.range);
    llvm::TypeSwitch<const Item *>(&item)
        .Case([&](const ModelDecl *model) {
          add(Kind::Model, model->name, scope, "model " + model->name.text, item);
          collect(model->items, model->range);
        })
        .Case([&](const DimDecl *dim) {
          for (const DimDecl::Entry &entry : dim->entries)
            add(Kind::Dim, entry.name, scope,
                "dim " + oneLine(entry.name.range.to(entry.value->range)), item);
        })
        .Case([&](const DynDecl *dyn) {
          for (const DynDecl::Entry &entry : dyn->entries)
            add(Kind::Dim, entry.name, scope,
                "dyn " + oneLine(entry.name.range.to(entry.bound->range)), item);
        })
        .Case([&](const LinearDecl *linear) {
          addPaths(Kind::Linear, linear->names, scope, text, item);
        })
        .Case([&](const EmbeddingDecl *embedding) {
          addPaths(Kind::Embedding, embedding->names, scope, text, item);
        })
        .Case([&](const NormDecl *norm) { addPaths(Kind::Norm, norm->names, scope, text, item); })
        .Case([&](const ParamDecl *param) {
          for (const ParamDecl::Group &group : param->groups)
            addPaths(Kind::Param, group.names, scope,
                     oneLine(param->keyword) + " " +
                         oneLine(group.names.front().range.to(group.type.range)),
                     item);
        })
        .Case([&](const StackDecl *stack) {
          if (!stack->name.parts.empty())
            addPaths(Kind::Stack, {stack->name}, scope, text, item);
        })
        .Case([&](const PartDecl *part) { addPaths(Kind::Part, part->names, scope, text, item); })
        .Case([&](const BlockDecl *block) {
          addSignature(Kind::Block, block->isCell ? "cell " : "block ", block->signature, item,
                       scope);
          collect(block->items, block->range);
        })
        .Case([&](const EntryDecl *entry) {
          addSignature(Kind::Entry, entry->isForward ? "" : "entry ", entry->signature, item,
                       scope);
          collect(entry->items, entry->range);
        })
        .Case([&](const HookDecl *hook) {
          add(Kind::Hook, hook->name, scope, text, item);
          for (const Name &parameter : hook->parameters)
            add(Kind::Input, parameter, hook->range, parameter.text + " of " + hook->name.text,
                item);
          addStatics(hook->statics, hook->name, item);
          collect(hook->with, hook->range);
        })
        .Case([&](const CacheDecl *cache) {
          for (const CacheDecl::Entry &entry : cache->entries)
            add(Kind::Cache, entry.name, scope,
                "cache " + oneLine(entry.name.range.to(entry.capacity->range)), item);
        })
        .Case([&](const TableDecl *table) {
          add(Kind::Table, table->name, scope, text, item);
          for (const DimArgument &axis : table->axes)
            add(Kind::Input, axis.name, table->range, axis.name.text + " of " + table->name.text,
                item);
        })
        .Case([&](const LetStmt *let) {
          for (const Pattern &pattern : let->patterns)
            addPattern(pattern, scope, text, item);
        })
        .Default([](const Item *) {});
  }

  void add(Kind kind, const Name &name, SourceRange scope, const std::string &text,
           const Item &item) {
    if (!name.text.empty())
      found.push_back({kind, name.text, name.range, scope, text, &item});
  }

  void addPaths(Kind kind, const std::vector<Path> &paths, SourceRange scope,
                const std::string &text, const Item &item) {
    for (const Path &path : paths)
      found.push_back({kind, path.str(), path.range, scope, text, &item});
  }

  /// The source text of a range on one line.
  std::string oneLine(SourceRange range) const {
    llvm::SmallVector<llvm::StringRef> words;
    llvm::SplitString(source.text(range), words, " \t\r\n");
    return llvm::join(words, " ");
  }

  void addSignature(Kind kind, llvm::StringRef keyword, const Signature &signature,
                    const Item &item, SourceRange scope) {
    add(kind, signature.name, scope, keyword.str() + oneLine(signature.range), item);
    for (const Name &dim : signature.dims)
      add(Kind::Dim, dim, item.range, "dim " + dim.text + " of " + signature.name.text, item);
    for (const Parameter &parameter : signature.parameters)
      add(Kind::Input, parameter.name, item.range,
          parameter.name.text + ": " + oneLine(parameter.type.range), item);
    addStatics(signature.statics, signature.name, item);
  }

  void addStatics(const std::vector<Static> &statics, const Name &of, const Item &item) {
    for (const Static &fixed : statics)
      add(Kind::Static, fixed.name, item.range, "static " + fixed.name.text + " of " + of.text,
          item);
  }

  void addPattern(const Pattern &pattern, SourceRange scope, const std::string &text,
                  const Item &item) {
    add(Kind::Let, pattern.name, scope, text, item);
    for (const Pattern &element : pattern.elements)
      addPattern(element, scope, text, item);
  }

  const SourceFile &source;
};

} // namespace

std::vector<Declaration> declarationsOf(const File &file, const SourceFile &source) {
  Collector collector(source);
  collector.collect(file.items, {0, UINT32_MAX});
  return std::move(collector.found);
}

const Name *Declaration::block() const {
  if (auto *part = llvm::dyn_cast<PartDecl>(item))
    return &part->block;
  if (auto *stack = llvm::dyn_cast<StackDecl>(item))
    return &stack->block;
  return nullptr;
}

const Binding *bindingOf(const Declaration &declaration) {
  return llvm::TypeSwitch<const Item *, const Binding *>(declaration.item)
      .Case<LinearDecl, EmbeddingDecl, NormDecl, StackDecl, PartDecl>(
          [](auto *decl) { return &decl->binding; })
      .Case([&](const ParamDecl *param) -> const Binding * {
        for (const ParamDecl::Group &group : param->groups)
          for (const Path &name : group.names)
            if (name.range.begin == declaration.where.begin)
              return param->role == ParamDecl::Role::Param ? &group.binding : nullptr;
        return nullptr;
      })
      .Default([](const Item *) -> const Binding * { return nullptr; });
}

} // namespace attn::lsp
