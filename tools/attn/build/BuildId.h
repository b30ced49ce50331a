// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tells this build of the program, or of the library, from others.
#pragma once

#include "llvm/ADT/ArrayRef.h"

namespace attn::tool {

/// The id that the linker has made of the bytes of the file that this code is in (`--build-id`);
/// empty where it has made none.
llvm::ArrayRef<uint8_t> buildId();

} // namespace attn::tool
