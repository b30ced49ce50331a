// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The architectures of GGUF files, and what their tensors are called there. The names are those of
// llama.cpp's gguf-py/gguf/constants.py and tensor_mapping.py.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <map>
#include <string>
#include <vector>

namespace attn::importer {

/// What of an architecture of GGUF differs from Llama.
struct GgufKind {
  llvm::StringRef architecture; ///< `general.architecture`
  llvm::StringRef type, task;   ///< `model_type` and `architectures` of a config.json
  bool turnsNeighbours = false; ///< llama.cpp's converter has put pairs side by side
  bool addedOne = false;        ///< it has added 1 to the weights of norms
  bool isFfnNormPost = false;   ///< the norm before the mlp is called that behind attention
  bool hasExperts = false;      ///< those of a layer are packed into one tensor for each map
  llvm::StringRef lastNorm = "output_norm"; ///< behind the last layer
};

/// All that are read.
llvm::ArrayRef<GgufKind> ggufKinds();

/// Components of names in Hugging Face's folders, and in a file. Longer ones stand before those
/// that they begin with.
using Renames = std::vector<std::pair<std::string, std::string>>;

/// Shapes of tensors by their names.
using Shapes = std::map<std::string, llvm::SmallVector<int64_t>>;

/// The names of an architecture's tensors.
Renames ggufNames(const GgufKind &kind);

/// The tensors of a file under Hugging Face's names.
Shapes shapesThere(const Shapes &shapes, const Renames &names);

} // namespace attn::importer
