// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads take runs of rows. The rows of a run are its first one, turned further: cos(a + b) =
// cos(a) cos(b) - sin(a) sin(b), in double precision, so that there is a sine for each run, not for
// each row.
#include "weights/Angles.h"
#include "base/Team.h"
#include "weights/PanelLayout.h"
#include <cmath>

using namespace attn;

static constexpr int64_t runLength = 64;

namespace {
/// Cosine and sine of an angle.
struct Turn {
  double cosine, sine;
};

/// A slot that is filled, run by run.
struct Filling {
  const attn_abi_slot &slot;
  const Turn *within; ///< [runLength][columns], from the first row of a run to each of its rows
  float *to;
  std::atomic<int64_t> next{0}; ///< the first row that nobody has taken
};
} // namespace

static Turn turnAt(double row, double frequency) {
  return {cos(row * frequency), sin(row * frequency)};
}

static void fillRows(void *argument, int64_t) {
  Filling &filling = *static_cast<Filling *>(argument);
  const attn_abi_slot &slot = filling.slot;
  bool isSine = slot.layout == ATTN_PACK_SINES;
  for (int64_t first; (first = filling.next.fetch_add(runLength)) < slot.k;) {
    int64_t rows = slot.k - first < runLength ? slot.k - first : runLength;
    for (int64_t j = 0; j < slot.columns; ++j) {
      Turn begin = turnAt(double(first), slot.frequencies[j]);
      for (int64_t row = 0; row < rows; ++row) {
        const Turn &turn = filling.within[row * slot.columns + j];
        double value = isSine ? begin.sine * turn.cosine + begin.cosine * turn.sine
                              : begin.cosine * turn.cosine - begin.sine * turn.sine;
        filling.to[(first + row) * slot.columns + j] = float(value);
      }
    }
  }
}

attn_status attn::fillAngles(const attn_abi_model &tables, char *block, Team &team, Error &error) {
  Vector<Turn> within;
  for (int32_t s = 0; s < tables.slotCount; ++s) {
    const attn_abi_slot &slot = tables.slots[s];
    if (!isOfAngles(slot.layout))
      continue;
    if (!within.resize(size_t(runLength * slot.columns)))
      return error.outOfMemory("tables of angles");
    for (int64_t row = 0; row < runLength; ++row)
      for (int64_t j = 0; j < slot.columns; ++j)
        within[size_t(row * slot.columns + j)] = turnAt(double(row), slot.frequencies[j]);
    Filling filling{slot, within.data(), reinterpret_cast<float *>(block + slot.offset)};
    team.run(fillRows, &filling);
  }
  return ATTN_OK;
}
