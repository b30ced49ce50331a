// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention with latent keys and values: DeepSeek-AI 2024, "DeepSeek-V2", section 2.1. A token
// leaves one short row, which keys and values of all heads are maps of, and features of a key that
// turn, which are the same in all heads. The cache keeps these two alone. The maps are absorbed, as
// section 2.1.2 there says: that of keys is applied to queries, the other way round, and that of
// values to what attention gives, so neither is applied to what is in the cache.
#include "compiler/import/checkpoint/families/llama/Llama.h"
#include <cmath>

using namespace llvm;

namespace attn::importer {

void LlamaConfig::readLatent() {
  groups = config.size("num_key_value_heads", heads);
  if (groups != heads)
    config.refuse("num_key_value_heads", Twine(heads) + ", which is `num_attention_heads`");
  groups = heads;
  const LlamaLatent &own = kind.latent;
  bool isSilent = config.isSilent("q_lora_rank");
  latent.ofQueries = isSilent && !writer.ofLlamaCpp() ? own.ofQueries
                     : config.has("q_lora_rank")      ? config.size("q_lora_rank")
                                                      : 0;
  latent.ofKeys = config.size("kv_lora_rank", own.ofKeys);
  latent.plain = config.size("qk_nope_head_dim", own.plain);
  latent.turned = config.size("qk_rope_head_dim", own.turned);
  latent.values =
      config.size("v_head_dim", own.values ? own.values : std::max<int64_t>(width / heads, 1));
  features = latent.turned;
  if (features % 2)
    config.refuse("qk_rope_head_dim", "an even number of features, whose pairs turn");
}

void LlamaConfig::scaleLatent(Config &rope) {
  queryScale = 1 / std::sqrt(double(latent.plain + latent.turned));
  std::string type = rope.text("rope_type", rope.text("type", "default"));
  double weight = type == "default" ? 0 : rope.number("mscale_all_dim").value_or(0);
  if (!weight)
    return;
  std::optional<double> factor = rope.number("factor");
  if (!factor)
    rope.refuse("factor", "a number, by which scores are scaled");
  double strength = factor.value_or(1) <= 1 ? 1 : 0.1 * weight * std::log(*factor) + 1;
  queryScale *= strength * strength;
}

void LlamaWriter::writeLatentDims() {
  os << "dim " << (latent.ofQueries ? "Q = " + std::to_string(latent.ofQueries) + ", " : "")
     << "K = " << latent.ofKeys << ", N = " << latent.plain << ", P = " << latent.values
     << ", NE = N + E, KE = K + E  // "
     << (latent.ofQueries ? "ranks of queries and of keys" : "rank of keys and values")
     << ", features that do not turn, of values\n";
}

/// Whether the maps of keys and of values are tensors of their own, as in newer GGUF files.
bool LlamaWriter::areMapsApart() const {
  return writer.folder.has(prefix + "layers.0.self_attn.k_b_proj.weight");
}

void LlamaWriter::declareLatent() {
  StringRef bias = hasBias ? " bias" : "";
  // The published classes' own, whatever the config says; llama.cpp has the model's.
  double own = writer.ofLlamaCpp() ? eps : 1e-6;
  if (latent.ofQueries)
    os << "linear self_attn.q_a_proj: D -> Q" << bias << '\n'
       << norms.declared({"self_attn.q_a_layernorm"}, "Q", own)
       << "linear self_attn.q_b_proj: Q -> H, NE\n";
  else
    os << "linear self_attn.q_proj: D -> H, NE\n";
  os << "linear self_attn.kv_a_proj_with_mqa: D -> KE" << bias << '\n'
     << norms.declared({"self_attn.kv_a_layernorm"}, "K", own);
  if (areMapsApart())
    os << "linear self_attn.k_b_proj: N -> K along H\n"
       << "linear self_attn.v_b_proj: K -> P along H\n";
  else
    os << "linear self_attn.up_k: N -> K along H = split(\"self_attn.kv_b_proj\", h up_k up_v) "
          "@conv1d\n"
       << "linear self_attn.up_v: K -> P along H = split(\"self_attn.kv_b_proj\", h up_k up_v)\n";
  os << "linear self_attn." << kind.out << ": H, P -> D" << (hasOutBias ? " bias" : "") << '\n';
}

std::string LlamaWriter::attendedLatent(StringRef n) {
  std::string queries =
      latent.ofQueries
          ? ("self_attn.q_b_proj(self_attn.q_a_layernorm(self_attn.q_a_proj(" + n + ")))").str()
          : ("self_attn.q_proj(" + n + ")").str();
  os << "let q, q_turning = unpack(" << queries << ", NE as N, E)\n"
     << "let c, k_turning = unpack(self_attn.kv_a_proj_with_mqa(" << n << "), KE as K, E)\n"
     << "let row = self_attn.kv_a_layernorm(c)\n";
  std::string turnedQueries = turnedByLayer("q", "q_turning"),
              turnedKeys = turnedByLayer("k", "k_turning");
  StringRef ofKeys = areMapsApart() ? "self_attn.k_b_proj" : "self_attn.up_k",
            ofValues = areMapsApart() ? "self_attn.v_b_proj" : "self_attn.up_v";
  os << "let looking = pack(KE, " << ofKeys << "(q), " << turnedQueries
     << (temper ? ") * temper\n" : ")\n");
  if (isEncoder)
    os << "let k = pack(KE, row, " << turnedKeys << ")\n";
  else
    os << "let rows, turned_keys = kv.push(row, " << turnedKeys
       << ") along T as S\nlet k = pack(KE, rows, turned_keys)\n";
  os << "let a = attend looking over k, " << (isEncoder ? "row along T as S" : "rows along S")
     << " {\nscore scaled\nmask " << mask() << "\n}\n";
  return ("self_attn." + kind.out + "(" + ofValues + "(a))").str();
}

} // namespace attn::importer
