// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages of the client to functions of Features.h, and the list of what the server can do.
#include "Server.h"

#include "llvm/Support/LSP/Logging.h"

namespace attn::lsp {

using namespace llvm::lsp;

bool fromJSON(const llvm::json::Value &value, DocumentParams &result, llvm::json::Path path) {
  llvm::json::ObjectMapper mapper(value, path);
  return mapper && mapper.map("textDocument", result.textDocument);
}

bool fromJSON(const llvm::json::Value &value, RenameParams &result, llvm::json::Path path) {
  TextDocumentPositionParams &place = result;
  llvm::json::ObjectMapper mapper(value, path);
  return fromJSON(value, place, path) && mapper && mapper.map("newName", result.newName);
}

Server::Server(JSONTransport &transport) : transport(transport), handler(transport) {
  handler.method("initialize", this, &Server::initialize);
  handler.notification("initialized", this, &Server::initialized);
  handler.method("shutdown", this, &Server::shutdown);
  handler.notification("textDocument/didOpen", this, &Server::opened);
  handler.notification("textDocument/didChange", this, &Server::changed);
  handler.notification("textDocument/didClose", this, &Server::closed);
  handler.method("textDocument/formatting", this, &Server::formatting);
  handler.method("textDocument/codeAction", this, &Server::codeAction);
  handler.method("textDocument/completion", this, &Server::completion);
  handler.method("textDocument/inlayHint", this, &Server::inlayHint);
  handler.method("textDocument/documentSymbol", this, &Server::documentSymbol);
  handler.method("textDocument/references", this, &Server::references);
  handler.method("textDocument/prepareRename", this, &Server::prepareRename);
  handler.method("textDocument/rename", this, &Server::rename);
  handler.method("textDocument/semanticTokens/full", this, &Server::semanticTokens);
  handler.method("textDocument/hover", this, &Server::hover);
  handler.method("textDocument/definition", this, &Server::definition);
  publishDiagnostics =
      handler.outgoingNotification<llvm::json::Value>("textDocument/publishDiagnostics");
}

int Server::run() {
  if (llvm::Error error = transport.run(handler)) {
    Logger::error("transport: {0}", error);
    llvm::consumeError(std::move(error));
    return 1;
  }
  return shutDown ? 0 : 1;
}

void Server::initialize(const InitializeParams &, Callback<llvm::json::Value> reply) {
  // Whole texts at every change: specs are small, and the library's incremental edits count columns
  // in bytes.
  llvm::json::Object capabilities{
      {"textDocumentSync",
       llvm::json::Object{{"openClose", true},
                          {"change", static_cast<int>(TextDocumentSyncKind::Full)}}},
      {"documentFormattingProvider", true},
      {"codeActionProvider",
       llvm::json::Object{{"codeActionKinds", llvm::json::Array{CodeAction::kQuickFix}}}},
      {"completionProvider",
       llvm::json::Object{{"triggerCharacters", llvm::json::Array{".", "\""}}}},
      {"inlayHintProvider", true},
      {"documentSymbolProvider", true},
      {"referencesProvider", true},
      {"renameProvider", llvm::json::Object{{"prepareProvider", true}}},
      {"semanticTokensProvider",
       llvm::json::Object{{"legend", semanticTokensLegend()}, {"full", true}}},
      {"hoverProvider", true},
      {"definitionProvider", true}};
  reply(llvm::json::Object{{"serverInfo", llvm::json::Object{{"name", "attn-lsp-server"}}},
                           {"capabilities", std::move(capabilities)}});
}

void Server::initialized(const InitializedParams &) {}

void Server::shutdown(const NoParams &, Callback<std::nullptr_t> reply) {
  shutDown = true;
  reply(nullptr);
}

void Server::update(const URIForFile &uri, int64_t version, std::string text) {
  auto &document = documents[uri.file()];
  document = std::make_unique<Document>(uri, version, std::move(text), document.get());
  publishDiagnostics(diagnostics(*document));
}

const Document *Server::find(const URIForFile &uri) const {
  auto found = documents.find(uri.file());
  return found == documents.end() ? nullptr : found->second.get();
}

void Server::opened(const DidOpenTextDocumentParams &params) {
  update(params.textDocument.uri, params.textDocument.version, params.textDocument.text);
}

void Server::changed(const DidChangeTextDocumentParams &params) {
  if (!params.contentChanges.empty())
    update(params.textDocument.uri, params.textDocument.version, params.contentChanges.back().text);
}

void Server::closed(const DidCloseTextDocumentParams &params) {
  if (!documents.erase(params.textDocument.uri.file()))
    return;
  publishDiagnostics(
      llvm::json::Object{{"uri", params.textDocument.uri}, {"diagnostics", llvm::json::Array{}}});
}

void Server::formatting(const DocumentParams &params, Callback<std::vector<TextEdit>> reply) {
  const Document *document = find(params.textDocument.uri);
  reply(document ? format(*document) : std::vector<TextEdit>{});
}

void Server::codeAction(const CodeActionParams &params, Callback<llvm::json::Value> reply) {
  const Document *document = find(params.textDocument.uri);
  const std::vector<std::string> &only = params.context.only;
  bool isWanted = only.empty() || llvm::is_contained(only, CodeAction::kQuickFix);
  reply(document && isWanted ? codeActions(*document, params.range) : llvm::json::Array());
}

void Server::completion(const CompletionParams &params, Callback<CompletionList> reply) {
  const Document *document = find(params.textDocument.uri);
  reply(document ? lsp::completion(*document, params.position) : CompletionList{});
}

void Server::inlayHint(const InlayHintsParams &params, Callback<std::vector<InlayHint>> reply) {
  const Document *document = find(params.textDocument.uri);
  reply(document ? inlayHints(*document, params.range) : std::vector<InlayHint>());
}

void Server::documentSymbol(const DocumentParams &params,
                            Callback<std::vector<DocumentSymbol>> reply) {
  const Document *document = find(params.textDocument.uri);
  reply(document ? symbols(*document) : std::vector<DocumentSymbol>());
}

void Server::references(const ReferenceParams &params, Callback<std::vector<Location>> reply) {
  const Document *document = find(params.textDocument.uri);
  reply(document ? lsp::references(*document, params.position, params.context.includeDeclaration)
                 : std::vector<Location>());
}

void Server::prepareRename(const TextDocumentPositionParams &params,
                           Callback<std::optional<Range>> reply) {
  const Document *document = find(params.textDocument.uri);
  reply(document ? renameable(*document, params.position) : std::nullopt);
}

void Server::rename(const RenameParams &params, Callback<WorkspaceEdit> reply) {
  const Document *document = find(params.textDocument.uri);
  reply(document ? lsp::rename(*document, params.position, params.newName)
                 : llvm::Expected<WorkspaceEdit>(WorkspaceEdit{}));
}

void Server::semanticTokens(const DocumentParams &params, Callback<llvm::json::Value> reply) {
  const Document *document = find(params.textDocument.uri);
  reply(llvm::json::Object{
      {"data", document ? lsp::semanticTokens(*document) : llvm::json::Array()}});
}

void Server::hover(const TextDocumentPositionParams &params, Callback<std::optional<Hover>> reply) {
  const Document *document = find(params.textDocument.uri);
  reply(document ? lsp::hover(*document, params.position) : std::nullopt);
}

void Server::definition(const TextDocumentPositionParams &params,
                        Callback<std::vector<Location>> reply) {
  const Document *document = find(params.textDocument.uri);
  reply(document ? lsp::definition(*document, params.position) : std::vector<Location>{});
}

} // namespace attn::lsp
