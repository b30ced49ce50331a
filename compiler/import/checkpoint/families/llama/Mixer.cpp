// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The mixers' table, and the states that their layers take and give.
#include "compiler/import/checkpoint/families/llama/Mixer.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace attn::importer {

static constexpr MixerForm forms[] = {
    {LlamaMixer::DeltaNet, "linear_attention", "", false, false, readDeltaNet},
    {LlamaMixer::PackedDeltaNet, "linear_attention", "", false, false, readDeltaNet},
    {LlamaMixer::ShortConvolution, "conv", "full_attn_idxs", true, false, readShortConvolution},
    {LlamaMixer::Mamba, "mamba linear_attention", "attn_layer_indices", false, false, readMamba},
    {LlamaMixer::FalconMamba, "", "", true, true, readMamba},
    {LlamaMixer::NemotronMamba, "", "", true, true, readMamba},
    {LlamaMixer::JambaSelective, "", "", false, false, readSelective, "attn_layer_period",
     "attn_layer_offset", 8, 4},
    {LlamaMixer::Lightning, "linear_attention", "", false, false, readLightning, "", "", 2, 0},
    {LlamaMixer::PureMamba, "", "", false, false, readMamba},
    {LlamaMixer::Selective, "", "", false, false, readSelective},
    {LlamaMixer::NormedSelective, "", "", false, false, readSelective},
};

const MixerForm &mixerForm(LlamaMixer which) {
  return *find_if(forms, [&](const MixerForm &form) { return form.which == which; });
}

LayerMixer readMixer(const MixerForm &form, const MixerSource &source) {
  static const TensorNames names = {{"in_proj", "ssm_in"},
                                    {"in_proj_qkv", "attn_qkv"},
                                    {"in_proj_z", "attn_gate"},
                                    {"in_proj_a", "ssm_alpha"},
                                    {"in_proj_b", "ssm_beta"},
                                    {"in_proj_ba", "ssm_ba"},
                                    {"conv1d", "ssm_conv1d"},
                                    {"x_proj", "ssm_x"},
                                    {"dt_proj", "ssm_dt"},
                                    {"dt_bias", "ssm_dt.bias"},
                                    {"A_log", "ssm_a"},
                                    {"out_proj", "ssm_out"},
                                    {"norm", "ssm_norm"},
                                    {"dt_layernorm", "ssm_dt_norm"},
                                    {"b_layernorm", "ssm_b_norm"},
                                    {"c_layernorm", "ssm_c_norm"}};
  LayerMixer mixer = form.read(source);
  if (!source.writer.ofLlamaCpp())
    return mixer;
  if (form.which == LlamaMixer::ShortConvolution) {
    mixer.part = "shortconv";
    return mixer;
  }
  mixer.text = renamed(mixer.text, names);
  mixer.isFlat = true;
  return mixer;
}

std::string LayerMixer::called() const {
  return (ownStatic.empty() ? block : block + "(" + ownStatic + " = " + ownStatic + ")") +
         (isFlat ? " = \"\"" : "");
}

std::string LayerMixer::names(StringRef before) const {
  std::string text;
  for (const State &state : states)
    text += (", " + before + state.name).str();
  return text;
}

std::string LayerMixer::parameters() const {
  std::string text;
  for (const State &state : states)
    text += ", " + state.name + ": [" + state.axes + "]";
  return text;
}

std::string LayerMixer::types() const {
  std::string text;
  for (const State &state : states)
    text += ", [" + state.axes + "]";
  return text;
}

std::string LayerMixer::resultTypes() const {
  std::string text;
  for (const State &state : states)
    text += ", [L, " + state.axes + "]";
  return text;
}

std::string LayerMixer::results() const {
  std::string text;
  for (const State &state : states)
    text += ", " + state.name + ": [L, " + state.axes + "]";
  return text;
}

} // namespace attn::importer
