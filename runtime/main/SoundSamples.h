// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The samples of sounds, and how many there are, as inputs of an entry.
#pragma once

#include "main/Command.h"

namespace attn {

/// Whether an input takes the samples of sounds, which this program can decode.
bool takesSamples(const attn_abi_model &tables, int32_t entry, int32_t input);

/// Reads the sounds `paths` into the input, silence behind their ends, as long as the longest of
/// them where the input is as long as it is given; and into the input `lengths` how many samples
/// each has.
attn_status readSamples(const attn_model &model, int32_t entry, int32_t input,
                        const Vector<const char *> &paths, Tensors &inputs, Error &error);

} // namespace attn
