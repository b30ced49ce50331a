// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lightning attention: MiniMax 2025, "MiniMax-01: Scaling Foundation Models with Lightning
// Attention"; Qin et al. 2024, "Lightning Attention-2". Each head adds up products of keys and
// values, which fade by a number of the head and of the layer.
#include "compiler/import/checkpoint/families/llama/Mixer.h"

using namespace llvm;

namespace attn::importer {

LayerMixer readLightning(const MixerSource &source) {
  Config &config = source.writer.config;
  int64_t layers = config.size("num_hidden_layers");
  LayerMixer mixer;
  mixer.part = "self_attn";
  mixer.block = "Lightning";
  mixer.dims = "dim K2 = E, P = E, HP = H * P, QKV = 3 * E  // of lightning attention\n";
  mixer.states = {{"memory", "B, H, E, P"}};
  mixer.ownStatic = "fade";
  // The published class's numbers, in which nothing is divided by 0.
  mixer.staticOfLayer = "1 - n / " + numberText(double(layers) - 1 + 1e-5) + " + 1e-5";
  mixer.ignored = "ignore \"*.slope_rate\", \"*.query_decay\", \"*.key_decay\", "
                  "\"*.diagonal_decay\"  // computed here\n";
  raw_string_ostream os(mixer.text);
  os << "cell Fading(q: [B, H, E], k: [B, H, E], v: [B, H, P], kept: [H], memory: [B, H, E, P]) -> "
        "[B, H, P], memory {\n"
        "let next = memory * kept + repeat(k, P) * v\nreturn sum(E, next * q), next\n}\n\n"
     << "block Lightning[T](x: [B, T, D]" << mixer.parameters() << "; fade = 1) -> [B, T, D]"
     << mixer.types()
     << " {\nlinear qkv_proj: D -> H, QKV\nlinear output_gate: D -> HP\n"
        "rmsnorm norm: HP eps 1e-6\nlinear out_proj: HP -> D\n"
        "table slope[h: H] = 2 ** (-8 * (h + 1) / H)\npart rule: Fading\n"
        "let q, k, v = unpack("
     << source.act("qkv_proj(x)")
     << ", QKV as E, K2, P)\n"
        "let y, next_memory = scan rule(kept = exp(-slope * fade)) over (q, relabel(k, K2 = E), v) "
        "along T from memory\n"
        "let read = relabel(split(y, \"b t h p -> b t (h p)\"), H*P as HP)\n"
        "return out_proj(sigmoid(output_gate(x)) * norm(read)), next_memory\n}\n\n";
  return mixer;
}

} // namespace attn::importer
