// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `attn import`: the spec of a model that stands in another format.
#include "compiler/import/Import.h"
#include "compiler/import/checkpoint/Folder.h"

#include "Verbs.h"
#include "io/Safetensors.h"
#include "tools/attn/checkpoints/Checkpoints.h"
#include "tools/attn/support/Files.h"
#include "tools/attn/support/Report.h"
#include "tools/attn/support/RuntimeErrors.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"
#include <filesystem>

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

/// Reports what an importer says of `path`.
static int failImport(StringRef path, llvm::Error failure) {
  int code = Internal;
  handleAllErrors(std::move(failure), [&](const importer::ImportError &error) {
    code = fail(BadInput, "`" + path + "`: " + error.message, error.help);
  });
  return code;
}

/// That weights are a file of pickles, with the command that converts it.
static int failPickled(StringRef file) {
  attn::Error error;
  error.set(ATTN_BAD_WEIGHTS, "W0201",
            "`%s` is a PyTorch file, whose reading runs what is in it; expected a safetensors file",
            file.str().c_str());
  helpToConvert(error);
  return failWithError(error);
}

/// Whether a file is one of PyTorch's by its name.
static bool isPickled(StringRef file) {
  return file.ends_with(".bin") || file.ends_with(".pt") || file.ends_with(".pth");
}

/// Whether a folder has a file of weights; an error that says what it has instead.
static int checkWeights(StringRef folder) {
  std::error_code error;
  std::string pickled;
  for (sys::fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (StringRef(at->path()).ends_with(".safetensors"))
      return Ok;
    if (isPickled(at->path()) && (pickled.empty() || at->path() < pickled))
      pickled = at->path();
  }
  if (!pickled.empty())
    return failPickled(pickled);
  return fail(BadInput, "`" + folder + "`: there are no weights in it",
              "a folder of Hugging Face has its weights in .safetensors files");
}

/// `path` from the folder of the file `from` on; as it is where that is standard output.
static std::string pathFrom(StringRef from, StringRef path) {
  StringRef folder = sys::path::parent_path(from);
  if (from == "-" || folder.empty() || sys::path::is_absolute(path))
    return path.str();
  std::error_code error;
  std::filesystem::path near = std::filesystem::proximate(path.str(), folder.str(), error);
  return error ? path.str() : near.string();
}

/// The keys of `--allow`, each of which has to be one that is not read.
static int checkAllowed(ArrayRef<std::string> allowed, const importer::ImportedSpec &spec) {
  for (StringRef key : allowed) {
    StringRef nearest;
    unsigned best = 4;
    bool isRead = false, isPassed = false;
    for (const importer::KeyDecision &one : spec.keys) {
      isPassed |= one.path == key && one.fate == importer::KeyFate::Allowed;
      isRead |= one.path == key;
      if (unsigned distance = key.edit_distance(one.path); distance < best)
        best = distance, nearest = one.path;
    }
    if (!isRead)
      return fail(Usage, "`--allow " + key + "`: no file of the folder has this key",
                  nearest.empty() ? "" : "did you mean `" + nearest.str() + "`?");
    if (!isPassed)
      return fail(Usage, "`--allow " + key + "`: this key is decided on without it");
  }
  return Ok;
}

/// Writes the spec of a folder's model, which has to fit the tensors at `path`.
static int writeImported(const opt::InputArgList &args, StringRef path, importer::Folder folder) {
  folder.weights = pathFrom(args.getLastArgValue(OPT_o, "-"), path);
  for (StringRef list : args.getAllArgValues(OPT_allow))
    for (StringRef key : split(list, ','))
      folder.allowed.push_back(key.trim().str());
  auto spec = importer::importFolder(folder);
  if (!spec)
    return failImport(path, spec.takeError());
  if (int code = checkAllowed(folder.allowed, *spec))
    return code;
  if (int code = checkImported(spec->text, path, folder.precisions))
    return code;
  if (!folder.precisions.empty()) {
    spec = importer::importFolder(folder);
    if (!spec)
      return failImport(path, spec.takeError());
  }
  for (const std::string &text : spec->notes)
    note(text);
  return writeOutput(args.getLastArgValue(OPT_o, "-"), spec->text);
}

