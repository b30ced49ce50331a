// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The protocol's requests and notifications, over the open documents.
#pragma once

#include "Features.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/LSP/Transport.h"

namespace attn::lsp {

/// The parameters of requests about a document as a whole.
struct DocumentParams {
  llvm::lsp::TextDocumentIdentifier textDocument;
};
/// Reads the parameters of a request; false where they are not of its form.
bool fromJSON(const llvm::json::Value &value, DocumentParams &result, llvm::json::Path path);

/// `textDocument/rename`
struct RenameParams : llvm::lsp::TextDocumentPositionParams {
  std::string newName;
};
/// Likewise.
bool fromJSON(const llvm::json::Value &value, RenameParams &result, llvm::json::Path path);

/// The server of one client.
class Server {
public:
  explicit Server(llvm::lsp::JSONTransport &transport);

  /// Serves until the client says `exit` or hangs up. The process' exit code: 0 after an orderly
  /// shutdown.
  int run();

private:
  /// One function for each request and notification of the protocol, of the same name.
  void initialize(const llvm::lsp::InitializeParams &params,
                  llvm::lsp::Callback<llvm::json::Value> reply);
  void initialized(const llvm::lsp::InitializedParams &params);
  void shutdown(const llvm::lsp::NoParams &params, llvm::lsp::Callback<std::nullptr_t> reply);
  void opened(const llvm::lsp::DidOpenTextDocumentParams &params);
  void changed(const llvm::lsp::DidChangeTextDocumentParams &params);
  void closed(const llvm::lsp::DidCloseTextDocumentParams &params);
  void formatting(const DocumentParams &params,
                  llvm::lsp::Callback<std::vector<llvm::lsp::TextEdit>> reply);
  void codeAction(const llvm::lsp::CodeActionParams &params,
                  llvm::lsp::Callback<llvm::json::Value> reply);
  void completion(const llvm::lsp::CompletionParams &params,
                  llvm::lsp::Callback<llvm::lsp::CompletionList> reply);
  void inlayHint(const llvm::lsp::InlayHintsParams &params,
                 llvm::lsp::Callback<std::vector<llvm::lsp::InlayHint>> reply);
  void documentSymbol(const DocumentParams &params,
                      llvm::lsp::Callback<std::vector<llvm::lsp::DocumentSymbol>> reply);
  void references(const llvm::lsp::ReferenceParams &params,
                  llvm::lsp::Callback<std::vector<llvm::lsp::Location>> reply);
  void prepareRename(const llvm::lsp::TextDocumentPositionParams &params,
                     llvm::lsp::Callback<std::optional<llvm::lsp::Range>> reply);
  void rename(const RenameParams &params, llvm::lsp::Callback<llvm::lsp::WorkspaceEdit> reply);
  void semanticTokens(const DocumentParams &params, llvm::lsp::Callback<llvm::json::Value> reply);
  void hover(const llvm::lsp::TextDocumentPositionParams &params,
             llvm::lsp::Callback<std::optional<llvm::lsp::Hover>> reply);
  void definition(const llvm::lsp::TextDocumentPositionParams &params,
                  llvm::lsp::Callback<std::vector<llvm::lsp::Location>> reply);

  /// Parses a text and tells the client what is wrong with it.
  void update(const llvm::lsp::URIForFile &uri, int64_t version, std::string text);
  const Document *find(const llvm::lsp::URIForFile &uri) const;

  llvm::lsp::JSONTransport &transport;
  llvm::lsp::MessageHandler handler;
  llvm::lsp::OutgoingNotification<llvm::json::Value> publishDiagnostics;
  llvm::StringMap<std::unique_ptr<Document>> documents; ///< By path.
  bool shutDown = false;
};

} // namespace attn::lsp
