// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linear maps whose result is taken apart at once, as queries, keys and values of one matrix: they
// become a linear map for each part.
#pragma once

#include "compiler/import/onnx/graph/Axes.h"

namespace attn::importer {

/// Which values are views of others.
class Views {
public:
  explicit Views(llvm::ArrayRef<Operation> operations);
  /// What a value is a view of; itself where it is none.
  int rootOf(int value) const;

private:
  std::map<int, int> roots;
};

/// The numbers of the operations that take a value, or a view of it.
using Users = std::map<int, llvm::SmallVector<size_t, 4>>;

/// The users of all values, by what they are views of; views are none.
Users usersOf(llvm::ArrayRef<Operation> operations, const Views &views);

/// Puts linear maps of parts in the place of packed ones.
void splitPacked(const Graph &graph, std::vector<Operation> &operations, Axes &axes);

} // namespace attn::importer
