// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages of the client to functions of Document, and the list of what the server can do.
#include "Server.h"

#include "llvm/Support/LSP/Logging.h"

namespace attn::lsp {

using namespace llvm::lsp;

bool fromJSON(const llvm::json::Value &value, FormattingParams &result, llvm::json::Path path) {
  llvm::json::ObjectMapper mapper(value, path);
  return mapper && mapper.map("textDocument", result.textDocument);
}

Server::Server(JSONTransport &transport) : transport(transport), handler(transport) {
  handler.method("initialize", this, &Server::initialize);
  handler.notification("initialized", this, &Server::initialized);
  handler.method("shutdown", this, &Server::shutdown);
  handler.notification("textDocument/didOpen", this, &Server::opened);
  handler.notification("textDocument/didChange", this, &Server::changed);
  handler.notification("textDocument/didClose", this, &Server::closed);
  handler.method("textDocument/formatting", this, &Server::formatting);
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
  document = std::make_unique<Document>(uri, version, std::move(text));
  publishDiagnostics(document->diagnostics());
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

void Server::formatting(const FormattingParams &params, Callback<std::vector<TextEdit>> reply) {
  const Document *document = find(params.textDocument.uri);
  reply(document ? document->format() : std::vector<TextEdit>{});
}

void Server::hover(const TextDocumentPositionParams &params, Callback<std::optional<Hover>> reply) {
  const Document *document = find(params.textDocument.uri);
  reply(document ? document->hover(params.position) : std::nullopt);
}

void Server::definition(const TextDocumentPositionParams &params,
                        Callback<std::vector<Location>> reply) {
  const Document *document = find(params.textDocument.uri);
  reply(document ? document->definition(params.position) : std::vector<Location>{});
}

} // namespace attn::lsp
