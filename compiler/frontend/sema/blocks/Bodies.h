// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bodies: `let`, `return` and what is returned.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// Where the values of the first `return` stand.
std::vector<SourceRange> returnPlaces(const std::vector<ast::ItemPtr> &items);

/// Builds the statements of a body; the values that it returns. `end` is the closing brace.
std::vector<SemaValue> buildBody(Sema &sema, const std::vector<ast::ItemPtr> &items,
                                 SourceRange end, const ast::Signature &signature);

/// The values of a body in the types that the signature declares. Empty where some were reported.
std::vector<mlir::Value> checkResults(Sema &sema, llvm::ArrayRef<SemaValue> values,
                                      llvm::ArrayRef<SourceRange> places,
                                      const ast::Signature &signature,
                                      llvm::MutableArrayRef<Axes> declared,
                                      llvm::ArrayRef<mlir::Type> types);

} // namespace attn::frontend
