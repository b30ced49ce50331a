// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nussbaum et al. 2024, "Nomic Embed: Training a Reproducible Long Context Text Embedder": BERT
// with rotary positions, gates and no biases of linears.
#include "compiler/import/folder/Families.h"

using namespace llvm;

namespace attn::importer {

/// Refuses what the published models do not have.
static void refuseOthers(FamilyWriter &writer) {
  Config &config = writer.config;
  if (!writer.task.empty())
    config.refuse("architectures", "the bare model, `NomicBertModel`");
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
static int64_t positionsOf(Config &config) {
  int64_t positions = config.size("n_positions");
  int64_t trained = config.size("max_trained_positions", positions);
  if (trained < positions)
    config.note("texts have up to " + Twine(trained) + " tokens, of `n_positions` " +
                Twine(positions) + ": on more it was not trained");
  return std::min(trained, positions);
}

void writeNomicBert(FamilyWriter &writer) {
  refuseOthers(writer);
  Config &config = writer.config;
  raw_ostream &os = writer.os;
  int64_t width = config.size("n_embd"), heads = config.size("n_head");
  if (width % heads)
    config.refuse("n_head", "a divisor of `n_embd`");
  std::string eps = numberText(config.number("layer_norm_epsilon", 1e-12)),
              base = numberText(config.number("rotary_emb_base", 10000));
  bool isSentence = writer.folder.isSentence();
  Sentence sentence = isSentence ? readSentence(writer, width) : Sentence();
  int64_t most = positionsOf(config);
  if (isSentence) {
    most = sentenceLength(writer, most);
    notePrompts(writer);
  }
  os << "model " << writer.model << " {\ndim D = " << width << ", H = " << heads
     << ", E = D / H, L = " << config.size("n_layer")
     << ", F = " << config.size("n_inner", 4 * width) << ", V = " << config.size("vocab_size")
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
     << "let q = rotary(attn.q(x), T, half, base = " << base << ")\n"
     << "let k = rotary(attn.k(x), T, half, base = " << base << ")\n"
     << "let a = attend q over k, attn.v(x) along T as S {\nmask inside\n}\n"
     << "let y = norm1(x + attn.out_proj(a))\n"
     << "return norm2(y + mlp.fc2(mlp.fc11(y) * silu(mlp.fc12(y))))\n}\n\n"
     << "entry " << (isSentence ? "embed" : "encode")
     << "(ids: i32[B, T], segments: i32[B, T], lengths: i32[B]) -> "
     << (isSentence ? "embedding: [B, " + sentence.axis + "]" : "hidden: [B, T, D]") << " {\n"
     << "let x = embeddings.word_embeddings(ids) + embeddings.token_type_embeddings(segments)\n"
     << "let y = encoder.layers(emb_ln(x), lengths)\n"
     << (isSentence ? sentence.body : "return y\n") << "}\n}\n";
}

} // namespace attn::importer
