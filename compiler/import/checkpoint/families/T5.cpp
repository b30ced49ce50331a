// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// T5: Raffel et al. 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text
// Transformer", and its version 1.1, whose mlp is gated (Flan-T5). Scores are not divided; what the
// first layer learns of distances is added in all.
#include "compiler/import/checkpoint/Families.h"

using namespace llvm;

namespace attn::importer {

namespace {

/// Writes one model.
class T5Writer {
public:
  explicit T5Writer(FamilyWriter &writer) : writer(writer), config(writer.config), os(writer.os) {}
  void write();

private:
  void readSizes();
  void writeParameters();
  void writeMlp(int layer);
  std::string mlp(int layer, StringRef of);
  void writeLayers();
  void writeForward();

  FamilyWriter &writer;
  Config &config;
  raw_ostream &os;
  std::string eps, act;
  std::string rows; ///< of biases by distance, where they are not as usual
  int64_t buckets = 32;
  bool isGated = false, isTied = true, isScaled = true;
};

} // namespace

void T5Writer::readSizes() {
  eps = numberText(config.number("layer_norm_epsilon", 1e-6));
  std::string form = config.text("feed_forward_proj", "relu");
  // What the library makes of the form stands in the config, too, and counts where it does.
  StringRef name = form;
  isGated = config.flag("is_gated_act", name.consume_front("gated-"));
  act = config.text("dense_act_fn", form == "gated-gelu" ? "gelu_new" : name);
  buckets = config.size("relative_attention_num_buckets", 32);
  int64_t furthest = config.size("relative_attention_max_distance", 128);
  if (buckets % 4)
    config.refuse("relative_attention_num_buckets", "a multiple of 4");
  if (furthest <= buckets / 2)
    config.refuse("relative_attention_max_distance", "more than half of the buckets");
  if (buckets != 32 || furthest != 128)
    rows = "(rows = " + std::to_string(buckets) + ", furthest = " + std::to_string(furthest) + ")";
  // Version 1.1 has a map of its own for scores, and does not scale what it takes. transformers 4
  // writes both as one key, and 5 the second as another one, beside a head that the file has or
  // not.
  bool saysTied = config.flag("tie_word_embeddings", true);
  isScaled = config.flag("scale_decoder_outputs", saysTied);
  isTied =
      saysTied && !(config.has("scale_decoder_outputs") && writer.folder.has("lm_head.weight"));
  if (writer.task != "ForConditionalGeneration")
    config.refuse("architectures", "`T5ForConditionalGeneration`");
}

void T5Writer::writeParameters() {
  int64_t layers = config.size("num_layers");
  os << "model " << writer.model << " {\ndim D = " << config.size("d_model")
     << ", H = " << config.size("num_heads") << ", E = " << config.size("d_kv")
     << ", L = " << layers << ", M = " << config.size("num_decoder_layers", layers)
     << ", F = " << config.size("d_ff") << ", V = " << config.size("vocab_size")
     << "  // width, heads, features of a head, layers of encoder and decoder, feed-forward, "
        "tokens\n"
     << "dim R = " << buckets << ", P = " << config.size("n_positions", 512)
     << "  // distances, positions\ndyn B <= 32, S <= P\n"
     << "cache own capacity P, cross capacity P\n\nembedding shared: V -> D\n"
     << "stack encoder.block: L of EncoderLayer\nstack decoder.block: M of DecoderLayer\n"
     << "rmsnorm encoder.final_layer_norm, decoder.final_layer_norm: D eps " << eps << '\n';
  for (StringRef side : {"encoder", "decoder"})
    os << "param " << side << ".relative: [R, H] = \"" << side
       << ".block.0.layer.0.SelfAttention.relative_attention_bias.weight\"\n";
  os << "linear lm_head: D -> V" << (isTied ? " = tied(shared)\n" : "\n")
     << "mask inside(b, j) with input lengths: i32[B] = j < lengths[b]  // the rest is padding\n";
  for (StringRef name :
       {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight"})
    if (writer.folder.has(name) && (isTied || name != "lm_head.weight"))
      os << "ignore \"" << name << "\"  // the same numbers as the embedding\n";
  StringRef unused = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight";
  if (writer.folder.has(unused))
    os << "ignore \"" << unused << "\"  // never used\n";
  os << '\n';
}

void T5Writer::writeMlp(int layer) {
  std::string name = "layer." + std::to_string(layer) + ".DenseReluDense.";
  os << "linear " << name << (isGated ? "wi_0, " + name + "wi_1" : std::string("wi"))
     << ": D -> F\nlinear " << name << "wo: F -> D\n";
}

std::string T5Writer::mlp(int layer, StringRef of) {
  std::string name = "layer." + std::to_string(layer) + ".DenseReluDense.";
  StringRef key = config.has("dense_act_fn") ? "dense_act_fn" : "feed_forward_proj";
  std::string up = name + (isGated ? "wi_0(" : "wi(") + of.str() + ")",
              gate = isGated ? " * " + name + "wi_1(" + of.str() + ")" : "";
  return name + "wo(" + activationOf(config, key, act, up) + gate + ")";
}

void T5Writer::writeLayers() {
  StringRef a = "layer.0.SelfAttention.", c = "layer.1.EncDecAttention.";
  auto projections = [&](StringRef of) {
    os << "linear " << of << "q, " << of << "k, " << of << "v: D -> H, E\nlinear " << of
       << "o: H, E -> D\n";
  };
  os << "block EncoderLayer(x: [B, S, D], relative: [R, H], lengths: i32[B]) -> [B, S, D] {\n"
     << "rmsnorm layer.0.layer_norm, layer.1.layer_norm: D eps " << eps << '\n';
  projections(a);
  writeMlp(1);
  os << "let n = layer.0.layer_norm(x)\nlet y = x + " << a << "o(attend " << a << "q(n) over " << a
     << "k(n), " << a << "v(n) along S as Z {\nscore dot\nbias t5_both_ways" << rows
     << "\nmask inside\n})\nlet m = "
        "layer.1.layer_norm(y)\nreturn y + "
     << mlp(1, "m") << "\n}\n\n"
     << "block DecoderLayer[T](x: [B, T, D], memory: [B, S, D], relative: [R, H], lengths: i32[B], "
        "own: cache, cross: cache) "
        "-> [B, T, D] {\nrmsnorm layer.0.layer_norm, layer.1.layer_norm, layer.2.layer_norm: D eps "
     << eps << '\n';
  projections(a);
  projections(c);
  writeMlp(2);
  os << "let n = layer.0.layer_norm(x)\nlet y = x + " << a << "o(attend " << a
     << "q(n) over own.push(" << a << "k(n), " << a
     << "v(n)) along T as Z {\nscore dot\nbias t5_before" << rows
     << "\nmask causal\n})\nlet z = y + " << c << "o(attend " << c
     << "q(layer.1.layer_norm(y)) over cross.once(" << c << "k(memory), " << c
     << "v(memory)) along S as Z {\nscore dot\nmask inside\n})\nlet m = "
        "layer.2.layer_norm(z)\nreturn z + "
     << mlp(2, "m") << "\n}\n\n";
}

void T5Writer::writeForward() {
  os << "forward[T](token: i32[B, T], source: i32[B, S], lengths: i32[B], own: cache, cross: "
        "cache) -> [B, T, V] {\n"
     << "let memory = encoder.final_layer_norm(encoder.block(shared(source), encoder.relative, "
        "lengths))\n"
     << "let y = decoder.final_layer_norm(decoder.block(shared(token), memory, decoder.relative, "
        "lengths, own, cross))\n"
     << "return lm_head(y" << (isScaled ? " * D ** -0.5" : "") << ")\n}\n";
  writeEncoderDecoderGeneration(writer, "source", config.size("n_positions", 512));
  os << "}\n";
}

void T5Writer::write() {
  readSizes();
  writeParameters();
  writeLayers();
  writeForward();
}

static void writeT5(FamilyWriter &writer) {
  writer.os << "use std.language\n"; // for its biases
  T5Writer(writer).write();
}

const Family familyT5 = {"t5", writeT5};

} // namespace attn::importer
