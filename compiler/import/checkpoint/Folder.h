// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A folder of a published checkpoint, as Hugging Face's libraries write it: config.json, the names
// and shapes of the tensors, what it says of generation and of pooling. Other files of checkpoints
// are read as if they were such a folder, whose tensors have other names.
#pragma once

#include "compiler/import/Import.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace attn::importer {

/// Names of tensors, or their first components, as a family has them and as the file has them.
using TensorNames = std::vector<std::pair<std::string, std::string>>;
/// `text` with the names that tensors have in a file.
std::string renamed(llvm::StringRef text, const TensorNames &names);

/// A module of a sentence encoder, as modules.json names it.
struct SentenceModule {
  std::string type, path;    ///< the name of its class; its folder, empty for the model's own
  llvm::json::Object config; ///< of its folder; empty where that has none
  llvm::json::Object said{}; ///< of it in modules.json; empty where that is not there
};

/// A file of which the importer reads nothing: rows decide on its keys.
struct FileBeside {
  std::string name, kind; ///< "tokenizer_config.json"; what the rows call it
  std::string family;     ///< whose rows count, beside those of the model
  llvm::json::Object content;
};

/// What stands in a folder, its weights apart.
struct Folder {
  std::string path;
  std::string weights; ///< where the spec finds them; empty where it says nothing
  /// What the spec says of precision, with the patterns of tensors; none for all others.
  std::vector<std::pair<std::string, std::vector<std::string>>> precisions;
  llvm::json::Object config;
  std::optional<llvm::json::Object> generation;   ///< generation_config.json
  std::optional<llvm::json::Object> preprocessor; ///< preprocessor_config.json
  /// Where that stands: in the file, or in an object of processor_config.json, with a dot behind.
  std::string preprocessorFile = "preprocessor_config.json", preprocessorWithin;
  std::vector<SentenceModule> modules;        ///< of a sentence encoder, in their order
  std::optional<llvm::json::Object> sentence; ///< sentence_bert_config.json
  std::optional<llvm::json::Object> prompts;  ///< config_sentence_transformers.json
  std::vector<FileBeside> beside;             ///< of tokenizers, processors, packings
  std::map<std::string, llvm::SmallVector<int64_t>> shapes; ///< of the tensors, by their names
  std::map<std::string, std::string> texts; ///< of the files, for the lines of their keys
  std::vector<std::string> allowed;         ///< the keys that `--allow` passes by

  /// Where tensors are called otherwise than in Hugging Face's folders: components of their names
  /// there and here. `shapes` has the names there.
  std::vector<std::pair<std::string, std::string>> renames;
  bool turnsNeighbours = false; ///< rotary pairs are neighbours, as in Llama's own form
  bool addedOne = false;        ///< to the weights of norms that multiply by 1 + weight
  /// What the factors of `rope_freqs.weight` divide the angles by, which llama.cpp makes of
  /// Llama 3's rule; empty where there are none.
  std::vector<double> ropeFactors;

  /// Of a GGUF file: its values, those that were asked for, and its architecture.
  llvm::json::Object values;
  std::set<std::string> askedValues;
  std::string architecture;

  /// Whether texts become vectors, by the modules.
  bool isSentence() const { return !modules.empty(); }

  /// Of a language model inside of another, that one, whose `text_config` is the config here.
  const Folder *around = nullptr;

  /// Whether there is a tensor of this name.
  bool has(llvm::StringRef tensor) const { return shapes.count(tensor.str()); }
  /// Whether there is a tensor whose name begins with this one and a dot.
  bool hasWithin(llvm::StringRef name) const {
    auto found = shapes.lower_bound(name.str() + ".");
    return found != shapes.end() && llvm::StringRef(found->first).starts_with(name.str() + ".");
  }
};

/// Reads the JSON files of a folder; `shapes` is left empty.
llvm::Expected<Folder> readFolder(llvm::StringRef path);

/// What of the settings of a folder's tokenizer is left out, or is not done: one note each.
std::vector<std::string> notesOfTokenizer(llvm::StringRef path);

/// How it was decided on a key.
enum class KeyFate {
  Read,      ///< an accessor asked for it
  Harmless,  ///< a row says that it changes nothing, or null
  Noted,     ///< a row says that it is left out, which a person is told
  Allowed,   ///< `--allow` names it
  Undecided, ///< neither: it may change numbers
};

/// One key of one file.
struct KeyDecision {
  std::string file, path; ///< "config.json", "rope_scaling.factor"
  std::string value;      ///< as JSON, cut where it is long
  KeyFate fate;
  std::string why;      ///< what the row says; at which values it changes nothing
  bool isTwice = false; ///< read, though a row of this very family says that it never matters
};

/// A spec and what a person should know of it.
struct ImportedSpec {
  std::string text;               ///< formatted
  std::vector<std::string> notes; ///< what was assumed, what was left out
  std::vector<KeyDecision> keys;  ///< what became of each key
};

/// The spec of a folder's model. An ImportError says what of it is not read.
llvm::Expected<ImportedSpec> importFolder(const Folder &folder);

/// The tensors of a GGUF file that hold what the angles of each rotary pair are divided by; empty
/// where there are none.
struct GgufFactors {
  std::vector<double> all;          ///< `rope_freqs.weight`
  std::vector<double> shortFactors; ///< `rope_factors_short.weight`
  std::vector<double> longFactors;  ///< `rope_factors_long.weight`
};

/// A GGUF file as such a folder: of its values, whose arrays of texts need not be there, and its
/// tensors.
llvm::Expected<Folder>
readGgufModel(llvm::StringRef path, const llvm::json::Object &values,
              const std::map<std::string, llvm::SmallVector<int64_t>> &shapes,
              const GgufFactors &factors);

/// A checkpoint of llama2.c as such a folder, whose config.json says `config`.
Folder readLlama2Model(llvm::StringRef path, llvm::json::Object config,
                       const std::map<std::string, llvm::SmallVector<int64_t>> &shapes);

} // namespace attn::importer
