// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `attn explore`: a page that shows what became of a spec, or of two.
#include "Verbs.h"
#include "tools/attn/explain/ExplanationDiff.h"
#include "tools/attn/explain/ModelExplorer.h"
#include "tools/attn/explain/Page.h"
#include "tools/attn/support/Files.h"
#include "tools/attn/support/Report.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace attn::tool {

/// "vit.html" of "specs/vit.attn".
static std::string outputName(const opt::InputArgList &args, StringRef spec, StringRef extension) {
  std::string own = (sys::path::stem(spec) + extension).str();
  return args.getLastArgValue(OPT_o, own).str();
}

/// Writes what another tool reads.
static int exportGraphs(const opt::InputArgList &args, ArrayRef<std::string> files,
                        const std::string &name) {
  StringRef form = args.getLastArgValue(OPT_export_form);
  if (form != "model-explorer")
    return fail(Usage, "`--export " + form + "`: expected model-explorer");
  if (files.size() != 1)
    return fail(Usage, "`--export` takes one spec");
  json::Object explanation;
  if (int code = explainFile(args, files[0], /*withCode=*/false, explanation))
    return code;
  std::string text;
  raw_string_ostream(text) << json::Value(modelExplorerGraphs(explanation)) << '\n';
  if (int code = writeOutput(name, text))
    return code;
  if (name != "-")
    outs() << name << ": " << sizeText(text.size()) << "; open it in Model Explorer\n";
  return Ok;
}

int runExplore(const opt::InputArgList &args) {
  std::vector<std::string> files = args.getAllArgValues(OPT_INPUT);
  if (files.empty() || files.size() > 2)
    return fail(Usage, "expected one spec or two, not " + std::to_string(files.size()),
                "of two, or of one for two targets, the page shows the difference, too");
  if (int code = checkHaveEffect(args))
    return code;
  std::string name = outputName(args, files[0], args.hasArg(OPT_export_form) ? ".json" : ".html");
  for (const std::string &file : files)
    noteInput(file);
  if (int code = checkOutputs(attn::NamedOutput{"-o", name.c_str()})) // before time is spent
    return code;
  if (args.hasArg(OPT_export_form))
    return exportGraphs(args, files, name);
  std::string page = pageWithoutData();
  if (page.empty())
    return fail(Environment, "this `attn` was built without the page that `attn explore` fills",
                "it needs npm: install it (`tools/setup.sh tests`), and build again; `attn explain "
                "--json` has the same data");
  std::unique_ptr<MemoryBuffer> empty = readInput(page);
  if (!empty)
    return Environment;
  std::vector<json::Object> explanations(files.size());
  std::vector<ExplainedTarget> targets;
  for (size_t i = 0; i < files.size(); ++i) {
    if (int code = explainFile(args, files[i], /*withCode=*/true, explanations[i]))
      return code;
    std::vector<ExplainedTarget> own = targetsOf(explanations[i]);
    if (files.size() == 2 && own.size() != 1)
      return failTargetCount(files[i], own.size(), 1);
    targets.insert(targets.end(), own.begin(), own.end());
  }
  std::optional<json::Object> found;
  if (targets.size() == 2)
    found = difference(targets[0], targets[1]);
  std::string filled = fillPage(empty->getBuffer(), std::move(explanations), std::move(found));
  if (int code = writeOutput(name, filled))
    return code;
  if (name != "-")
    outs() << name << ": " << sizeText(filled.size()) << "; open it in a browser\n";
  return Ok;
}

} // namespace attn::tool
