// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `attn explain`, `diff` and `explore` take: specs, and what is explained already, artifacts
// that keep it (`attn compile -g`) and what `attn explain --json` has written.
#include "Verbs.h"
#include "tools/attn/artifact/Artifact.h"
#include "tools/attn/explain/Explanation.h"
#include "tools/attn/support/Report.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace attn::tool {

/// Whether a file is JSON: no spec begins with a brace.
static bool isJson(StringRef path) {
  if (!sys::fs::is_regular_file(path)) // what a pipe holds can be read once
    return false;
  constexpr uint64_t most = 256; // spaces are few
  auto start = MemoryBuffer::getFileSlice(path, most, 0);
  return start && (*start)->getBuffer().ltrim().starts_with("{");
}

/// The explanation that an artifact keeps. 0, or an exit code after an error.
static int readKept(const std::string &path, StringRef bytes, json::Object &explanation) {
  auto artifact = readArtifact(bytes);
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
  if (!isArtifact(path) && !isJson(path))
    return explainSpec(args, path, withCode, explanation);
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return fail(Environment, "cannot read `" + path + "`: " + buffer.getError().message());
  StringRef bytes = (*buffer)->getBuffer();
  if (looksLikeArtifact(bytes))
    return readKept(path, bytes, explanation);
  auto value = json::parse(bytes);
  if (!value)
    return fail(BadInput, "`" + path + "` is no JSON: " + toString(value.takeError()));
  const json::Object *object = value->getAsObject();
  if (!object || !isExplanation(*object))
    return fail(BadInput,
                "`" + path + "` is neither a spec nor what this `attn explain --json` prints");
  explanation = *object;
  return Ok;
}

bool isExplained(StringRef path) { return isArtifact(path) || isJson(path); }

int checkHaveEffect(const opt::InputArgList &args) {
  std::vector<std::string> files = args.getAllArgValues(OPT_INPUT);
  if (!all_of(files, isExplained))
    return Ok; // options are those of the spec
  for (const opt::Arg *arg : args) {
    bool hasEffect = is_contained(
        {OPT_INPUT, OPT_o, OPT_json, OPT_memory, OPT_parameters, OPT_export_form, OPT_diagnostics},
        arg->getOption().getUnaliasedOption().getID());
    if (!hasEffect)
      return fail(Usage,
                  "`" + arg->getSpelling() + "` has no effect on `" + files.front() +
                      "`, which is explained already",
                  "give the spec that it was made of");
  }
  return Ok;
}

} // namespace attn::tool
