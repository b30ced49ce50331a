// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoders of sentences: what modules.json says becomes of the states of tokens, module by module,
// as in the published library (Reimers and Gurevych 2019, "Sentence-BERT"):
//
//   Transformer -> Pooling -> Dense -> Normalize
//   MLMTransformer -> SpladePooling    (Formal et al. 2021, "SPLADE v2": a weight for each token)
//   Transformer -> PyLate's Dense      (Khattab and Zaharia 2020, "ColBERT": a vector for each)
//
// The states are `y`, [B, T, D], of which `lengths` tell how many are of the text.
#include "compiler/import/checkpoint/Families.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace attn::importer {

namespace {

/// One way to make a vector of the states of a text.
struct PoolingMode {
  StringRef flag, name; ///< in the older form of 1_Pooling/config.json, and in the newer one
  StringRef body;       ///< an expression of `y`
};

} // namespace

// In the order in which the published library puts them beside each other.
static constexpr PoolingMode poolingModes[] = {
    {"pooling_mode_cls_token", "cls", "first(T, y)"},
    {"pooling_mode_max_tokens", "max", "max(T, if there then y else -1e9)"},
    {"pooling_mode_mean_tokens", "mean", "mean(T, y where there)"},
    {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens",
     "mean(T, y where there) * sqrt(sum(T, if there then repeat(ones, B) else 0))"},
    {"pooling_mode_weightedmean_tokens", "weightedmean",
     "sum(T, y * later) / max(sum(T, later), 1e-9)"},
    {"pooling_mode_lasttoken", "lasttoken", "pick(y, T at min(max(lengths - 1, 0), T - 1))"}};

/// The last component of a module's type, of one of the published library; "TokenDense" of
/// PyLate's; else empty.
static StringRef kindOf(StringRef type) {
  if (type == "pylate.models.Dense.Dense")
    return "TokenDense";
  return type.starts_with("sentence_transformers.") ? type.rsplit('.').second : StringRef();
}

/// Whether a mode is asked for, in either form of a pooling's config.
static bool isAsked(Config &pooling, const PoolingMode &mode, ArrayRef<std::string> names) {
  if (!names.empty())
    return is_contained(names, mode.name);
  return pooling.flag(mode.flag, mode.name == "mean"); // which the published class asks for
}

/// The modes that a pooling's config asks for.
static std::vector<const PoolingMode *> readModes(Config &pooling) {
  std::vector<std::string> names = pooling.oneOrTexts("pooling_mode");
  std::vector<const PoolingMode *> modes;
  for (const PoolingMode &mode : poolingModes)
    if (isAsked(pooling, mode, names))
      modes.push_back(&mode);
  if (modes.empty() || (!names.empty() && modes.size() != names.size()))
    pooling.refuse(names.empty() ? "pooling_mode_mean_tokens" : "pooling_mode",
                   "one or several of `cls`, `max`, `mean`, `mean_sqrt_len_tokens`, "
                   "`weightedmean` and `lasttoken`");
  return modes;
}

namespace {

/// Goes through the modules behind the transformer.
class SentenceReader {
public:
  SentenceReader(FamilyWriter &writer, int64_t tokens)
      : writer(writer), config(writer.config), tokens(tokens) {}
  Sentence read(int64_t width);

private:
  void readModule(const SentenceModule &module);
  /// Whether the first module is one that the family has.
  void checkFirst();
  void readPooling(Config &own);
  void readSplade(Config &own);
  void readDense(const SentenceModule &module, Config &own);
  void readNorm(const SentenceModule &module, Config &own);
  void normalize();
  /// Whether the file of a module has its tensors; an error where it has not.
  void checkTensors(const SentenceModule &module, StringRef tensor);
  /// Declares an axis of the vector for what follows.
  void declare(int64_t count, StringRef what);
  /// Gives the vector's next value a name of its own.
  void become(const Twine &value);

  FamilyWriter &writer;
  Config &config;
  Sentence made;
  std::string vector; ///< the name of what there is of the vector; empty in front of the pooling
  int64_t size = 0;   ///< of its axis
  int64_t tokens;     ///< of the vocabulary, where the model has scores of them; else 0
  int axes = 0, steps = 0;
};

} // namespace

void SentenceReader::declare(int64_t count, StringRef what) {
  made.axis = "O" + std::to_string(++axes);
  size = count;
  made.parameters += ("dim " + made.axis + " = " + Twine(count) + "  // " + what + "\n").str();
}

void SentenceReader::become(const Twine &value) {
  std::string name = "vector" + std::to_string(++steps);
  made.body += ("let " + name + " = " + value + "\n").str();
  vector = name;
}

