// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ModernBERT: Warner et al. 2024, "Smarter, Better, Faster, Longer: A Modern Bidirectional
// Encoder". Norms in front and without bias, none in front of the first layer; rotary positions
// with two bases; most layers see a window to both sides.
#include "compiler/import/folder/Families.h"

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
  void writeHeadParameters();
  void writeLayer();
  void writeEntry();
  bool isTask(StringRef task) const { return writer.task == task; }
  std::string bias(StringRef key) { return config.flag(key, false) ? " bias" : ""; }

  FamilyWriter &writer;
  Config &config;
  raw_ostream &os;
  std::string prefix, eps, lacking;
  int64_t every = 1, half = 0, classes = 0;
  Sentence sentence; ///< empty where the folder is no sentence encoder's
  double base = 0, windowedBase = 0;
};

} // namespace

void ModernBertWriter::readLayers() {
  every = config.size("global_attn_every_n_layers", 3);
  half = config.size("local_attention", 128) / 2;
  Config parameters = config.within("rope_parameters");
  Config full = parameters.within("full_attention"),
         sliding = parameters.within("sliding_attention");
  std::optional<double> own = full.number("rope_theta"), near = sliding.number("rope_theta");
  base = own ? *own : config.number("global_rope_theta", 160000);
  windowedBase = near ? *near : config.number("local_rope_theta", 10000);
  config.adopt(full);
  config.adopt(sliding);
  std::vector<std::string> types = config.texts("layer_types");
  for (size_t n = 0; n < types.size(); ++n)
    if ((types[n] == "full_attention") != (n % size_t(every) == 0))
      config.refuse("layer_types", "`full_attention` in every layer whose number is a multiple of "
                                   "`global_attn_every_n_layers`");
  classes = classCount(config);
}

void ModernBertWriter::writeHeadParameters() {
  if (writer.task.empty())
    return;
  os << "linear head.dense: D -> D" << bias("classifier_bias") << "\nlayernorm head.norm: D eps "
     << eps << lacking << '\n';
  if (isTask("ForMaskedLM")) {
    os << "linear decoder: D -> V = tied(" << prefix << "embeddings.tok_embeddings)\n"
       << "param decoder_bias: [V] = \"decoder.bias\"\n";
    if (writer.folder.has("decoder.weight"))
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
     << "block Layer[T](x: [B, T, D], lengths: i32[B]; normed = true, seen = true, base = 10000) "
        "-> [B, T, D] {\n"
     << "layernorm attn_norm: D eps " << eps << lacking << " optional  // not in the first layer\n"
     << "layernorm mlp_norm: D eps " << eps << lacking << '\n'
     << "linear attn.q, attn.k, attn.v: D -> H, E" << attentionBias << " = split(\"attn.Wqkv"
     << packed << "\", q k v)\nlinear attn.Wo: H, E -> D" << attentionBias << '\n'
     << "linear mlp.a, mlp.b: D -> F" << mlpBias << " = split(\"mlp.Wi" << packedMlp
     << "\", a b)\nlinear mlp.Wo: F -> D" << mlpBias << '\n'
     << "let n = if normed then attn_norm(x) else x\n"
     << "let q = rotary(attn.q(n), T, half, base = base)\n"
     << "let k = rotary(attn.k(n), T, half, base = base)\n"
     << "let y = x + attn.Wo(attend q over k, attn.v(n) along T as S { mask inside and seen })\n"
     << "let m = mlp_norm(y)\nreturn y + mlp.Wo(" << mlp << " * mlp.b(m))\n}\n\n";
}

void ModernBertWriter::writeEntry() {
  bool isPooled = isTask("ForSequenceClassification"),
       isMean = config.text("classifier_pooling", "cls") == "mean",
       isSentence = writer.folder.isSentence();
  std::string sentenceResult = "embedding: [B, " + sentence.axis + "]";
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
  int64_t width = config.size("hidden_size"), heads = config.size("num_attention_heads");
  if (width % heads)
    config.refuse("num_attention_heads", "a divisor of `hidden_size`");
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
     << prefix << "layers: L of Layer(normed = n > 0, seen = if n % " << every
     << " == 0 then true else window(" << half << ", " << half << "), base = if n % " << every
     << " == 0 then " << numberText(base) << " else " << numberText(windowedBase) << ")\n";
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

void writeModernBert(FamilyWriter &writer) { ModernBertWriter(writer).write(); }

} // namespace attn::importer
