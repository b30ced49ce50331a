// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mamba 2: Dao and Gu 2024, "Transformers are SSMs". Each head keeps a matrix that decays by one
// number a token, to which a product of the token's value and of what its group writes is added.
// Before that, each channel of values and of what groups write and read is a sum of the last few
// tokens'. Families differ in names of keys, in where what is read is normed, and in numbers that
// parts are multiplied by.
#include "compiler/import/checkpoint/families/llama/Mixer.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;

namespace attn::importer {

namespace {
/// What a family calls the sizes in its config, and what its class takes where nothing is said.
struct MambaKeys {
  LlamaMixer which;
  StringRef heads, features, groups, state, taps, convBias, bias, expand;
  StringRef act;                                  ///< empty: the family's
  int64_t ofHeads, ofFeatures, ofGroups, ofState; ///< no features: the width's, shared out
};

/// What a config says of Mamba 2.
struct MambaSizes {
  int64_t heads, features, groups;
  bool hasConvBias, hasBias, hasOutBias;
  bool isOfLlamaCpp = false; ///< whose norms are of groups, and have a row for each
  bool isNormed = true, isNormedFirst = false, isNormedByGroup = false;
  double least = 0, most = INFINITY; ///< steps
  double in = 1;                     ///< what tokens are multiplied by
  std::vector<double> parts;         ///< likewise gates, values, writing, reading, steps; or none
};
} // namespace

static constexpr MambaKeys mambaKeys[] = {
    {LlamaMixer::Mamba, "mamba_n_heads", "mamba_d_head", "mamba_n_groups", "mamba_d_state",
     "mamba_d_conv", "mamba_conv_bias", "mamba_proj_bias", "mamba_expand", "", 128, 0, 1, 256},
    {LlamaMixer::FalconMamba, "mamba_n_heads", "mamba_d_head", "mamba_n_groups", "mamba_d_state",
     "mamba_d_conv", "mamba_conv_bias", "mamba_proj_bias", "mamba_expand", "", 128, 0, 1, 256},
    {LlamaMixer::NemotronMamba, "mamba_num_heads", "mamba_head_dim", "n_groups", "ssm_state_size",
     "conv_kernel", "use_conv_bias", "use_bias", "", "mamba_hidden_act", 128, 64, 8, 128},
    {LlamaMixer::PureMamba, "num_heads", "head_dim", "n_groups", "state_size", "conv_kernel",
     "use_conv_bias", "use_bias", "expand", "", 128, 64, 8, 128},
};

/// A bound of steps: a number, or infinity, which has three spellings.
static double boundOf(const json::Value &value) {
  if (const json::Object *tagged = value.getAsObject())
    if (const json::Value *name = tagged->get("__float__"))
      return boundOf(*name);
  if (auto name = value.getAsString())
    return *name == "Infinity" ? INFINITY : *name == "-Infinity" ? -INFINITY : NAN;
  return value.getAsNumber().value_or(NAN);
}

static void readBounds(Config &config, MambaSizes &sizes) {
  const json::Value *limit = config.valueAt("time_step_limit");
  if (!limit)
    return;
  const json::Array *both = limit->getAsArray();
  if (both && both->size() == 2)
    sizes.least = boundOf(both->front()), sizes.most = boundOf(both->back());
  if (!both || both->size() != 2 || std::isnan(sizes.least) || std::isnan(sizes.most))
    config.refuse("time_step_limit", "two numbers, the least and the largest step");
}

/// What Falcon H1 has beside: norms if asked, a width of its own, multipliers of parts.
static void readFalcon(Config &config, MambaSizes &sizes) {
  sizes.isNormed = config.flag("mamba_rms_norm", false);
  sizes.isNormedFirst = sizes.isNormed && config.flag("mamba_norm_before_gate", true);
  sizes.isNormedByGroup = true;
  sizes.hasOutBias = config.flag("projectors_bias", false);
  sizes.in = config.number("ssm_in_multiplier", 1);
  sizes.parts = config.numbers("ssm_multipliers");
  if (!sizes.parts.empty() && sizes.parts.size() != 5)
    config.refuse("ssm_multipliers", "five numbers");
  if (all_of(sizes.parts, [](double part) { return part == 1; }))
    sizes.parts.clear();
}

/// Reads how many features heads have, whose width may be said by itself.
static void readFeatures(Config &config, const MambaKeys &keys, MambaSizes &sizes) {
  if (keys.ofFeatures)
    sizes.features = config.size(keys.features, keys.ofFeatures);
  if (keys.expand.empty())
    return;
  bool hasWidth = keys.which == LlamaMixer::FalconMamba &&
                  (config.has("mamba_d_ssm") || config.isSilent("mamba_d_ssm"));
  int64_t whole = hasWidth ? config.size("mamba_d_ssm", 1024)
                           : config.size(keys.expand, 2) * config.size("hidden_size");
  bool isShared =
      !keys.ofFeatures && (config.isSilent(keys.features) || !config.whole(keys.features));
  if (isShared && config.text(keys.features, "auto") != "auto")
    config.refuse(keys.features, "a number, or `auto`");
  if (whole % sizes.heads)
    config.refuse(keys.heads, "a divisor of " + Twine(whole) + ", the width of all heads");
  sizes.features = isShared          ? whole / sizes.heads
                   : keys.ofFeatures ? sizes.features
                                     : config.size(keys.features);
  if (sizes.features * sizes.heads != whole)
    config.refuse(keys.features, Twine(whole / sizes.heads) + ", " + Twine(whole) +
                                     " shared out among `" + keys.heads + "`");
}

static MambaSizes readSizes(Config &config, const MambaKeys &keys) {
  MambaSizes sizes;
  sizes.heads = config.size(keys.heads, keys.ofHeads);
  sizes.groups = config.size(keys.groups, keys.ofGroups);
  readFeatures(config, keys, sizes);
  if (sizes.heads % sizes.groups)
    config.refuse(keys.groups, Twine("a divisor of `") + keys.heads + "`");
  sizes.hasConvBias = config.flag(keys.convBias, true);
  sizes.hasBias = sizes.hasOutBias = config.flag(keys.bias, false);
  if (keys.which == LlamaMixer::NemotronMamba) {
    sizes.isNormedByGroup = true;
    sizes.least = config.number("time_step_min", 0.001);
    if (sizes.least <= 0)
      return sizes;
    config.note(
        "steps of the recurrence are at least `time_step_min`, of each token; the published "
        "class bounds them where it reads a prompt, and not token by token");
    return sizes;
  }
  readBounds(config, sizes);
  if (keys.which == LlamaMixer::FalconMamba)
    readFalcon(config, sizes);
  return sizes;
}

/// The parts of what tokens are projected to: `z`, `mixed`, [B, T, Y], and `raw`, [B, T, M].
static std::string projected(const MambaSizes &sizes) {
  std::string x = sizes.in == 1 ? "x" : "x * " + numberText(sizes.in);
  if (sizes.parts.empty())
    return "let z, mixed, raw = unpack(in_proj(" + x + "), YZ as MP, Y, M)\n";
  auto part = [&](StringRef name, size_t i) {
    return (name + " * ").str() + numberText(sizes.parts[i]);
  };
  return "let z0, x0, b0, c0, t0 = unpack(in_proj(" + x +
         "), YZ as MP, MP2, NK, NK2, M)\nlet z = " + part("z0", 0) + "\nlet mixed = pack(Y, " +
         part("x0", 1) + ", " + part("b0", 2) + ", " + part("c0", 3) +
         ")\nlet raw = " + part("t0", 4) + "\n";
}

/// What becomes of what is `read`, [B, T, N, Q, P], with the gates `z`: the lines that declare the
/// norm and the map back, and the result.
static std::pair<std::string, std::string> result(const MambaSizes &sizes, double eps) {
  std::string bias = sizes.hasOutBias ? " bias" : "",
              gates = "silu(split(z, \"b t (n q p) -> b t n q p\"))";
  if (!sizes.isNormed)
    return {"linear out_proj: N, Q, P -> D" + bias + "\n", "out_proj(read * " + gates + ")"};
  if (!sizes.isNormedByGroup)
    return {"rmsnorm norm: N * Q * P eps " + numberText(eps) + "\nlinear out_proj: N * Q * P -> D" +
                bias + "\n",
            "out_proj(norm(split(read * " + gates + ", \"b t n q p -> b t (n q p)\")))"};
  std::string taken = sizes.isNormedFirst ? "read" : "read * " + gates,
              weights = sizes.isOfLlamaCpp ? "split(norm.weight, \"n (q p) -> n q p\")"
                                           : "split(norm.weight, \"(n q p) -> n q p\")",
              made = "split(each(split(" + taken +
                     ", \"b t n q p -> b t n (q p)\")), \"b t n (q p) -> b t n q p\") * " + weights;
  return {"rmsnorm each: Q * P eps " + numberText(eps) +
              " no weight\nparam norm.weight: " + (sizes.isOfLlamaCpp ? "[N, QP]" : "[MP]") +
              "\nlinear out_proj: N, Q, P -> D" + bias + "\n",
          "out_proj(" + made + (sizes.isNormedFirst ? " * " + gates : "") + ")"};
}

LayerMixer readMamba(const MixerSource &source) {
  Config &config = source.writer.config;
  const MambaKeys &keys =
      *find_if(mambaKeys, [&](const MambaKeys &own) { return own.which == source.which; });
  MambaSizes sizes = readSizes(config, keys);
  if (source.writer.ofLlamaCpp())
    sizes.isOfLlamaCpp = sizes.isNormedByGroup = true;
  LayerMixer mixer;
  mixer.part = "mamba";
  mixer.block = "Mamba";
  raw_string_ostream dims(mixer.dims);
  StringRef second = sizes.parts.empty() ? "" : ", MP2 = MP";
  dims << "dim N = " << sizes.groups << ", M = " << sizes.heads
       << ", Q = M / N, P = " << sizes.features << ", K = " << config.size(keys.state, keys.ofState)
       << ", J = " << config.size(keys.taps, 4)
       << "  // of Mamba: groups, heads, those of a group, features of a head, numbers that each "
          "keeps, tokens of a convolution\n"
       << "dim J1 = J - 1, MP = M * P" << second << (sizes.isOfLlamaCpp ? ", QP = Q * P" : "")
       << ", NK = N * K, NK2 = NK, Y = MP + 2 * NK, YZ = MP + Y + M\n";
  mixer.states = {{"conv", "B, J1, Y"}, {"memory", "B, N, Q, P, K"}};
  std::string step = "log(1 + exp(-abs(given))) + max(given, 0)";
  if (sizes.most < INFINITY)
    step = "clamp(" + step + ", " + numberText(std::max(sizes.least, 0.0)) + ", " +
           numberText(sizes.most) + ")";
  else if (sizes.least > 0)
    step = "max(" + step + ", " + numberText(sizes.least) + ")";
  std::string sums =
      keys.act.empty() ? source.act("sums") : activation(config, keys.act, "silu", "sums");
  auto [declared, made] = result(sizes, source.eps);
  raw_string_ostream os(mixer.text);
  os << "cell StateSpace(x: [B, N, Q, P], dt: [B, N, Q], b: [B, N, K], c: [B, N, K], decay: [B, N, "
        "Q], memory: [B, N, Q, P, K]) -> [B, N, Q, P], memory {\n"
        "let next = memory * exp(decay) + repeat(x * dt, K) * b\n"
        "return sum(K, next * c), next\n}\n\n"
     << "block Mamba[T](x: [B, T, D]" << mixer.parameters() << ") -> [B, T, D]" << mixer.types()
     << " {\ndim TJ = T + J1\nlinear in_proj: D -> YZ" << (sizes.hasBias ? " bias" : "")
     << "\nlinear conv1d: J -> _ along Y" << (sizes.hasConvBias ? " bias" : "")
     << "\nparam A_log, dt_bias: [M]\nparam skip: [M] = \"" << source.skip() << "\"\n"
     << declared << "part rule: StateSpace\n"
     << projected(sizes) << "let seen = pack(TJ, conv, mixed)\n"
     << "let sums = conv1d(windows(seen, TJ = T as J))\nlet xs, bs, cs = unpack(" << sums
     << ", Y as MP, NK, NK2)\n"
     << "let u = split(xs, \"b t (n q p) -> b t n q p\")\n"
     << "let b = split(bs, \"b t (n k) -> b t n k\")\n"
     << "let c = split(relabel(cs, NK2 = NK), \"b t (n k) -> b t n k\")\n"
     << "let given = split(raw + dt_bias, \"b t (n q) -> b t n q\")\nlet dt = " << step << '\n'
     << "let decay = " << source.decay("split(A_log, \"(n q) -> n q\")") << " * dt\n"
     << "let y, next_memory = scan rule over (u, dt, b, c, decay) along T from memory\n"
     << "let read = y + u * split(skip, \"(n q) -> n q\")\nreturn " << made
     << ", slice(seen, TJ from T to TJ as J1), next_memory\n}\n\n";
  return mixer;
}

} // namespace attn::importer
