// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `attn explain`: what the compiler did with each kernel, in its own remarks.
#include "Build.h"
#include "LiveShares.h"
#include "RemarkPrinter.h"
#include "Report.h"
#include "Reproducer.h"
#include "Verbs.h"

using namespace llvm;

namespace attn::tool {

int runExplain(const opt::InputArgList &args) {
  CompileOptions options;
  RemarkPrinter remarks;
  Spec spec;
  if (!remarks.listenTo(spec.context()))
    return internalError();
  if (int code = loadForCompiling(args, options, spec, /*onlyLooks=*/true))
    return code;
  if (int code = findAssembler(options))
    return code;
  if (int code = assumeSizes(spec.module(), args))
    return code;
  DiagnosticPrinter errors(spec.context());
  CompileOptions ofCpus = options;
  ofCpus.targets = options.targets.onlyLevels();
  bool isDone =
      (ofCpus.targets.levels.empty() || !lowerTo(spec.module(), Stage::Kernels, ofCpus).empty()) &&
      succeeded(explainGpus(spec.module(), options));
  remarks.print();
  return isDone ? int(Ok) : errors.failure();
}

} // namespace attn::tool
