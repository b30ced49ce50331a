// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What generated code asks of the runtime, in terms of attn_abi_call (runtime/include/attn/abi.h).
#pragma once

#include "mlir/Pass/Pass.h"
#include <memory>

namespace attn {

/// attn.address and attn.barrier become address arithmetic and a call; what only they refer to is
/// dropped.
std::unique_ptr<mlir::Pass> createLowerRuntimePass();

} // namespace attn
