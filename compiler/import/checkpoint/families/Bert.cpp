// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoders of text in BERT's form. They differ in the names of tensors, in where positions begin,
// and in their heads.
//
//   Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional Transformers"
//   Liu et al. 2019, "RoBERTa"; Conneau et al. 2020, "Unsupervised Cross-lingual Representation
//     Learning at Scale" (XLM-R)
//   Sanh et al. 2019, "DistilBERT"
//   Reimers and Gurevych 2019, "Sentence-BERT": the mean of the tokens' vectors
#include "compiler/import/checkpoint/Families.h"

using namespace llvm;

namespace attn::importer {

namespace {

/// What a family calls the tensors of a layer.
struct BertLayerNames {
  StringRef query, key, value, out, attentionNorm, up, down, outNorm;
};

constexpr BertLayerNames bertNames = {"attention.self.query",
                                      "attention.self.key",
                                      "attention.self.value",
                                      "attention.output.dense",
                                      "attention.output.LayerNorm",
                                      "intermediate.dense",
                                      "output.dense",
                                      "output.LayerNorm"};
constexpr BertLayerNames distilNames = {"attention.q_lin",   "attention.k_lin",  "attention.v_lin",
                                        "attention.out_lin", "sa_layer_norm",    "ffn.lin1",
                                        "ffn.lin2",          "output_layer_norm"};

/// Writes one encoder.
class BertWriter {
public:
  explicit BertWriter(FamilyWriter &writer)
      : writer(writer), config(writer.config), os(writer.os), isDistil(writer.type == "distilbert"),
        isRoberta(StringRef(writer.type).ends_with("roberta")),
        names(isDistil ? distilNames : bertNames) {}
  void write();

private:
  void readSizes();
  void writeParameters();
  void writeHeadParameters();
  void writeLayer();
  void writeEntry();
  /// The statements of an entry behind `y`, the states of all tokens, and its results.
  std::string headBody() const;
  std::string results() const;
  bool isTask(StringRef task) const { return writer.task == task; }
  /// Whether a matrix of one row lies as a vector, as in files of llama.cpp.
  bool isVector(const std::string &tensor) const;
  /// RoBERTa's pad token is 1, and the first position behind it.
  int64_t firstPosition() const { return isRoberta ? padding + 1 : 0; }

