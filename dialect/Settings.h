// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an attn.unfold says of how tokens are chosen, by the rows of attn/settings.def.
#pragma once

#include "dialect/AttnDialect.h"

namespace attn {

/// A row of the table.
struct GenerationSetting {
  /// Words stand for their numbers, 0 for the first; sequences are lists of tokens, each with its
  /// length in front.
  enum class Kind { Number, Whole, Choice, Tokens, Sequences };

  llvm::StringLiteral name;
  Kind kind;
  double least, most, otherwise;
  llvm::StringLiteral words; ///< of a choice, with commas between

  /// Whether it is no number.
  bool isList() const { return kind == Kind::Tokens || kind == Kind::Sequences; }
};

/// All rows, in the order in which artifacts hold them.
llvm::ArrayRef<GenerationSetting> generationSettings();

/// The row of a name, null where there is none.
const GenerationSetting *findSetting(llvm::StringRef name);

/// What an op says of a setting, or what holds without.
double numberOf(UnfoldOp op, const GenerationSetting &setting);
llvm::SmallVector<int64_t> tokensOf(UnfoldOp op, const GenerationSetting &setting);

/// Whether each setting of an op is one of the rows, of its kind and in its range; reports the
/// first that is not.
mlir::LogicalResult verifySettings(UnfoldOp op);

} // namespace attn
