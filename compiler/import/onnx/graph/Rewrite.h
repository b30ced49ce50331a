// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a file's graph is turned into before its values are numbered: constants are initializers,
// and of a branch whose condition is known the nodes stand in the place of the `If`.
#pragma once

#include "compiler/import/onnx/graph/Operations.h"

namespace attn::importer {

/// Makes initializers of the nodes `Constant` that can be weights: floats of more than one element.
/// The reader of checkpoints finds them under the names of the nodes' outputs.
void liftConstants(OnnxGraph &graph);

/// Makes weights of the codes of MatMulNBits and of DequantizeLinear, which the reader of
/// checkpoints decodes: matrices [N, K] under the names of the codes, others under the names of the
/// nodes' outputs.
void takeCodes(OnnxGraph &graph);

/// Puts the nodes of a branch in the place of each `If` whose condition is known when importing, as
/// that of PyTorch's `squeeze` is where sizes are; `graph` is what was read of `file`. Whether
/// there was one: the file is then read again.
bool takeKnownBranches(const Graph &graph, OnnxGraph &file);

/// Takes weights that several operations need in different ways out of norms and linear maps, so
/// that each is one parameter: exporters keep equal tensors once, such as the ones and zeros of new
/// norms.
void separateShared(Graph &graph, std::vector<Operation> &operations);

} // namespace attn::importer
