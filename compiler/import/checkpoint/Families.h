// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The families of models: who writes the spec of which `model_type`.
#pragma once

#include "compiler/import/checkpoint/Config.h"
#include "compiler/import/checkpoint/Folder.h"
#include "llvm/Support/raw_ostream.h"

namespace attn::importer {

/// What a family writes a spec of: its folder, its config, and where the lines of the spec go.
struct FamilyWriter {
  const Folder &folder;
  Config &config;
  llvm::raw_ostream &os;
  std::string type;         ///< model_type
  std::string model;        ///< the model's name in the spec
  std::string architecture; ///< the first of `architectures`
  std::string task;         ///< of the architecture: "ForCausalLM", or empty for the bare model
  std::string within = "";  ///< of a part of another model, what its tensors' names begin with
  std::string around = "";  ///< of such a part, the type of the model, whose processor counts

  /// Whether the tensors are those of a file of llama.cpp or of llama2.c.
  bool ofLlamaCpp() const { return !folder.renames.empty(); }
  /// preprocessor_config.json; without such a file no key is there, and a note says what is done
  /// `instead`.
  Config preprocessor(llvm::StringRef instead) const;
};

/// A family: the values of `model_type` that it reads, with spaces between, and its writer, which
/// leaves what is wrong in the config.
struct Family {
  llvm::StringRef types;
  void (*write)(FamilyWriter &writer);
};

// Each source in families/ defines one: Gpt.cpp `familyGpt`.
#define ATTN_FAMILY(name) extern const Family family##name;
#include "compiler/import/Families.inc"
#undef ATTN_FAMILY

/// All families.
llvm::ArrayRef<const Family *> families();

/// What a template of a spec is filled in with, by name: texts, numbers, and conditions of its
/// sections.
class TemplateValues {
public:
  /// A text, or a number.
  void set(llvm::StringRef name, llvm::StringRef text) { values[name] = text.str(); }
  void set(llvm::StringRef name, int64_t number) { values[name] = std::to_string(number); }
  /// A condition.
  void setIf(llvm::StringRef name, bool condition) { values[name] = condition; }
  /// A section that is written once for each of these.
  void setEach(llvm::StringRef name, llvm::ArrayRef<TemplateValues> each) {
    llvm::json::Array all;
    for (const TemplateValues &one : each)
      all.push_back(llvm::json::Object(one.values));
    values[name] = std::move(all);
  }

private:
  friend void writeTemplate(FamilyWriter &, llvm::StringRef, const TemplateValues &);
  llvm::json::Object values;
};

/// Writes the template families/NAME.attn.mustache.
void writeTemplate(FamilyWriter &writer, llvm::StringRef name, const TemplateValues &values);

/// What a sentence encoder makes of the states of tokens, `y`, [B, T, D], of which `lengths` tell
/// how many are of the text: declarations of the model, statements of the entry, and the axis of
/// the vector.
struct Sentence {
  std::string parameters, body, axis;
  bool isOfTokens = false;  ///< a vector for each token
  bool takesScores = false; ///< of the scores of tokens, `scores`, [B, T, V], not of states
  /// The type of the result.
  std::string type() const { return (isOfTokens ? "[B, T, " : "[B, ") + axis + "]"; }
};

/// The modules behind the transformer, whose states have `width` numbers, as modules.json names
/// them. `tokens` is the size of the vocabulary where the family can give scores of it. What is
/// wrong is left in the config.
Sentence readSentence(FamilyWriter &writer, int64_t width, int64_t tokens = 0);

/// How many tokens a text has at most, of a transformer that takes `positions`.
int64_t sentenceLength(FamilyWriter &writer, int64_t positions);

/// Notes the prompt that the published library puts in front of texts.
void notePrompts(FamilyWriter &writer);
/// A condition of the layer's number that holds for the layers of a list: of a few numbers, behind
/// one, of every so many or of all but these.
std::string layersWhere(const std::vector<bool> &holds);

/// How many classes a head has, by the config's labels.
int64_t classCount(Config &config);

/// A list of numbers as `image input` takes it, one where all are the same; empty where nothing is
/// said.
std::string numbersText(Config &from, llvm::StringRef key);

/// How a picture becomes a tensor: its height and width, and the line `image input …`, empty where
/// nothing says.
struct Picture {
  int64_t side, width;
  std::string line;
};

/// What preprocessor_config.json says of pictures, which are `side` wide and high where it says
/// nothing.
Picture readPicture(FamilyWriter &writer, int64_t side);

/// The same of pictures whose processor keeps the ratio of their sides, a shorter and at most a
/// longer one: of 4 to 3, unless it says both, each a multiple of `multiple`.
Picture readFramedPicture(FamilyWriter &writer, int64_t shortest, int64_t longest,
                          int64_t multiple = 1);

/// The spec's word for an activation of Hugging Face's `ACT2FN`, applied to `x`; an error in the
/// config where there is none.
std::string activation(Config &config, llvm::StringRef key, llvm::StringRef otherwise,
                       llvm::StringRef x);

/// The same of the activation `name`, which is what `key` says in a form of its own.
std::string activationOf(Config &config, llvm::StringRef key, llvm::StringRef name,
                         llvm::StringRef x);

/// Whether the users of a decoder share steps, each in a row of its own: not where states go from
/// token to token beside caches.
enum class Users { ShareSteps, TakeTurns };

/// The lines of entries that run a decoder with a cache: the prompt, a token more, and the loop
/// over tokens with the numbers of generation_config.json.
void writeGeneration(FamilyWriter &writer, int64_t capacity, Users users = Users::ShareSteps);

/// The same of a decoder whose prompts have pictures: `prefill` is there, and `forward` takes
/// texts.
void writeGenerationWithPictures(FamilyWriter &writer, int64_t capacity);

/// What `unfold` is given beside two entries of such a decoder: ", stop = 2, limit = 63".
std::string generationSettings(FamilyWriter &writer, int64_t capacity);

/// The lines of writeGeneration, as text.
std::string generationEntries(FamilyWriter &writer, int64_t capacity);

/// The same for an encoder-decoder model, whose encoder reads `source`.
void writeEncoderDecoderGeneration(FamilyWriter &writer, llvm::StringRef source, int64_t capacity);

} // namespace attn::importer
