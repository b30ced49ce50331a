// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What may be written at a cursor, as a list: names that can be seen there, what the library has,
// words of the language, tensors of the checkpoint.
#include "CheckpointNames.h"
#include "Features.h"
#include "LibraryFiles.h"
#include "Place.h"

#include "compiler/frontend/sema/attention/AttendLines.h"
#include "compiler/frontend/sema/attention/Hooks.h"
#include "compiler/frontend/sema/expressions/Functions.h"
#include "compiler/frontend/sema/sizes/Types.h"
#include "compiler/frontend/syntax/ParseItems.h"
#include "compiler/std/Library.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include <fmt/format.h>

namespace attn::lsp {

using namespace attn::frontend;
using llvm::lsp::CompletionItemKind;
using Kind = Declaration::Kind;

/// Words before an operand, and behind one.
static constexpr llvm::StringLiteral wordsBefore[] = {"attend", "scan", "if",
                                                      "not",    "true", "false"};
static constexpr llvm::StringLiteral wordsBehind[] = {"over",    "along",   "as",   "group", "by",
                                                      "and",     "or",      "then", "else",  "from",
                                                      "lengths", "reverse", "to",   "where", "at"};

static CompletionItemKind kindOf(Kind kind) {
  switch (kind) {
  case Kind::Dim:
    return CompletionItemKind::Constant;
  case Kind::Linear:
  case Kind::Embedding:
  case Kind::Norm:
  case Kind::Stack:
  case Kind::Part:
    return CompletionItemKind::Method;
  case Kind::Model:
  case Kind::Block:
    return CompletionItemKind::Class;
  case Kind::Entry:
  case Kind::Hook:
    return CompletionItemKind::Function;
  case Kind::Param:
  case Kind::Cache:
  case Kind::Table:
    return CompletionItemKind::Field;
  case Kind::Let:
  case Kind::Input:
  case Kind::Static:
    return CompletionItemKind::Variable;
  }
  llvm_unreachable("covered");
}

namespace {

class Completer {
public:
  Completer(const Document &document, uint32_t offset)
      : document(document), place(placeAt(document, offset)) {
    written = document.range(place.written);
  }

  llvm::lsp::CompletionList complete() {
    switch (place.expected) {
    case Expected::Nothing:
      break;
    case Expected::Item:
      addWords(place.scopes ? itemWords(place.scopes) : ast::attendWords());
      break;
    case Expected::Library:
      for (const library::File &file : library::files())
        add(file.path, CompletionItemKind::Module, "a library");
      break;
    case Expected::Block:
      addNames({Kind::Block});
      addLibrary([](const ast::Item &item) { return llvm::isa<ast::BlockDecl>(item); });
      break;
    case Expected::Hook:
      addHooks();
      break;
    case Expected::Weight:
      addWords(weightNames());
      addWords({"dropout"});
      break;
    case Expected::Dtype:
      addWords(dtypeNames());
      addWords({"cache"});
      break;
    case Expected::Axis:
      addNames({Kind::Dim, Kind::Static, Kind::Cache, Kind::Input});
      break;
    case Expected::Tensor:
      for (const std::string &name : tensorsFor(document, place))
        add(name, CompletionItemKind::Value, "of the checkpoint");
      break;
    case Expected::Value:
      addValues();
      break;
    case Expected::Operator:
      addWords(wordsBehind);
      break;
    }
    return std::move(list);
  }

private:
  llvm::lsp::CompletionItem *add(llvm::StringRef label, CompletionItemKind kind,
                                 const llvm::Twine &detail) {
    if (!seen.insert(label).second)
      return nullptr;
    llvm::lsp::CompletionItem &item = list.items.emplace_back(label, kind);
    item.detail = llvm::json::fixUTF8(detail.str());
    item.sortText = fmt::format("{:05}", list.items.size()); // in the order of this list
    item.textEdit = llvm::lsp::TextEdit{written, label.str()};
    return &item;
  }

