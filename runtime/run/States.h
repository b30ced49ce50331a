// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// States: tensors that an entry takes as the last call has set them. They lie in memory of the
// host, wherever entries run.
#pragma once

#include "run/Context.h"

namespace attn {

/// The inputs of a call: `inputs` where all are given, else a copy in the context's memory in which
/// states that the caller has left out are those of the context, zeros where none was set. `dims`
/// are those of the call. Null after an error.
const attn_tensor *withStates(attn_context &context, const attn_abi_entry &entry,
                              const attn_tensor *inputs, const int64_t *dims, Error &error);

/// Before a call: whether the outputs that set states can be read after it.
attn_status checkStateOutputs(const attn_context &context, const attn_abi_entry &entry,
                              const attn_tensor *outputs, Error &error);

/// After a call that has succeeded: keeps the outputs that set states.
attn_status keepStates(attn_context &context, const attn_abi_entry &entry,
                       const attn_tensor *outputs, Error &error);

/// All states are zeros again.
void forgetStates(attn_context &context);

} // namespace attn
