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

/// The mixer of a family, with the sizes that the config says; `act` applies its activation.
LayerMixer readDeltaNet(FamilyWriter &writer, LlamaMixer which, double eps,
                        llvm::function_ref<std::string(llvm::StringRef)> act);

} // namespace attn::importer
