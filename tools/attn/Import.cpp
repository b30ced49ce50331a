// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `attn import`: the spec of a model that stands in another format.
#include "compiler/import/Import.h"

#include "Files.h"
#include "Report.h"
#include "Verbs.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;

namespace attn::tool {

/// `--set NAME=N` of each size that the model only names.
static int readSizes(const opt::InputArgList &args, StringMap<int64_t> &sizes) {
  for (StringRef item : args.getAllArgValues(OPT_set)) {
    auto [name, value] = item.rsplit('=');
    std::optional<int64_t> size = parseNumber(value, 1, INT32_MAX);
    if (name.empty() || !size)
      return fail(Usage, "`--set " + item + "`: expected NAME=N, N from 1 to 2147483647");
    if (!sizes.try_emplace(name, *size).second)
      return fail(Usage, "`--set " + item + "`: `" + name + "` is set twice");
  }
  return Ok;
}

int runImport(const opt::InputArgList &args) {
  StringRef path = onlyFile(args, "ONNX file");
  if (path.empty())
    return Usage;
  StringMap<int64_t> sizes;
  if (int code = readSizes(args, sizes))
    return code;
  if (path != "-" && sys::fs::is_directory(path))
    return notSupportedYet("`attn import` of a checkpoint's folder");
  auto buffer = readInput(path);
  if (!buffer)
    return Environment;
  auto spec = importer::importOnnx(buffer->getBuffer(), sizes);
  if (spec)
    return writeOutput(args.getLastArgValue(OPT_o, "-"), *spec);
  int code = Internal;
  handleAllErrors(spec.takeError(), [&](const importer::ImportError &error) {
    code = fail(BadInput, "`" + path + "`: " + error.message, error.help);
  });
  return code;
}

} // namespace attn::tool
