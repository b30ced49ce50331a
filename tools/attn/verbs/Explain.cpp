// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `attn explain`: what the compiler did with each kernel, in its own remarks.
#include "Verbs.h"
#include "tools/attn/build/Build.h"
#include "tools/attn/build/LiveShares.h"
#include "tools/attn/build/RemarkPrinter.h"
#include "tools/attn/support/Report.h"
#include "tools/attn/support/Reproducer.h"

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
