// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An attention kernel of up to 8 queries to vector code, without tile ops between.
#pragma once

#include "compiler/cpu/attention/Attention.h"
#include "compiler/kernels/ScoreFunction.h"

namespace attn {

/// Writes a kernel that areFewQueries (compiler/transforms/FewQueries.h) before `op`; its tiles, in
/// words. Errors are reported at the op.
mlir::FailureOr<std::string> attendFewQueries(AttentionKernelOp op, const CpuTiling &context,
                                              const ScoreFunction &score);

} // namespace attn
