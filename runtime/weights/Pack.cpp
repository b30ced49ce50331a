// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of slots cut into pieces of work, which threads take one by one: elements are read, turned
// and stored in the layout of the slot.
#include "weights/Pack.h"
#include "base/Architecture.h"
#include "base/Dtype.h"
#include "base/PageBlock.h"
#include "base/Team.h"
#include "io/ElementReader.h"
#include "weights/PanelLayout.h"
#include <algorithm>
#include <cmath>

using namespace attn;

// In libattn_main: a command shows how far it is.
extern "C" void attn_main_note_packed(int64_t elements, int64_t thread);
#pragma weak attn_main_note_packed

/// What a piece of work has of a slot, unless a panel has more.
static constexpr int64_t unitElements = 1 << 18;

/// A rectangle of rows k and columns j: to[k * toStride + j] = source[index + k * kStride + j *
/// columnStride].
static void packRectangle(const StoredTensor &source, int64_t index, int64_t kStride,
                          int64_t columnStride, int64_t rows, int64_t columns, float *to,
                          int64_t toStride) {
  if (columnStride == 1) {
    for (int64_t k = 0; k < rows; ++k)
      loadFloats(source.data, source.dtype, index + k * kStride, columns, to + k * toStride);
    return;
  }
  if (kStride != 1) {
    for (int64_t k = 0; k < rows; ++k)
      for (int64_t j = 0; j < columns; ++j)
        to[k * toStride + j] =
            loadFloat(source.data, source.dtype, index + k * kStride + j * columnStride);
    return;
  }
  // The source's rows are our columns, as PyTorch stores linears. 64 rows of the target stay in L1
  // while 4 source rows at a time are read in whole cache lines.
  constexpr int64_t block = 64;
  float lines[4][block];
  for (int64_t k = 0; k < rows; k += block) {
    int64_t depth = rows - k < block ? rows - k : block;
    for (int64_t j = 0; j < columns; j += 4) {
      int64_t lanes = columns - j < 4 ? columns - j : 4;
      for (int64_t lane = 0; lane < lanes; ++lane)
        loadFloats(source.data, source.dtype, index + k + (j + lane) * columnStride, depth,
                   lines[lane]);
      float *target = to + k * toStride + j;
      int64_t done = 0;
      if (lanes == 4)
        for (; done + 4 <= depth; done += 4)
          transpose4(&lines[0][done], block, target + done * toStride, toStride);
      for (; done < depth; ++done)
        for (int64_t lane = 0; lane < lanes; ++lane)
          target[done * toStride + lane] = lines[lane][done];
    }
  }
}

namespace {
/// Columns [begin, end) of a part and rows [kBegin, kEnd): one piece of work.
struct Unit {
  const PackJob *job;
  int64_t begin, end, kBegin, kEnd;
};

/// A number that f16 cannot hold, and the tensor that has it; null: there is none.
struct Beyond {
  const StoredTensor *source;
  float value;
};

struct PackWork {
  const Vector<Unit> &units;
  char *block;
  float *scratch; ///< a panel or rows of f32 for each thread, and behind it lines of groups
  size_t panelSize, lineSize; ///< floats of both
  const Vector<PackJob> &jobs;
  std::atomic<size_t> next{0};
  std::atomic<size_t> nextAhead{0}; ///< of the jobs, the first that is not read ahead
  std::atomic<bool> hasFailed{false};
  ReadFailure failure = {}; ///< of the first thread that failed
  Beyond beyond = {};
};
} // namespace