/// `attn import` of a GGUF file or of a checkpoint of llama2.c.
static int runImportFile(const opt::InputArgList &args, StringRef path, CheckpointKind kind) {
  if (args.hasArg(OPT_set))
    return fail(Usage,
                "`--set` gives sizes that an ONNX file only names; a checkpoint names them all");
  std::map<std::string, SmallVector<int64_t>> shapes;
  json::Object values;
  if (int code = readShapes(path.str(), shapes))
    return code;
  if (kind == CheckpointKind::Llama2) {
    if (int code = readLlama2Config(path.str(), values))
      return code;
    return writeImported(args, path, importer::readLlama2Model(path, std::move(values), shapes));
  }
  if (int code = readGgufValues(path.str(), values))
    return code;
  importer::GgufFactors factors;
  for (auto [name, own] : {std::pair("rope_freqs.weight", &factors.all),
                           {"rope_factors_short.weight", &factors.shortFactors},
                           {"rope_factors_long.weight", &factors.longFactors}})
    if (int code = readFloats(path.str(), name, *own))
      return code;
  auto folder = importer::readGgufModel(path, values, shapes, factors);
  if (!folder)
    return failImport(path, folder.takeError());
  return writeImported(args, path, std::move(*folder));
}

static int runImportFolder(const opt::InputArgList &args, StringRef path) {
  if (args.hasArg(OPT_set))
    return fail(Usage, "`--set` gives sizes that an ONNX file only names; a folder names them all");
  auto folder = importer::readFolder(path);
  if (!folder)
    return failImport(path, folder.takeError());
  if (int code = checkWeights(path))
    return code;
  if (int code = readShapes(path.str(), folder->shapes))
    return code;
  return writeImported(args, path, std::move(*folder));
}

/// The tokens that end a text, by the configs beside an ONNX file or around its folder.
static std::vector<int64_t> endTokens(StringRef path) {
  SmallString<256> folder(path);
  sys::path::remove_filename(folder);
  for (StringRef around : {".", ".."})
    for (StringRef name : {"generation_config.json", "config.json"}) {
      SmallString<256> file(folder);
      sys::path::append(file, around, name);
      auto buffer = MemoryBuffer::getFile(file);
      if (!buffer)
        continue;
      Expected<json::Value> value = json::parse((*buffer)->getBuffer());
      if (!value) {
        consumeError(value.takeError());
        continue;
      }
      const json::Object *object = value->getAsObject();
      const json::Value *tokens = object ? object->get("eos_token_id") : nullptr;
      std::vector<int64_t> found;
      if (auto one = tokens ? tokens->getAsInteger() : std::nullopt)
        found.push_back(*one);
      if (const json::Array *list = tokens ? tokens->getAsArray() : nullptr)
        for (const json::Value &token : *list)
          if (auto number = token.getAsInteger())
            found.push_back(*number);
      if (!found.empty())
        return found;
    }
  return {};
}

/// `attn import` of an ONNX file, whose initializers are the weights of what is written.
static int runImportOnnx(const opt::InputArgList &args, StringRef path,
                         const StringMap<int64_t> &sizes) {
  if (args.hasArg(OPT_allow))
    return fail(Usage, "`--allow` passes keys of a folder's config by; an ONNX file has none");
  constexpr size_t mostOfOnnx = size_t(1) << 31; // protobuf has no larger ones
  auto buffer = readInput(path, mostOfOnnx);
  if (!buffer)
    return Environment;
  importer::OnnxSource source;
  bool isNamed = path.ends_with(".onnx"); // by which its weights are known to be in it
  if (isNamed)
    source.weights = pathFrom(args.getLastArgValue(OPT_o, "-"), path);
  source.stops = endTokens(path);
  source.load = [&](StringRef name) -> Expected<std::string> {
    std::string bytes;
    if (std::string problem = readOnnxTensor(path.str(), name.str(), bytes); !problem.empty())
      return importer::importError(problem);
    return bytes;
  };
  auto spec = importer::importOnnx(buffer->getBuffer(), sizes, source);
  if (!spec)
    return failImport(path, spec.takeError());
  auto nodeOf = [&](StringRef line) { return spec->nodeOf(line); };
  if (int code = checkImported(spec->text, nodeOf, path, spec->hasWeights && isNamed))
    return code;
  for (const std::string &text : spec->notes)
    note(text);
  return writeOutput(args.getLastArgValue(OPT_o, "-"), spec->text);
}

