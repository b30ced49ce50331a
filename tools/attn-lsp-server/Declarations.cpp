// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tree to the list of its declarations, with the range in which each can be used; a word of the
// text to the declaration that it means.
#include "Declarations.h"

#include "compiler/frontend/syntax/Lexer.h"
#include "llvm/ADT/TypeSwitch.h"

namespace attn::lsp {

using namespace attn::frontend;
using namespace attn::frontend::ast;

namespace {

class Collector {
public:
  explicit Collector(const SourceFile &source) : source(source) {}

  void collect(const std::vector<ItemPtr> &items, SourceRange scope) {
    for (const ItemPtr &item : items)
      collect(*item, scope);
  }

  void collect(const Item &item, SourceRange scope) {
    std::string text = oneLine(item.range);
    llvm::TypeSwitch<const Item *>(&item)
        .Case([&](const ModelDecl *model) {
          add(model->name, scope, "model " + model->name.text);
          collect(model->items, model->range);
        })
        .Case([&](const DimDecl *dim) {
          for (const DimDecl::Entry &entry : dim->entries)
            add(entry.name, scope, "dim " + oneLine(entry.name.range.to(entry.value->range)));
        })
        .Case([&](const DynDecl *dyn) {
          for (const DynDecl::Entry &entry : dyn->entries)
            add(entry.name, scope, "dyn " + oneLine(entry.name.range.to(entry.bound->range)));
        })
        .Case([&](const LinearDecl *linear) { addPaths(linear->names, scope, text); })
        .Case([&](const EmbeddingDecl *embedding) { addPaths(embedding->names, scope, text); })
        .Case([&](const NormDecl *norm) { addPaths(norm->names, scope, text); })
        .Case([&](const ParamDecl *param) {
          for (const ParamDecl::Group &group : param->groups)
            addPaths(group.names, scope,
                     oneLine(param->keyword.to(param->keyword)) + " " +
                         oneLine(group.names.front().range.to(group.type.range)));
        })
        .Case([&](const StackDecl *stack) { addPaths({stack->name}, scope, text); })
        .Case([&](const PartDecl *part) { addPaths(part->names, scope, text); })
        .Case([&](const BlockDecl *block) {
          addSignature(block->isCell ? "cell " : "block ", block->signature, *block, scope);
          collect(block->items, block->range);
        })
        .Case([&](const EntryDecl *entry) {
          addSignature(entry->isForward ? "" : "entry ", entry->signature, *entry, scope);
          collect(entry->items, entry->range);
        })
        .Case([&](const HookDecl *hook) {
          add(hook->name, scope, text);
          for (const Name &parameter : hook->parameters)
            add(parameter, hook->range, parameter.text + " of " + hook->name.text);
          for (const Static &fixed : hook->statics)
            add(fixed.name, hook->range, "static " + fixed.name.text + " of " + hook->name.text);
          collect(hook->with, hook->range);
        })
        .Case([&](const CacheDecl *cache) {
          for (const CacheDecl::Entry &entry : cache->entries)
            add(entry.name, scope, "cache " + oneLine(entry.name.range.to(entry.capacity->range)));
        })
        .Case([&](const TableDecl *table) {
          add(table->name, scope, text);
          for (const DimArgument &axis : table->axes)
            add(axis.name, table->range, axis.name.text + " of " + table->name.text);
        })
        .Case([&](const LetStmt *let) {
          for (const Pattern &pattern : let->patterns)
            addPattern(pattern, scope, text);
        })
        .Default([](const Item *) {});
  }

  std::vector<Declaration> found;

private:
  void add(const Name &name, SourceRange scope, const std::string &text) {
    if (!name.text.empty())
      found.push_back({name.text, name.range, scope, text});
  }

  void addPaths(const std::vector<Path> &paths, SourceRange scope, const std::string &text) {
    for (const Path &path : paths)
      found.push_back({path.str(), path.range, scope, text});
  }

  /// The source text of a range on one line.
  std::string oneLine(SourceRange range) const {
    llvm::SmallVector<llvm::StringRef> words;
    llvm::StringRef text = source.text(range);
    std::string result;
    while (!(text = text.ltrim()).empty()) {
      size_t end = std::min(text.size(), text.find_first_of(" \t\r\n"));
      result += (result.empty() ? "" : " ") + text.take_front(end).str();
      text = text.drop_front(end);
    }
    return result;
  }

  void addSignature(llvm::StringRef keyword, const Signature &signature, const Item &item,
                    SourceRange scope) {
    std::string text = oneLine(signature.range);
    add(signature.name, scope, keyword.str() + text);
    for (const Name &dim : signature.dims)
      add(dim, item.range, "dim " + dim.text + " of " + signature.name.text);
    for (const Parameter &parameter : signature.parameters)
      add(parameter.name, item.range, parameter.name.text + ": " + oneLine(parameter.type.range));
    for (const Static &fixed : signature.statics)
      add(fixed.name, item.range, "static " + fixed.name.text + " of " + signature.name.text);
  }

  void addPattern(const Pattern &pattern, SourceRange scope, const std::string &text) {
    add(pattern.name, scope, text);
    for (const Pattern &element : pattern.elements)
      addPattern(element, scope, text);
  }

  const SourceFile &source;
};

} // namespace

std::vector<Declaration> declarations(const File &file, const SourceFile &source) {
  Collector collector(source);
  collector.collect(file.items, {0, static_cast<uint32_t>(source.text().size())});
  return std::move(collector.found);
}

std::vector<Declaration> declarationsOf(const Item &item, SourceRange scope,
                                        const SourceFile &source) {
  Collector collector(source);
  collector.collect(item, scope);
  return std::move(collector.found);
}

std::optional<Use> useAt(const SourceFile &source, uint32_t offset) {
  DiagnosticEngine ignored(source);
  TokenStream stream = lex(source, ignored);
  llvm::ArrayRef<Token> tokens = stream.tokens;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token &token = tokens[i];
    if (!token.is(TokenKind::Word) || offset < token.range.begin || offset > token.range.end)
      continue;
    if (token.isReserved())
      return std::nullopt;
    size_t first = i;
    while (tokens[first].afterDot && first >= 2 && tokens[first - 2].is(TokenKind::Word))
      first -= 2;
    Use use{"", tokens[first].range.to(token.range)};
    for (size_t part = first; part <= i; ++part)
      use.path += tokens[part].text;
    return use;
  }
  return std::nullopt;
}

const Declaration *resolve(const std::vector<Declaration> &all, const Use &use) {
  const Declaration *best = nullptr;
  auto isInside = [&](SourceRange scope) {
    return scope.begin <= use.range.begin && use.range.end <= scope.end;
  };
  for (llvm::StringRef path = use.path; !path.empty() && !best; path = path.rsplit('.').first) {
    for (const Declaration &declaration : all)
      if (declaration.name == path && isInside(declaration.scope) &&
          (!best || declaration.scope.size() <= best->scope.size()))
        best = &declaration;
    if (!path.contains('.'))
      break;
  }
  return best;
}

} // namespace attn::lsp