/// As packRectangle of [rows][columns] from element `index` on, of a source that may lie in a file.
static bool packFrom(const StoredTensor &source, int64_t index, int64_t kStride,
                     int64_t columnStride, int64_t rows, int64_t columns, float *to,
                     int64_t toStride, ElementReader &reader) {
  StoredTensor view;
  int64_t span = (rows - 1) * kStride + (columns - 1) * columnStride + 1;
  // Rows far from each other are read one by one, with nothing of what lies between.
  if (!source.isInMemory() && columnStride == 1 && span > 4 * rows * columns) {
    for (int64_t k = 0; k < rows; ++k) {
      if (!reader.take(source, index + k * kStride, columns, view))
        return false;
      packRectangle(view, 0, kStride, 1, 1, columns, to + k * toStride, toStride);
    }
    return true;
  }
  if (!reader.take(source, index, span, view))
    return false;
  packRectangle(view, 0, kStride, columnStride, rows, columns, to, toStride);
  return true;
}

/// The elements that `rows` of k and a column begin with lie side by side, and so do those of its
/// lines.
static bool hasLines(const Unit &unit, int64_t first, int64_t columnStride) {
  const attn_abi_part &part = *unit.job->part;
  const attn_abi_slot &slot = *unit.job->slot;
  int bits = hasGroups(slot.layout) ? ElementReader::lineBits(*unit.job->source) : 0;
  bool areTaken = bits > 0 && bits <= panelFormatOf(slot.layout)->bits;
  return areTaken && part.kInner == 0 && part.kStride == 1 && slot.k % lineElements == 0 &&
         first % lineElements == 0 && columnStride % lineElements == 0;
}

/// Reads the lines of `columns` to lines[k / 32][columns], and their codes to codes[columns][k].
static bool readLines(const Unit &unit, int64_t first, int64_t columnStride, int64_t columns,
                      CodeLine *lines, unsigned char *codes, ElementReader &reader) {
  int64_t k = unit.job->slot->k, groups = k / lineElements;
  Vector<CodeLine> own;
  if (!own.resize(size_t(groups)))
    return false;
  for (int64_t j = 0; j < columns; ++j) {
    if (!reader.takeLines(*unit.job->source, first + j * columnStride, k, own.data(),
                          codes + j * k))
      return false;
    for (int64_t group = 0; group < groups; ++group)
      lines[group * columns + j] = own[size_t(group)];
  }
  return true;
}

/// Whether f16 holds the lines that columns of codes were stored with; else `beyond` is a number on
/// one that it does not. What is infinite or NaN already stays what it is.
static bool holdsLines(const Unit &unit, const CodeLine *lines, int64_t column, int64_t columns,
                       char *base, Beyond &beyond) {
  const attn_abi_slot &slot = *unit.job->slot;
  int64_t found = columnBeyondHalf(slot, column, columns, base);
  for (int64_t group = 0; found >= 0 && group < slot.k / lineElements; ++group) {
    const CodeLine &line = lines[group * columns + found];
    const float numbers[] = {line.step, line.least, line.least + 7.5f * line.step};
    for (float number : numbers)
      if (float value = largestBeyondHalf(&number, 1); value != 0) {
        beyond = {unit.job->source, value};
        return false;
      }
  }
  return true;
}

/// Whether f16 holds what a slot keeps in it of columns that were stored, `values` [rows][columns];
/// else `beyond` is their largest. What is infinite or NaN already stays what it is.
static bool holdsValues(const Unit &unit, const float *values, int64_t rows, int64_t column,
                        int64_t columns, char *base, Beyond &beyond) {
  const attn_abi_slot &slot = *unit.job->slot;
  if (!keepsHalves(slot.layout))
    return true;
  float largest = largestBeyondHalf(values, rows * columns);
  if (largest == 0)
    return true;
  if (hasGroups(slot.layout)) { // of which only the lines are kept so
    int64_t found = columnBeyondHalf(slot, column, columns, base);
    if (found < 0)
      return true;
    bool isFinite = true;
    for (int64_t k = 0; k < rows; ++k)
      isFinite &= std::isfinite(values[k * columns + found]);
    if (!isFinite)
      return true;
  }
  beyond = {unit.job->source, largest};
  return false;
}

