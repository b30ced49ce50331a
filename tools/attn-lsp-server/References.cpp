// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a name is used, and giving it another one. A new name must leave the spec as right as it
// was: the text with all edits made is checked before they are given to the editor.
#include "Features.h"
#include "Uses.h"

#include "compiler/frontend/syntax/Lexer.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/LSP/Protocol.h"

namespace attn::lsp {

using namespace attn::frontend;

std::vector<llvm::lsp::Location> references(const Document &document, llvm::lsp::Position position,
                                            bool withDeclaration) {
  std::vector<llvm::lsp::Location> found;
  std::optional<Use> meant = useAt(document, document.offset(position));
  if (!meant || !meant->meaning)
    return found;
  SourceRange declared = meant->meaning->where;
  if (withDeclaration && document.checked().isUsed(declared.begin))
    if (auto where = document.location(declared))
      found.push_back(*where);
  for (const Use &use : usesIn(document))
    if (use.meaning == meant->meaning && (withDeclaration || use.range.begin != declared.begin))
      found.emplace_back(document.uri, document.range(use.range));
  return found;
}

/// An error of the protocol that the editor shows.
static llvm::Error refuse(const llvm::Twine &why) {
  return llvm::make_error<llvm::lsp::LSPError>(why.str(), llvm::lsp::ErrorCode::RequestFailed);
}

/// Whether a text is a name, or a path where the language takes one.
static bool isName(llvm::StringRef text, bool mayBePath) {
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, '.');
  if (parts.size() > 1 ? !mayBePath : isReserved(text))
    return false;
  auto isWord = [&](llvm::StringRef part) {
    bool isFirst = part.data() == text.data();
    return !part.empty() && !(isFirst && llvm::isDigit(part.front())) &&
           llvm::all_of(part, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  };
  return llvm::all_of(parts, isWord);
}

/// The declaration that is renamed, or why none is.
static llvm::Expected<const Declaration *> renamed(const Document &document,
                                                   const std::optional<Use> &use) {
  if (!use || !use->meaning)
    return refuse("nothing that is declared has its name here");
  if (document.checked().isUsed(use->meaning->where.begin))
    return refuse("`" + use->path + "` is declared in another file, at " +
                  document.placeText(use->meaning->where.begin));
  return use->meaning;
}

/// Whether one of two ranges holds the other.
static bool overlap(SourceRange a, SourceRange b) { return a.begin < b.end && b.begin < a.end; }

/// The binding to the old name that a layer gets whose name is that of its tensors.
static llvm::Expected<std::optional<Edit>> keepTensors(const Declaration &declaration) {
  const ast::Binding *binding = bindingOf(declaration);
  if (!binding || binding->kind != ast::Binding::Kind::Path)
    return std::nullopt;
  auto *stack = llvm::dyn_cast<ast::StackDecl>(declaration.item);
  auto *part = llvm::dyn_cast<ast::PartDecl>(declaration.item);
  bool isList = false;
  if (auto *linear = llvm::dyn_cast<ast::LinearDecl>(declaration.item))
    isList = linear->names.size() > 1;
  else if (auto *embedding = llvm::dyn_cast<ast::EmbeddingDecl>(declaration.item))
    isList = embedding->names.size() > 1;
  else if (auto *norm = llvm::dyn_cast<ast::NormDecl>(declaration.item))
    isList = norm->names.size() > 1;
  else if (auto *param = llvm::dyn_cast<ast::ParamDecl>(declaration.item))
    isList = llvm::any_of(param->groups, [&](const ast::ParamDecl::Group &group) {
      return &group.binding == binding && group.names.size() > 1;
    });
  else if (part)
    isList = part->names.size() > 1;
  if (isList)
    return refuse("`" + declaration.name +
                  "` is also the name of its tensor in a checkpoint: "
                  "declare it by itself, with a binding, first");
  bool isNothing = binding->range.empty();
  std::string path = declaration.name + (stack && !stack->shared ? ".{n}" : "");
  return Edit{{binding->range.begin, binding->range.begin},
              (isNothing ? " = \"" : "= \"") + path + (isNothing ? "\"" : "\" ")};
}

/// The text with edits made, which do not overlap.
static std::string applyEdits(llvm::StringRef text, std::vector<Edit> edits) {
  llvm::sort(edits, [](const Edit &a, const Edit &b) { return a.range.begin < b.range.begin; });
  std::string result;
  uint32_t at = 0;
  for (const Edit &edit : edits) {
    result += text.slice(at, edit.range.begin);
    result += edit.text;
    at = edit.range.end;
  }
  return result + text.drop_front(at).str();
}

/// Why the text with the edits is no longer right; nothing where it is as right as before.
static std::string wrongAfter(const Document &document, const std::vector<Edit> &edits) {
  Document after(document.uri, document.version, applyEdits(document.text(), edits));
  if (after.findings().errorCount() <= document.findings().errorCount())
    return "";
  for (const Diagnostic *diagnostic : after.findings().sorted())
    if (diagnostic->severity == Severity::Error)
      return diagnostic->message;
  return "";
}

std::optional<llvm::lsp::Range> renameable(const Document &document, llvm::lsp::Position position) {
  std::optional<Use> use = useAt(document, document.offset(position));
  llvm::Expected<const Declaration *> declaration = renamed(document, use);
  if (declaration)
    return document.range(use->range);
  llvm::consumeError(declaration.takeError());
  return std::nullopt;
}

llvm::Expected<llvm::lsp::WorkspaceEdit>
rename(const Document &document, llvm::lsp::Position position, llvm::StringRef name) {
  std::optional<Use> use = useAt(document, document.offset(position));
  llvm::Expected<const Declaration *> meant = renamed(document, use);
  if (!meant)
    return meant.takeError();
  const Declaration &declaration = **meant;
  if (!isName(name, declaration.hasParameters()))
    return refuse("`" + name +
                  "` is no name: names consist of letters, digits and `_`, begin with "
                  "no digit, and are no words of the language");
  for (const Declaration &other : document.declarations())
    if (other.name == name && &other != &declaration && overlap(other.scope, declaration.scope) &&
        !(document.checked().isUsed(other.where.begin) && other.scope.begin > 0))
      return refuse("`" + name + "` is declared already, at " +
                    document.placeText(other.where.begin));
  llvm::Expected<std::optional<Edit>> binding = keepTensors(declaration);
  if (!binding)
    return binding.takeError();
  std::vector<Edit> edits;
  if (*binding)
    edits.push_back(**binding);
  for (const Use &other : usesIn(document)) {
    if (other.meaning != &declaration)
      continue;
    // A word of a pattern is a dim in small letters.
    bool isSmall = other.path != declaration.name;
    edits.push_back({other.range, isSmall ? name.lower() : name.str()});
  }
  if (std::string why = wrongAfter(document, edits); !why.empty())
    return refuse("with the name `" + name + "` the spec would be wrong: " + why);
  llvm::lsp::WorkspaceEdit edit;
  for (const Edit &one : edits)
    edit.changes[document.uri.uri().str()].push_back({document.range(one.range), one.text});
  return edit;
}

} // namespace attn::lsp
