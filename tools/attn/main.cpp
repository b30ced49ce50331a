// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn: the driver. A verb, its options, an exit code (Report.h).
#include "Report.h"
#include "Verbs.h"
#include "llvm/Support/PrettyStackTrace.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn::tool;

static int runVerb(const CommandLine &line) {
  using Verb = int (*)(const llvm::opt::InputArgList &);
  static constexpr std::pair<llvm::StringRef, Verb> verbs[] = {
      {"check", runCheck},
      {"inspect", runInspect},
      {"fmt", runFmt},
  };
  for (auto [name, verb] : verbs)
    if (line.verb == name)
      return verb(line.args);
  return notSupportedYet("`attn " + llvm::Twine(line.verb) + "`");
}

int main(int argc, char **argv) {
  llvm::WithColor::setAutoDetectFunction([](const llvm::raw_ostream &) { return wantsColour(); });
  CommandLine line = parseCommandLine({argv + 1, size_t(argc - 1)});
  return finish(line.exitCode ? *line.exitCode : runVerb(line));
}
