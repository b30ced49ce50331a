// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `attn check`: all errors of a spec, and of a checkpoint against it.
#include "Verbs.h"
#include "compiler/emit/ModelInfo.h"
#include "tools/attn/build/Spec.h"
#include "tools/attn/checkpoints/Weights.h"
#include "tools/attn/support/Report.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attn::tool {

int checkImported(StringRef text, StringRef folder, std::vector<TensorsOfPrecision> &precisions) {
  Spec spec;
  if (spec.loadText("<import>", text))
    return fail(BadInput, "`" + folder + "`: its config.json describes no model that can be",
                "what is wrong with the spec of it stands above");
  std::vector<WantedTensor> wanted = wantedTensors(spec.module());
  if (int code = matchWeights(wanted, ignoredPatterns(spec.module()), folder.str(),
                              /*isQuiet=*/true))
    return code;
  return findPrecisions(wanted, folder.str(), precisions);
}

int checkImported(StringRef text, function_ref<std::string(StringRef)> nodeOf, StringRef path,
                  bool hasTensors) {
  Spec spec;
  auto [problem, line] = spec.problemOf(text);
  if (!problem.empty()) {
    std::string node = nodeOf(line);
    return fail(
        BadInput,
        "`" + path + "`: " +
            (node.empty() ? std::string("the graph") : "the node " + node + " or one before it") +
            " computes what a spec cannot say: " + problem,
        "`attn import` reads graphs that are made of the patterns listed in "
        "compiler/import/README.md");
  }
  if (!hasTensors)
    return Ok;
  return matchWeights(wantedTensors(spec.module()), ignoredPatterns(spec.module()), path.str(),
                      /*isQuiet=*/true);
}

int runCheck(const opt::InputArgList &args) {
  Spec spec;
  if (int code = spec.load(args))
    return code;
  std::string weights = spec.weights(args);
  bool isAsked = args.hasArg(OPT_weights);
  auto match = [&](bool isQuiet) {
    return matchWeights(wantedTensors(spec.module()), ignoredPatterns(spec.module()), weights,
                        isQuiet);
  };
  bool hasValues = args.hasArg(OPT_values);
  if (hasValues && weights.empty())
    return fail(Usage, "`--values` needs a checkpoint", "pass `--weights FILE`");
  if (isAsked || hasValues) {
    int code = match(/*isQuiet=*/false);
    return hasValues && code != Environment ? std::max(printValues(weights), code) : code;
  }
  ParameterCount count = countParameters(spec.module());
  outs() << spec.path() << ": model " << modelName(spec.module()) << " is well formed, "
         << count.elements << " parameters in " << count.tensors << " tensors\n";
  if (weights.empty())
    return Ok;
  if (int code = match(/*isQuiet=*/true))
    return code;
  outs() << "all of them are in `" << weights << "`\n";
  return Ok;
}

} // namespace attn::tool
