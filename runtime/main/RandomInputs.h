// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs that are drawn: their sizes, and numbers that let a run say something.
#pragma once

#include "main/Command.h"

namespace attn {

/// Fills `dims`, one for each of the model's: as `--set-size` says, else 1 where a size is known
/// only when running.
attn_status chooseSizes(const Command &command, const attn_abi_model &tables, int64_t *dims,
                        Error &error);

/// Draws the elements of an input whose memory is there: N(0, 1) for floats; for integers what the
/// tables say, or 0 and 1.
void drawInput(const attn_abi_tensor &wanted, const int64_t *dims, uint64_t seed,
               attn_tensor &tensor);

/// Writes a float as an element of type `dtype`.
void storeFloat(float value, int32_t dtype, void *data, int64_t index);

} // namespace attn
