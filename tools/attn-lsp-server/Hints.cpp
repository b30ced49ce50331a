// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The axes of each `let`, and its dtype where that is not f32, as hints behind its name.
#include "Features.h"

#include "llvm/ADT/DenseMap.h"

namespace attn::lsp {

using namespace attn::frontend;

std::vector<llvm::lsp::InlayHint> inlayHints(const Document &document, llvm::lsp::Range range) {
  // In several instances of a block a name may have several types: the first, as hover says.
  llvm::DenseMap<uint64_t, const ExpressionType *> types;
  auto key = [](SourceRange place) { return uint64_t(place.begin) << 32 | place.end; };
  for (const ExpressionType &type : document.expressionTypes())
    types.try_emplace(key(type.range), &type);
  SourceRange wanted = document.bytes(range);
  std::vector<llvm::lsp::InlayHint> hints;
  for (const Declaration &declaration : document.declarations()) {
    SourceRange where = declaration.where;
    if (declaration.kind != Declaration::Kind::Let || document.checked().isUsed(where.begin) ||
        where.end < wanted.begin || wanted.end < where.end)
      continue;
    if (const ExpressionType *type = types.lookup(key(where))) {
      llvm::lsp::InlayHint hint(llvm::lsp::InlayHintKind::Type, document.position(where.end));
      hint.label = ": " + type->text;
      hints.push_back(std::move(hint));
    }
  }
  return hints;
}

} // namespace attn::lsp
