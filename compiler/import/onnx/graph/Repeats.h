// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layers: runs of operations that come again and again, each time with other weights, of which each
// takes what the one before gives.
#pragma once

#include "compiler/import/onnx/graph/Packed.h"

namespace attn::importer {

/// `count` layers of `period` operations each, from the operation `first` on.
struct Repeat {
  size_t first = 0, period = 0, count = 0;
  int taken = -1, given = -1;          ///< what the first layer takes, and what it gives
  int result = -1;                     ///< what the last layer gives
  llvm::SmallVector<int, 4> outer;     ///< what all layers take beside, in the order of its use
  bool isShared = false;               ///< all layers have the same weights
  std::map<int, std::string> patterns; ///< of the names of the weights of the first layer
};

/// The name of the tensors of `count` layers: `{n}` where a number counts them, `{n*23+881}` where
/// it does otherwise. Nothing where they have no such name.
std::optional<std::string> layerPattern(llvm::ArrayRef<llvm::StringRef> names);

/// The weights of an operation, and those that it takes as tensors.
llvm::SmallVector<int, 4> weightsOf(const Operation &operation);

/// What an operation takes, by what it is a view of, inputs that masks read among it; no weights.
llvm::SmallVector<int, 6> takenBy(const Graph &graph, const Views &views,
                                  const Operation &operation);

/// The layers of a graph, one behind the other. Operations are without views.
std::vector<Repeat> findRepeats(const Graph &graph, const Views &views,
                                llvm::ArrayRef<Operation> operations);

} // namespace attn::importer
