// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ModernBERT: Warner et al. 2024, "Smarter, Better, Faster, Longer: A Modern Bidirectional
// Encoder". Norms in front and without bias, none in front of the first layer; rotary positions
// with two bases; most layers see a window to both sides.
#include "compiler/import/checkpoint/Families.h"
#include "compiler/import/checkpoint/Rope.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace attn::importer {

namespace {

/// Writes one encoder.
class ModernBertWriter {
public:
  explicit ModernBertWriter(FamilyWriter &writer)
      : writer(writer), config(writer.config), os(writer.os) {}
  void write();

private:
  void readLayers();
  void readRotations();
  void writeHeadParameters();
  void writeLayer();
  void writeEntry();
  bool isTask(StringRef task) const { return writer.task == task; }
  std::string bias(StringRef key) { return config.flag(key, false) ? " bias" : ""; }

  FamilyWriter &writer;
  Config &config;
  raw_ostream &os;
  std::string prefix, eps, lacking;
  int64_t width = 0, heads = 0, half = 0, classes = 0;
  std::string isFull;          ///< which layers see all
  Sentence sentence;           ///< empty where the folder is no sentence encoder's
  Rotation rotation, windowed; ///< of layers that see all, of the others
};

} // namespace

void ModernBertWriter::readLayers() {
  int64_t layers = config.size("num_hidden_layers"),
          every = config.size("global_attn_every_n_layers", 3);
  half = config.size("local_attention", 128) / 2;
  std::vector<std::string> types = config.texts("layer_types");
  std::vector<bool> full;
  for (int64_t n = 0; n < layers; ++n)
    full.push_back(types.empty()
                       ? n % every == 0
                       : size_t(n) < types.size() && types[size_t(n)] == "full_attention");
  if (!types.empty() && types.size() != size_t(layers))
    config.refuse("layer_types", "one for each of " + Twine(layers) + " layers");
  for (const std::string &type : types)
    if (type != "full_attention" && type != "sliding_attention")
      config.refuse("layer_types", "`full_attention` and `sliding_attention`");
  isFull = layersWhere(full);
  classes = classCount(config);
}

void ModernBertWriter::readRotations() {
  Config parameters = config.within("rope_parameters");
  Config full = parameters.within("full_attention"),
         sliding = parameters.within("sliding_attention");
  int64_t positions = config.size("max_position_embeddings");
  RopeReader rope{config, std::max<int64_t>(width / heads, 1), positions};
  rotation = rope.read(full, "global_rope_theta", 160000);
  windowed = rope.read(sliding, "local_rope_theta", 10000);
  for (const auto &[own, values] : {std::pair(&rotation, &full), {&windowed, &sliding}})
    if (own->shortLength)
      config.refuse("rope_parameters", "other rules than `longrope`: texts have no cache whose "
                                       "length would choose among its factors");
}

void ModernBertWriter::writeHeadParameters() {
  if (writer.task.empty())
    return;
  os << "linear head.dense: D -> D" << bias("classifier_bias") << "\nlayernorm head.norm: D eps "
     << eps << lacking << '\n';
  if (isTask("ForMaskedLM")) {
    bool isTied = config.flag("tie_word_embeddings", true);
    os << "linear decoder: D -> V"
       << (isTied ? " = tied(" + prefix + "embeddings.tok_embeddings)" : "")
       << "\nparam decoder_bias: [V] = \"decoder.bias\"\n";
    if (isTied && writer.folder.has("decoder.weight"))
      os << "ignore \"decoder.weight\"  // the same numbers as the embedding\n";
  } else if (isTask("ForSequenceClassification") || isTask("ForTokenClassification"))
    os << "linear classifier: D -> K bias\n";
  else
    config.refuse("architectures", "a bare model, or `…ForMaskedLM`, `…ForSequenceClassification` "
                                   "or `…ForTokenClassification`");
}

void ModernBertWriter::writeLayer() {
  std::string mlp = activation(config, "hidden_activation", "gelu", "mlp.a(m)"),
              attentionBias = bias("attention_bias"), mlpBias = bias("mlp_bias"),
              packed = attentionBias.empty() ? "" : ".{weight|bias}",
              packedMlp = mlpBias.empty() ? "" : ".{weight|bias}";
  os << "mask inside(b, j) with input lengths: i32[B] = j < lengths[b]  // the rest is padding\n\n"
     << "block Layer[T](x: [B, T, D], lengths: i32[B]; normed = true, seen = true, full = true) "
        "-> [B, T, D] {\n"
     << "layernorm attn_norm: D eps " << eps << lacking << " if normed  // not in the first layer\n"
     << "layernorm mlp_norm: D eps " << eps << lacking << '\n'
     << "linear attn.q, attn.k, attn.v: D -> H, E" << attentionBias << " = split(\"attn.Wqkv"
     << packed << "\", q k v)\nlinear attn.Wo: H, E -> D" << attentionBias << '\n'
     << "linear mlp.a, mlp.b: D -> F" << mlpBias << " = split(\"mlp.Wi" << packedMlp
     << "\", a b)\nlinear mlp.Wo: F -> D" << mlpBias << '\n'
     << rotation.tableLine("turns", "E") << windowed.tableLine("windowed_turns", "E")
     << "let n = if normed then attn_norm(x) else x\n";
  for (StringRef name : {"q", "k"}) {
    std::string made = ("attn." + name + "(n)").str();
    os << "let " << name << " = if full then " << rotation.applied(made, "half", "turns", "")
       << " else " << windowed.applied(made, "half", "windowed_turns", "") << '\n';
  }
  os << "let y = x + attn.Wo(attend q over k, attn.v(n) along T as S { mask inside and seen })\n"
     << "let m = mlp_norm(y)\nreturn y + mlp.Wo(" << mlp << " * mlp.b(m))\n}\n\n";
}

