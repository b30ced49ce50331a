// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows along one axis of a tensor in memory: repeated, and copied onto others.
#pragma once

#include <cstddef>
#include <cstdint>

namespace attn {

/// How rows lie: `outer` times all rows, each of `pieces` that are `pieceBytes` apart, of which the
/// first `usedBytes` mean something.
struct RowLayout {
  int64_t outer, rows, pieces;
  size_t pieceBytes, usedBytes;

  /// Bytes from one row to the next.
  size_t rowBytes() const { return size_t(pieces) * pieceBytes; }
  /// Bytes of all.
  size_t bytes() const { return size_t(outer * rows) * rowBytes(); }
};

/// Row r of `from`, which lies as `layout` says, becomes rows r * times to r * times + times - 1.
void repeatRows(char *to, const char *from, const RowLayout &layout, int64_t times);

/// Row `to` becomes what row `from` is, in place.
void copyRow(char *data, const RowLayout &layout, int64_t to, int64_t from);

} // namespace attn
