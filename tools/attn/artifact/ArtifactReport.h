// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The description of a compiled model for a person.
#pragma once

#include "Artifact.h"

namespace attn::tool {

/// Prints a description; what it lacks is left out or a `?`.
void printModel(const llvm::json::Object &model, ArtifactForm form, llvm::raw_ostream &os);

} // namespace attn::tool
