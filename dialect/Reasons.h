// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Why an optimisation that is possible in kind was not done, for people who can write their spec or
// options otherwise. Each reason has a stable code, as errors have. They are `missed` remarks of
// MLIR: without an engine for remarks in the context they cost nothing.
#pragma once

#include "mlir/IR/Operation.h"

namespace attn {

/// The stable codes, named after the reason: `Reason::NoEmptyTile` is N0102.
enum class Reason {
#define ATTN_REASON(code, name, meaning) name,
#include "dialect/Reasons.def"
};

/// `N0102`
llvm::StringRef codeText(Reason reason);
/// What the code means in one line.
llvm::StringRef codeMeaning(Reason reason);

/// The category of remarks that are reasons, and the key of what can be done about one.
constexpr llvm::StringLiteral reasonCategory = "reason", mendKey = "Mend";

/// Whether someone reads reasons: what it takes long to find is looked for only then.
bool wantsReasons(mlir::Operation *op);

/// Records that something was not done to `op`: `text` says what and why, `mend` what can be
/// written instead, if anything can; `target` is the level or GPU that it is said of, if it is one
/// alone.
void missed(mlir::Operation *op, Reason reason, const llvm::Twine &text,
            const llvm::Twine &mend = "", llvm::StringRef target = "");

/// "is read 3 times", "is read twice, and returned": what else there is to a value that one op
/// reads.
std::string readersText(mlir::Value value);

} // namespace attn
