// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Findings of the front end to diagnostics of the protocol, and their edits to code actions.
#include "Features.h"

#include "compiler/frontend/format/Formatter.h"

namespace attn::lsp {

using namespace attn::frontend;

/// Where the editor shows a finding: what is wrong in a used file stands where that is used.
static llvm::lsp::Range shownAt(const Document &document, SourceRange place) {
  if (!document.checked().isUsed(place.begin))
    return document.range(place);
  for (const ast::ItemPtr &item : document.tree().items)
    if (llvm::isa<ast::UseDecl>(*item))
      return document.range(item->range);
  return {};
}

/// The message with all that is said about it in words.
static std::string messageOf(const Document &document, const Diagnostic &diagnostic) {
  uint32_t place = diagnostic.range.value_or(SourceRange{}).begin;
  std::string message = (document.checked().isUsed(place) ? document.placeText(place) + ": " : "") +
                        diagnostic.message;
  for (const std::string &line : diagnostic.lines)
    message += "\n" + line;
  for (const std::string &note : diagnostic.notes)
    message += "\nnote: " + note;
  for (const Help &help : diagnostic.helps)
    message += "\nhelp: " + help.text;
  return message;
}

/// A location whose text is its own: the library's refers to that of the C++ object.
static llvm::json::Value owned(const llvm::lsp::Location &location) {
  return llvm::json::Object{{"uri", location.uri.uri().str()}, {"range", location.range}};
}

static llvm::json::Value toProtocol(const Document &document, const Diagnostic &diagnostic) {
  llvm::lsp::Diagnostic shown;
  shown.range = shownAt(document, diagnostic.range.value_or(SourceRange{}));
  shown.severity = diagnostic.severity == Severity::Error ? llvm::lsp::DiagnosticSeverity::Error
                                                          : llvm::lsp::DiagnosticSeverity::Warning;
  shown.source = "attn";
  shown.message = messageOf(document, diagnostic);
  llvm::json::Array related;
  for (const Label &label : diagnostic.secondary)
    if (auto where = document.location(label.range))
      related.push_back(llvm::json::Object{{"location", owned(*where)},
                                           {"message", llvm::json::fixUTF8(label.text)}});
    else
      shown.message += "\nnote: " + document.placeText(label.range.begin) + ": " + label.text;
  shown.message = llvm::json::fixUTF8(shown.message);
  llvm::json::Value value = toJSON(shown);
  llvm::json::Object &object = *value.getAsObject();
  object["code"] = codeText(diagnostic.code); // the library's struct has no such field
  if (!related.empty())
    object["relatedInformation"] = std::move(related);
  return value;
}

llvm::json::Value diagnostics(const Document &document) {
  llvm::json::Array list;
  for (const Diagnostic *diagnostic : document.findings().sorted())
    list.push_back(toProtocol(document, *diagnostic));
  return llvm::json::Object{
      {"uri", document.uri}, {"version", document.version}, {"diagnostics", std::move(list)}};
}

llvm::json::Array codeActions(const Document &document, llvm::lsp::Range range) {
  llvm::json::Array actions;
  for (const Diagnostic *diagnostic : document.findings().sorted()) {
    llvm::lsp::Range place = shownAt(document, diagnostic->range.value_or(SourceRange{}));
    if (place.end < range.start || range.end < place.start)
      continue;
    bool isOnly = llvm::count_if(diagnostic->helps, [](auto &help) { return help.edit; }) == 1;
    for (const Help &help : diagnostic->helps) {
      auto where = help.edit ? document.location(help.edit->range) : std::nullopt;
      if (!where)
        continue;
      llvm::lsp::WorkspaceEdit edit;
      edit.changes[where->uri.uri().str()] = {{where->range, llvm::json::fixUTF8(help.edit->text)}};
      actions.push_back(
          llvm::json::Object{{"title", llvm::json::fixUTF8(help.text)},
                             {"kind", llvm::lsp::CodeAction::kQuickFix},
                             {"diagnostics", llvm::json::Array{toProtocol(document, *diagnostic)}},
                             {"isPreferred", isOnly},
                             {"edit", toJSON(edit)}});
    }
  }
  return actions;
}

std::vector<llvm::lsp::TextEdit> format(const Document &document) {
  if (!document.isParsed())
    return {};
  std::string text = frontend::format(document.tree(), document.checked());
  if (text == document.text())
    return {};
  return {{document.range({0, static_cast<uint32_t>(document.text().size())}), text}};
}

} // namespace attn::lsp
