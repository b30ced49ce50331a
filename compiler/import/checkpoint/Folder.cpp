// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A folder's files, and the family that its model belongs to.
#include "compiler/import/checkpoint/Folder.h"
#include "compiler/frontend/format/Formatter.h"
#include "compiler/frontend/syntax/Parser.h"
#include "compiler/import/checkpoint/Families.h"
#include "compiler/import/checkpoint/Keys.h"
#include "compiler/import/checkpoint/Wrapper.h"
#include "compiler/support/InputFile.h"
#include "compiler/support/Json.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace attn::importer {

/// `text` with the numbers that JSON lacks as texts: Python writes `Infinity`, without quotes.
static std::string withNamedNumbers(StringRef text) {
  std::string result;
  bool isString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    StringRef rest = text.drop_front(i);
    StringRef name = isString                        ? ""
                     : rest.starts_with("-Infinity") ? "-Infinity"
                     : rest.starts_with("Infinity")  ? "Infinity"
                     : rest.starts_with("NaN")       ? "NaN"
                                                     : "";
    if (!name.empty()) {
      result += ("\"" + name + "\"").str();
      i += name.size() - 1;
      continue;
    }
    result += text[i];
    if (isString && text[i] == '\\' && i + 1 < text.size())
      result += text[++i];
    else if (text[i] == '"')
      isString = !isString;
  }
  return result;
}

/// The object in a file of a folder, whose text is kept; nothing where there is no such file.
static Expected<std::optional<json::Object>> readObject(Folder &folder, const Twine &name) {
  SmallString<256> path(folder.path);
  sys::path::append(path, name);
  if (!sys::fs::exists(path))
    return std::nullopt;
  auto text = readInputFile(path, largestText);
  if (!text)
    return importError("`" + name + "` cannot be read: " + toString(text.takeError()));
  auto value = parseJson(withNamedNumbers(*text));
  if (!value)
    return importError("`" + name + "` is no JSON: " + toString(value.takeError()));
  json::Object *object = value->getAsObject();
  if (!object)
    return importError("`" + name + "` is no JSON object");
  folder.texts[name.str()] = std::move(*text);
  return std::move(*object);
}

static constexpr StringRef ofSentences = "sentence_transformers.models.";

/// Reads modules.json of a sentence encoder, and the config.json of each module. A folder that has
/// a pooling without that file is read as one whose transformer is pooled.
static Error readModules(Folder &folder) {
  SmallString<256> path(folder.path);
  sys::path::append(path, "modules.json");
  bool isThere = sys::fs::exists(path);
  auto text = isThere ? readInputFile(path, largestText) : Expected<std::string>("[]");
  if (!text)
    return importError("`modules.json` cannot be read: " + toString(text.takeError()));
  Expected<json::Value> value = parseJson(*text);
  const json::Array *modules = value ? value->getAsArray() : nullptr;
  if (!value)
    return importError("`modules.json` is no JSON: " + toString(value.takeError()));
  if (!modules)
    return importError("`modules.json` is no list of modules");
  for (const json::Value &one : *modules) {
    const json::Object *module = one.getAsObject();
    auto type = module ? module->getString("type") : std::nullopt,
         where = module ? module->getString("path") : std::nullopt;
    if (!type || !where || where->contains('/') || *where == "..")
      return importError("`modules.json` has a module without a `type`, or without the name of a "
                         "folder in this one as its `path`");
    folder.modules.push_back({type->str(), where->str(), {}, {}});
    folder.modules.back().said = *module;
  }
  if (!isThere && sys::fs::exists(folder.path + "/1_Pooling/config.json"))
    folder.modules = {{(ofSentences + "Transformer").str(), "", {}, {}},
                      {(ofSentences + "Pooling").str(), "1_Pooling", {}, {}}};
  for (SentenceModule &module : folder.modules) {
    if (module.path.empty())
      continue;
    auto config = readObject(folder, module.path + "/config.json");
    if (!config)
      return config.takeError();
    if (*config)
      module.config = std::move(**config);
  }
  return Error::success();
}

