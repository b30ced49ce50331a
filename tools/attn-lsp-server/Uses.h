// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The names in the text of a spec, and what each means.
#pragma once

#include "Document.h"

namespace attn::lsp {

/// A path in the text, or the part of it that names something.
struct Use {
  frontend::SourceRange range;
  std::string path;
  const Declaration *meaning; ///< Null where it is a word of the language, or unknown.
};

/// All names of a text and what they mean, in order: where they are declared, where they are used,
/// and the words of patterns of `split` that are dims.
std::vector<Use> usesIn(const Document &document);

/// The name at an offset, which lies in it or behind its last letter; none where there is none.
std::optional<Use> useAt(const Document &document, uint32_t offset);

} // namespace attn::lsp
