// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// T5: Raffel et al. 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text
// Transformer", and its version 1.1, whose mlp is gated (Flan-T5). Scores are not divided; what the
// first layer learns of distances is added in all. Xue et al. 2021, "mT5: A massively multilingual
// pre-trained text-to-text transformer"; Chung et al. 2023, "UniMax" (umT5), where each layer
// learns of distances. Ni et al. 2022, "Sentence-T5": the encoder alone makes vectors of texts.
#include "compiler/import/checkpoint/Families.h"

using namespace llvm;

namespace attn::importer {

namespace {

/// Writes one model.
class T5Writer {
public:
  explicit T5Writer(FamilyWriter &writer)
      : writer(writer), config(writer.config), os(writer.os), isMt5(writer.type == "mt5"),
        isUmt5(writer.type == "umt5") {}
  void write();

private:
  void readSizes();
  /// Whether the scores' map is the embedding's, and whether what it takes is scaled.
  void readHead();
  void writeParameters();
  /// The tables of distances that all layers of a side share.
  void writeTables();
  void writeIgnored();
  void writeMlp(int layer);
  std::string mlp(int layer, StringRef of);
  void writeProjections(StringRef of);
  void writeEncoderLayer();
  void writeDecoderLayer();
  void writeForward();
  /// The entry of an encoder alone.
  void writeEncoder();
  /// What gives a layer the table that its stack shares, where it does.
  StringRef shared(StringRef text) const { return isUmt5 ? "" : text; }