/// The files of a folder with the end of a name, in order.
static std::vector<std::string> filesIn(StringRef path, StringRef suffix) {
  std::error_code problem;
  std::vector<std::string> names;
  for (sys::fs::directory_iterator at(path, problem), end; at != end && !problem;
       at.increment(problem))
    if (StringRef(at->path()).ends_with(suffix))
      names.push_back(at->path());
  sort(names);
  return names;
}

/// The models in GGUF files of a folder that has no other weights: of those in parts the first
/// part, and no encoders of pictures.
static std::vector<std::string> ggufOf(StringRef folder) {
  if (!filesIn(folder, ".safetensors").empty())
    return {};
  std::vector<std::string> names = filesIn(folder, ".gguf");
  static const Regex part("-([0-9]{5})-of-[0-9]{5}\\.gguf$");
  erase_if(names, [](StringRef name) {
    SmallVector<StringRef> found;
    return sys::path::filename(name).starts_with("mmproj") ||
           (part.match(name, &found) && found[1] != "00001");
  });
  return names;
}

/// The ONNX file of a folder that has no other weights: in `onnx`, as published, or in the folder
/// itself. Empty where there is none, or where several could be meant, which `found` names.
static std::string onnxOf(StringRef folder, std::vector<std::string> &found) {
  if (!filesIn(folder, ".safetensors").empty())
    return "";
  SmallString<256> inside(folder);
  sys::path::append(inside, "onnx");
  for (StringRef path : {StringRef(inside), folder}) {
    std::vector<std::string> names = filesIn(path, ".onnx");
    // Of the same model in several precisions the whole one; both forms of a decoder in one.
    for (StringRef usual :
         {"model.onnx", "decoder_model_merged.onnx", "decoder_with_past_model.onnx"})
      for (const std::string &name : names)
        if (sys::path::filename(name) == usual &&
            none_of(names, [](StringRef other) { return other.ends_with("encoder_model.onnx"); }))
          return name;
    found.insert(found.end(), names.begin(), names.end());
  }
  return found.size() == 1 ? found.front() : "";
}

/// An error that names files of which one has to be imported.
static int failSeveral(const Twine &what, ArrayRef<std::string> found) {
  return fail(BadInput, what + ": `" + join(found, "`, `") + "`", "import one of them");
}

/// `attn import` of a folder: of safetensors, of GGUF, or of an ONNX file.
static int runImportDirectory(const opt::InputArgList &args, StringRef path,
                              const StringMap<int64_t> &sizes) {
  std::vector<std::string> found = ggufOf(path);
  if (found.size() == 1)
    return runImportFile(args, found.front(), CheckpointKind::Gguf);
  if (!found.empty())
    return failSeveral("`" + path + "` has several GGUF files", found);
  std::string onnx = onnxOf(path, found);
  if (!onnx.empty())
    return runImportOnnx(args, onnx, sizes);
  if (found.empty())
    return runImportFolder(args, path);
  return failSeveral("`" + path + "` has several ONNX files, none of which is the whole model",
                     found);
}

int runImport(const opt::InputArgList &args) {
  StringRef path = onlyFile(args, "checkpoint or ONNX file");
  if (path.empty())
    return Usage;
  StringMap<int64_t> sizes;
  if (int code = readSizes(args, sizes))
    return code;
  if (path != "-" && sys::fs::is_directory(path))
    return runImportDirectory(args, path, sizes);
  CheckpointKind kind = path == "-" ? CheckpointKind::Other : kindOfCheckpoint(path.str());
  if (kind == CheckpointKind::Gguf || kind == CheckpointKind::Llama2)
    return runImportFile(args, path, kind);
  if (kind == CheckpointKind::Safetensors)
    return fail(BadInput, "`" + path + "`: weights alone do not say what model they are of",
                "import the folder that holds config.json beside them");
  if (isPickled(path))
    return failPickled(path);
  return runImportOnnx(args, path, sizes);
}

} // namespace attn::tool