/// False where elements cannot be read, or f16 cannot hold them.
static bool packUnit(const Unit &unit, char *block, float *scratch, CodeLine *lines,
                     ElementReader &reader, Beyond &beyond) {
  const attn_abi_slot &slot = *unit.job->slot;
  const attn_abi_part &part = *unit.job->part;
  const StoredTensor &source = *unit.job->source;
  float *base = reinterpret_cast<float *>(block + slot.offset + unit.job->layer * slot.layerStride);
  bool isPanels = !isOfRows(slot.layout), isF32 = isOfFloats(slot.layout);
  // Columns whose source advances evenly may be taken together; groups of one advance by
  // outerStride.
  bool isEven = part.inner == 1 || part.outerStride == part.inner * part.innerStride;
  int64_t stride = part.inner == 1 ? part.outerStride : part.innerStride;
  for (int64_t n = unit.begin; n < unit.end;) {
    int64_t column = part.column + n, run = unit.end - n;
    if (!isEven)
      run = std::min(run, part.inner - n % part.inner);
    if (isPanels)
      run = std::min(run, slot.width - column % slot.width);
    int64_t index =
        part.offset + n / part.inner * part.outerStride + n % part.inner * part.innerStride;
    bool areLines = hasLines(unit, index, stride);
    auto *codes = reinterpret_cast<unsigned char *>(scratch);
    if (areLines && !readLines(unit, index, stride, run, lines, codes, reader))
      return false;
    // Codes that are stored as they are become no floats in between.
    if (areLines && takesCodes(slot.layout, ElementReader::lineBits(source), lines,
                               slot.k / lineElements * run)) {
      storeCodes(slot, codes, lines, column, run, reinterpret_cast<char *>(base));
      if (!holdsLines(unit, lines, column, run, reinterpret_cast<char *>(base), beyond))
        return false;
      n += run;
      continue;
    }
    float *to = !isF32     ? scratch
                : isPanels ? base + column / slot.width * slot.k * slot.width +
                                 unit.kBegin * slot.width + column % slot.width
                           : base + unit.kBegin * slot.columns + column;
    int64_t toStride = !isF32 ? run : isPanels ? slot.width : slot.columns;
    for (int64_t k = unit.kBegin, rows; k < unit.kEnd; k += rows, to += rows * toStride) {
      rows = unit.kEnd - k;
      int64_t first = index + k * part.kStride;
      if (part.kInner) {
        rows = std::min(rows, part.kInner - k % part.kInner);
        first = index + k / part.kInner * part.kOuterStride + k % part.kInner * part.kStride;
      }
      if (!packFrom(source, first, part.kStride, stride, rows, run, to, toStride, reader))
        return false;
    }
    if (isPanels && !isF32)
      storePanel(slot, scratch, areLines ? lines : nullptr, column, run,
                 reinterpret_cast<char *>(base));
    auto *halves = reinterpret_cast<uint16_t *>(base) + column;
    for (int64_t k = unit.kBegin; !isPanels && !isF32 && k < unit.kEnd; ++k)
      storeRow(slot, scratch + (k - unit.kBegin) * run, run, halves + k * slot.columns);
    if (!isF32 && !holdsValues(unit, scratch, unit.kEnd - unit.kBegin, column, run,
                               reinterpret_cast<char *>(base), beyond))
      return false;
    n += run;
  }
  return true;
}

/// Has the files' parts of the jobs read that come within the next bytes, of a larger tensor its
/// first ones: a disk and threads that pack then wait for each other as little as can be.
static void readAhead(PackWork &work, const PackJob &now) {
  constexpr uint64_t window = 64 << 20;
  uint64_t bytes = 0;
  for (const PackJob *job = &now; job < work.jobs.data() + work.jobs.size(); ++job) {
    auto index = size_t(job - work.jobs.data());
    const StoredTensor &source = *job->source;
    if (bytes > 0 && bytes + source.bytes > window)
      return;
    bytes += source.bytes;
    size_t next = work.nextAhead;
    while (next <= index && !work.nextAhead.compare_exchange_weak(next, index + 1))
      ;
    if (next <= index && source.file)
      source.file->readAhead(source.offset, source.bytes < window ? source.bytes : window);
  }
}

