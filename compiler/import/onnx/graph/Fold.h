// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sizes of all tensors of a graph, and the elements of those that are made of shapes and
// constants: Shape, Gather, Concat, Reshape and what else exporters write to compute sizes.
#pragma once

#include "compiler/import/onnx/graph/Graph.h"

namespace attn::importer {

/// Goes through the nodes once. What could not be found is the node's `problem`.
void fold(Graph &graph);

/// A value that is a tensor of the file, with its elements where they are few.
llvm::Expected<GraphValue> constantOf(const Graph &graph, const OnnxTensor &tensor);

} // namespace attn::importer
