// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tuning file to the choices that hold for this machine's CPU.
#include "TuningFile.h"

#include "base/Features.h"
#include "tools/attn/support/Files.h"
#include "tools/attn/support/Options.h"
#include "tools/attn/support/Report.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attn::tool {

std::string hostCpuName() {
  char name[64];
  cpuName(name);
  return StringRef(name).trim().str();
}

int readTuning(StringRef path, Tuning &tuning) {
  auto buffer = readInput(path);
  if (!buffer)
    return Environment;
  auto read = Tuning::parse(buffer->getBuffer());
  if (!read)
    return fail(BadInput, "`" + path + "`: " + toString(read.takeError()),
                "`attn compile --tune --tuning=FILE` writes such a file");
  tuning = std::move(*read);
  return Ok;
}

void takeChoices(const Tuning &tuning, CompileOptions &options) {
  TunedChoices choices = tuning.choicesFor(hostCpuName());
  for (const CpuTarget *level : options.targets.levels)
    if (auto found = choices.find(level->name.str()); found != choices.end())
      options.tuning.insert(*found);
}

int takeTuning(const opt::InputArgList &args, CompileOptions &options) {
  StringRef path = args.getLastArgValue(OPT_tuning);
  if (path.empty() || args.hasArg(OPT_tune))
    return Ok;
  Tuning tuning;
  if (int code = readTuning(path, tuning))
    return code;
  takeChoices(tuning, options);
  if (options.tuning.empty())
    note("`" + path + "` holds nothing for this CPU, " + hostCpuName() +
         ", at the levels that are compiled for");
  return Ok;
}

} // namespace attn::tool
