// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `attn check` of a build without the front end's checks: the errors of syntax alone.
#include "Files.h"
#include "Report.h"
#include "Verbs.h"
#include "compiler/frontend/syntax/Parser.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attn::tool {

int checkImported(StringRef, StringRef, std::vector<TensorsOfPrecision> &) { return Ok; }

int runCheck(const opt::InputArgList &args) {
  StringRef path = onlyFile(args, "spec");
  if (path.empty())
    return Usage;
  auto buffer = readInput(path);
  if (!buffer)
    return Environment;
  frontend::SourceFile source(path == "-" ? "<stdin>" : path.str(), buffer->getBuffer().str());
  frontend::DiagnosticEngine diagnostics(source);
  frontend::parse(source, diagnostics);
  printDiagnostics(diagnostics);
  return diagnostics.hasErrors() ? BadInput : Ok;
}

} // namespace attn::tool
