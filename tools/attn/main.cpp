// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn: the driver. A verb, its options, an exit code (Report.h).
#include "compiler/support/InputFile.h"
#include "io/File.h"
#include "main/ReadFiles.h"
#include "tools/attn/support/Report.h"
#include "tools/attn/support/Reproducer.h"
#include "tools/attn/verbs/Verbs.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn::tool;

static int runVerb(const CommandLine &line) {
  using Verb = int (*)(const llvm::opt::InputArgList &);
  static constexpr std::pair<llvm::StringRef, Verb> verbs[] = {
      {"check", runCheck},   {"inspect", runInspect},   {"fmt", runFmt},
      {"import", runImport}, {"tokenize", runTokenize}, {"compile", runCompile},
      {"run", runRun},       {"serve", runServe},       {"bench", runBench},
      {"verify", runVerify}, {"explain", runExplain},   {"explore", runExplore},
      {"cache", runCache},   {"diff", runDiff},
  };
  for (auto [name, verb] : verbs)
    if (line.verb == name)
      return verb(line.args);
  return notSupportedYet("`attn " + llvm::Twine(line.verb) + "`");
}

int main(int argc, char **argv) {
  attn::reserveStandardFiles();
  attn::observeInputFiles(attn_main_note_file);
  llvm::ArrayRef<const char *> arguments(argv + (argc > 0), size_t(argc > 0 ? argc - 1 : 0));
  llvm::WithColor::setAutoDetectFunction([](const llvm::raw_ostream &) { return wantsColour(); });
  rememberCommand(arguments);
  CommandLine line = parseCommandLine(arguments);
  if (line.exitCode)
    return finish(*line.exitCode);
  // A crash of the compiler ends as an internal error with a reproducer, too.
  int code = Ok;
  llvm::CrashRecoveryContext::Enable();
  llvm::CrashRecoveryContext recovery;
  if (!recovery.RunSafely([&] { code = runVerb(line); }))
    code = internalError();
  return finish(code);
}