  FamilyWriter &writer;
  Config &config;
  raw_ostream &os;
  std::string eps, act;
  std::string rows; ///< of biases by distance, where they are not as usual
  int64_t buckets = 32;
  bool isMt5, isUmt5, isGated = false, isTied = true, isScaled = true;
  bool isEncoder = false; ///< without a decoder
  Sentence sentence;      ///< empty where the folder is no sentence encoder's
};

} // namespace

void T5Writer::readSizes() {
  eps = numberText(config.number("layer_norm_epsilon", 1e-6));
  std::string form = config.text("feed_forward_proj", isMt5 || isUmt5 ? "gated-gelu" : "relu");
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
  isEncoder =
      StringRef(writer.architecture).ends_with("EncoderModel") || writer.folder.isSentence();
  if (isEncoder)
    config.passOver({"tie_word_embeddings", "scale_decoder_outputs", "num_decoder_layers",
                     "is_encoder_decoder"});
  else if (writer.task != "ForConditionalGeneration")
    config.refuse("architectures", "a model `…ForConditionalGeneration`, or `…EncoderModel`");
  else
    readHead();
  if (writer.folder.isSentence()) {
    sentence = readSentence(writer, config.size("d_model"));
    notePrompts(writer);
  }
}

void T5Writer::readHead() {
  // Version 1.1 has a map of its own for scores, and does not scale what it takes. transformers 4
  // writes both as one key, and 5 the second as another one, beside a head that the file has or
  // not.
  bool saysTied = config.flag("tie_word_embeddings", true),
       hasHead = writer.folder.has("lm_head.weight");
  isScaled = config.flag("scale_decoder_outputs", saysTied);
  isTied = saysTied && !(config.has("scale_decoder_outputs") && hasHead);
  if (isMt5 ||
      isUmt5) // whose classes in 5 use the file's head whatever is said, and mT5's no scale
    isTied = !hasHead, isScaled = isUmt5 && (saysTied || !hasHead);
}

void T5Writer::writeTables() {
  for (StringRef side : {"encoder", "decoder"})
    if (!isUmt5 && (side == "encoder" || !isEncoder))
      os << "param " << side << ".relative: [R, H] = \"" << side
         << ".block.0.layer.0.SelfAttention.relative_attention_bias.weight\"\n";
}

void T5Writer::writeIgnored() {
  for (StringRef name :
       {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight"})
    if (writer.folder.has(name) && !isEncoder && (isTied || name != "lm_head.weight"))
      os << "ignore \"" << name << "\"  // the same numbers as the embedding\n";
  StringRef unused = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight";
  if (writer.folder.has(unused) && !isEncoder)
    os << "ignore \"" << unused << "\"  // never used\n";
  if (writer.folder.has("encoder.embed_tokens.weight") && isEncoder)
    os << "ignore \"encoder.embed_tokens.weight\"  // the same numbers as the embedding\n";
  for (StringRef part : {"decoder", "lm_head"})
    if (isEncoder && writer.folder.hasWithin(part))
      os << "ignore \"" << part << ".*\"  // of the decoder\n";
}

void T5Writer::writeParameters() {
  int64_t layers = config.size("num_layers"), positions = config.size("n_positions", 512);
  os << "model " << writer.model << " {\ndim D = " << config.size("d_model")
     << ", H = " << config.size("num_heads") << ", E = " << config.size("d_kv")
     << ", L = " << layers;
  if (!isEncoder)
    os << ", M = " << config.size("num_decoder_layers", layers);
  os << ", F = " << config.size("d_ff") << ", V = " << config.size("vocab_size")
     << "  // width, heads, features of a head, layers"
     << (isEncoder ? "" : " of encoder and decoder") << ", feed-forward, tokens\n"
     << "dim R = " << buckets;
  if (isEncoder)
    os << "  // distances\ndyn B <= 64, T <= " << sentenceLength(writer, positions) << "\n\n";
  else
    os << ", P = " << positions << "  // distances, positions\ndyn B <= 32, S <= P\n"
       << "cache own capacity P, cross capacity P\n\n";
  os << "embedding shared: V -> D\nstack encoder.block: L of EncoderLayer\n";
  if (!isEncoder)
    os << "stack decoder.block: M of DecoderLayer\n";
  os << "rmsnorm encoder.final_layer_norm" << (isEncoder ? "" : ", decoder.final_layer_norm")
     << ": D eps " << eps << '\n';
  writeTables();
  if (!isEncoder)
    os << "linear lm_head: D -> V" << (isTied ? " = tied(shared)\n" : "\n");
  os << sentence.parameters
     << "mask inside(b, j) with input lengths: i32[B] = j < lengths[b]  // the rest is padding\n";
  writeIgnored();
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

void T5Writer::writeProjections(StringRef of) {
  os << "linear " << of << "q, " << of << "k, " << of << "v: D -> H, E\nlinear " << of
     << "o: H, E -> D\n";
  if (isUmt5 && of.contains("SelfAttention"))
    os << "param relative: [R, H] = \"" << of << "relative_attention_bias.weight\"\n";
}

void T5Writer::writeEncoderLayer() {
  StringRef a = "layer.0.SelfAttention.", t = isEncoder ? "T" : "S";
  os << "block EncoderLayer(x: [B, " << t << ", D]" << shared(", relative: [R, H]")
     << ", lengths: i32[B]) -> [B, " << t << ", D] {\n"
     << "rmsnorm layer.0.layer_norm, layer.1.layer_norm: D eps " << eps << '\n';
  writeProjections(a);
  writeMlp(1);
  os << "let n = layer.0.layer_norm(x)\nlet y = x + " << a << "o(attend " << a << "q(n) over " << a
     << "k(n), " << a << "v(n) along " << t << " as Z {\nscore dot\nbias t5_both_ways" << rows
     << "\nmask inside\n})\nlet m = "
        "layer.1.layer_norm(y)\nreturn y + "
     << mlp(1, "m") << "\n}\n\n";
}

void T5Writer::writeDecoderLayer() {
  StringRef a = "layer.0.SelfAttention.", c = "layer.1.EncDecAttention.";
  os << "block DecoderLayer[T](x: [B, T, D], memory: [B, S, D]" << shared(", relative: [R, H]")
     << ", lengths: i32[B], own: cache, cross: cache) "
        "-> [B, T, D] {\nrmsnorm layer.0.layer_norm, layer.1.layer_norm, layer.2.layer_norm: D eps "
     << eps << '\n';
  writeProjections(a);
  writeProjections(c);
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
     << "let memory = encoder.final_layer_norm(encoder.block(shared(source)"
     << shared(", encoder.relative") << ", lengths))\n"
     << "let y = decoder.final_layer_norm(decoder.block(shared(token), memory"
     << shared(", decoder.relative") << ", lengths, own, cross))\n"
     << "return lm_head(y" << (isScaled ? " * D ** -0.5" : "") << ")\n}\n";
  writeEncoderDecoderGeneration(writer, "source", config.size("n_positions", 512));
  os << "}\n";
}

void T5Writer::writeEncoder() {
  bool isSentence = writer.folder.isSentence();
  os << "entry " << (isSentence ? "embed" : "encode") << "(ids: i32[B, T], lengths: i32[B]) -> "
     << (isSentence ? "embedding: " + sentence.type() : "hidden: [B, T, D]")
     << " {\nlet y = encoder.final_layer_norm(encoder.block(shared(ids)"
     << shared(", encoder.relative") << ", lengths))\n"
     << (isSentence ? sentence.body : "return y\n") << "}\n}\n";
}

void T5Writer::write() {
  readSizes();
  writeParameters();
  writeEncoderLayer();
  if (isEncoder)
    return writeEncoder();
  writeDecoderLayer();
  writeForward();
}

static void writeT5(FamilyWriter &writer) {
  writer.os << "use std.language\n"; // for its biases
  T5Writer(writer).write();
}

const Family familyT5 = {"t5 mt5 umt5", writeT5};

} // namespace attn::importer
