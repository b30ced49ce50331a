// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tells this build of the program from others.
#pragma once

#include "llvm/ADT/ArrayRef.h"

namespace attn::tool {

/// The id that the linker has made of this program's bytes (`--build-id`); empty where it has made
/// none.
llvm::ArrayRef<uint8_t> buildId();

} // namespace attn::tool