  template <typename Words> void addWords(const Words &words) {
    for (llvm::StringRef word : words)
      add(word, CompletionItemKind::Keyword, "");
  }
  void addWords(std::initializer_list<llvm::StringRef> words) {
    addWords(llvm::ArrayRef<llvm::StringRef>(words));
  }

  /// The names that can be seen here, of inner scopes first; a `let` behind its line.
  void addNames(llvm::ArrayRef<Kind> kinds) {
    bool isAxis = place.expected == Expected::Axis;
    std::vector<std::pair<uint32_t, const Declaration *>> visible;
    for (const Declaration &declaration : document.declarations()) {
      uint32_t at = place.written.begin;
      bool isSeen = declaration.scope.begin <= at && at <= declaration.scope.end;
      bool isLater = declaration.kind == Kind::Let && place.item <= declaration.item->range.begin;
      // Axes are positions in hooks and tables alone.
      bool isTensor = isAxis && declaration.kind == Kind::Input &&
                      !llvm::isa<ast::HookDecl, ast::TableDecl>(declaration.item);
      if (isSeen && !isLater && !isTensor && llvm::is_contained(kinds, declaration.kind))
        visible.push_back({declaration.scope.size(), &declaration});
    }
    llvm::sort(visible);
    for (auto [size, declaration] : visible)
      add(declaration->name, kindOf(declaration->kind), declaration->text);
  }

  /// What the library declares, with the `use` that it needs.
  void addLibrary(llvm::function_ref<bool(const ast::Item &)> isWanted) {
    for (const auto &[path, declaration] : libraryDeclarations()) {
      if (!isWanted(*declaration.item))
        continue;
      llvm::lsp::CompletionItem *item =
          add(declaration.name, kindOf(declaration.kind), path + ": " + declaration.text);
      if (item && !isUsed(path))
        item->additionalTextEdits.push_back(
            {document.range({afterVersion(), afterVersion()}), ("\nuse " + path).str()});
    }
  }

  bool isUsed(llvm::StringRef path) const {
    return llvm::any_of(document.tree().items, [&](const ast::ItemPtr &item) {
      auto *use = llvm::dyn_cast<ast::UseDecl>(item.get());
      return use && !use->file && !use->path.parts.empty() && use->path.str() == path;
    });
  }

  uint32_t afterVersion() const { return document.tree().versionRange.end; }

  void addHooks() {
    auto hook = llvm::StringSwitch<ast::HookDecl::Hook>(place.keyword)
                    .Case("score", ast::HookDecl::Hook::Score)
                    .Case("bias", ast::HookDecl::Hook::Bias)
                    .Default(ast::HookDecl::Hook::Mask);
    auto isHook = [&](const ast::Item &item) {
      auto *decl = llvm::dyn_cast<ast::HookDecl>(&item);
      return decl && decl->hook == hook;
    };
    for (const Declaration &declaration : document.declarations())
      if (declaration.kind == Kind::Hook && isHook(*declaration.item))
        add(declaration.name, kindOf(declaration.kind), declaration.text);
    addWords(knownHooks(hook));
    if (hook == ast::HookDecl::Hook::Mask)
      addWords({"none"});
    addLibrary(isHook);
  }

  void addValues() {
    addNames({Kind::Let, Kind::Input, Kind::Static, Kind::Param, Kind::Table, Kind::Linear,
              Kind::Embedding, Kind::Norm, Kind::Stack, Kind::Part, Kind::Cache, Kind::Block,
              Kind::Dim});
    for (llvm::StringRef function : functionNames())
      add(function, CompletionItemKind::Function, "a function of the language");
    addWords(wordsBefore);
  }

  const Document &document;
  Place place;
  llvm::lsp::Range written;
  llvm::lsp::CompletionList list;
  llvm::StringSet<> seen;
};

} // namespace

llvm::lsp::CompletionList completion(const Document &document, llvm::lsp::Position position) {
  return Completer(document, document.offset(position)).complete();
}

} // namespace attn::lsp
