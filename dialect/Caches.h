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

} // namespace attn