static void packOnThread(void *argument, int64_t thread) {
  PackWork &work = *static_cast<PackWork *>(argument);
  float *scratch = work.scratch + size_t(thread) * (work.panelSize + work.lineSize);
  auto *lines = reinterpret_cast<CodeLine *>(scratch + work.panelSize);
  ElementReader reader;
  for (size_t i; (i = work.next.fetch_add(1, std::memory_order_relaxed)) < work.units.size();) {
    readAhead(work, *work.units[i].job);
    Beyond beyond = {};
    if (!packUnit(work.units[i], work.block, scratch, lines, reader, beyond)) {
      if (!work.hasFailed.exchange(true))
        work.failure = reader.failure, work.beyond = beyond;
      return;
    }
    const Unit &unit = work.units[i];
    if (attn_main_note_packed)
      attn_main_note_packed((unit.end - unit.begin) * (unit.kEnd - unit.kBegin), thread);
  }
}

/// Cuts a job into pieces of about `unitElements`, along columns (whole panels) or along rows, of
/// which long ones are cut, too.
static bool addUnits(const PackJob &job, Vector<Unit> &units) {
  const attn_abi_slot &slot = *job.slot;
  int64_t count = job.part->count, rows = slot.k, columns = unitElements;
  if (slot.k == 0 || count == 0)
    return true;
  if (isOfRows(slot.layout)) {
    columns = std::min(count, unitElements);
    rows = unitElements / columns;
  } else {
    columns = unitElements / slot.k / slot.width * slot.width;
    columns = columns > slot.width ? columns : slot.width;
  }
  for (int64_t k = 0; k < slot.k; k += rows)
    for (int64_t n = 0; n < count; n += columns)
      if (!units.push({&job, n, std::min(n + columns, count), k, std::min(k + rows, slot.k)}))
        return false;
  return true;
}

/// The error of a number that f16 cannot hold.
static attn_status reportBeyond(const Beyond &beyond, Error &error) {
  Text quoted;
  quoted.appendQuoted(beyond.source->name, beyond.source->nameLength);
  error.set(
      ATTN_BAD_WEIGHTS, "W0106",
      "the tensor `%s` has a number as large as %.6g, and f16, in which it is kept, ends at 65504",
      quoted.c_str(), double(beyond.value));
  error.help(
      "compile with `--precision=bf16` or f32, or write `precision bf16 for \"%s\"` into the "
      "spec",
      quoted.c_str());
  return error.status;
}

attn_status attn::packAll(const Vector<PackJob> &jobs, char *block, Team &team, Error &error) {
  Vector<Unit> units;
  int64_t most = 0, lines = 0; // floats of a panel that is not f32, and of its lines
  for (const PackJob &job : jobs) {
    if (!addUnits(job, units))
      return error.outOfMemory("packing the weights");
    int64_t panel = isOfRows(job.slot->layout) ? unitElements : job.slot->k * job.slot->width;
    most = !isOfFloats(job.slot->layout) && panel > most ? panel : most;
    if (hasGroups(job.slot->layout))
      lines = 2 * most / lineElements > lines ? 2 * most / lineElements : lines;
  }
  PageBlock scratch;
  if (most > 0 && !scratch.allocate(uint64_t(most + lines) * 4 * uint64_t(team.size())))
    return error.outOfMemory("packing the weights");
  PackWork work{units,        block,         reinterpret_cast<float *>(scratch.data()),
                size_t(most), size_t(lines), jobs};
  team.run(packOnThread, &work);
  if (work.beyond.source)
    return reportBeyond(work.beyond, error);
  return work.hasFailed ? work.failure.report("packing the weights", error) : ATTN_OK;
}
