// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which of the rows that are kept begins as a prompt does, and which is given up first.
#include "schedule/KeptRows.h"

using namespace attn;

int64_t attn::commonTokens(const Vector<int32_t> &a, const Vector<int32_t> &b) {
  size_t most = a.size() < b.size() ? a.size() : b.size(), same = 0;
  while (same < most && a[same] == b[same])
    ++same;
  return int64_t(same);
}

KeptRows::~KeptRows() {
  for (HeldRow *row : rows)
    dispose(row);
}

void KeptRows::add(HeldRow *row, int64_t now, size_t most) {
  row->used = now;
  // One of two that begin alike is enough where it has all of the other.
  for (size_t i = 0; i < rows.size();) {
    HeldRow *other = rows[i];
    size_t common = size_t(commonTokens(row->tokens, other->tokens));
    if (common == row->tokens.size()) {
      other->used = now;
      dispose(row);
      return;
    }
    if (common < other->tokens.size()) {
      ++i;
      continue;
    }
    release(other);
    dispose(other);
  }
  if (!rows.push(row))
    dispose(row);
  while (rows.size() > most)
    drop();
}

HeldRow *KeptRows::find(const Vector<int32_t> &tokens, int64_t &common) {
  HeldRow *best = nullptr;
  common = 0;
  for (HeldRow *row : rows)
    if (int64_t same = commonTokens(row->tokens, tokens); same > common)
      best = row, common = same;
  return best;
}

void KeptRows::release(HeldRow *row) {
  for (HeldRow *&other : rows)
    if (other == row) {
      other = rows.back();
      rows.pop();
      return;
    }
}

bool KeptRows::drop() {
  HeldRow *oldest = nullptr;
  for (HeldRow *row : rows)
    if (!oldest || row->used < oldest->used)
      oldest = row;
  if (!oldest)
    return false;
  release(oldest);
  dispose(oldest);
  return true;
}

int64_t KeptRows::bytes() const {
  int64_t all = 0;
  for (const HeldRow *row : rows)
    all += row->bytes;
  return all;
}
