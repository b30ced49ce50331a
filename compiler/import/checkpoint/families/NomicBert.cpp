// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nussbaum et al. 2024, "Nomic Embed: Training a Reproducible Long Context Text Embedder": BERT
// with rotary positions, gates and no biases of linears.
#include "compiler/import/checkpoint/Families.h"
#include "compiler/import/checkpoint/Rope.h"

using namespace llvm;

namespace attn::importer {

namespace {

/// What the two forms of a config.json call the same sizes: that of the model's own code, and the
/// library's, which has a class of its own from version 5 on. The tensors are called alike.
struct NomicKeys {
  StringRef width, heads, layers, hidden, positions, eps;
};

constexpr NomicKeys ownKeys = {"n_embd",  "n_head",      "n_layer",
                               "n_inner", "n_positions", "layer_norm_epsilon"},
                    libraryKeys = {
                        "hidden_size",       "num_attention_heads",     "num_hidden_layers",
                        "intermediate_size", "max_position_embeddings", "layer_norm_eps"};

} // namespace

/// Refuses what the published models do not have, in the form of their own code.
static void refuseOthers(Config &config) {
  if (config.text("activation_function", "gelu") != "swiglu")
    config.refuse("activation_function", "`swiglu`");
  for (StringRef key : {"prenorm", "causal", "use_rms_norm", "qkv_proj_bias", "mlp_fc1_bias",
                        "mlp_fc2_bias", "rotary_emb_interleaved"})
    if (config.flag(key, false))
      config.refuse(key, "false");
  if (config.number("rotary_emb_fraction").value_or(1) != 1)
    config.refuse("rotary_emb_fraction", "1: all features of a head are turned");
  for (StringRef key : {"rotary_emb_scale_base", "moe_every_n_layers"})
    if (config.number(key).value_or(0) != 0)
      config.refuse(key, "null, or 0");
}

/// How many positions a text can have. Behind those that it was trained on, the published code
/// turns by a base that depends on the length.
static int64_t positionsOf(Config &config, StringRef key) {
  int64_t positions = config.size(key);
  int64_t trained = config.size("max_trained_positions", positions);
  if (trained < positions)
    config.note("texts have up to " + Twine(trained) + " tokens, of `" + key + "` " +
                Twine(positions) + ": on more it was not trained");
  return std::min(trained, positions);
}

/// How queries and keys are turned.
static Rotation rotationOf(Config &config, bool isLibrary, int64_t features, int64_t positions) {
  if (!isLibrary) {
    Rotation rotation;
    rotation.base = config.number("rotary_emb_base", 10000), rotation.turned = features;
    return rotation;
  }
  Config parameters = config.within("rope_parameters");
  RopeReader rope{config, features, positions};
  Rotation rotation = rope.read(parameters, "rope_theta", 1000);
  if (rotation.shortLength)
    config.refuse("rope_parameters", "another rule than `longrope`: texts have no cache whose "
                                     "length would choose among its factors");
  return rotation;
}

static void writeNomicBert(FamilyWriter &writer) {
  Config &config = writer.config;
  raw_ostream &os = writer.os;
  if (!writer.task.empty())
    config.refuse("architectures", "the bare model, `NomicBertModel`");
  bool isLibrary = config.has("hidden_size");
  const NomicKeys &keys = isLibrary ? libraryKeys : ownKeys;
  if (!isLibrary)
    refuseOthers(config);
  int64_t width = config.size(keys.width), heads = config.size(keys.heads);
  int64_t features = isLibrary ? config.size("head_dim", std::max<int64_t>(width / heads, 1))
                               : std::max<int64_t>(width / heads, 1);
  if (width % heads && !config.has("head_dim"))
    config.refuse(keys.heads, "a divisor of `" + keys.width + "`");
  std::string eps = numberText(config.number(keys.eps, 1e-12)),
              act = isLibrary ? activation(config, "hidden_act", "silu", "mlp.fc12(y)")
                              : "silu(mlp.fc12(y))";
  bool isSentence = writer.folder.isSentence();
  Sentence sentence = isSentence ? readSentence(writer, width) : Sentence();
  int64_t most = positionsOf(config, keys.positions);
  Rotation rotation = rotationOf(config, isLibrary, features, most);
  if (isSentence) {
    most = sentenceLength(writer, most);
    notePrompts(writer);
  }
  os << "model " << writer.model << " {\ndim D = " << width << ", H = " << heads << ", E = ";
  if (features * heads == width)
    os << "D / H";
  else
    os << features;
  os << ", L = " << config.size(keys.layers) << ", F = " << config.size(keys.hidden, 4 * width)
     << ", V = " << config.size("vocab_size")
     << "  // width, heads, features of a head, layers, feed-forward, tokens\n"
     << "dim N = " << config.size("type_vocab_size") << "  // segments\n"
     << "dyn B <= 64, T <= " << most << "\n\n"
     << "embedding embeddings.word_embeddings: V -> D\n"
     << "embedding embeddings.token_type_embeddings: N -> D\n"
     << "layernorm emb_ln: D eps " << eps << "\nstack encoder.layers: L of Layer\n"
     << sentence.parameters << "\n"
     << "mask inside(b, j) with input lengths: i32[B] = j < lengths[b]  // the rest is padding\n\n"
     << "block Layer[T](x: [B, T, D], lengths: i32[B]) -> [B, T, D] {\n"
     << "linear attn.q, attn.k, attn.v: D -> H, E = split(\"attn.Wqkv\", q k v)\n"
     << "linear attn.out_proj: H, E -> D\nlinear mlp.fc11, mlp.fc12: D -> F\n"
     << "linear mlp.fc2: F -> D\nlayernorm norm1, norm2: D eps " << eps << '\n'
     << rotation.tableLine("turns", "E")
     << "let q = " << rotation.applied("attn.q(x)", "half", "turns", "") << "\n"
     << "let k = " << rotation.applied("attn.k(x)", "half", "turns", "") << "\n"
     << "let a = attend q over k, attn.v(x) along T as S {\nmask inside\n}\n"
     << "let y = norm1(x + attn.out_proj(a))\n"
     << "return norm2(y + mlp.fc2(mlp.fc11(y) * " << act << "))\n}\n\n"
     << "entry " << (isSentence ? "embed" : "encode")
     << "(ids: i32[B, T], segments: i32[B, T], lengths: i32[B]) -> "
     << (isSentence ? "embedding: " + sentence.type() : "hidden: [B, T, D]") << " {\n"
     << "let x = embeddings.word_embeddings(ids) + embeddings.token_type_embeddings(segments)\n"
     << "let y = encoder.layers(emb_ln(x), lengths)\n"
     << (isSentence ? sentence.body : "return y\n") << "}\n}\n";
}

const Family familyNomicBert = {"nomic_bert", writeNomicBert};

} // namespace attn::importer
