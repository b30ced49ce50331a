// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operators that ONNX Runtime's optimizer makes of others (domain com.microsoft,
// https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md) as those others.
#pragma once

#include "compiler/import/onnx/OnnxFile.h"

namespace attn::importer {

/// Puts standard operators in the place of the known ones of com.microsoft; others stay.
void expandContrib(OnnxGraph &graph);

} // namespace attn::importer