void SentenceReader::checkTensors(const SentenceModule &module, StringRef tensor) {
  if (!writer.folder.has(module.path + "." + tensor.str()))
    config.refuse(
        "architectures",
        "a file `" + module.path + "/model.safetensors` with the tensor `" + tensor +
            "`, since `modules.json` names this module",
        "where it has a `pytorch_model.bin`, save it as .safetensors: "
        "`safetensors.torch.save_file(torch.load(\"pytorch_model.bin\", weights_only=True), "
        "\"model.safetensors\")`");
}

void SentenceReader::readPooling(Config &own) {
  std::vector<const PoolingMode *> modes = readModes(own);
  if (!own.flag("include_prompt", true))
    config.note("prompts are pooled with the text, though `include_prompt` is false: what stands "
                "in front of a text is not told apart from it");
  auto has = [&](StringRef part) {
    return any_of(modes, [&](const PoolingMode *mode) { return mode->body.contains(part); });
  };
  if (has("there") || has("later"))
    made.body += "let there = positions(T) < repeat(lengths, T)\n";
  if (has("ones"))
    made.parameters += "table ones[t: T] = 1\n";
  if (has("later")) {
    made.parameters += "table counted[t: T] = t + 1\n";
    made.body += "let later = if there then repeat(counted, B) else 0\n";
  }
  std::string list;
  for (const PoolingMode *mode : modes) {
    become(mode->body);
    list += ", " + vector;
  }
  if (modes.size() == 1)
    return;
  declare(size * int64_t(modes.size()), "pooled in several ways");
  become("pack(" + made.axis + list + ")");
}

void SentenceReader::readSplade(Config &own) {
  std::string function = own.text("activation_function", "relu"),
              strategy = own.text("pooling_strategy", "max");
  bool isSum = strategy == "sum", isTwice = function == "log1p_relu";
  if (!isSum && strategy != "max")
    own.refuse("pooling_strategy", "`max` or `sum`");
  if (!isTwice && function != "relu")
    own.refuse("activation_function", "`relu` or `log1p_relu`");
  if (own.size("word_embedding_dimension", tokens) != tokens)
    own.refuse("word_embedding_dimension", Twine(tokens) + ", the tokens of the vocabulary");
  auto weight = [&](const std::string &of) {
    return isTwice ? "log(1 + log(1 + " + of + "))" : "log(1 + " + of + ")";
  };
  made.body += "let there = positions(T) < repeat(lengths, T)\n";
  made.axis = "V";
  // The weight grows with the score: that of the largest score is the largest.
  become(isSum ? "sum(T, if there then " + weight("relu(scores)") + " else 0)"
               : weight("max(T, if there then relu(scores) else 0)"));
}

/// The function of an activation of PyTorch, by the name of its class; nothing where it is none
/// that is known.
static std::optional<StringRef> activationOf(StringRef type) {
  static const std::pair<StringRef, StringRef> known[] = {{"Identity", ""},       {"Tanh", "tanh"},
                                                          {"ReLU", "relu"},       {"GELU", "gelu"},
                                                          {"Sigmoid", "sigmoid"}, {"SiLU", "silu"}};
  for (auto [theirs, ours] : known)
    if (type.starts_with("torch.nn.") && type.rsplit('.').second == theirs)
      return ours;
  return std::nullopt;
}

void SentenceReader::readDense(const SentenceModule &module, Config &own) {
  int64_t in = own.size("in_features"), out = own.size("out_features");
  bool hasBias = own.flag("bias", true);
  std::optional<StringRef> function =
      activationOf(own.text("activation_function", "torch.nn.modules.activation.Tanh"));
  if (!function)
    own.refuse("activation_function",
               "one of PyTorch's Identity, Tanh, ReLU, GELU, Sigmoid and SiLU");
  if (in != size)
    own.refuse("in_features", Twine(size) + ", the numbers that the vector has there");
  for (StringRef key : {"module_input_name", "module_output_name"})
    if (!made.isOfTokens && own.text(key, "sentence_embedding") != "sentence_embedding")
      own.refuse(key, "`sentence_embedding`");
  if (made.isOfTokens && own.flag("use_residual", false))
    own.refuse("use_residual", "false");
  checkTensors(module, "linear.weight");
  std::string from = made.axis, name = "dense" + std::to_string(steps);
  if (out != size)
    declare(out, "of `" + module.path + "`");
  made.parameters += "linear " + name + ": " + from + " -> " + made.axis +
                     (hasBias ? " bias" : "") + " = \"" + module.path + ".linear\"\n";
  std::string value = name + "(" + (vector.empty() ? "y" : vector) + ")";
  become(function && !function->empty() ? *function + "(" + value + ")" : Twine(value));
}

