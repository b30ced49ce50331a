// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors and warnings about a spec: each once, at most 100 of them, and of a block that nothing
// applies only those that hold whatever its sizes are.
#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

using namespace ast;

constexpr unsigned mostErrors = 100;

bool Reporter::isFirst(DiagCode code, SourceRange range) {
  return reported.insert({static_cast<unsigned>(code), range.begin, range.end}).second;
}

Diagnostic &Reporter::error(DiagCode code, SourceRange range, const llvm::Twine &message) {
  if (diagnostics.errorCount() >= mostErrors || isQuiet(code) || !isFirst(code, range))
    return unread = Diagnostic();
  if (diagnostics.errorCount() + 1 == mostErrors)
    return diagnostics.error(DiagCode::TooManyErrors, range,
                             llvm::Twine(mostErrors - 1) +
                                 " errors; the rest of the file is not checked");
  if (usedAt && source.isUsed(range.begin))
    return diagnostics.error(code, *usedAt, message).at(range, "here");
  return diagnostics.error(code, range, message);
}

Diagnostic &Reporter::warning(DiagCode code, SourceRange range, const llvm::Twine &message) {
  if (isFirst(code, range))
    return diagnostics.warning(code, range, message);
  return unread = Diagnostic();
}

bool Reporter::isQuiet(DiagCode code) const {
  if (!unapplied)
    return false;
  // What is said of sizes may be wrong where they were made up.
  switch (code) {
  case DiagCode::UnknownName:
  case DiagCode::DuplicateName:
  case DiagCode::UnknownDim:
  case DiagCode::NotAFunction:
  case DiagCode::NotAValue:
  case DiagCode::UnknownDtype:
  case DiagCode::MissingReturn:
  case DiagCode::AfterReturn:
  case DiagCode::ResultCount:
  case DiagCode::WrongArguments:
  case DiagCode::MalformedPattern:
  case DiagCode::UnknownScore:
  case DiagCode::ScoreExpression:
  case DiagCode::DuplicateHook:
  case DiagCode::UnknownWeight:
  case DiagCode::UnknownReturned:
  case DiagCode::SeveralValues:
    return false;
  default:
    return true;
  }
}

} // namespace attn::frontend