void ModernBertWriter::writeEntry() {
  bool isPooled = isTask("ForSequenceClassification"),
       isMean = config.text("classifier_pooling", "cls") == "mean",
       isSentence = writer.folder.isSentence();
  std::string sentenceResult = "embedding: " + sentence.type();
  StringRef name = isTask("ForMaskedLM") ? "fill"
                   : isSentence          ? "embed"
                   : writer.task.empty() ? "encode"
                                         : "classify",
            results = isTask("ForMaskedLM") ? "scores: [B, T, V]"
                      : isSentence          ? StringRef(sentenceResult)
                      : writer.task.empty() ? "hidden: [B, T, D]"
                      : isPooled            ? "scores: [B, K]"
                                            : "scores: [B, T, K]";
  os << "entry " << name << "(ids: i32[B, T], lengths: i32[B]) -> " << results
     << " {\nlet x = " << prefix << "embeddings.norm(" << prefix
     << "embeddings.tok_embeddings(ids))\nlet y = " << prefix << "final_norm(" << prefix
     << "layers(x, lengths))\n";
  std::string pooled = !isPooled ? "y"
                       : isMean  ? "mean(T, y where positions(T) < repeat(lengths, T))"
                                 : "first(T, y)";
  std::string head =
      "head.norm(" +
      activation(config, "classifier_activation", "gelu", "head.dense(" + pooled + ")") + ")";
  if (isSentence)
    os << sentence.body;
  else if (writer.task.empty())
    os << "return y\n";
  else if (isTask("ForMaskedLM"))
    os << "return decoder(" << head << ") + decoder_bias\n";
  else
    os << "return classifier(" << head << ")\n";
  os << "}\n}\n";
}

void ModernBertWriter::write() {
  prefix = writer.folder.has("model.embeddings.tok_embeddings.weight") ? "model." : "";
  eps = numberText(config.number("norm_eps", 1e-5));
  lacking = config.flag("norm_bias", false) ? "" : " no bias";
  readLayers();
  width = config.size("hidden_size"), heads = config.size("num_attention_heads");
  if (width % heads)
    config.refuse("num_attention_heads", "a divisor of `hidden_size`");
  readRotations();
  bool isSentence = writer.folder.isSentence();
  if (isSentence) {
    writer.task = ""; // the published library takes the bare model of any
    sentence = readSentence(writer, width);
    notePrompts(writer);
  }
  os << "model " << writer.model << " {\ndim D = " << width << ", H = " << heads
     << ", E = D / H, L = " << config.size("num_hidden_layers")
     << ", F = " << config.size("intermediate_size") << ", V = " << config.size("vocab_size")
     << "  // width, heads, features of a head, layers, feed-forward, tokens\n";
  if (StringRef(writer.task).contains("Classification"))
    os << "dim K = " << classes << "  // classes\n";
  int64_t most = config.size("max_position_embeddings");
  os << "dyn B <= 64, T <= " << (isSentence ? sentenceLength(writer, most) : most)
     << "\n\nembedding " << prefix << "embeddings.tok_embeddings: V -> D\nlayernorm " << prefix
     << "embeddings.norm, " << prefix << "final_norm: D eps " << eps << lacking << "\nstack "
     << prefix << "layers: L of Layer(normed = n > 0, seen = if " << isFull
     << " then true else window(" << half << ", " << half << "), full = " << isFull << ")\n";
  writeHeadParameters();
  os << sentence.parameters;
  if (isSentence)
    for (StringRef head : {"head", "decoder", "classifier"})
      if (writer.folder.hasWithin(head))
        os << "ignore \"" << head << ".*\"  // no vector needs it\n";
  os << '\n';
  writeLayer();
  writeEntry();
}

static void writeModernBert(FamilyWriter &writer) { ModernBertWriter(writer).write(); }

const Family familyModernBert = {"modernbert", writeModernBert};

} // namespace attn::importer
