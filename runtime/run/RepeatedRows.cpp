// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows along one axis of a tensor in memory: repeated, and copied onto others.
#include "run/RepeatedRows.h"
#include <cstring>

using namespace attn;

static void copyPieces(char *to, const char *from, const RowLayout &layout) {
  for (int64_t piece = 0; piece < layout.pieces; ++piece)
    memcpy(to + size_t(piece) * layout.pieceBytes, from + size_t(piece) * layout.pieceBytes,
           layout.usedBytes);
}

void attn::repeatRows(char *to, const char *from, const RowLayout &layout, int64_t times) {
  for (int64_t row = 0; row < layout.outer * layout.rows; ++row)
    for (int64_t i = 0; i < times; ++i)
      copyPieces(to + size_t(row * times + i) * layout.rowBytes(),
                 from + size_t(row) * layout.rowBytes(), layout);
}

void attn::copyRow(char *data, const RowLayout &layout, int64_t to, int64_t from) {
  for (int64_t outer = 0; outer < layout.outer; ++outer) {
    char *rows = data + size_t(outer * layout.rows) * layout.rowBytes();
    copyPieces(rows + size_t(to) * layout.rowBytes(), rows + size_t(from) * layout.rowBytes(),
               layout);
  }
}