/// A folder without config.json.
static Error noConfig(Folder &folder) {
  auto adapter = readObject(folder, "adapter_config.json");
  if (!adapter)
    return adapter.takeError();
  if (!*adapter)
    return importError("there is no `config.json` in it",
                       "a folder of Hugging Face has one beside its .safetensors files");
  std::string base;
  raw_string_ostream os(base);
  if (const json::Value *model = (*adapter)->get("base_model_name_or_path"))
    os << " of " << *model;
  return importError("it is an adapter" + base + " (`adapter_config.json`), not a model",
                     "merge it into that model first: `merge_and_unload()`, then "
                     "`save_pretrained(FOLDER)`");
}

/// Whose rows count of a file: of tokenizers those of the class, of packings those of the method.
static StringRef familyOf(StringRef kind, const json::Object &content) {
  if (kind == "packing")
    return content.getString("quant_method").value_or("gptq"); // which AutoGPTQ does not say
  StringRef name = content.getString("tokenizer_class").value_or("");
  name.consume_back("Fast");
  return name;
}

/// Reads the files whose keys are decided on by rows alone. What a processor_config.json of
/// transformers 5 says of pictures and sounds is what older folders have in a file of its own.
static Error readBeside(Folder &folder) {
  for (auto [name, kind] : {std::pair<StringRef, StringRef>("tokenizer_config.json", "tokenizer"),
                            {"special_tokens_map.json", "tokenizer"},
                            {"added_tokens.json", "tokens"},
                            {"processor_config.json", "processor"},
                            {"chat_template.json", "template"},
                            {"quantize_config.json", "packing"}}) {
    auto content = readObject(folder, name);
    if (!content)
      return content.takeError();
    if (!*content)
      continue;
    for (StringRef part : {"image_processor", "feature_extractor"})
      if (const json::Object *inner = (*content)->getObject(part);
          inner && kind == "processor") { // which counts before the older file
        if (folder.preprocessor)
          folder.beside.push_back(
              {folder.preprocessorFile, "shadowed", "", std::move(*folder.preprocessor)});
        folder.preprocessor = *inner;
        folder.preprocessorFile = name.str();
        folder.preprocessorWithin = part.str() + ".";
      }
    std::string family = familyOf(kind, **content).str();
    folder.beside.push_back({name.str(), kind.str(), family, std::move(**content)});
  }
  return Error::success();
}

Expected<Folder> readFolder(StringRef path) {
  Folder folder;
  folder.path = path.str();
  auto config = readObject(folder, "config.json");
  if (!config)
    return config.takeError();
  if (!*config)
    return noConfig(folder);
  folder.config = std::move(**config);
  auto generation = readObject(folder, "generation_config.json");
  if (!generation)
    return generation.takeError();
  folder.generation = std::move(*generation);
  auto preprocessor = readObject(folder, "preprocessor_config.json");
  if (!preprocessor)
    return preprocessor.takeError();
  folder.preprocessor = std::move(*preprocessor);
  if (Error error = readBeside(folder))
    return std::move(error);
  for (auto [name, own] : {std::pair("sentence_bert_config.json", &folder.sentence),
                           {"config_sentence_transformers.json", &folder.prompts}}) {
    auto found = readObject(folder, name);
    if (!found)
      return found.takeError();
    *own = std::move(*found);
  }
  if (Error error = readModules(folder))
    return std::move(error);
  return folder;
}

std::vector<std::string> notesOfTokenizer(StringRef path) {
  Folder folder;
  std::vector<std::string> notes;
  folder.path = path.str();
  if (!sys::fs::is_directory(path))
    return notes;
  consumeError(readBeside(folder)); // what is no JSON is an error of whoever reads it for good
  llvm::erase_if(folder.beside, [](const FileBeside &file) { return file.kind != "tokenizer"; });
  AskedKeys none;
  if (Error error = accountForKeys(decideKeys({folder, "", false, none}), folder, notes))
    handleAllErrors(std::move(error),
                    [&](const ImportError &undecided) { notes.push_back(undecided.message); });
  return notes;
}

Config FamilyWriter::preprocessor(StringRef instead) const {
  static const json::Object nothing;
  if (folder.preprocessor)
    return {*folder.preprocessor, folder.preprocessorFile};
  config.note("there is no `preprocessor_config.json`: " + instead);
  return {nothing, folder.preprocessorFile};
}

ArrayRef<const Family *> families() {
  static constexpr const Family *all[] = {
#define ATTN_FAMILY(name) &family##name,
#include "compiler/import/Families.inc"
#undef ATTN_FAMILY
  };
  return all;
}

