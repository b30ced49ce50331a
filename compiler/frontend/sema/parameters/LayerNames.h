// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The numbers of layers in names of tensors, through stacks of stacks.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// Makes `owner` that of the layers of a stack in it. `path` is the layers' in the checkpoint, in
/// which `{n}` stands for the number and names of stacks around for those of their layers.
void enterStack(Owner &owner, StackLevel level, llvm::StringRef path);

/// The stack whose layer `word`, in braces, is the number of: `n` is that of the innermost one
/// whose layers differ, the name of a stack its own. Behind it may stand what names count by,
/// `n*23+881`. Nothing where it is none of these.
std::optional<size_t> levelNamed(const Owner &owner, llvm::StringRef word);

/// `text`, a name in which numbers of layers may stand, under the owner's prefix: in the place of
/// what stands from the first of these numbers on.
std::string inStacks(const Owner &owner, llvm::StringRef text);

/// A name of tensors as attn.source has it.
struct LayerPattern {
  std::string text;
  llvm::SmallVector<size_t, 2> levels; ///< Those whose numbers are in it, outermost first.
  int64_t layers = 1;                  ///< Of all of these.
};

/// A name under the owner's prefix -> the pattern of its tensors: `stages.{0}.blocks.{1}` becomes
/// `stages.{n/2}.blocks.{n%2}` where a stage has 2 blocks.
LayerPattern patternOf(const Owner &owner, llvm::StringRef name);

/// The layer of a parameter of the block that is built, which has one for each layer of `levels`;
/// null where there are none.
mlir::Value layerOf(Sema &sema, llvm::ArrayRef<size_t> levels, mlir::Location loc);

} // namespace attn::frontend
