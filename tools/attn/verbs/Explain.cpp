// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `attn explain`: what the compiler did with each kernel, in its own remarks.
#include "Verbs.h"
#include "compiler/frontend/syntax/Diagnostics.h"
#include "tools/attn/build/Build.h"
#include "tools/attn/build/LiveShares.h"
#include "tools/attn/explain/Explanation.h"
#include "tools/attn/explain/ExplanationText.h"
#include "tools/attn/explain/KernelCode.h"
#include "tools/attn/explain/MeasuredRun.h"
#include "tools/attn/support/Report.h"
#include "tools/attn/support/Reproducer.h"

using namespace llvm;

namespace attn::tool {

int failUnknownKernel(StringRef option, StringRef name, ArrayRef<StringRef> known, StringRef spec) {
  auto nearest = frontend::nearestName(name, known);
  return fail(Usage, "`" + option + " " + name + "`: the model has no such kernel",
              (nearest ? "did you mean `" + nearest->str() + "`? " : std::string()) +
                  "`attn explain " + spec + "` lists them");
}

/// The kernel of a target that has this name; null where there is none.
static json::Object *findKernel(json::Value &target, StringRef name) {
  for (json::Value &kernel : *target.getAsObject()->getArray("kernels"))
    if (kernel.getAsObject()->getString("function") == name)
      return kernel.getAsObject();
  return nullptr;
}

/// Adds the machine code of one kernel to the explanation, for each CPU level. 0, or an exit code
/// after an error.
static int addCode(Spec &spec, const CompileOptions &options, StringRef name,
                   json::Object &explanation) {
  if (options.targets.levels.empty())
    return fail(Usage, "`--code` shows code of CPUs",
                "`attn compile --emit=ptx --kernel " + name + "` prints that of GPUs");
  CompileOptions own = options; // one plan of the memory is for all levels
  own.targets = options.targets.onlyLevels();
  own.kernel = name.str();
  std::unique_ptr<MemoryBuffer> assembly;
  for (const CpuTarget *level : own.targets.levels) {
    auto target = find_if(*explanation.getArray("targets"), [&](const json::Value &known) {
      return known.getAsObject()->getString("name") == level->name;
    });
    json::Object *kernel = findKernel(*target, name);
    if (!kernel) {
      SmallVector<StringRef> known;
      for (const json::Value &other : *target->getAsObject()->getArray("kernels"))
        known.push_back(*other.getAsObject()->getString("function"));
      return failUnknownKernel("--code", name, known, spec.path());
    }
    DiagnosticPrinter errors(spec.context());
    if (!assembly && !(assembly = compileToAssembly(spec.module(), own)))
      return errors.failure();
    (*kernel)["code"] = readCode(assembly->getBuffer(), (name + level->suffix).str());
  }
  return Ok;
}

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
  if (isTimed)
    if (int code = run.addTo(explanation))
      return code;
  return args.hasArg(OPT_kernel_code)
             ? addCode(spec, options, args.getLastArgValue(OPT_kernel_code), explanation)
             : int(Ok);
}

int explainSpec(const opt::InputArgList &args, StringRef path, json::Object &explanation) {
  Remarks remarks;
  return explainSpec(args, path, remarks, explanation);
}

/// Prints the kernel whose code was asked for, for each CPU level. 0, or an exit code after an
/// error.
static int printKernelCode(const opt::InputArgList &args, json::Object &explanation) {
  StringRef line = args.getLastArgValue(OPT_line);
  for (json::Value &target : *explanation.getArray("targets")) {
    json::Object *kernel = findKernel(target, args.getLastArgValue(OPT_kernel_code));
    if (!kernel || !kernel->get("code"))
      continue;
    outs() << *target.getAsObject()->getString("name") << '\n';
    printKernel(*kernel, outs());
    if (!printCode(explanation, *kernel, line, outs()))
      return fail(Usage, "`--line " + line + "`: no instruction of this kernel is of it",
                  "the lines that it has are listed above");
  }
  return Ok;
}

int runExplain(const opt::InputArgList &args) {
  StringRef path = onlyFile(args, "spec");
  if (path.empty())
    return Usage;
  if (args.hasArg(OPT_line) && !args.hasArg(OPT_kernel_code))
    return fail(Usage, "`--line` has no effect without `--code`",
                "`--code KERNEL --line 27`, for example");
  Remarks remarks;
  json::Object explanation;
  if (int code = explainSpec(args, path, remarks, explanation))
    return code;
  if (usesJsonDiagnostics())
    printReasons(remarks, errs());
  if (args.hasArg(OPT_json))
    outs() << json::Value(std::move(explanation)) << '\n';
  else if (args.hasArg(OPT_kernel_code))
    return printKernelCode(args, explanation);
  else
    printExplanation(explanation, /*withReasons=*/!usesJsonDiagnostics(), outs());
  return Ok;
}

} // namespace attn::tool
