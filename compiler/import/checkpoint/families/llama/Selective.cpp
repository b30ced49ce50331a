// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mamba: Gu and Dao 2023, "Mamba: Linear-Time Sequence Modeling with Selective State Spaces". Each
// channel keeps a few numbers, which decay each by its own rate; how large a step is, what is
// written and what is read are maps of the token. Falcon Mamba (Zuo et al. 2024) and Jamba (Lieber
// et al. 2024) norm these three.
#include "compiler/import/checkpoint/families/llama/Mixer.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace attn::importer {

namespace {
/// What a family calls the sizes in its config.
struct SelectiveKeys {
  LlamaMixer which;
  StringRef part, state, taps, expand, rank, convBias, bias;
};
} // namespace

static constexpr SelectiveKeys selectiveKeys[] = {
    {LlamaMixer::Selective, "mixer", "state_size", "conv_kernel", "expand", "time_step_rank",
     "use_conv_bias", "use_bias"},
    {LlamaMixer::NormedSelective, "mixer", "state_size", "conv_kernel", "expand", "time_step_rank",
     "use_conv_bias", "use_bias"},
    {LlamaMixer::JambaSelective, "mamba", "mamba_d_state", "mamba_d_conv", "mamba_expand",
     "mamba_dt_rank", "mamba_conv_bias", "mamba_proj_bias"},
};

/// How many numbers steps are mapped to first.
static int64_t rankOf(Config &config, StringRef key, int64_t width) {
  if (config.isSilent(key) || !config.whole(key)) {
    if (config.text(key, "auto") != "auto")
      config.refuse(key, "a number, or `auto`");
    return (width + 15) / 16;
  }
  return config.size(key);
}

/// The lines that declare norms of steps, of what is written and of what is read.
static std::string normsOf(const MixerSource &source) {
  if (source.which == LlamaMixer::Selective)
    return "";
  if (source.which == LlamaMixer::JambaSelective)
    return "rmsnorm dt_layernorm: R eps " + numberText(source.eps) +
           "\nrmsnorm b_layernorm, c_layernorm: K eps " + numberText(source.eps) + "\n";
  std::string eps = numberText(source.writer.config.number("mixer_rms_eps", 1e-6));
  return "rmsnorm dt_layernorm: R eps " + eps +
         " no weight\nrmsnorm b_layernorm, c_layernorm: K eps " + eps + " no weight\n";
}

LayerMixer readSelective(const MixerSource &source) {
  Config &config = source.writer.config;
  const SelectiveKeys &keys =
      *find_if(selectiveKeys, [&](const SelectiveKeys &own) { return own.which == source.which; });
  int64_t width = config.size("hidden_size");
  bool isNormed = source.which != LlamaMixer::Selective,
       isJamba = source.which == LlamaMixer::JambaSelective;
  StringRef bias = config.flag(keys.bias, false) ? " bias" : "",
            convBias = config.flag(keys.convBias, true) ? " bias" : "";
  LayerMixer mixer;
  mixer.part = keys.part.str();
  mixer.block = "Mamba";
  // The published class takes the width of the channels where one is said.
  int64_t channels = !isJamba && config.has("intermediate_size")
                         ? config.size("intermediate_size")
                         : config.size(keys.expand, 2) * width;
  raw_string_ostream(mixer.dims)
      << "dim Y = " << channels << ", K = " << config.size(keys.state, 16)
      << ", R = " << rankOf(config, keys.rank, width) << ", J = " << config.size(keys.taps, 4)
      << "  // of Mamba: channels, numbers that each keeps, those of a step, tokens of a "
         "convolution\n"
         "dim J1 = J - 1, Y2 = Y, YY = 2 * Y, K2 = K, RK = R + 2 * K\n";
  mixer.states = {{"conv", "B, J1, Y"}, {"memory", "B, Y, K"}};
  raw_string_ostream os(mixer.text);
  os << "cell StateSpace(x: [B, Y], dt: [B, Y], b: [B, K], c: [B, K], a: [Y, K], memory: [B, Y, "
        "K]) -> [B, Y], memory {\n"
        "let next = memory * exp(repeat(dt, K) * a) + repeat(x * dt, K) * b\n"
        "return sum(K, next * c), next\n}\n\n"
     << "block Mamba[T](x: [B, T, D]" << mixer.parameters() << ") -> [B, T, D]" << mixer.types()
     << " {\ndim TJ = T + J1\nlinear in_proj: D -> YY" << bias << "\nlinear conv1d: J -> _ along Y"
     << convBias
     << "\nlinear x_proj: Y -> RK\nlinear dt_proj: R -> Y bias\nparam A_log: [Y, K]\n"
        "param skip: [Y] = \""
     << source.skip() << "\"\nlinear out_proj: Y -> D" << bias << '\n'
     << normsOf(source);
  auto normed = [&](StringRef norm, StringRef x) {
    return isNormed ? (norm + "(" + x + ")").str() : x.str();
  };
  os << "part rule: StateSpace\nlet mixed, z = unpack(in_proj(x), YY as Y, Y2)\n"
        "let seen = pack(TJ, conv, mixed)\nlet u = "
     << source.act("conv1d(windows(seen, TJ = T as J))")
     << "\nlet r, b, c = unpack(x_proj(u), RK as R, K, K2)\nlet given = dt_proj("
     << normed("dt_layernorm", "r")
     << ")\nlet dt = log(1 + exp(-abs(given))) + max(given, 0)\n"
        "let y, next_memory = scan rule(a = "
     << source.decay("A_log") << ") over (u, dt, " << normed("b_layernorm", "b") << ", "
     << normed("c_layernorm", "relabel(c, K2 = K)")
     << ") along T from memory\nreturn out_proj((y + u * skip) * silu(relabel(z, Y2 = Y))), "
        "slice(seen, TJ from T to TJ as J1), next_memory\n}\n\n";
  return mixer;
}

} // namespace attn::importer
