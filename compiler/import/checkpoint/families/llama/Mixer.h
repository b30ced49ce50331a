// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What takes the place of attention in some layers of a hybrid: a recurrence, whose states go from
// call to call.
#pragma once

#include "compiler/import/checkpoint/Families.h"
#include "compiler/import/checkpoint/LlamaKinds.h"

namespace attn::importer {

/// A block that mixes tokens, [B, T, D] -> [B, T, D].
struct LayerMixer {
  /// A state that each layer takes and gives: its name, and its axes in one layer.
  struct State {
    std::string name, axes;
  };
  std::string part;  ///< what its tensors' names begin with
  std::string block; ///< its name in the spec
  std::string dims;  ///< lines of the model
  std::string text;  ///< the block and its cell
  std::vector<State> states;
  /// A number of each layer that its block takes, and what that is for layer `n`; empty: none.
  std::string ownStatic, staticOfLayer;
  std::string ignored; ///< lines that name tensors which are computed
  bool isFlat = false; ///< its tensors stand beside the layer's, as in files of llama.cpp

  /// "Lightning(fade = fade)": the block, as a layer declares its part, with the path of that.
  std::string called() const;
  /// ", conv, memory", with something in front of each.
  std::string names(llvm::StringRef before = "") const;
  /// ", conv: [B, J1, Y], memory: [B, N, Q, K, P]", as a block takes them.
  std::string parameters() const;
  /// The types of these.
  std::string types() const;
  /// ", conv: [L, B, J1, Y]…", of all layers; the types of these.
  std::string results() const;
  std::string resultTypes() const;
};

/// What a mixer is made of: a family, its config, the eps of its norms; `act` applies the family's
/// activation.
struct MixerSource {
  FamilyWriter &writer;
  LlamaMixer which;
  double eps;
  llvm::function_ref<std::string(llvm::StringRef)> act;
  /// The rates of a decay, by the param `rates`, of which files of llama.cpp hold what the
  /// published class computes of its logarithms: -exp.
  std::string decay(const std::string &rates) const {
    return writer.ofLlamaCpp() ? rates : "-exp(" + rates + ")";
  }
  /// The tensor of what channels are passed on with.
  llvm::StringRef skip() const { return writer.ofLlamaCpp() ? "ssm_d" : "D"; }
};

/// A row of the mixers' table.
struct MixerForm {
  LlamaMixer which;
  llvm::StringRef types; ///< what `layer_types` calls layers that have it, with spaces between
  /// What lists the layers that attend, by number, where no types are said; empty: each so many
  /// attend, by full_attention_interval.
  llvm::StringRef attendingKey;
  bool attendsUnsaid; ///< where that key is not there, either: all attend, or none does
  bool isBeside;      ///< each layer has it beside attention, or what OnePart says
  LayerMixer (*read)(const MixerSource &source);
  /// Which layers attend: each so many, from one on; empty: other keys say.
  llvm::StringRef periodKey = "", offsetKey = "";
  int64_t period = 0, offset = 0; ///< the same where the config does not say
};

/// The row of a mixer.
const MixerForm &mixerForm(LlamaMixer which);
/// Reads a mixer, with the names that its tensors have in the folder or the file.
LayerMixer readMixer(const MixerForm &form, const MixerSource &source);

/// MiniMax's lightning attention.
LayerMixer readLightning(const MixerSource &source);
/// Gated delta nets.
LayerMixer readDeltaNet(const MixerSource &source);
/// LFM2's short convolutions.
LayerMixer readShortConvolution(const MixerSource &source);
/// Mamba, the first.
LayerMixer readSelective(const MixerSource &source);
/// Mamba 2.
LayerMixer readMamba(const MixerSource &source);

} // namespace attn::importer
