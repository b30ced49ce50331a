// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoders of pictures with decoders of text.
//
//   Li et al. 2021, "TrOCR: Transformer-based Optical Character Recognition with Pre-trained
//     Models": a vision transformer reads a line of text, a decoder in BART's form writes it
#include "compiler/import/checkpoint/families/Vit.h"

using namespace llvm;

namespace attn::importer {

namespace {

/// Writes one encoder with its decoder.
class TrocrWriter {
public:
  TrocrWriter(FamilyWriter &writer, FamilyWriter &encoder, FamilyWriter &decoder)
      : writer(writer), config(decoder.config), os(writer.os), decoder(decoder), vit(encoder) {}
  void write();

private:
  void readSizes();
  void writeParameters();
  void writeAttention(StringRef name, StringRef memory);
  void writeLayer();
  void writeForward();
  /// Tokens as the decoder's first layer takes them.
  std::string embedded() const;
  bool has(const Twine &name) const { return writer.folder.has((body + name).str()); }

  FamilyWriter &writer;
  Config &config;
  raw_ostream &os;
  FamilyWriter &decoder;
  VitWriter vit;
  const std::string body = "decoder.model.decoder.";
  int64_t width = 0, heads = 0, positions = 0, pad = 1;
  bool isLearnt = true, isScaled = false, hasNorm = true, isProjected = false;
};

} // namespace

void TrocrWriter::readSizes() {
  width = config.size("d_model");
  heads = config.size("decoder_attention_heads");
  positions = config.size("max_position_embeddings");
  pad = config.size("pad_token_id", 1);
  isLearnt = config.flag("use_learned_position_embeddings", true);
  isScaled = config.flag("scale_embedding", false);
  hasNorm = config.flag("layernorm_embedding", true);
  isProjected = writer.folder.has("enc_to_dec_proj.weight");
  if (width % heads || width % 2 || width < 4)
    config.refuse("d_model", "a multiple of the heads, even, and 4 or more");
  int64_t memory = config.size("cross_attention_hidden_size", width),
          found = isProjected ? width : vit.features();
  if (memory != found)
    config.refuse("cross_attention_hidden_size", Twine(found) + ", as wide as what is read");
}

void TrocrWriter::writeParameters() {
  os << "dim D1 = " << width << ", H1 = " << heads
     << ", E1 = D1 / H1, L1 = " << config.size("decoder_layers")
     << ", F1 = " << config.size("decoder_ffn_dim") << ", V = " << config.size("vocab_size")
     << ", O = " << positions << (isLearnt ? ", O2 = O + 2" : "")
     << "  // the decoder's width, heads, features of a head, layers, feed-forward, tokens, "
        "positions\ncache own capacity O, cross capacity N\n"
     << "embedding " << body << "embed_tokens: V -> D1\n";
  if (isLearnt)
    os << "embedding " << body << "embed_positions: O2 -> D1\n";
  else if (has("embed_positions._float_tensor"))
    os << "ignore \"" << body << "embed_positions._float_tensor\"  // of no use\n";
  if (hasNorm)
    os << "layernorm " << body << "layernorm_embedding: D1 eps 1e-5\n";
  os << "stack " << body << "layers: L1 of DecoderLayer\n";
  if (isProjected)
    os << "linear enc_to_dec_proj: D -> D1 bias\n";
  if (writer.folder.has("decoder.output_projection.weight"))
    os << "linear decoder.output_projection: D1 -> V\n\n";
  else
    os << "linear decoder.output_projection: D1 -> V = tied(" << body << "embed_tokens)\n\n";
  if (!isLearnt)
    os << "// Sines of the position in the first half of the features, cosines in the second; the "
          "first is behind that of padding.\n"
       << "block Placed[T](x: [B, T, D1]) -> [B, T, D1] {\ndim G1 = D1 / 2\n"
       << "table at[t: T, c: D1] = if c < G1 then sin((t + " << pad + 1
       << ") / 10000 ** (c / (G1 - 1))) else cos((t + " << pad + 1
       << ") / 10000 ** ((c - G1) / (G1 - 1)))\nreturn x + at\n}\n\n";
}

void TrocrWriter::writeAttention(StringRef name, StringRef memory) {
  os << "linear " << name << ".q_proj: D1 -> H1, E1 bias\nlinear " << name << ".k_proj, " << name
     << ".v_proj: " << memory << " -> H1, E1 bias\nlinear " << name
     << ".out_proj: H1, E1 -> D1 bias\n";
}

void TrocrWriter::writeLayer() {
  StringRef memory = isProjected ? "D1" : "D";
  os << "block DecoderLayer[T](x: [B, T, D1], memory: [B, N, " << memory
     << "], own: cache, cross: cache) -> [B, T, D1] {\n";
  writeAttention("self_attn", "D1");
  writeAttention("encoder_attn", memory);
  os << "layernorm self_attn_layer_norm, encoder_attn_layer_norm, final_layer_norm: D1 eps 1e-5\n"
     << "linear fc1: D1 -> F1 bias\nlinear fc2: F1 -> D1 bias\n"
     << "let a = attend self_attn.q_proj(x) over own.push(self_attn.k_proj(x), "
        "self_attn.v_proj(x)) along T as Z { mask causal }\n"
     << "let y = self_attn_layer_norm(x + self_attn.out_proj(a))\n"
     << "let c = attend encoder_attn.q_proj(y) over cross.once(encoder_attn.k_proj(memory), "
        "encoder_attn.v_proj(memory)) along N as Z { score scaled_dot }\n"
     << "let z = encoder_attn_layer_norm(y + encoder_attn.out_proj(c))\n"
     << "return final_layer_norm(z + fc2("
     << activation(config, "activation_function", "gelu", "fc1(z)") << "))\n}\n\n";
}

std::string TrocrWriter::embedded() const {
  std::string text = body + "embed_tokens(token)" + (isScaled ? " * D1 ** 0.5" : "");
  text =
      isLearnt ? text + " + " + body + "embed_positions(positions(T) + 2)" : "Placed(" + text + ")";
  return hasNorm ? body + "layernorm_embedding(" + text + ")" : text;
}

void TrocrWriter::writeForward() {
  os << vit.pictureLine()
     << "forward[T](token: i32[B, T], image: [B, C, Y*P, X*Q], own: cache, cross: cache) -> [B, T, "
        "V] {\n";
  vit.writeStates();
  os << "let z = " << body << "layers(" << embedded() << ", "
     << (isProjected ? "enc_to_dec_proj(y)" : "y")
     << ", own, cross)\nreturn decoder.output_projection(z)\n}\n";
  writeEncoderDecoderGeneration(decoder, "image", positions);
  os << "}\n";
}

void TrocrWriter::write() {
  vit.read();
  readSizes();
  vit.writeParameters();
  writeParameters();
  vit.writeLayer();
  writeLayer();
  writeForward();
}

static void writeTrocr(FamilyWriter &writer) {
  Config &config = writer.config;
  Config encoder = config.within("encoder"), decoder = config.within("decoder");
  std::string encoderType = encoder.text("model_type", "");
  if (!is_contained({"vit", "deit", "beit"}, encoderType))
    encoder.refuse("model_type", "vit, deit or beit");
  if (decoder.text("model_type", "") != "trocr")
    decoder.refuse("model_type", "trocr");
  FamilyWriter encoderWriter{writer.folder, encoder, writer.os, encoderType, writer.model, "", ""},
      decoderWriter{writer.folder, decoder, writer.os, "trocr", writer.model, "", ""};
  encoderWriter.within = "encoder.";
  TrocrWriter(writer, encoderWriter, decoderWriter).write();
  config.adopt(encoder);
  config.adopt(decoder);
}

const Family familyTrocr = {"vision-encoder-decoder", writeTrocr};

} // namespace attn::importer
