// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sounds: how one becomes the tensor of an entry.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// How a sound becomes a parameter of an entry, its log-mel spectrogram, as the attribute
/// attn.sound; null after an error.
mlir::DictionaryAttr soundAttr(Sema &sema, const ast::EntryDecl &entry,
                               const ast::Parameter &parameter, llvm::ArrayRef<Axis> axes);

} // namespace attn::frontend