void SentenceReader::readNorm(const SentenceModule &module, Config &own) {
  if (own.size("dimension", size) != size)
    own.refuse("dimension", Twine(size) + ", the numbers that the vector has there");
  checkTensors(module, "norm.weight");
  std::string name = "norm" + std::to_string(steps);
  made.parameters +=
      "layernorm " + name + ": " + made.axis + " eps 1e-5 = \"" + module.path + ".norm\"\n";
  become(name + "(" + vector + ")");
}

void SentenceReader::normalize() {
  become(vector + " / max(sqrt(sum(" + made.axis + ", " + vector + " * " + vector + ")), 1e-12)");
}

void SentenceReader::readModule(const SentenceModule &module) {
  StringRef kind = kindOf(module.type);
  Config own(module.config, module.path + "/config.json");
  bool isPooled = !vector.empty() && !made.isOfTokens;
  if (kind == "TokenDense" && !isPooled && !made.takesScores) {
    made.isOfTokens = true;
    readDense(module, own);
  } else if (kind == "SpladePooling" && made.takesScores && !isPooled)
    readSplade(own);
  else if (kind == "Pooling" && vector.empty() && !made.takesScores)
    readPooling(own);
  else if (kind == "Dense" && isPooled)
    readDense(module, own);
  else if (kind == "LayerNorm" && isPooled)
    readNorm(module, own);
  else if (kind == "Normalize" && isPooled)
    normalize();
  else if (kind != "Dropout") // which is of training
    config.refuse("architectures",
                  "what `modules.json` names as a `" + module.type +
                      "` to be a Transformer, then a Pooling, then Dense, LayerNorm or Normalize "
                      "of sentence_transformers; or an MLMTransformer, then a SpladePooling; or a "
                      "Transformer, then PyLate's Dense");
  config.adopt(own);
}

void SentenceReader::checkFirst() {
  const SentenceModule &first = writer.folder.modules.front();
  made.takesScores = kindOf(first.type) == "MLMTransformer";
  if ((kindOf(first.type) != "Transformer" && !made.takesScores) || !first.path.empty())
    config.refuse("architectures",
                  "the first module of `modules.json`, a `" + first.type +
                      "`, to be a Transformer of sentence_transformers in this very folder");
  if (made.takesScores && !tokens)
    config.refuse("architectures", "a model that scores the tokens of a vocabulary, as the `" +
                                       first.type + "` of `modules.json` needs");
}

Sentence SentenceReader::read(int64_t width) {
  size = width;
  made.axis = "D";
  checkFirst();
  for (const SentenceModule &module : drop_begin(writer.folder.modules))
    readModule(module);
  if (vector.empty())
    config.refuse("architectures", "`modules.json` to have a Pooling behind the Transformer");
  if (made.isOfTokens) {
    config.note("each token has a vector of length 1, as PyLate's `encode` gives them; the tokens "
                "that it puts in front of texts, behind short queries, and leaves out of others "
                "are for you to see to");
    normalize();
  }
  if (writer.ofLlamaCpp())
    config.note("vectors are given length 1, as llama.cpp's programs give them: the file "
                "does not say whether the model does");
  made.body += "return " + vector + "\n";
  return made;
}

Sentence readSentence(FamilyWriter &writer, int64_t width, int64_t tokens) {
  return SentenceReader(writer, tokens).read(width);
}

int64_t sentenceLength(FamilyWriter &writer, int64_t positions) {
  if (!writer.folder.sentence)
    return positions;
  Config own(*writer.folder.sentence, "sentence_bert_config.json");
  int64_t most = own.size("max_seq_length", positions);
  if (own.flag("do_lower_case", false))
    own.note("`do_lower_case` of sentence_bert_config.json: texts are taken as they are, so write "
             "them in small letters");
  writer.config.adopt(own);
  return std::min(most, positions);
}

void notePrompts(FamilyWriter &writer) {
  if (!writer.folder.prompts)
    return;
  Config own(*writer.folder.prompts, "config_sentence_transformers.json");
  std::string name = own.text("default_prompt_name", "");
  const json::Object *prompts = own.mapAt("prompts");
  auto text = prompts && !name.empty() ? prompts->getString(name) : std::nullopt;
  if (!name.empty() && !text)
    own.refuse("default_prompt_name", "the name of one of `prompts`");
  if (text && !text->empty())
    own.note("the published library puts `" + *text + "` in front of each text, the prompt `" +
             name + "`: here it is for you to write");
  writer.config.adopt(own);
}

} // namespace attn::importer
