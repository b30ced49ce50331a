// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoders and decoders in BART's form: an encoder reads once, a decoder keeps its own keys and
// values, and those of what was read.
//
//   Lewis et al. 2020, "BART: Denoising Sequence-to-Sequence Pre-training"
//   Junczys-Dowmunt et al. 2018, "Marian: Fast Neural Machine Translation in C++": no norm of the
//     embeddings, positions by sines
//   Radford et al. 2023, "Robust Speech Recognition via Large-Scale Weak Supervision" (Whisper):
//     norms in front, two convolutions instead of an embedding, keys without bias
//   Liu et al. 2020, "Multilingual Denoising Pre-training for Neural Machine Translation" (mBART);
//     Fan et al. 2020, "Beyond English-Centric Multilingual Machine Translation" (M2M-100), and
//     the NLLB team 2022, "No Language Left Behind": norms in front
//   Zhang et al. 2020, "PEGASUS"; Roller et al. 2021, "Recipes for building an open-domain chatbot"
//     (Blenderbot); Ahmad et al. 2021, "Unified Pre-training for Program Understanding and
//     Generation" (PLBART)
#include "compiler/import/checkpoint/Families.h"

using namespace llvm;

namespace attn::importer {

namespace {

/// What a family does otherwise than BART, added up.
enum BartTrait : unsigned {
  NormsFirst = 1 << 0,  ///< of attentions and mlp, and others behind all layers
  NoTokenNorm = 1 << 1, ///< embeddings have none
  EarlyNorm = 1 << 2,   ///< in the decoder it stands in front of the positions
  Sines = 1 << 3,       ///< positions are sines, in the first half, and cosines
  PaddedSines = 1 << 4, ///< which begin behind the pad token, with another step
  FirstAtZero = 1 << 5, ///< the first learnt position is row 0, not 2
  NoScoreBias = 1 << 6, ///< of the scores of tokens
  Sound = 1 << 7,       ///< the encoder reads a spectrogram
  BareNames = 1 << 8,   ///< the class that writes is called otherwise
};

/// A family, with the published class's defaults of what a config may leave out.
struct BartKind {
  StringRef type;
  unsigned traits;
  StringRef act = "gelu";
  bool isScaled = false; ///< embeddings times the root of their width
};

const BartKind bartKinds[] = {
    {"bart", 0},
    {"plbart", 0, "gelu", true},
    {"mbart", NormsFirst},
    {"marian", Sines | NoTokenNorm | BareNames},
    {"pegasus", Sines | NoTokenNorm | NormsFirst},
    {"m2m_100", Sines | PaddedSines | NoTokenNorm | NormsFirst | NoScoreBias, "relu", true},
    {"blenderbot", NoTokenNorm | NormsFirst | FirstAtZero},
    {"blenderbot-small", EarlyNorm | FirstAtZero},
    {"whisper", Sound | NoTokenNorm | NormsFirst | NoScoreBias},
};

/// Writes one model.
class BartWriter {
public:
  BartWriter(FamilyWriter &writer, const BartKind &kind)
      : writer(writer), config(writer.config), os(writer.os), kind(kind), isWhisper(is(Sound)) {}
  void write();

private:
  /// Whether the family has a trait.
  bool is(BartTrait trait) const { return kind.traits & trait; }
  void readSizes();
  void writeSizes();
  /// How a sound becomes the spectrogram, by preprocessor_config.json.
  void writeSound();
  void writeParameters();
  /// The block that adds sines to embeddings.
  void writeSines();
  void writeAttention(StringRef name);
  void writeFed();
  void writeEncoderLayer();
  void writeDecoderLayer();
  void writeForward();
  void ignoreCopies();
  /// One layer's step behind attention or mlp: added, with the norm behind or in front of it.
  std::string added(StringRef to, StringRef what, StringRef norm) const;
  /// The layer's feed-forward.
  std::string fed(StringRef of);
  std::string input(StringRef norm, StringRef of) const {
    return (is(NormsFirst) ? norm + "(" + of + ")" : of).str();
  }
  std::string embedded(StringRef ids, StringRef axis, StringRef side) const;

