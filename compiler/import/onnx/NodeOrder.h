// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of a graph's nodes. ONNX demands that each stands behind those whose results it takes,
// but ONNX Runtime sorts what it loads, and optimizers save what they append in any order.
#pragma once

#include "compiler/import/onnx/OnnxFile.h"

namespace attn::importer {

/// Puts each node behind those whose results it takes; nodes that are in order stay as they are.
/// The error names the nodes of a cycle.
llvm::Error sortNodes(OnnxGraph &graph);

} // namespace attn::importer
