// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gated short convolutions: Liquid AI 2025, "LFM2 Technical Report". Three maps of a token are
// made; the product of two goes through a sum over the last few tokens, channel by channel, and the
// third weighs what comes out.
#include "compiler/import/checkpoint/families/llama/Mixer.h"

using namespace llvm;

namespace attn::importer {

LayerMixer readShortConvolution(const MixerSource &source) {
  Config &config = source.writer.config;
  int64_t taps = config.size("conv_L_cache", 3);
  if (taps < 2)
    config.refuse("conv_L_cache", "at least 2: a sum of one token keeps none");
  StringRef bias = config.flag("conv_bias", false) ? " bias" : "";
  LayerMixer mixer;
  mixer.part = "conv";
  mixer.block = "ShortConvolution";
  raw_string_ostream(mixer.dims) << "dim J = " << taps
                                 << ", J1 = J - 1  // tokens of a convolution\n";
  mixer.states = {{"past", "B, J1, D"}};
  raw_string_ostream os(mixer.text);
  os << "block ShortConvolution[T](x: [B, T, D]" << mixer.parameters() << ") -> [B, T, D]"
     << mixer.types() << " {\ndim TJ = T + J1\nlinear first, gate, second: D -> D" << bias
     << " = split(\"in_proj" << (bias.empty() ? "" : ".{weight|bias}")
     << "\", first gate second)\nlinear conv: J -> _ along D" << bias << "\nlinear out_proj: D -> D"
     << bias
     << "\nlet seen = pack(TJ, past, first(x) * second(x))\n"
        "let sums = conv(windows(seen, TJ = T as J))\n"
        "return out_proj(gate(x) * sums), slice(seen, TJ from T to TJ as J1)\n}\n\n";
  return mixer;
}

} // namespace attn::importer
