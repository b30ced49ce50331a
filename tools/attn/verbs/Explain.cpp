// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `attn explain`: what the compiler did with each kernel, in its own remarks.
#include "Verbs.h"
#include "tools/attn/build/Build.h"
#include "tools/attn/build/LiveShares.h"
#include "tools/attn/explain/Explanation.h"
#include "tools/attn/explain/ExplanationText.h"
#include "tools/attn/explain/MeasuredRun.h"
#include "tools/attn/support/Report.h"
#include "tools/attn/support/Reproducer.h"

using namespace llvm;

namespace attn::tool {

/// Explains a spec, and keeps the remarks on it.
static int explainSpec(const opt::InputArgList &args, StringRef path, Remarks &remarks,
                       json::Object &explanation) {
  CompileOptions options;
  Spec spec;
  if (!remarks.listenTo(spec.context()))
    return internalError();
  if (int code = loadForCompiling(args, options, spec, /*onlyLooks=*/true, path))
    return code;
  if (int code = findAssembler(options))
    return code;
  if (int code = assumeSizes(spec.module(), args))
    return code;
  MeasuredRun run;
  bool isTimed = args.hasArg(OPT_times);
  if (isTimed) {
    if (int code = run.read(args.getLastArgValue(OPT_times)))
      return code;
    if (int code = run.assumeSizes(spec.module()))
      return code;
  }
  DiagnosticPrinter errors(spec.context());
  CompileOptions ofCpus = options;
  ofCpus.targets = options.targets.onlyLevels();
  SmallVector<Staged> lowered;
  bool isDone = (ofCpus.targets.levels.empty() ||
                 !(lowered = lowerTo(spec.module(), Stage::Kernels, ofCpus)).empty()) &&
                succeeded(explainGpus(spec.module(), options, lowered));
  if (!isDone)
    return errors.failure();
  // The spec, whose texts the object refers to, does not outlive this.
  std::string text;
  raw_string_ostream(text) << json::Value(explain(spec, options, lowered, remarks));
  explanation = *cantFail(json::parse(text)).getAsObject();
  return isTimed ? run.addTo(explanation) : int(Ok);
}

int explainSpec(const opt::InputArgList &args, StringRef path, json::Object &explanation) {
  Remarks remarks;
  return explainSpec(args, path, remarks, explanation);
}

int runExplain(const opt::InputArgList &args) {
  StringRef path = onlyFile(args, "spec");
  if (path.empty())
    return Usage;
  Remarks remarks;
  json::Object explanation;
  if (int code = explainSpec(args, path, remarks, explanation))
    return code;
  if (usesJsonDiagnostics())
    printReasons(remarks, errs());
  if (args.hasArg(OPT_json))
    outs() << json::Value(std::move(explanation)) << '\n';
  else
    printExplanation(explanation, /*withReasons=*/!usesJsonDiagnostics(), outs());
  return Ok;
}

} // namespace attn::tool
