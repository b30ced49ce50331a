// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pictures: how one becomes the tensor of an entry.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// Reports a way to resize pictures that there is not.
void checkImage(Sema &sema);

/// How a picture becomes a parameter of an entry, as the attribute attn.image; null after an error.
mlir::DictionaryAttr imageAttr(Sema &sema, const ast::EntryDecl &entry,
                               const ast::Parameter &parameter, llvm::ArrayRef<Axis> axes);

} // namespace attn::frontend
