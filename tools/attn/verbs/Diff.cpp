// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `attn diff`: what became otherwise of the kernels of two specs, or of one for two targets.
#include "Verbs.h"
#include "tools/attn/artifact/Artifact.h"
#include "tools/attn/explain/Explanation.h"
#include "tools/attn/explain/ExplanationDiff.h"
#include "tools/attn/support/Report.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attn::tool {

/// The explanation that an artifact keeps. 0, or an exit code after an error.
static int readKept(const opt::InputArgList &args, const std::string &path,
                    json::Object &explanation) {
  for (auto option : {OPT_target, OPT_precision, OPT_set, OPT_set_size, OPT_run_file})
    if (const opt::Arg *arg = args.getLastArgNoClaim(option))
      return fail(Usage,
                  "`" + arg->getSpelling() + "` has no effect on `" + path + "`, which is compiled",
                  "give the spec that it was compiled from");
  auto bytes = MemoryBuffer::getFile(path);
  if (!bytes)
    return fail(Environment, "cannot read `" + path + "`: " + bytes.getError().message());
  auto artifact = readArtifact((*bytes)->getBuffer());
  if (!artifact)
    return fail(BadInput,
                "`" + path + "` holds no compiled model: " + toString(artifact.takeError()));
  if (artifact->explanation.empty())
    return fail(BadInput, "`" + path + "` does not keep what became of its spec",
                "`attn compile -g` keeps it; or give the spec");
  auto kept = unpackExplanation(artifact->explanation);
  if (!kept)
    return fail(BadInput, "`" + path + "`: " + toString(kept.takeError()));
  explanation = std::move(*kept);
  return Ok;
}

int explainFile(const opt::InputArgList &args, const std::string &path, bool withCode,
                json::Object &explanation) {
  if (isArtifact(path))
    return readKept(args, path, explanation);
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return fail(Environment, "cannot read `" + path + "`: " + buffer.getError().message());
  if (!(*buffer)->getBuffer().ltrim().starts_with("{"))
    return explainSpec(args, path, withCode, explanation);
  auto value = json::parse((*buffer)->getBuffer());
  const json::Object *object = value ? value->getAsObject() : nullptr;
  if (!value)
    consumeError(value.takeError());
  if (!object || object->getString("schema") != "attn.explain" || !object->getArray("targets"))
    return fail(BadInput, "`" + path + "` is neither a spec nor what `attn explain --json` prints");
  explanation = *object;
  return Ok;
}

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
