// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A picture on the command line, where an entry takes its patches and where they lie.
#pragma once

#include "main/Command.h"

namespace attn {

/// Whether input `input` of an entry takes patches of a picture.
bool takesPatches(const attn_abi_model &tables, int32_t entry, int32_t input);

/// Reads the patches of a picture for such an input, and fills in the inputs beside it that say
/// where patches lie, as far as they have no data.
attn_status readPatches(const attn_model &model, int32_t entry, int32_t input, const char *path,
                        Tensors &inputs, Error &error);

} // namespace attn
