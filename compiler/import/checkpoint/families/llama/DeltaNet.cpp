// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gated delta nets: Yang et al. 2024, "Gated Delta Networks: Improving Mamba2 with Delta Rule";
// Qwen Team 2025, "Qwen3-Next". Each head keeps a matrix that maps keys to values. A token lets it
// decay, and brings what it says of the token's key nearer to the token's value. Before that, each
// channel of queries, keys and values is a sum of the last few tokens'.
#include "compiler/import/checkpoint/families/llama/Mixer.h"

using namespace llvm;

namespace attn::importer {

/// The projections of tokens: each by itself, or all of a head of keys side by side.
static std::string projectionsOf(const MixerSource &source) {
  bool isOfLlamaCpp = source.writer.ofLlamaCpp();
  if (source.which == LlamaMixer::DeltaNet)
    return isOfLlamaCpp ? "linear in_proj_qkv: D -> Y\nlinear in_proj_z: D -> Q, N, P\n"
                          "linear in_proj_a, in_proj_b: D -> Q, N\n"
                        : "linear in_proj_qkv: D -> Y\nlinear in_proj_z: D -> N, Q, P\n"
                          "linear in_proj_a, in_proj_b: D -> N, Q\n";
  if (isOfLlamaCpp)
    return "linear in_proj_qkv: D -> Y\nlinear in_proj_z: D -> N, Q, P\n"
           "linear in_proj_ba: D -> N, QQ\n";
  return "linear in_proj_qkvz: D -> N, KPZ\nlinear in_proj_ba: D -> N, QQ\n";
}

/// What they make of `x`: `mixed`, [B, T, Y], `z`, `a` and `b`.
static std::string projectedBy(const MixerSource &source) {
  bool isOfLlamaCpp = source.writer.ofLlamaCpp();
  StringRef strengths = "let b, a0 = unpack(in_proj_ba(x), QQ as Q, Q2)\n"
                        "let a = relabel(a0, Q2 = Q)\n";
  if (source.which == LlamaMixer::DeltaNet && isOfLlamaCpp)
    return "let mixed = in_proj_qkv(x)\nlet z = split(in_proj_z(x), \"b t q n p -> b t n q p\")\n"
           "let a = split(in_proj_a(x), \"b t q n -> b t n q\")\n"
           "let b = split(in_proj_b(x), \"b t q n -> b t n q\")\n";
  if (source.which == LlamaMixer::DeltaNet)
    return "let mixed = in_proj_qkv(x)\nlet z = in_proj_z(x)\nlet a = in_proj_a(x)\n"
           "let b = in_proj_b(x)\n";
  if (isOfLlamaCpp)
    return "let mixed = in_proj_qkv(x)\nlet z = in_proj_z(x)\n" + strengths.str();
  return "let q0, k0, v0, z0 = unpack(in_proj_qkvz(x), KPZ as K, K2, QP, QP2)\n" + strengths.str() +
         "let z = split(relabel(z0, QP2 = QP), \"b t n (q p) -> b t n q p\")\n"
         "let mixed = pack(Y, split(q0, \"b t n k -> b t (n k)\"), split(relabel(k0, K2 = K), "
         "\"b t n k -> b t (n k)\"), split(v0, \"b t n qp -> b t (n qp)\"))\n";
}

LayerMixer readDeltaNet(const MixerSource &source) {
  Config &config = source.writer.config;
  LlamaMixer which = source.which;
  int64_t keys = config.size("linear_num_key_heads", 16),
          values = config.size("linear_num_value_heads", 32);
  if (values % keys)
    config.refuse("linear_num_value_heads", "a multiple of `linear_num_key_heads`");
  LayerMixer mixer;
  mixer.part = "linear_attn";
  mixer.block = "DeltaNet";
  raw_string_ostream dims(mixer.dims);
  dims << "dim N = " << keys << ", M = " << values
       << ", Q = M / N, K = " << config.size("linear_key_head_dim", 128)
       << ", P = " << config.size("linear_value_head_dim", 128)
       << ", J = " << config.size("linear_conv_kernel_dim", 4)
       << "  // of delta nets: heads of keys and values, values' of each of keys', features of "
          "keys and values, tokens of a convolution\n"
       << "dim J1 = J - 1, NK = N * K, NK2 = NK, MP = M * P, Y = 2 * NK + MP\n";
  if (which == LlamaMixer::PackedDeltaNet && source.writer.ofLlamaCpp())
    dims << "dim Q2 = Q, QQ = 2 * Q\n";
  else if (which == LlamaMixer::PackedDeltaNet)
    dims << "dim K2 = K, QP = Q * P, QP2 = QP, KPZ = 2 * K + 2 * QP, Q2 = Q, QQ = 2 * Q\n";
  mixer.states = {{"conv", "B, J1, Y"}, {"memory", "B, N, Q, K, P"}};
  // llama.cpp puts heads of values that share keys apart: the first of each, then the second.
  bool isTiled = which == LlamaMixer::DeltaNet && source.writer.ofLlamaCpp();
  std::string tiles = isTiled ? "q n" : "n q";
  raw_string_ostream os(mixer.text);
  os << "cell DeltaRule(q: [B, N, K], k: [B, N, K], v: [B, N, Q, P], decay: [B, N, Q], beta: "
        "[B, N, Q], memory: [B, N, Q, K, P]) -> [B, N, Q, P], memory {\n"
     << "let kept = memory * exp(decay)\n"
     << "let next = kept + repeat(repeat(k, P), Q) * ((v - sum(K, kept * k)) * beta)\n"
     << "return sum(K, next * q), next\n}\n\n"
     << "block DeltaNet[T](x: [B, T, D]" << mixer.parameters() << ") -> [B, T, D]" << mixer.types()
     << " {\ndim TJ = T + J1\n"
     << projectionsOf(source) << "linear conv1d: J -> _ along Y\nparam A_log, dt_bias: [M]\n"
     << "rmsnorm norm: P eps " << numberText(source.eps)
     << "\nlinear out_proj: " << (isTiled ? "Q, N, P" : "N, Q, P") << " -> D\n"
     << "part rule: DeltaRule\n"
     << projectedBy(source) << "let seen = pack(TJ, conv, mixed)\n"
     << "let sums = conv1d(windows(seen, TJ = T as J))\n"
     << "let qs, ks, vs = unpack(" << source.act("sums") << ", Y as NK, NK2, MP)\n"
     << "let q = split(qs, \"b t (n k) -> b t n k\")\n"
     << "let k = split(relabel(ks, NK2 = NK), \"b t (n k) -> b t n k\")\n"
     << "let v = split(vs, \"b t (" << tiles << " p) -> b t n q p\")\n"
     << "let raw = a + split(dt_bias, \"(" << tiles << ") -> n q\")\n"
     << "let decay = " << source.decay("split(A_log, \"(" + tiles + ") -> n q\")")
     << " * (max(raw, 0) + log(1 + exp(-abs(raw))))\n"
     << "let unit_q = q * rsqrt(sum(K, q * q) + 1e-6)\n"
     << "let unit_k = k * rsqrt(sum(K, k * k) + 1e-6)\n"
     << "let y, next_memory = scan rule over (unit_q * K ** -0.5, unit_k, v, decay, sigmoid(b)) "
        "along T from memory\n"
     << "return out_proj("
     << (isTiled ? "split(norm(y) * silu(z), \"b t n q p -> b t q n p\")" : "norm(y) * silu(z)")
     << "), slice(seen, TJ from T to TJ as J1), next_memory\n"
     << "}\n\n";
  return mixer;
}

} // namespace attn::importer
