// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn-lsp-server: the language server for `.attn` files, over stdin and stdout.
#include "Server.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/LSP/Logging.h"
#include "llvm/Support/Program.h"

using llvm::lsp::JSONStreamStyle;
using llvm::lsp::Logger;

static llvm::cl::OptionCategory options("Options");
static llvm::cl::opt<bool>
    litTest("lit-test", llvm::cl::cat(options),
            llvm::cl::desc("Messages are separated by `// -----`; answers are indented"));
static llvm::cl::opt<bool> verbose("verbose", llvm::cl::cat(options),
                                   llvm::cl::desc("Write every message's name to stderr"));

int main(int argc, char **argv) {
  llvm::cl::HideUnrelatedOptions(options);
  llvm::cl::ParseCommandLineOptions(
      argc, argv,
      "The language server for .attn files. An editor starts it and talks to it over\n"
      "stdin and stdout. It offers diagnostics and their mends, hints, completion, hover,\n"
      "definitions, an outline, references, renaming, formatting and semantic tokens.\n");
  Logger::setLogLevel(verbose ? Logger::Level::Debug : Logger::Level::Error);
  (void)llvm::sys::ChangeStdinToBinary();
  llvm::lsp::URIForFile::registerSupportedScheme("untitled");
  llvm::lsp::JSONTransport transport(
      stdin, llvm::outs(), litTest ? JSONStreamStyle::Delimited : JSONStreamStyle::Standard,
      litTest);
  return attn::lsp::Server(transport).run();
}
