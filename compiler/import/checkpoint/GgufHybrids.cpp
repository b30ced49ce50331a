// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What files of llama.cpp say of recurrences, as a config.json. Which layers attend they say by how
// many heads of keys each has, if at all.
#include "compiler/import/checkpoint/GgufConfig.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace attn::importer {

int64_t GgufConfig::whole(StringRef key) const {
  const json::Value *value = find(key);
  return value ? value->getAsInteger().value_or(0) : 0;
}

int64_t GgufConfig::layers() const {
  int64_t all = whole("block_count"), ahead = whole("nextn_predict_layers");
  return ahead > 0 && ahead < all ? all - ahead : all;
}

bool GgufConfig::hasInLayers(StringRef ending) const {
  return any_of(folder.shapes,
                [&](const auto &tensor) { return StringRef(tensor.first).ends_with(ending); });
}

Expected<std::vector<bool>> GgufConfig::takeSome(StringRef key, StringRef theirs) {
  const json::Value *value = find(key);
  const json::Array *each = value ? value->getAsArray() : nullptr;
  std::vector<bool> isThere;
  if (value && !each)
    folder.config[theirs] = *value;
  if (!each)
    return isThere;
  const json::Value *one = nullptr;
  for (const json::Value &given : *each) {
    isThere.push_back(given.getAsInteger().value_or(0) != 0);
    if (isThere.back() && one && *one != given)
      return importError("`" + prefix + key +
                         "` differs from layer to layer, which is not read but for 0");
    if (isThere.back())
      one = &given;
  }
  if (one)
    folder.config[theirs] = *one;
  isThere.resize(std::min(isThere.size(), size_t(std::max<int64_t>(layers(), 0))));
  return isThere;
}

void GgufConfig::readStates(LlamaMixer mixer) {
  int64_t heads = whole("ssm.time_step_rank"), groups = whole("ssm.group_count"),
          inner = whole("ssm.inner_size"), width = whole("embedding_length"),
          features = heads > 0 ? inner / heads : 0;
  bool isNemotron = mixer == LlamaMixer::NemotronMamba, isPure = mixer == LlamaMixer::PureMamba,
       isOfHeads = mixer == LlamaMixer::Mamba || mixer == LlamaMixer::FalconMamba;
  // The names of Bamba and of Jamba, of Nemotron H, and of the two Mambas by themselves.
  StringRef state = isOfHeads || mixer == LlamaMixer::JambaSelective ? "mamba_d_state"
                    : isNemotron                                     ? "ssm_state_size"
                                                                     : "state_size",
            taps = state == "mamba_d_state" ? "mamba_d_conv" : "conv_kernel",
            bias = state == "mamba_d_state" ? "mamba_proj_bias" : "use_bias",
            convBias = state == "mamba_d_state" ? "mamba_conv_bias" : "use_conv_bias";
  folder.config[state] = whole("ssm.state_size");
  folder.config[taps] = whole("ssm.conv_kernel");
  folder.config[bias] = hasInLayers(".ssm_in.bias");
  folder.config[convBias] = hasInLayers(".ssm_conv1d.bias");
  if (isOfHeads) {
    folder.config["mamba_n_heads"] = heads;
    folder.config["mamba_n_groups"] = groups;
    folder.config["mamba_d_head"] = features;
  } else if (isNemotron || isPure) {
    folder.config[isPure ? "num_heads" : "mamba_num_heads"] = heads;
    folder.config[isPure ? "head_dim" : "mamba_head_dim"] = features;
    folder.config["n_groups"] = groups;
  } else {
    folder.config[mixer == LlamaMixer::JambaSelective ? "mamba_dt_rank" : "time_step_rank"] = heads;
  }
  if (isNemotron) {
    folder.config["time_step_min"] = 0; // llama.cpp bounds no steps
    folder.config["mamba_hidden_act"] = "silu";
  }
  if (mixer == LlamaMixer::FalconMamba) {
    folder.config["mamba_d_ssm"] = inner;
    folder.config["mamba_rms_norm"] = hasInLayers(".ssm_norm.weight");
    folder.config["mamba_norm_before_gate"] = false;
    folder.config["projectors_bias"] = hasInLayers(".ssm_out.bias");
  } else if (width > 0 && !isNemotron) {
    folder.config[isPure || state == "state_size" ? "expand" : "mamba_expand"] = inner / width;
  }
}