/// The family that reads a `model_type`; null where none does.
static const Family *familyOfType(StringRef type) {
  for (const Family *family : families()) {
    SmallVector<StringRef> types;
    family->types.split(types, ' ');
    if (is_contained(types, type))
      return family;
  }
  return nullptr;
}

std::string activation(Config &config, StringRef key, StringRef otherwise, StringRef x) {
  return activationOf(config, key, config.text(key, otherwise), x);
}

std::string activationOf(Config &config, StringRef key, StringRef name, StringRef x) {
  static const std::pair<StringRef, StringRef> known[] = {
      {"gelu", "gelu"},           {"gelu_new", "gelu_tanh"}, {"gelu_pytorch_tanh", "gelu_tanh"},
      {"gelu_fast", "gelu_tanh"}, {"silu", "silu"},          {"swish", "silu"},
      {"relu", "relu"},           {"tanh", "tanh"},          {"sigmoid", "sigmoid"}};
  if (name == "relu2")
    return ("relu(" + x + ") ** 2").str();
  if (name == "quick_gelu")
    return (x + " * sigmoid(1.702 * " + x + ")").str();
  for (auto [theirs, ours] : known)
    if (name == theirs)
      return (ours + "(" + x + ")").str();
  std::string list = "quick_gelu, relu2";
  for (auto [theirs, ours] : known)
    list += ", " + theirs.str();
  config.refuse(key, "one of " + list);
  return x.str();
}

std::string layersWhere(const std::vector<bool> &holds) {
  auto count = static_cast<int64_t>(holds.size());
  for (int64_t period = 2; period <= count / 2 + 1; ++period)
    for (int64_t at = 0; at < period; ++at) {
      int64_t right = 0;
      for (int64_t n = 0; n < count; ++n)
        right += holds[size_t(n)] == (n % period == at);
      if (right == count || (right == 0 && period > 2)) // or of all others
        return "n % " + std::to_string(period) + (right ? " == " : " != ") + std::to_string(at);
    }
  int64_t first = llvm::find(holds, !holds[0]) - holds.begin();
  if (std::all_of(holds.begin() + first, holds.end(), [&](bool one) { return one != holds[0]; }))
    return std::string(holds[0] ? "n < " : "n >= ") + std::to_string(first);
  std::string text;
  for (int64_t n = 0; n < count; ++n)
    if (holds[size_t(n)])
      text += (text.empty() ? "n == " : " or n == ") + std::to_string(n);
  return text;
}

int64_t classCount(Config &config) {
  // A run reads it beside the weights: what scores are printed as.
  std::string problem = config.text("problem_type", "");
  if (!problem.empty() && problem != "regression" && problem != "single_label_classification" &&
      problem != "multi_label_classification")
    config.refuse("problem_type", "regression, single_label_classification or "
                                  "multi_label_classification");
  const json::Object *labels = config.mapAt("id2label");
  int64_t named = labels ? static_cast<int64_t>(labels->size()) : 2,
          said = config.size("num_labels", named);
  if (labels && said != named)
    config.refuse("num_labels", Twine(named) + ", as many as `id2label` names");
  return said;
}

/// "Qwen3ForCausalLM" -> the model's name, "Qwen3", and its task, "ForCausalLM".
static std::pair<std::string, std::string> splitArchitecture(StringRef architecture) {
  size_t at = architecture.find("For");
  StringRef model = architecture.take_front(std::min(at, architecture.size()));
  model.consume_back("Model");
  std::string name;
  for (char c : model)
    if (isAlnum(c))
      name += c;
  if (name.empty() || !isAlpha(name[0]))
    name = "Model";
  return {name, at == StringRef::npos ? "" : architecture.substr(at).str()};
}

/// Whether a character is one of a name's components.
static bool isOfName(char c) { return isAlnum(c) || c == '_' || c == '.'; }

std::string renamed(StringRef text, const TensorNames &names) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && isOfName(text[end]))
      ++end;
    StringRef word = text.slice(at, std::max(end, at + 1));
    at += word.size();
    // A name may have more behind it: `blk.{n}`, `output.weight`.
    for (auto &[theirs, ours] : names)
      if (word == theirs || (word.starts_with(theirs) && word[theirs.size()] == '.')) {
        result += ours;
        word = word.drop_front(theirs.size());
        break;
      }
    result += word;
  }
  return result;
}

