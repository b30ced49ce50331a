// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The Open Inference Protocol, version 2 (KServe, Triton): metadata of entries, and tensors as JSON
// or, by its extension for binary data, as bytes.
#pragma once

#include "attn/attn.h"
#include "serve/Exchange.h"

namespace attn {

/// The name that the protocol has for a dtype: "FP32".
const char *datatypeName(int32_t dtype);

/// GET v2/models/NAME: inputs and outputs, of a dynamic axis -1.
void describeEntry(const ServedEntry &entry, Text &text);

/// POST v2/models/NAME/infer: runs the entry that is the exchange's target, with empty caches.
/// Requests are of one part, whose rows are those of the dim that counts a batch.
extern const RequestKind inferRequests;

} // namespace attn
