// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "compiler/cpu/Kernels.h"
#include "compiler/cpu/ScoreFunction.h"

namespace attn {

/// Whether a kernel has too few queries to fill the lanes of vectors, and is one that
/// attendFewQueries knows: of products, by softmax, with nothing returned but the output.
bool areFewQueries(AttentionKernelOp op, const ScoreFunction &score);

/// Writes such a kernel before `op`; its tiles, in words.
std::string attendFewQueries(AttentionKernelOp op, const TilingContext &context,
                             const ScoreFunction &score);

} // namespace attn
