// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `attn inspect`: what an artifact or a checkpoint holds, without running it.
#include "Artifact.h"
#include "Checkpoints.h"
#include "Files.h"
#include "Report.h"
#include "Verbs.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attn::tool {

static StringRef text(const json::Object &object, StringRef key) {
  return object.getString(key).value_or("?");
}

static int64_t number(const json::Object &object, StringRef key) {
  return object.getInteger(key).value_or(0);
}

/// Calls `print` on the objects of an array.
static void forEach(const json::Object &object, StringRef key,
                    function_ref<void(const json::Object &)> print) {
  if (const json::Array *array = object.getArray(key))
    for (const json::Value &value : *array)
      if (const json::Object *element = value.getAsObject())
        print(*element);
}

static void printTensors(const json::Object &entry, StringRef key) {
  ListSeparator separator;
  forEach(entry, key, [&](const json::Object &tensor) {
    outs() << separator << text(tensor, "name") << ": " << text(tensor, "dtype") << '[';
    ListSeparator axisSeparator;
    forEach(tensor, "axes", [&](const json::Object &axis) {
      outs() << axisSeparator << text(axis, "name");
      if (axis.getBoolean("dynamic").value_or(false))
        outs() << " <= " << number(axis, "size");
      else if (text(axis, "name") != std::to_string(number(axis, "size")))
        outs() << " = " << number(axis, "size");
    });
    outs() << ']';
  });
}

static void printParameters(const json::Object &model) {
  size_t width = 0;
  forEach(model, "parameters", [&](const json::Object &parameter) {
    width = std::max(width, text(parameter, "name").size());
  });
  outs() << "parameters: " << number(model, "elements") << " in " << number(model, "tensors")
         << " tensors\n";
  forEach(model, "parameters", [&](const json::Object &parameter) {
    outs() << "  " << left_justify(text(parameter, "name"), width) << "  "
           << text(parameter, "dtype") << '[';
    ListSeparator separator;
    if (const json::Array *shape = parameter.getArray("shape"))
      for (const json::Value &size : *shape)
        outs() << separator << size.getAsInteger().value_or(0);
    outs() << ']';
    if (int64_t layers = number(parameter, "layers"))
      outs() << "  " << layers << " layers";
    outs() << '\n';
  });
}

static void printModel(const json::Object &model, ArtifactForm form) {
  outs() << "model " << text(model, "name") << ", " << formName(form) << ", compiled by attn "
         << text(model, "version") << "\nprecision: " << text(model, "precision") << "\ntargets:";
  if (const json::Array *targets = model.getArray("targets"))
    for (const json::Value &target : *targets)
      outs() << ' ' << target.getAsString().value_or("?");
  if (auto assembler = model.getString("assembler"))
    outs() << " (GPU code assembled by " << *assembler << ')';
  outs() << "\nweights: "
         << (model.getBoolean("embedded").value_or(false) ? "embedded" : "not embedded") << '\n';
  forEach(model, "entries", [](const json::Object &entry) {
    outs() << "entry " << text(entry, "name") << '(';
    printTensors(entry, "inputs");
    outs() << ") -> ";
    printTensors(entry, "outputs");
    outs() << '\n';
  });
  forEach(model, "dims", [](const json::Object &dim) {
    bool isDynamic = dim.getBoolean("dynamic").value_or(false);
    outs() << (isDynamic ? "dyn " : "dim ") << text(dim, "name") << (isDynamic ? " <= " : " = ")
           << number(dim, "size") << '\n';
  });
  printParameters(model);
}

static int inspectArtifact(StringRef path, StringRef bytes, bool isJson) {
  auto artifact = readArtifact(bytes);
  if (!artifact)
    return fail(BadInput, "`" + path + "` holds no compiled model",
                "expected an executable, library or object that `attn compile` wrote");
  auto description = json::parse(artifact->description);
  if (!description || !description->getAsObject()) {
    consumeError(description.takeError());
    return fail(BadInput, "`" + path + "`: the description of its model is damaged");
  }
  if (isJson)
    outs() << artifact->description << '\n';
  else
    printModel(*description->getAsObject(), artifact->form);
  return Ok;
}

int runInspect(const opt::InputArgList &args) {
  StringRef path = onlyFile(args, "artifact or checkpoint");
  if (path.empty())
    return Usage;
  bool isJson = args.hasArg(OPT_json);
  if (sys::fs::is_directory(path) || path.ends_with(".safetensors") ||
      path.ends_with(".safetensors.index.json"))
    return printCheckpoint(path.str(), isJson);
  auto buffer = readInput(path);
  if (!buffer)
    return Environment;
  if (!looksLikeArtifact(buffer->getBuffer()))
    return fail(BadInput, "`" + path + "` is neither an artifact nor a checkpoint",
                "expected an ELF file, a .safetensors file, its index, or a folder of them");
  return inspectArtifact(path, buffer->getBuffer(), isJson);
}

} // namespace attn::tool
