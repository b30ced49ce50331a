// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of `--tune` to a run of the tuner for each CPU level, and its result to the tuning file.
#include "Tune.h"

#include "dialect/AttnDialect.h"
#include "tools/attn/build/TuningFile.h"
#include "tools/attn/running/Tuner.h"
#include "tools/attn/support/Files.h"
#include "tools/attn/support/Report.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace attn::tool {

int checkTuning(const opt::InputArgList &args) {
  bool isTuned = args.hasArg(OPT_tune);
  if (isTuned && !args.hasArg(OPT_tuning))
    return fail(Usage, "`--tune` needs a file for what it finds", "pass `--tuning=FILE`");
  for (auto id : {OPT_turns, OPT_threads})
    if (const opt::Arg *arg = args.getLastArg(id); arg && !isTuned)
      return fail(Usage, "`" + arg->getSpelling() + "` has no effect without `--tune`");
  return Ok;
}

/// A number of an option, 0 where it is not given; -1 after an error.
static int64_t numberOf(const opt::InputArgList &args, unsigned id, int64_t most) {
  const opt::Arg *arg = args.getLastArg(id);
  if (!arg)
    return 0;
  auto number = parseNumber(arg->getValue(), 1, most);
  if (!number)
    fail(Usage,
         "`" + arg->getSpelling() + " " + arg->getValue() + "`: expected 1 to " + Twine(most));
  return number.value_or(-1);
}

/// --set of a dynamic dim is the size that is measured, too.
static std::vector<std::pair<std::string, int64_t>> dynamicSizes(Spec &spec,
                                                                 const opt::InputArgList &args) {
  std::vector<std::pair<std::string, int64_t>> sizes;
  for (const std::string &set : args.getAllArgValues(OPT_set)) {
    auto [name, text] = StringRef(set).split('=');
    for (DimOp dim : spec.module().getOps<DimOp>())
      if (int64_t size;
          dim.getDynamic() && dim.getSymName() == name && !text.getAsInteger(10, size))
        sizes.push_back({name.str(), size});
  }
  return sizes;
}

int tuneKernels(Spec &spec, const opt::InputArgList &args, CompileOptions &options) {
  constexpr int64_t mostThreads = 1024, mostTurns = 1000;
  int64_t threads = numberOf(args, OPT_threads, mostThreads),
          turns = numberOf(args, OPT_turns, mostTurns);
  if (threads < 0 || turns < 0)
    return Usage;
  if (!options.targets.levels.back()->runsOnHost())
    return fail(Environment,
                "`--tune` measures on this machine, which cannot run code for " +
                    options.targets.levels.back()->name,
                "tune on a machine of that level, and pass its file by `--tuning=FILE`");
  StringRef path = args.getLastArgValue(OPT_tuning);
  StringRef folder = sys::path::parent_path(path);
  if (path != "-") // found out before a minute is spent
    if (auto error = sys::fs::access(folder.empty() ? "." : folder, sys::fs::AccessMode::Write))
      return fail(Environment, "cannot write `" + path + "`: " + error.message());
  Tuning tuning;
  if (sys::fs::exists(path))
    if (int code = readTuning(path, tuning))
      return code;
  TunerOptions how{int32_t(threads), turns, dynamicSizes(spec, args)};
  for (const CpuTarget *level : options.targets.levels) {
    CompileOptions own = options;
    own.targets.levels = {level};
    if (int code = Tuner(spec, own, how).run(tuning))
      return code;
  }
  if (int code = rewriteInput(path, tuning.print()))
    return code;
  return takeChoices(tuning, options), Ok;
}

} // namespace attn::tool
