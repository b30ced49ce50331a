// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors and warnings about a spec. A block is built once for each set of sizes: what is said of
// the same place is said once, and of a block with sizes made up only what does not depend on them.
#pragma once

#include "compiler/frontend/syntax/Diagnostics.h"
#include "compiler/frontend/syntax/SourceFile.h"
#include "llvm/ADT/Twine.h"
#include <optional>
#include <set>
#include <tuple>

namespace attn::frontend {

/// Takes the errors and warnings of sema and says each of them once.
class Reporter {
public:
  Reporter(SourceFile &source, DiagnosticEngine &diagnostics)
      : diagnostics(diagnostics), source(source) {}

  /// Reports an error; what is added to the result is dropped where nothing is reported.
  Diagnostic &error(DiagCode code, SourceRange range, const llvm::Twine &message);
  /// Reports a warning in the same way.
  Diagnostic &warning(DiagCode code, SourceRange range, const llvm::Twine &message);
  /// Whether a diagnostic was not reported, so that nothing need be found out for it.
  bool isUnread(const Diagnostic &diagnostic) const { return &diagnostic == &unread; }

  /// For what has no place, or is said however often.
  DiagnosticEngine &diagnostics;
  /// In the spec: what applies the block or hook of a used file that is being built.
  std::optional<SourceRange> usedAt;
  bool unapplied = false; ///< A block that nothing applies is checked, with sizes made up.

private:
  /// Whether nothing with this code has been said of this place.
  bool isFirst(DiagCode code, SourceRange range);
  /// Whether a code depends on sizes, while sizes are made up.
  bool isQuiet(DiagCode code) const;

  SourceFile &source;
  std::set<std::tuple<unsigned, uint32_t, uint32_t>> reported;
  Diagnostic unread; ///< Where what was reported already goes.
};

} // namespace attn::frontend
