// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `attn inspect`: what an artifact or a checkpoint holds, without running it.
#include "Verbs.h"
#include "compiler/emit/Materials.h"
#include "compiler/support/Printable.h"
#include "tools/attn/artifact/Artifact.h"
#include "tools/attn/artifact/ArtifactReport.h"
#include "tools/attn/checkpoints/Checkpoints.h"
#include "tools/attn/support/Files.h"
#include "tools/attn/support/Report.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attn::tool {

static int inspectArtifact(StringRef path, StringRef bytes, const opt::InputArgList &args) {
  auto artifact = readArtifact(bytes);
  if (!artifact)
    return fail(BadInput,
                "`" + path + "` holds no compiled model: " + toString(artifact.takeError()),
                "expected an executable, library or object that `attn compile` wrote");
  auto description = parseDescription(*artifact);
  if (!description)
    return fail(BadInput, "`" + path + "`: " + toString(description.takeError()));
  if (args.hasArg(OPT_spdx) && artifact->materials.empty())
    return fail(BadInput, "`" + path + "` holds no bill of materials", "compile it anew");
  std::string text = (args.hasArg(OPT_spdx) ? artifact->materials : artifact->description) + "\n";
  if (!args.hasArg(OPT_spdx, OPT_json)) {
    text.clear();
    raw_string_ostream os(text);
    printModel(*description, artifact->form, os);
  }
  outs() << printable(text);
  return Ok;
}

int runInspect(const opt::InputArgList &args) {
  bool isBill = args.hasArg(OPT_spdx);
  if (isBill && args.hasArg(OPT_json))
    return fail(Usage, "`--spdx` and `--json` are two forms: say one");
  if (isBill && allFiles(args).empty()) {
    outs() << toolMaterials() << '\n';
    return Ok;
  }
  StringRef path = onlyFile(args, "artifact or checkpoint");
  if (path.empty())
    return Usage;
  if (sys::fs::is_directory(path) || path.ends_with(".safetensors.index.json") ||
      (path != "-" && kindOfCheckpoint(path.str()) != CheckpointKind::Other) ||
      path.ends_with(".safetensors")) {
    if (isBill)
      return fail(Usage, "`--spdx` is for artifacts, and `" + path + "` is a checkpoint");
    return printCheckpoint(path.str(), args.hasArg(OPT_json));
  }
  auto buffer = readInput(path, mostOfMemory());
  if (!buffer)
    return Environment;
  if (!looksLikeArtifact(buffer->getBuffer()))
    return fail(BadInput, "`" + path + "` is neither an artifact nor a checkpoint",
                "expected an ELF file, a .safetensors file, its index, a folder of them, a GGUF "
                "file, or one that is called *.onnx");
  return inspectArtifact(path, buffer->getBuffer(), args);
}

} // namespace attn::tool
