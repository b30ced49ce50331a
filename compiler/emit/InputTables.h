// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows of a model's tables that say how pictures and sounds become inputs.
#pragma once

#include "compiler/emit/ConstantBuilder.h"
#include "compiler/emit/ModelInfo.h"

namespace attn {

/// attn_abi_image for each input that takes pictures.
llvm::SmallVector<llvm::Constant *> imageTable(ConstantBuilder &build,
                                               llvm::ArrayRef<EntryInfo> entries);

/// attn_abi_sound for each input that takes sounds.
llvm::SmallVector<llvm::Constant *> soundTable(ConstantBuilder &build,
                                               llvm::ArrayRef<EntryInfo> entries);

} // namespace attn
