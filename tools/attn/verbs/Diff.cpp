// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `attn diff`: what became otherwise of the kernels of two specs, or of one for two targets.
#include "Verbs.h"
#include "tools/attn/explain/ExplanationDiff.h"
#include "tools/attn/support/Report.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attn::tool {

int failTargetCount(const std::string &file, size_t count, size_t wanted) {
  return fail(Usage,
              "`" + file + "` is for " + std::to_string(count) +
                  (count == 1 ? " target, not " : " targets, not ") + std::to_string(wanted),
              wanted == 2 ? "name two, `--target=x86-64-v3,x86-64-v4`, or a second file"
                          : "name one by `--target`");
}

int runDiff(const opt::InputArgList &args) {
  std::vector<std::string> files = args.getAllArgValues(OPT_INPUT);
  if (files.empty() || files.size() > 2)
    return fail(Usage, "expected one or two files, not " + std::to_string(files.size()),
                "a spec, or what `attn explain --json` has written; of one file its two targets "
                "are compared");
  if (int code = checkHaveEffect(args))
    return code;
  json::Object explanations[2];
  std::vector<ExplainedTarget> targets;
  for (size_t i = 0; i < files.size(); ++i) {
    if (int code = explainFile(args, files[i], /*withCode=*/false, explanations[i]))
      return code;
    std::vector<ExplainedTarget> own = targetsOf(explanations[i]);
    size_t wanted = files.size() == 1 ? 2 : 1;
    if (own.size() != wanted)
      return failTargetCount(files[i], own.size(), wanted);
    targets.insert(targets.end(), own.begin(), own.end());
  }
  json::Object found = difference(targets[0], targets[1]);
  if (args.hasArg(OPT_json))
    outs() << json::Value(json::Object(found)) << '\n';
  else
    printDifference(found, outs());
  return areSame(found) ? Ok : Differs;
}

} // namespace attn::tool
