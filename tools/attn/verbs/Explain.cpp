// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `attn explain`: what the compiler did with each kernel, in its own remarks.
#include "Verbs.h"
#include "compiler/frontend/syntax/Diagnostics.h"
#include "tools/attn/build/Build.h"
#include "tools/attn/build/LiveShares.h"
#include "tools/attn/explain/Explanation.h"
#include "tools/attn/explain/ExplanationTables.h"
#include "tools/attn/explain/ExplanationText.h"
#include "tools/attn/explain/KernelCode.h"
#include "tools/attn/explain/MeasuredRun.h"
#include "tools/attn/support/Progress.h"
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

/// Adds the machine code of one kernel to the explanation, for each CPU level; of all kernels,
/// where `name` is empty. 0, or an exit code after an error.
static int addCode(Spec &spec, const CompileOptions &options, StringRef name,
                   json::Object &explanation) {
  CompileOptions own = options; // one plan of the memory is for all levels
  own.targets = options.targets.onlyLevels();
  own.kernel = name.str();
  StringMap<json::Array> code;
  for (const CpuTarget *level : own.targets.levels) {
    auto target = find_if(*explanation.getArray("targets"), [&](const json::Value &known) {
      return known.getAsObject()->getString("name") == level->name;
    });
    if (!name.empty() && !findKernel(*target, name)) {
      SmallVector<StringRef> known;
      for (const json::Value &other : *target->getAsObject()->getArray("kernels"))
        known.push_back(*other.getAsObject()->getString("function"));
      return failUnknownKernel("--code", name, known, spec.path());
    }
    DiagnosticPrinter errors(spec.context());
    if (code.empty()) {
      std::unique_ptr<MemoryBuffer> assembly = compileToAssembly(spec.module(), own, Progress());
      if (!assembly)
        return errors.failure();
      code = readCode(assembly->getBuffer());
    }
    for (json::Value &value : *target->getAsObject()->getArray("kernels")) {
      json::Object &kernel = *value.getAsObject();
      auto own = code.find((*kernel.getString("function") + level->suffix).str());
      if (own != code.end())
        kernel["code"] = std::move(own->second);
    }
  }
  return Ok;
}

/// The runs of `--run`, read. 0, or an exit code after an error.
static int readRuns(const opt::InputArgList &args, std::vector<MeasuredRun> &runs) {
  for (const std::string &file : args.getAllArgValues(OPT_run_file))
    if (int code = runs.emplace_back().read(file))
      return code;
  return Ok;
}

int explainLoaded(Spec &spec, const CompileOptions &options, const Remarks &remarks,
                  json::Object &explanation) {
  DiagnosticPrinter errors(spec.context());
  CompileOptions ofCpus = options;
  ofCpus.targets = options.targets.onlyLevels();
  SmallVector<Staged> lowered;
  bool isDone = (ofCpus.targets.levels.empty() ||
                 !(lowered = lowerTo(spec.module(), Stage::Kernels, ofCpus)).empty()) &&
                succeeded(explainGpus(spec.module(), options, lowered));
  if (!isDone)
    return errors.failure();
  // The spec, whose texts the object refers to, need not outlive this.
  std::string text;
  raw_string_ostream(text) << json::Value(explain(spec, options, lowered, remarks));
  explanation = *cantFail(json::parse(text)).getAsObject();
  return Ok;
}

/// Explains a spec, and keeps the remarks on it.
static int explainSpec(const opt::InputArgList &args, StringRef path, bool withCode,
                       Remarks &remarks, json::Object &explanation) {
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
  std::vector<MeasuredRun> runs;
  if (int code = readRuns(args, runs))
    return code;
  for (const MeasuredRun &run : runs)
    if (int code = run.assumeSizes(spec.module()))
      return code;
  bool isOfOne = args.hasArg(OPT_kernel_code);
  if (isOfOne && options.targets.levels.empty())
    return fail(Usage, "`--code` shows code of CPUs",
                "`attn compile --emit=ptx --kernel " +
                    StringRef(args.getLastArgValue(OPT_kernel_code)) + "` prints that of GPUs");
  if (int code = explainLoaded(spec, options, remarks, explanation))
    return code;
  for (const MeasuredRun &run : runs)
    if (int code = run.addTo(explanation))
      return code;
  return isOfOne || withCode
             ? addCode(spec, options, args.getLastArgValue(OPT_kernel_code), explanation)
             : int(Ok);
}

int explainSpec(const opt::InputArgList &args, StringRef path, bool withCode,
                json::Object &explanation) {
  Remarks remarks;
  return explainSpec(args, path, withCode, remarks, explanation);
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
    printLoops(*kernel, outs());
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
  bool showsMemory = args.hasArg(OPT_memory), showsParameters = args.hasArg(OPT_parameters);
  bool showsCode = args.hasArg(OPT_kernel_code) && !args.hasArg(OPT_json);
  if (showsMemory + showsParameters + showsCode + args.hasArg(OPT_json) > 1)
    return fail(Usage, "`--memory`, `--parameters`, `--code` and `--json` each show something else",
                "write one of them; `--json` has all but code");
  if (int code = checkHaveEffect(args))
    return code;
  Remarks remarks;
  json::Object explanation;
  if (int code = isExplained(path)
                     ? explainFile(args, path.str(), /*withCode=*/false, explanation)
                     : explainSpec(args, path, /*withCode=*/false, remarks, explanation))
    return code;
  if (explanation.get("comparisons") && !args.hasArg(OPT_json))
    return fail(Usage, "lines do not say what `attn verify` compared",
                "`--json` does, and `attn explore` draws it");
  if (usesJsonDiagnostics())
    printReasons(remarks, errs());
  if (args.hasArg(OPT_json))
    outs() << json::Value(std::move(explanation)) << '\n';
  else if (showsMemory)
    printMemory(explanation, outs());
  else if (showsParameters)
    printParameters(explanation, outs());
  else if (args.hasArg(OPT_kernel_code))
    return printKernelCode(args, explanation);
  else
    printExplanation(explanation, /*withReasons=*/!usesJsonDiagnostics(), outs());
  return Ok;
}

} // namespace attn::tool
