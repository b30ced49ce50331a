// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Starts attn-lsp-server for `.attn` files, and stops it.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
  const command = workspace.getConfiguration("attn").get("server");
  const documents = [{ scheme: "file", language: "attn" }, { scheme: "untitled", language: "attn" }];
  client = new LanguageClient("attn", "Attn", { command }, { documentSelector: documents });
  return client.start();
};

exports.deactivate = () => client?.stop();
