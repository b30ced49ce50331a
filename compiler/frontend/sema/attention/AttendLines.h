// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lines of an `attend`: which hooks it has and what it returns.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// The hooks of an attention, as its lines give them.
struct AttendHooks {
  const ast::Expr *score = nullptr, *bias = nullptr, *cap = nullptr, *mask = nullptr,
                  *sink = nullptr;
  bool saysMask = false; ///< `mask none`, too.
  Normaliser normaliser = Normaliser::Softmax;
  std::optional<SourceRange> weight; ///< Where the normaliser is said.
  /// What is returned, in order: nothing stands for the output.
  std::vector<std::optional<Returned>> returned = {std::nullopt};
};

/// The lines of an `attend`, each at most once; false after an error.
bool readHooks(Sema &sema, const ast::AttendExpr &attend, AttendHooks &hooks);

/// What a line `weight` may name.
std::vector<llvm::StringRef> weightNames();

} // namespace attn::frontend
