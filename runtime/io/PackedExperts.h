// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Experts that a checkpoint keeps in one tensor, along its first axis.
#pragma once

#include "base/Text.h"
#include "io/QuantizedTensor.h"

namespace attn {

/// Whether a tensor holds all experts of a layer: `mlp.experts.gate_up_proj` [experts, in, out] and
/// `mlp.experts.gate_up_proj_bias` [experts, out], as GPT-OSS has them, `ffn_gate_exps.weight` and
/// `.bias` of GGUF files, or Granite's
/// `block_sparse_moe.input_linear.weight` [experts, out, in].
bool arePackedExperts(const StoredTensor &tensor);

/// What one of them is called: `mlp.experts.3.gate_up_proj.weight`, `ffn_exps.3.gate.weight`.
void expertName(const StoredTensor &tensor, int64_t expert, Text &name);

/// The part of an expert. Where the tensor is quantized, its own is put into `quantized`; false
/// where memory is lacking.
bool takeExpert(const StoredTensor &tensor, int64_t expert, StoredTensor &part,
                Vector<QuantizedTensor *> &quantized);

} // namespace attn
