// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `attn fmt`: the one formatting of specs.
#include "Verbs.h"
#include "compiler/frontend/format/Formatter.h"
#include "compiler/frontend/syntax/Parser.h"
#include "tools/attn/support/Files.h"
#include "tools/attn/support/Report.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attn::tool {

static int formatFile(StringRef path, bool isCheck) {
  auto buffer = readInput(path);
  if (!buffer)
    return Environment;
  frontend::SourceFile source(path == "-" ? "<stdin>" : path.str(), buffer->getBuffer().str());
  frontend::DiagnosticEngine diagnostics(source);
  auto file = frontend::parse(source, diagnostics);
  printDiagnostics(diagnostics);
  if (diagnostics.hasErrors())
    return BadInput;
  std::string formatted = frontend::format(*file, source);
  if (isCheck) {
    if (source.text() == formatted)
      return Ok;
    return fail(Differs, "`" + source.name() + "` is not formatted",
                path == "-" ? Twine() : "write it anew by `attn fmt " + path + "`");
  }
  if (path != "-" && source.text() == formatted)
    return Ok;
  return rewriteInput(path, formatted);
}

int runFmt(const opt::InputArgList &args) {
  std::vector<std::string> files = allFiles(args);
  if (files.empty())
    return fail(Usage, "expected a spec, or `-`");
  int worst = Ok;
  for (const std::string &file : files)
    worst = std::max(worst, formatFile(file, args.hasArg(OPT_check_only)));
  return worst;
}

} // namespace attn::tool
