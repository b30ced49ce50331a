// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mask as the spec's language writes it, with all that it names put in: `attn explain` says it,
// and who reads that can evaluate it at other sizes.
#pragma once

#include "dialect/AttnDialect.h"
#include "llvm/Support/JSON.h"
#include <optional>

namespace attn {

/// The mask of an attention as the fact `formula` of tools/attn/EXPLAIN.md. Dims that are known
/// only when running go by their names, while AssumedSizes are written to the kernel's function.
/// None where there is no mask, where it has something that no formula says, or where the
/// kernel's rows are no positions of queries but heads.
std::optional<llvm::json::Object> maskFormula(AttentionKernelOp op);

} // namespace attn
