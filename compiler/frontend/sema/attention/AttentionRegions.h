// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The regions of an attention while they are built.
#pragma once

#include "compiler/frontend/sema/Context.h"
#include "compiler/frontend/sema/attention/AlongAxes.h"
#include "compiler/frontend/sema/attention/FormulaValue.h"
#include <array>

namespace attn::frontend {

/// The regions of an attention while they are built: blocks on their own, since what all of them
/// capture is known only at the end.
class AttentionRegions {
public:
  /// The regions that an attention can have.
  enum Part { Score, Bias, Cap, Mask, Sink };

  /// `query`: the axes of the query but its features. `keys`: the axes of the keys but theirs, in
  /// their order.
  AttentionRegions(mlir::Location loc, llvm::ArrayRef<Axis> query, llvm::ArrayRef<Axis> keys,
                   AlongAxes along)
      : loc(loc), queryAxes(query.begin(), query.end()), keyAxes(keys.begin(), keys.end()),
        along(std::move(along)), key(this->along.key) {}

  /// Starts a region.
  mlir::Block &add(Part part);
  /// Takes a region away again.
  void drop(Part part) { blocks[part].reset(); }
  /// A tensor of the model, which the spec calls `name`, as an argument of the region that `block`
  /// is.
  mlir::Value capture(mlir::Block *block, mlir::Value tensor, llvm::StringRef name = {});
  /// The position along an axis in the region that `block` is; null where that has none.
  mlir::Value positionAlong(mlir::Block *block, llvm::StringRef axis) const;
  /// The positions of the query's axes, then the key's; a sink has none of the latter.
  mlir::ValueRange positions(mlir::Block *block) const;
  /// The vector that the score region takes of the query, or of the key: `tensor`'s last axis. Null
  /// where it takes another one already.
  mlir::Value vectorOf(FormulaValue::Side side, mlir::Value tensor);
  /// Takes away what nothing uses, of ops and captures.
  void finish();
  /// Moves the blocks to the regions of `op`.
  void moveTo(AttentionOp op);

  mlir::Location loc;
  Axes queryAxes, keyAxes;
  AlongAxes along;
  Axis key;                                     ///< What is attended along.
  std::string rowAxis;                          ///< What `i` is a position along; empty: nothing.
  Axis heads{"", 0}, group{"", 0}, rest{"", 0}; ///< Heads in groups: what the axis was split into.
  mlir::Block *scratch = nullptr;               ///< Where a hook that nothing applies is checked.
  llvm::SmallVector<mlir::Value> captures;
  mlir::Value queryVector, keyVector;                                 ///< What the score takes.
  std::map<std::pair<const void *, const void *>, mlir::Value> known; ///< By how it was made.
  std::vector<const Decl *> applying; ///< Hooks, each named by the one before.
  unsigned applications = 0;          ///< Of hooks, so far.
  Scope *place = nullptr;             ///< Of the line that is built: where inputs are looked up.

private:
  /// How many arguments of a region come before the positions: two vectors, a score, none.
  static unsigned ownArguments(Part part) { return part == Score ? 2 : part <= Cap ? 1 : 0; }
  /// Which of the regions `block` is.
  Part partOf(mlir::Block *block) const;

  /// A location of an argument that hooks know by a name; there may be none.
  mlir::Location named(llvm::StringRef name) const;

  std::array<std::unique_ptr<mlir::Block>, 5> blocks;
  llvm::SmallVector<std::string> captureNames; ///< Of `captures`.
};

} // namespace attn::frontend
