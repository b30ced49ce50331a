// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects findings, sorts them by place, and finds the name that was probably meant.
// RenderDiagnostics.cpp prints them.
#include "compiler/frontend/syntax/Diagnostics.h"

#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace attn::frontend {

llvm::StringRef codeText(DiagCode code) {
  static constexpr llvm::StringLiteral texts[] = {
#define ATTN_DIAGNOSTIC(code, name, meaning) code,
#include "compiler/frontend/syntax/DiagnosticCodes.def"
  };
  return texts[static_cast<unsigned>(code)];
}

llvm::StringRef codeMeaning(DiagCode code) {
  static constexpr llvm::StringLiteral texts[] = {
#define ATTN_DIAGNOSTIC(code, name, meaning) meaning,
#include "compiler/frontend/syntax/DiagnosticCodes.def"
  };
  return texts[static_cast<unsigned>(code)];
}

Diagnostic &DiagnosticEngine::add(Severity severity, DiagCode code,
                                  std::optional<SourceRange> range, const llvm::Twine &message) {
  Diagnostic &diagnostic = diagnostics.emplace_back();
  diagnostic.severity = severity;
  diagnostic.code = code;
  diagnostic.range = range;
  diagnostic.message = message.str();
  errors += severity == Severity::Error;
  return diagnostic;
}

Diagnostic &DiagnosticEngine::error(DiagCode code, SourceRange range, const llvm::Twine &message) {
  return add(Severity::Error, code, range, message);
}

Diagnostic &DiagnosticEngine::warning(DiagCode code, SourceRange range,
                                      const llvm::Twine &message) {
  return add(Severity::Warning, code, range, message);
}

Diagnostic &DiagnosticEngine::error(DiagCode code, const llvm::Twine &message) {
  return add(Severity::Error, code, std::nullopt, message);
}

std::vector<const Diagnostic *> DiagnosticEngine::sorted() const {
  // Findings about the file as a whole come last, after the places that may explain them.
  std::vector<std::pair<uint64_t, size_t>> order;
  for (size_t i = 0; i < diagnostics.size(); ++i)
    order.push_back({diagnostics[i].range ? diagnostics[i].range->begin : UINT64_MAX, i});
  llvm::sort(order);
  std::vector<const Diagnostic *> result;
  for (auto [begin, index] : order)
    result.push_back(&diagnostics[index]);
  return result;
}

/// Whether the names differ by two neighbouring letters that have changed places.
static bool isTransposed(llvm::StringRef a, llvm::StringRef b) {
  if (a.size() != b.size())
    return false;
  size_t at = 0;
  while (at < a.size() && a[at] == b[at])
    ++at;
  return at + 1 < a.size() && a[at] == b[at + 1] && a[at + 1] == b[at] &&
         a.drop_front(at + 2) == b.drop_front(at + 2);
}

/// Whether the names are one but for case and `_`: `RMSNorm`, `rms_norm`.
static bool isSpeltOtherwise(llvm::StringRef a, llvm::StringRef b) {
  auto letters = [](llvm::StringRef text) {
    std::string lower = text.lower();
    llvm::erase(lower, '_');
    return lower;
  };
  return letters(a) == letters(b);
}

std::optional<llvm::StringRef> nearestName(llvm::StringRef name,
                                           llvm::ArrayRef<llvm::StringRef> candidates) {
  constexpr size_t longest = 64; // more is no slip of the hand, and dear to compare
  if (name.size() > longest)
    return std::nullopt;
  unsigned bound = std::max<size_t>(1, name.size() / 3);
  std::optional<llvm::StringRef> best;
  unsigned bestDistance = bound + 1;
  for (llvm::StringRef candidate : candidates) {
    unsigned distance = isTransposed(name, candidate) || isSpeltOtherwise(name, candidate)
                            ? 1
                            : name.edit_distance(candidate, /*AllowReplacements=*/true, bound);
    // A single letter is near every other one: there only the case may differ.
    if (name.size() == 1 && !name.equals_insensitive(candidate))
      continue;
    if (distance < bestDistance && distance <= bound) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

} // namespace attn::frontend
