// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sounds: how one becomes the tensor of an entry.
#ifndef ATTN_COMPILER_FRONTEND_SEMA_SOUNDS_H
#define ATTN_COMPILER_FRONTEND_SEMA_SOUNDS_H

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// How a sound becomes a parameter of an entry, its log-mel spectrogram, as the attribute
/// attn.sound; null after an error.
mlir::DictionaryAttr soundAttr(Sema &sema, const ast::EntryDecl &entry,
                               const ast::Parameter &parameter, llvm::ArrayRef<Axis> axes);

} // namespace attn::frontend

#endif // ATTN_COMPILER_FRONTEND_SEMA_SOUNDS_H