/// What a spec says of its weights: where they are, what they are multiplied in.
static std::string weightsText(const Folder &folder) {
  std::string text;
  if (!folder.weights.empty() &&
      StringRef(folder.weights).find_first_of("\"\\\n") == StringRef::npos)
    text = "weights \"" + folder.weights + "\"\n";
  for (const auto &[precision, patterns] : folder.precisions) {
    text += "precision " + precision;
    for (const auto &[i, pattern] : enumerate(patterns))
      text += (i == 0 ? " for \"" : ", \"") + pattern + "\"";
    text += '\n';
  }
  return text;
}

/// The name of a folder, for a comment.
static std::string shownName(const Folder &folder) {
  std::string name;
  for (char c : sys::path::filename(sys::path::remove_leading_dotslash(folder.path)).rtrim('/'))
    name += isPrint(c) || (c & 0x80) ? std::string(1, c) : "?";
  return name;
}

/// The spec of a folder, whose model is within `inner` where that is given.
static Expected<ImportedSpec> importModel(const Folder &folder, const InnerModel *inner) {
  Config config(folder.config, "config.json");
  bool isTimm = !config.has("model_type") && config.has("architecture");
  std::string type = isTimm ? "timm" : config.text("model_type", "");
  std::vector<std::string> architectures = config.texts("architectures");
  if (isTimm)
    architectures = {config.text("architecture", "")};
  std::string task = splitArchitecture(architectures.empty() ? "" : architectures.front()).second;
  if (inner && !inner->architecture.empty()) // the model is the whole, its task is to write
    architectures = {inner->architecture};
  for (StringRef name : architectures) // which go into the text of the spec
    if (!all_of(name, [](char c) { return isAlnum(c) || StringRef("_.-/").contains(c); }))
      config.refuse(isTimm ? "architecture" : "architectures", "names of letters and digits");
  if (Error error = config.takeError())
    return std::move(error);
  const Family *found = familyOfType(type);
  if (!found)
    return unknownType(folder, type);
  if (Error error = checkPacking(folder.config))
    return std::move(error);
  std::string model = splitArchitecture(architectures.empty() ? "" : architectures.front()).first;
  ImportedSpec spec;
  std::string text;
  raw_string_ostream os(text);
  os << "attn 1\n// " << (architectures.empty() ? type : architectures.front()) << " of `"
     << shownName(folder) << "`, as its "
     << (folder.renames.empty() ? "config.json says" : "header says") << ".\n";
  FamilyWriter writer{
      folder, config, os, type, model, architectures.empty() ? "" : architectures.front(), task};
  found->write(writer);
  if (folder.isSentence() && StringRef(folder.modules.front().type).ends_with("Transformer") &&
      !StringRef(text).contains("entry embed("))
    config.refuse("architectures",
                  "a family whose encoders of sentences are read (BERT and its relatives, "
                  "ModernBERT, Nomic's BERT, decoders in Llama's form), since there is a "
                  "`modules.json`",
                  "without that file the model is imported as it is by itself");
  if (Error error = config.takeError())
    return std::move(error);
  spec.notes = config.notes;
  spec.keys =
      decideKeys({folder, type, StringRef(text).contains(" = unfold("), config.askedKeys()});
  if (Error error = accountForKeys(spec.keys, folder, spec.notes))
    return std::move(error);
  text = renamed(text, folder.renames);
  if (inner)
    text = renamed(text, inner->names), append_range(spec.notes, inner->notes);
  if (size_t at = text.find("\nmodel "); at != std::string::npos)
    text.insert(text.find('\n', at + 1) + 1,
                weightsText(folder) + (inner ? inner->ignored : std::string()));
  frontend::SourceFile source("<import>", text);
  frontend::DiagnosticEngine diagnostics(source);
  auto file = frontend::parse(source, diagnostics);
  spec.text = diagnostics.hasErrors() ? text : frontend::format(*file, source);
  return spec;
}

Expected<ImportedSpec> importFolder(const Folder &folder) {
  if (std::optional<InnerModel> inner = innerModel(folder)) {
    inner->folder.around = &folder;
    return importModel(inner->folder, &*inner);
  }
  return importModel(folder, nullptr);
}

} // namespace attn::importer