  FamilyWriter &writer;
  Config &config;
  raw_ostream &os;
  bool isDistil, isRoberta;
  const BertLayerNames &names;
  std::string prefix, eps;
  int64_t width = 0, heads = 0, layers = 0, hidden = 0, tokens = 0, positions = 0, segments = 0,
          padding = 0, classes = 0;
  bool hasPooler = false, isSentence = false;
  Sentence sentence;
  bool hasDenseHead = false;  ///< classes have a map of their own in front, as RoBERTa's
  bool takesSegments = false; ///< else all tokens are of the first, where there are any
};

} // namespace

bool BertWriter::isVector(const std::string &tensor) const {
  auto found = writer.folder.shapes.find(tensor);
  return found != writer.folder.shapes.end() && found->second.size() == 1;
}

void BertWriter::readSizes() {
  width = config.size(isDistil ? "dim" : "hidden_size");
  heads = config.size(isDistil ? "n_heads" : "num_attention_heads");
  layers = config.size(isDistil ? "n_layers" : "num_hidden_layers");
  hidden = config.size(isDistil ? "hidden_dim" : "intermediate_size");
  tokens = config.size("vocab_size");
  positions = config.size("max_position_embeddings");
  bool mayLackSegments = writer.ofLlamaCpp() && !config.has("type_vocab_size");
  segments = isDistil || mayLackSegments ? 0 : config.size("type_vocab_size");
  padding = isRoberta ? config.size("pad_token_id", 1) : 0;
  eps = isDistil ? "1e-12" : numberText(config.number("layer_norm_eps", 1e-12));
  takesSegments = segments > 1 && !isRoberta;
  if (width % heads)
    config.refuse(isDistil ? "n_heads" : "num_attention_heads", "a divisor of the width");
  if (positions <= firstPosition())
    config.refuse("max_position_embeddings", "more than " + Twine(firstPosition()));
  if (config.text("position_embedding_type", "absolute") != "absolute")
    config.refuse("position_embedding_type", "`absolute`");
  if (!isDistil && config.flag("is_decoder", false)) // which DistilBERT's class does not ask for
    config.refuse("is_decoder", "false");
  std::string body = isDistil ? "distilbert." : isRoberta ? "roberta." : "bert.";
  prefix = writer.folder.has(body + "embeddings.word_embeddings.weight") ? body : "";
  hasDenseHead = isRoberta || writer.folder.has("classifier.dense.weight");
  hasPooler = writer.folder.has(prefix + "pooler.dense.weight");
  isSentence = writer.folder.isSentence();
  if (isSentence) {
    writer.task = ""; // the published library takes the bare model of any
    sentence = readSentence(writer, width);
    notePrompts(writer);
  }
  classes = classCount(config);
}

void BertWriter::writeHeadParameters() {
  bool usesPooler =
      hasPooler &&
      (writer.task.empty() || (isTask("ForSequenceClassification") && !hasDenseHead && !isDistil));
  if (usesPooler && !isSentence)
    os << "linear " << prefix << "pooler.dense: D -> D bias\n";
  else if (hasPooler)
    os << "ignore \"" << prefix << "pooler.*\"  // no result needs it\n";
  if (isTask("ForMaskedLM")) {
    StringRef dense = isDistil    ? "vocab_transform"
                      : isRoberta ? "lm_head.dense"
                                  : "cls.predictions.transform.dense",
              norm = isDistil    ? "vocab_layer_norm"
                     : isRoberta ? "lm_head.layer_norm"
                                 : "cls.predictions.transform.LayerNorm",
              bias = isDistil    ? "vocab_projector.bias"
                     : isRoberta ? "lm_head.bias"
                                 : "cls.predictions.bias",
              decoder = isDistil    ? "vocab_projector"
                        : isRoberta ? "lm_head.decoder"
                                    : "cls.predictions.decoder";
    bool isTied = config.flag("tie_word_embeddings", true);
    os << "linear " << dense << ": D -> D bias\nlayernorm " << norm << ": D eps " << eps
       << "\nlinear decoder: D -> V = ";
    if (isTied)
      os << "tied(" << prefix << "embeddings.word_embeddings)\n";
    else
      os << '"' << decoder << "\"\n";
    os << "param decoder_bias: [V] = \"" << bias << "\"\n";
    std::vector<std::string> same;
    for (StringRef part : {".weight", ".bias"})
      if (std::string name = (decoder + part).str();
          name != bias && (isTied || part != ".weight") && writer.folder.has(name))
        same.push_back("\"" + name + "\"");
    if (writer.folder.has("cls.seq_relationship.weight"))
      same.push_back("\"cls.seq_relationship.*\"");
    for (size_t i = 0; i < same.size(); ++i)
      os << (i ? ", " : "ignore ") << same[i]
         << (i + 1 == same.size() ? "  // the same numbers, or unused\n" : "");
  } else if (isTask("ForSequenceClassification")) {
    if (hasDenseHead)
      os << "linear classifier.dense: D -> D bias\n"
         << (isVector("classifier.out_proj.weight")
                 ? "param weight: [D] = \"classifier.out_proj.weight\"\n"
                   "param bias: [K] = \"classifier.out_proj.bias\"\n"
                 : "linear classifier.out_proj: D -> K bias\n");
    else
      os << (isDistil ? "linear pre_classifier: D -> D bias\n" : "")
         << "linear classifier: D -> K bias\n";
  } else if (isTask("ForTokenClassification"))
    os << "linear classifier: D -> K bias\n";
  else if (isTask("ForQuestionAnswering"))
    os << "linear qa_outputs: D -> K bias\n";
  else if (!writer.task.empty())
    config.refuse("architectures", "a bare model, or `…ForMaskedLM`, `…ForSequenceClassification`, "
                                   "`…ForTokenClassification` or `…ForQuestionAnswering`");
}

void BertWriter::writeParameters() {
  bool hasClasses = StringRef(writer.task).contains("Classification");
  os << "model " << writer.model << " {\ndim D = " << width << ", H = " << heads
     << ", E = D / H, L = " << layers << ", F = " << hidden << ", V = " << tokens
     << ", P = " << positions
     << "  // width, heads, features of a head, layers, feed-forward, tokens, positions\n";
  std::string table = prefix + "embeddings.token_type_embeddings.weight";
  if (segments && !isVector(table))
    os << "dim N = " << segments << "  // segments\n";
  if (hasClasses)
    os << "dim K = " << classes << "  // classes\n";
  if (isTask("ForQuestionAnswering"))
    os << "dim K = 2  // the answer's first and last token\n";
  int64_t most = positions - firstPosition();
  os << "dyn B <= 64, T <= " << (isSentence ? sentenceLength(writer, most) : most)
     << "\n\nembedding " << prefix << "embeddings.word_embeddings: V -> D\nembedding " << prefix
     << "embeddings.position_embeddings: P -> D\n";
  if (segments && !takesSegments)
    os << "param segments: [" << (isVector(table) ? "" : "N, ") << "D] = \"" << prefix
       << "embeddings.token_type_embeddings.weight\"\n";
  else if (takesSegments)
    os << "embedding " << prefix << "embeddings.token_type_embeddings: N -> D\n";
  os << "layernorm " << prefix << "embeddings.LayerNorm: D eps " << eps << "\nstack " << prefix
     << (isDistil ? "transformer.layer" : "encoder.layer") << ": L of Layer\n";
  writeHeadParameters();
  os << sentence.parameters;
  if (isSentence)
    for (StringRef head : {"cls", "lm_head", "classifier", "pre_classifier", "qa_outputs",
                           "vocab_transform", "vocab_layer_norm", "vocab_projector"})
      if (writer.folder.hasWithin(head))
        os << "ignore \"" << head << ".*\"  // no vector needs it\n";
  for (StringRef name : {"embeddings.position_ids", "embeddings.token_type_ids"})
    if (writer.folder.has(prefix + name.str()))
      os << "ignore \"" << prefix << name << "\"\n";
  os << '\n';
}

void BertWriter::writeLayer() {
  std::string mlp =
      activation(config, isDistil ? "activation" : "hidden_act", "gelu", (names.up + "(y)").str());
  os << "mask inside(b, j) with input lengths: i32[B] = j < lengths[b]  // the rest is padding\n\n"
     << "block Layer[T](x: [B, T, D], lengths: i32[B]) -> [B, T, D] {\n"
     << "linear " << names.query << ", " << names.key << ", " << names.value << ": D -> H, E bias\n"
     << "linear " << names.out << ": H, E -> D bias\nlayernorm " << names.attentionNorm << ", "
     << names.outNorm << ": D eps " << eps << "\nlinear " << names.up << ": D -> F bias\nlinear "
     << names.down << ": F -> D bias\n"
     << "let a = attend " << names.query << "(x) over " << names.key << "(x), " << names.value
     << "(x) along T as S {\nmask inside\n}\n"
     << "let y = " << names.attentionNorm << "(x + " << names.out << "(a))\n"
     << "return " << names.outNorm << "(y + " << names.down << "(" << mlp << "))\n}\n\n";
}

std::string BertWriter::results() const {
  if (isSentence)
    return "embedding: [B, " + sentence.axis + "]";
  if (isTask("ForMaskedLM"))
    return "scores: [B, T, V]";
  if (isTask("ForSequenceClassification"))
    return "scores: [B, K]";
  if (isTask("ForTokenClassification") || isTask("ForQuestionAnswering"))
    return "scores: [B, T, K]";
  return hasPooler ? "hidden: [B, T, D], pooled: [B, D]" : "hidden: [B, T, D]";
}

std::string BertWriter::headBody() const {
  std::string pooled = "tanh(" + prefix + "pooler.dense(first(T, y)))";
  if (isSentence)
    return sentence.body;
  if (isTask("ForMaskedLM")) {
    std::string dense = isDistil    ? "vocab_transform"
                        : isRoberta ? "lm_head.dense"
                                    : "cls.predictions.transform.dense",
                norm = isDistil    ? "vocab_layer_norm"
                       : isRoberta ? "lm_head.layer_norm"
                                   : "cls.predictions.transform.LayerNorm";
    // RoBERTa's class has a gelu here, whatever its layers have.
    std::string made = isRoberta ? "gelu(" + dense + "(y))"
                                 : activation(config, isDistil ? "activation" : "hidden_act",
                                              "gelu", dense + "(y)");
    return "return decoder(" + norm + "(" + made + ")) + decoder_bias\n";
  }
  if (isTask("ForSequenceClassification") && isVector("classifier.out_proj.weight"))
    return "let h = tanh(classifier.dense(first(T, y)))\n"
           "return repeat(sum(D, h * weight), K) + bias\n";
  if (isTask("ForSequenceClassification"))
    return hasDenseHead ? "return classifier.out_proj(tanh(classifier.dense(first(T, y))))\n"
           : isDistil   ? "return classifier(relu(pre_classifier(first(T, y))))\n"
                        : "return classifier(" + pooled + ")\n";
  if (isTask("ForTokenClassification"))
    return "return classifier(y)\n";
  if (isTask("ForQuestionAnswering"))
    return "return qa_outputs(y)\n";
  return hasPooler ? "return y, " + pooled + "\n" : "return y\n";
}

void BertWriter::writeEntry() {
  StringRef name = isSentence ? "embed" : writer.task.empty() ? "encode" : "classify";
  if (isTask("ForMaskedLM"))
    name = "fill";
  if (isTask("ForQuestionAnswering"))
    name = "answer";
  std::string first = firstPosition() ? " + " + std::to_string(firstPosition()) : "";
  os << "entry " << name << "(ids: i32[B, T], " << (takesSegments ? "segments: i32[B, T], " : "")
     << "lengths: i32[B]) -> " << results() << " {\nlet x = " << prefix
     << "embeddings.word_embeddings(ids) + " << prefix
     << "embeddings.position_embeddings(positions(T)" << first << ")";
  if (takesSegments)
    os << " + " << prefix << "embeddings.token_type_embeddings(segments)";
  else if (segments)
    os << (isVector(prefix + "embeddings.token_type_embeddings.weight") ? " + segments"
                                                                        : " + first(N, segments)");
  os << "\nlet y = " << prefix << (isDistil ? "transformer.layer" : "encoder.layer") << "("
     << prefix << "embeddings.LayerNorm(x), lengths)\n"
     << headBody() << "}\n}\n";
}

void BertWriter::write() {
  readSizes();
  writeParameters();
  writeLayer();
  writeEntry();
}

static void writeBert(FamilyWriter &writer) { BertWriter(writer).write(); }

const Family familyBert = {"bert roberta xlm-roberta distilbert", writeBert};

} // namespace attn::importer