Error GgufConfig::sayAttending(LlamaMixer mixer, const std::vector<bool> &attends,
                               const std::vector<bool> &feeds) {
  if (mixer == LlamaMixer::NemotronMamba) {
    std::string pattern;
    for (size_t n = 0; n < attends.size(); ++n)
      pattern += attends[n]                      ? '*'
                 : n < feeds.size() && !feeds[n] ? 'M'
                 : kind.hasExperts               ? 'E'
                                                 : '-';
    folder.config["hybrid_override_pattern"] = pattern;
    return Error::success();
  }
  if (mixer == LlamaMixer::JambaSelective) {
    auto first = llvm::find(attends, true),
         second = first == attends.end() ? first : std::find(first + 1, attends.end(), true);
    folder.config["attn_layer_offset"] = first - attends.begin();
    folder.config["attn_layer_period"] =
        second == attends.end() ? int64_t(attends.size()) : second - first;
    std::vector<int64_t> routed;
    for (size_t n = 0; n < attends.size(); ++n)
      if (folder.has("model.layers." + std::to_string(n) + ".feed_forward.router.weight"))
        routed.push_back(int64_t(n));
    folder.config["expert_layer_offset"] = routed.empty() ? 0 : routed[0];
    folder.config["expert_layer_period"] =
        routed.size() > 1 ? routed[1] - routed[0] : int64_t(attends.size());
    return Error::success();
  }
  json::Array types;
  for (bool layer : attends)
    types.push_back(layer                                   ? "full_attention"
                    : mixer == LlamaMixer::ShortConvolution ? "conv"
                                                            : "mamba");
  folder.config["layer_types"] = std::move(types);
  return Error::success();
}

Error GgufConfig::readMixer(LlamaMixer mixer) {
  auto attends = takeSome("attention.head_count_kv", "num_key_value_heads");
  if (!attends)
    return attends.takeError();
  auto feeds = takeSome("feed_forward_length", "intermediate_size");
  if (!feeds)
    return feeds.takeError();
  if (mixer == LlamaMixer::DeltaNet || mixer == LlamaMixer::PackedDeltaNet) {
    int64_t heads = whole("ssm.time_step_rank");
    folder.config["linear_num_key_heads"] = whole("ssm.group_count");
    folder.config["linear_num_value_heads"] = heads;
    folder.config["linear_key_head_dim"] = whole("ssm.state_size");
    folder.config["linear_value_head_dim"] = heads > 0 ? whole("ssm.inner_size") / heads : 0;
    folder.config["linear_conv_kernel_dim"] = whole("ssm.conv_kernel");
    return take("full_attention_interval", "full_attention_interval");
  }
  bool isSaid = !attends->empty();
  if (!isSaid && mixer != LlamaMixer::FalconMamba)
    return importError("`" + prefix +
                       "attention.head_count_kv` does not say which layers attend: expected a "
                       "number for each");
  if (isSaid && mixer != LlamaMixer::FalconMamba)
    if (Error error = sayAttending(mixer, *attends, *feeds))
      return error;
  if (mixer == LlamaMixer::ShortConvolution) {
    folder.config["conv_bias"] = false;
    folder.config["block_auto_adjust_ff_dim"] = false;
    folder.config["routed_scaling_factor"] = 1;
    folder.config["use_expert_bias"] = hasInLayers("expert_bias");
    return take("shortconv.l_cache", "conv_L_cache");
  }
  readStates(mixer);
  if (mixer != LlamaMixer::Mamba)
    return Error::success();
  const json::Value *turns = find("rope.scaling.finetuned"); // which of hybrids says so
  folder.config["position_embedding_type"] =
      turns && turns->getAsBoolean().value_or(false) ? "rope" : "nope";
  if (kind.hasExperts)
    return Error::success();
  folder.config["num_local_experts"] = 0;
  if (const json::Value *hidden = folder.config.get("intermediate_size"))
    folder.config["shared_intermediate_size"] = *hidden;
  return take("expert_shared_feed_forward_length", "shared_intermediate_size");
}

Error GgufConfig::readRecurrent() {
  LlamaMixer mixer = kind.type == "mamba2" ? LlamaMixer::PureMamba : LlamaMixer::Selective;
  if (Error error = takeAll({{"embedding_length", "hidden_size"},
                             {"block_count", "num_hidden_layers"},
                             {"attention.layer_norm_rms_epsilon", "layer_norm_epsilon"}}))
    return error;
  readStates(mixer);
  const json::Value *normed = find("ssm.dt_b_c_rms");
  if (normed && normed->getAsBoolean().value_or(false)) {
    folder.config["model_type"] = "falcon_mamba";
    if (const json::Value *eps = folder.config.get("layer_norm_epsilon"))
      folder.config["mixer_rms_eps"] = *eps; // as llama.cpp takes it
  }
  return Error::success();
}

} // namespace attn::importer
