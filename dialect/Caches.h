// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What entries do with caches, and the ops that read them (CacheOps.td).
#pragma once

#include "dialect/AttnDialect.h"

#define GET_OP_CLASSES
#include "dialect/CacheOps.h.inc"

namespace attn {

/// A cache that an entry takes, an element of its `attn.caches`: {cache = @own, rows = "T",
/// use = "push"}.
struct CacheUse {
  /// It adds positions behind those that the cache holds; replaces these; or reads what another
  /// entry has filled in.
  enum class Kind { Push, Fill, Read };
  mlir::FlatSymbolRefAttr cache;
  Kind kind;
  /// The positions that a call adds: a number, or the name of a dynamic axis.
  mlir::StringAttr rows;

  /// The name of the cache.
  llvm::StringRef name() const { return cache.getValue(); }
  /// As an element of `attn.caches`.
  mlir::Attribute attribute() const;
};

/// The caches that an entry takes.
llvm::SmallVector<CacheUse> cachesOf(mlir::Operation *entry);

/// The dims of an entry whose rows are by themselves.
struct ApartRows {
  llvm::StringRef batch;                        ///< That counts the rows,
  llvm::StringRef positions;                    ///< and the positions that a call adds.
  llvm::SmallVector<llvm::StringRef, 2> caches; ///< Of the positions in caches.

  /// Nothing where the rows of `entry` have one length.
  static std::optional<ApartRows> of(mlir::Operation *entry);

  /// Whether a tensor has the positions of the call, or those of a cache; whether it has a place
  /// for each row, and no positions.
  bool hasPositions(mlir::Type type) const;
  bool hasCached(mlir::Type type) const;
  bool hasPlaces(mlir::Type type) const;
  /// What is a tensor of positions where these lie one behind the other: its batch is 1.
  mlir::Type packed(mlir::Type type) const;
};

} // namespace attn