  FamilyWriter &writer;
  Config &config;
  raw_ostream &os;
  const BartKind &kind;
  bool isWhisper;
  int64_t width = 0, heads = 0, decoderHeads = 0, hidden = 0, decoderHidden = 0, positions = 0,
          targets = 0;
  bool scales = false;
  /// What the sizes of the layers at hand are called: the decoder's may be others.
  std::string head = "H", feature = "E", wide = "F";
};

} // namespace

void BartWriter::readSizes() {
  width = config.size("d_model");
  heads = config.size("encoder_attention_heads");
  decoderHeads = config.size("decoder_attention_heads");
  hidden = config.size("encoder_ffn_dim");
  decoderHidden = config.size("decoder_ffn_dim");
  positions = config.size(isWhisper ? "max_source_positions" : "max_position_embeddings");
  targets = isWhisper ? config.size("max_target_positions") : positions;
  scales = !isWhisper && config.flag("scale_embedding", kind.isScaled);
  if (width % heads)
    config.refuse("encoder_attention_heads", "a divisor of `d_model`");
  if (width % decoderHeads)
    config.refuse("decoder_attention_heads", "a divisor of `d_model`");
  if (is(PaddedSines) && (width % 2 || width < 4))
    config.refuse("d_model", "an even number, 4 or more");
  for (StringRef key : {"normalize_before", "add_final_layer_norm"})
    if (config.flag(key, is(NormsFirst)) != is(NormsFirst))
      config.refuse(key, is(NormsFirst) ? "true" : "false");
  if (writer.task != "ForConditionalGeneration" && !is(BareNames))
    config.refuse("architectures", "a model `…ForConditionalGeneration`");
}

void BartWriter::writeSizes() {
  os << "model " << writer.model << " {\ndim D = " << width << ", H = " << heads
     << ", E = D / H, L = " << config.size("encoder_layers")
     << ", M = " << config.size("decoder_layers") << ", F = " << hidden
     << ", V = " << config.size("vocab_size")
     << "  // width, heads, features of a head, layers of encoder and decoder, feed-forward, "
        "tokens\n";
  if (heads != decoderHeads)
    os << "dim G = " << decoderHeads
       << ", I = D / G  // of the decoder: heads and their features\n";
  if (hidden != decoderHidden)
    os << "dim N = " << decoderHidden << "  // feed-forward of the decoder\n";
  if (isWhisper)
    os << "dim C = " << config.size("num_mel_bins") << ", S = " << positions
       << ", W = 2 * S, K = 3, P = " << targets
       << "  // bands, places of the encoder, of the spectrogram, convolutions, positions\ndyn B "
          "<= 32\n";
  else
    os << "dim P = " << positions << (is(Sines) || is(FirstAtZero) ? "" : ", R = P + 2")
       << "  // positions\ndyn B <= 32, S <= P\n";
  if (isWhisper)
    writeSound();
  os << "cache own capacity P, cross capacity " << (isWhisper ? "S" : "P") << "\n\n";
}

void BartWriter::writeSound() {
  Config values = writer.preprocessor("sounds are read as OpenAI's models do, at 16 kHz in windows "
                                      "of 400 samples");
  int64_t bands = config.size("num_mel_bins"), rate = values.size("sampling_rate", 16000),
          fft = values.size("n_fft", 400), hop = values.size("hop_length", 160),
          seconds = values.size("chunk_length", 0);
  if (values.size("feature_size", bands) != bands)
    values.refuse("feature_size", "`num_mel_bins` of config.json, " + Twine(bands));
  if (seconds && seconds * rate / hop != 2 * positions)
    values.refuse("chunk_length",
                  "twice `max_source_positions` of config.json as frames, " + Twine(2 * positions));
  os << "sound input C x W rate " << rate << " fft " << fft << " hop " << hop
     << "  // a sound becomes the spectrogram\n";
  config.adopt(values);
}

void BartWriter::ignoreCopies() {
  for (StringRef name :
       {"model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight",
        "model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight",
        "model.encoder.embed_positions.weights", "model.decoder.embed_positions.weights",
        "lm_head.weight", "proj_out.weight"}) {
    bool isUsed = isWhisper ? !name.contains("proj_out") : !is(Sines) && name.contains("positions");
    if (writer.folder.has(name) && !isUsed)
      os << "ignore \"" << name << "\"  // "
         << (name.contains("positions") ? "computed here\n"
                                        : "the same numbers as the embedding\n");
  }
}

void BartWriter::writeParameters() {
  StringRef table = isWhisper ? "model.decoder.embed_tokens" : "model.shared";
  os << "embedding " << table << ": V -> D\n";
  if (isWhisper)
    os << "linear model.encoder.conv1: C, K -> D bias\nlinear model.encoder.conv2: D, K -> D bias\n"
       << "param model.encoder.embed_positions.weight: [S, D]\nembedding "
          "model.decoder.embed_positions: P -> D\n";
  else if (!is(Sines))
    os << "embedding model.encoder.embed_positions, model.decoder.embed_positions: "
       << (is(FirstAtZero) ? "P" : "R") << " -> D\n";
  if (!is(NoTokenNorm))
    os << "layernorm model.encoder.layernorm_embedding, model.decoder.layernorm_embedding: D eps "
          "1e-5\n";
  os << "stack model.encoder.layers: L of EncoderLayer\nstack model.decoder.layers: M of "
        "DecoderLayer\n";
  if (is(NormsFirst))
    os << "layernorm model.encoder.layer_norm, model.decoder.layer_norm: D eps 1e-5\n";
  os << "linear out: D -> V = tied(" << table << ")\n";
  if (!is(NoScoreBias))
    os << "dim O = 1\nparam final_logits_bias: [O, V]\n";
  if (!isWhisper)
    os << "mask inside(b, j) with input lengths: i32[B] = j < lengths[b]  // the rest is padding\n";
  ignoreCopies();
  os << '\n';
  if (is(Sines))
    writeSines();
}

void BartWriter::writeSines() {
  os << "// Sines of the place in the first half of the features, cosines in the second.\n"
     << "block Placed[T](x: [B, T, D]) -> [B, T, D] {\n";
  if (is(PaddedSines)) {
    int64_t first = config.size("pad_token_id", 1) + 1;
    os << "dim U = D / 2\ntable at[t: T, c: D] = if c < U then sin((t + " << first
       << ") / 10000 ** (c / (U - 1))) else cos((t + " << first
       << ") / 10000 ** ((c - U) / (U - 1)))\n";
  } else {
    os << "table at[t: T, c: D] = if c < D / 2 then sin(t / 10000 ** (2 * c / D)) else cos(t / "
          "10000 ** (2 * (c - D / 2) / D))\n";
  }
  os << "return x + at\n}\n\n";
}

void BartWriter::writeAttention(StringRef name) {
  os << "linear " << name << ".q_proj, ";
  if (!isWhisper)
    os << name << ".k_proj, ";
  std::string inner = head + ", " + feature;
  os << name << ".v_proj: D -> " << inner << " bias\n";
  if (isWhisper)
    os << "linear " << name << ".k_proj: D -> " << inner << '\n';
  os << "linear " << name << ".out_proj: " << inner << " -> D bias\n";
}

void BartWriter::writeFed() {
  os << "linear fc1: D -> " << wide << " bias\nlinear fc2: " << wide << " -> D bias\n";
}

std::string BartWriter::added(StringRef to, StringRef what, StringRef norm) const {
  std::string sum = (to + " + " + what).str();
  return is(NormsFirst) ? sum : (norm + "(" + sum + ")").str();
}

std::string BartWriter::fed(StringRef of) {
  std::string up = "fc1(" + input("final_layer_norm", of) + ")";
  return added(of, "fc2(" + activation(config, "activation_function", kind.act, up) + ")",
               "final_layer_norm");
}

void BartWriter::writeEncoderLayer() {
  os << "block EncoderLayer(x: [B, S, D]" << (isWhisper ? "" : ", lengths: i32[B]")
     << ") -> [B, S, D] {\n";
  writeAttention("self_attn");
  os << "layernorm self_attn_layer_norm, final_layer_norm: D eps 1e-5\n";
  writeFed();
  if (is(NormsFirst))
    os << "let n = self_attn_layer_norm(x)\n";
  StringRef n = is(NormsFirst) ? "n" : "x";
  os << "let a = attend self_attn.q_proj(" << n << ") over self_attn.k_proj(" << n
     << "), self_attn.v_proj(" << n << ") along S as Z { "
     << (isWhisper ? "score scaled_dot" : "mask inside") << " }\n"
     << "let y = " << added("x", "self_attn.out_proj(a)", "self_attn_layer_norm") << '\n'
     << "return " << fed("y") << "\n}\n\n";
}

void BartWriter::writeDecoderLayer() {
  if (heads != decoderHeads)
    head = "G", feature = "I";
  if (hidden != decoderHidden)
    wide = "N";
  os << "block DecoderLayer[T](x: [B, T, D], memory: [B, S, D]"
     << (isWhisper ? "" : ", lengths: i32[B]") << ", own: cache, cross: cache) -> [B, T, D] {\n";
  writeAttention("self_attn");
  writeAttention("encoder_attn");
  os << "layernorm self_attn_layer_norm, encoder_attn_layer_norm, final_layer_norm: D eps 1e-5\n";
  writeFed();
  if (is(NormsFirst))
    os << "let n = self_attn_layer_norm(x)\n";
  StringRef n = is(NormsFirst) ? "n" : "x";
  os << "let a = attend self_attn.q_proj(" << n << ") over own.push(self_attn.k_proj(" << n
     << "), self_attn.v_proj(" << n << ")) along T as Z { mask causal }\nlet y = "
     << added("x", "self_attn.out_proj(a)", "self_attn_layer_norm")
     << "\nlet c = attend encoder_attn.q_proj(" << input("encoder_attn_layer_norm", "y")
     << ") over cross.once(encoder_attn.k_proj(memory), encoder_attn.v_proj(memory)) along S as Z "
        "{ "
     << (isWhisper ? "score scaled_dot" : "mask inside")
     << " }\nlet z = " << added("y", "encoder_attn.out_proj(c)", "encoder_attn_layer_norm")
     << "\nreturn " << fed("z") << "\n}\n\n";
}

std::string BartWriter::embedded(StringRef ids, StringRef axis, StringRef side) const {
  std::string table = isWhisper ? "model.decoder.embed_tokens" : "model.shared",
              text = table + "(" + ids.str() + ")";
  if (scales)
    text += " * D ** 0.5";
  if (is(Sines))
    return "Placed(" + text + ")";
  std::string at = (" + model." + side + ".embed_positions(positions(" + axis + ")").str() +
                   (isWhisper || is(FirstAtZero) ? ")" : " + 2)"),
              norm = ("model." + side + ".layernorm_embedding(").str();
  if (is(NoTokenNorm))
    return text + at;
  if (is(EarlyNorm) && side == "decoder")
    return norm + text + ")" + at;
  return norm + text + at + ")";
}

void BartWriter::writeForward() {
  os << "forward[T](token: i32[B, T], "
     << (isWhisper ? "mel: [B, C, W]" : "source: i32[B, S], lengths: i32[B]")
     << ", own: cache, cross: cache) -> [B, T, V] {\n";
  StringRef more = isWhisper ? "" : ", lengths";
  if (isWhisper)
    os << "let a = gelu(model.encoder.conv1(windows(mel, W as K, pad = 1)))\n"
       << "let b = gelu(model.encoder.conv2(windows(a, W = S by 2 as K, pad = 1)))\n"
       << "let memory = model.encoder.layer_norm(model.encoder.layers(b + "
          "model.encoder.embed_positions.weight))\n";
  else
    os << "let memory = "
       << input("model.encoder.layer_norm",
                "model.encoder.layers(" + embedded("source", "S", "encoder") + ", lengths)")
       << '\n';
  os << "let y = model.decoder.layers(" << embedded("token", "T", "decoder") << ", memory" << more
     << ", own, cross)\n"
     << "return out(" << input("model.decoder.layer_norm", "y") << ")"
     << (is(NoScoreBias) ? "" : " + first(O, final_logits_bias)") << "\n}\n";
  writeEncoderDecoderGeneration(writer, isWhisper ? "mel" : "source", targets);
  os << "}\n";
}

void BartWriter::write() {
  readSizes();
  writeSizes();
  writeParameters();
  writeEncoderLayer();
  writeDecoderLayer();
  writeForward();
}

static void writeBart(FamilyWriter &writer) {
  const auto *kind =
      find_if(bartKinds, [&](const BartKind &one) { return one.type == writer.type; });
  BartWriter(writer, *kind).write();
}

const Family familyBart = {
    "bart plbart mbart marian pegasus m2m_100 blenderbot blenderbot-small whisper", writeBart};

} // namespace attn::importer
