// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cpu/Pack.h"
#include "core/Dtype.h"
#include "core/Team.h"
#include "io/Checkpoint.h"
#include <cmath>
#include <sys/mman.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

using namespace attn;

static constexpr uint64_t kLargePage = 2 << 20;

bool PackedBlock::allocate(uint64_t wanted) {
  reset();
  uint64_t page = wanted >= kLargePage ? kLargePage : 4096;
  if (wanted > UINT64_MAX / 2)
    return false;
  uint64_t rounded = (wanted + page - 1) / page * page;
  if (rounded == 0)
    rounded = page;
  uint64_t reserve = page == kLargePage ? rounded + kLargePage : rounded;
  void *memory = mmap(nullptr, reserve, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  map = memory;
  mapLength = reserve;
  bytes = static_cast<char *>(memory) + (page - uintptr_t(memory) % page) % page;
  length = rounded;
  if (page == kLargePage)
    madvise(bytes, length, MADV_HUGEPAGE); // a wish: small pages do as well
  return true;
}

void PackedBlock::reset() {
  if (map)
    munmap(map, mapLength);
  map = nullptr;
  bytes = nullptr;
  mapLength = length = 0;
}

void PackedBlock::swap(PackedBlock &other) {
  void *otherMap = other.map;
  uint64_t otherMapLength = other.mapLength, otherLength = other.length;
  char *otherBytes = other.bytes;
  other.map = map, other.mapLength = mapLength, other.bytes = bytes, other.length = length;
  map = otherMap, mapLength = otherMapLength, bytes = otherBytes, length = otherLength;
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/// `count` elements that lie side by side, as f32.
static void loadRun(const StoredTensor &source, int64_t index, int64_t count, float *values) {
  if (source.dtype == ATTN_F32) {
    memcpy(values, source.data + 4 * index, size_t(count) * 4);
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    values[i] = loadFloat(source.data, source.dtype, index + i);
}

/// to[i][j] = from[j][i] for 4 x 4.
static void transpose4(const float *from, int64_t fromStride, float *to, int64_t toStride) {
#if defined(__SSE__)
  __m128 a = _mm_loadu_ps(from), b = _mm_loadu_ps(from + fromStride);
  __m128 c = _mm_loadu_ps(from + 2 * fromStride), d = _mm_loadu_ps(from + 3 * fromStride);
  _MM_TRANSPOSE4_PS(a, b, c, d);
  _mm_storeu_ps(to, a);
  _mm_storeu_ps(to + toStride, b);
  _mm_storeu_ps(to + 2 * toStride, c);
  _mm_storeu_ps(to + 3 * toStride, d);
#else
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      to[i * toStride + j] = from[j * fromStride + i];
#endif
}

/// A rectangle of rows k and columns j: to[k * toStride + j] = source[index + k * kStride + j *
/// columnStride].
static void packRectangle(const StoredTensor &source, int64_t index, int64_t kStride,
                          int64_t columnStride, int64_t rows, int64_t columns, float *to,
                          int64_t toStride) {
  if (columnStride == 1) {
    for (int64_t k = 0; k < rows; ++k)
      loadRun(source, index + k * kStride, columns, to + k * toStride);
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
        loadRun(source, index + k + (j + lane) * columnStride, depth, lines[lane]);
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

/// Values [k][columns] as pairs along k, each rounded by `round`.
template <typename Round>
static void storePairs(const float *values, int64_t rows, int64_t columns, int64_t width,
                       uint16_t *to, Round round) {
  for (int64_t k = 0; k < rows; ++k)
    for (int64_t j = 0; j < columns; ++j)
      to[k / 2 * 2 * width + 2 * j + k % 2] = round(values[k * columns + j]);
}

/// Values [k][columns] as signed bytes, by fours along k, and each column's scale and sum.
static void storeBytes(const float *values, int64_t rows, int64_t columns, int64_t width,
                       signed char *to, float *scales, int32_t *sums) {
  float inverse[ATTN_MAX_PANEL];
  for (int64_t j = 0; j < columns; ++j)
    scales[j] = 0, sums[j] = 0;
  for (int64_t k = 0; k < rows; ++k)
    for (int64_t j = 0; j < columns; ++j) {
      float magnitude = fabsf(values[k * columns + j]);
      scales[j] = magnitude > scales[j] || magnitude != magnitude ? magnitude : scales[j];
    }
  for (int64_t j = 0; j < columns; ++j) {
    inverse[j] = scales[j] > 0 ? 127 / scales[j] : 0;
    scales[j] /= 127;
  }
  for (int64_t k = 0; k < rows; ++k)
    for (int64_t j = 0; j < columns; ++j) {
      // Adding 1.5 * 2^23 leaves the integer, rounded to nearest even, in the low bits. A column
      // with NaN or an infinity has a scale that says so; its bytes are anything.
      float shifted = values[k * columns + j] * inverse[j] + 12582912.0f;
      int32_t bits;
      memcpy(&bits, &shifted, sizeof bits);
      signed char byte = static_cast<signed char>(bits);
      to[k / 4 * 4 * width + 4 * j + k % 4] = byte;
      sums[j] += byte;
    }
}

/// Values [k][columns] as numbers from -8 to 7, each plus 8 in half a byte, with a scale for every
/// 32 along k and column, and the sum of a column's scaled numbers. `columns` of the panel's
/// `width`.
static void storeHalfBytes(const float *values, int64_t rows, int64_t columns, int64_t width,
                           unsigned char *to, uint16_t *scales, float *sums) {
  constexpr int64_t scaleRows = 32;
  double exact[ATTN_MAX_PANEL] = {};
  for (int64_t first = 0; first < rows; first += scaleRows, scales += width) {
    int64_t end = smaller(rows, first + scaleRows);
    float extremes[ATTN_MAX_PANEL] = {}, inverse[ATTN_MAX_PANEL], own[ATTN_MAX_PANEL],
          lowest[ATTN_MAX_PANEL];
    for (int64_t k = first; k < end; ++k)
      for (int64_t j = 0; j < columns; ++j) {
        float value = values[k * columns + j];
        // A NaN stays.
        extremes[j] = fabsf(value) > fabsf(extremes[j]) || value != value ? value : extremes[j];
      }
    for (int64_t j = 0; j < columns; ++j) {
      scales[j] = floatToBfloat(extremes[j] / -8 + 0.0f); // no -0
      own[j] = bfloatToFloat(scales[j]);
      inverse[j] = own[j] != 0 ? 1 / own[j] : 0;
      lowest[j] = own[j] != 0 ? 0 : -8; // bytes of 0, as in columns that nothing fills
    }
    for (int64_t k = first; k < first + scaleRows; ++k)
      for (int64_t j = 0; j < columns; ++j) {
        // As in storeBytes; NaN becomes -8, its scale says what it is.
        float scaled = lowest[j] + (k < end ? values[k * columns + j] * inverse[j] : 0);
        scaled = scaled > -8 ? scaled : -8;
        float shifted = (scaled < 7 ? scaled : 7) + 12582912.0f;
        int32_t bits;
        memcpy(&bits, &shifted, sizeof bits);
        int32_t number = bits - 0x4b400000; // the bits of 1.5 * 2^23
        int64_t byte = k / 8 * 4 * width + 4 * j + k % 4;
        unsigned char half = static_cast<unsigned char>(number + 8);
        to[byte] = k % 8 < 4 ? half : static_cast<unsigned char>(to[byte] | half << 4);
        exact[j] += double(own[j]) * number;
      }
  }
  for (int64_t j = 0; j < columns; ++j)
    sums[j] = float(exact[j]);
}

namespace {
/// Columns [begin, end) of a part and rows [kBegin, kEnd): one piece of work.
struct Unit {
  const PackJob *job;
  int64_t begin, end, kBegin, kEnd;
};

struct Work {
  const Vector<Unit> &units;
  char *block;
  float *scratch; ///< a panel of f32 for each thread
  size_t scratchSize;
  std::atomic<size_t> next{0};
  std::atomic<bool> lacksMemory{false};
  std::atomic<const SourceFile *> unreadable{nullptr};
};

/// The elements that a piece of work reads, in memory: where a file holds them, read into a window
/// that later pieces use again.
struct Window {
  Work &work;
  Vector<char> bytes;

  /// Makes `view` the elements from `first` on; false where they cannot be read.
  bool take(const StoredTensor &source, int64_t first, int64_t count, StoredTensor &view);
};
} // namespace

bool Window::take(const StoredTensor &source, int64_t first, int64_t count, StoredTensor &view) {
  size_t width = attn_dtype_size(source.dtype);
  view = source;
  if (!source.file) {
    view.data = source.data + size_t(first) * width;
    return true;
  }
  if (!bytes.reserve(size_t(count) * width)) {
    work.lacksMemory = true;
    return false;
  }
  view.data = bytes.data();
  if (source.file->read(source.offset + uint64_t(first) * width, size_t(count) * width,
                        bytes.data()))
    return true;
  work.unreadable = source.file;
  return false;
}

/// As packRectangle, of a source that may lie in a file.
static bool packFrom(const StoredTensor &source, int64_t index, int64_t kStride,
                     int64_t columnStride, int64_t rows, int64_t columns, float *to,
                     int64_t toStride, Window &window) {
  StoredTensor view;
  int64_t span = (rows - 1) * kStride + (columns - 1) * columnStride + 1;
  // Rows far from each other are read one by one, with nothing of what lies between.
  if (source.file && columnStride == 1 && span > 4 * rows * columns) {
    for (int64_t k = 0; k < rows; ++k) {
      if (!window.take(source, index + k * kStride, columns, view))
        return false;
      packRectangle(view, 0, kStride, 1, 1, columns, to + k * toStride, toStride);
    }
    return true;
  }
  if (!window.take(source, index, span, view))
    return false;
  packRectangle(view, 0, kStride, columnStride, rows, columns, to, toStride);
  return true;
}

/// Rows of four bytes for each column, in a panel.
static int64_t groupsOf(const attn_abi_slot &slot) {
  auto ceilDiv = [](int64_t a, int64_t b) { return a / b + (a % b != 0); };
  if (slot.layout == ATTN_PACK_PANELS_INT4)
    return ceilDiv(slot.k, 32) * 4;
  if (slot.layout == ATTN_PACK_PANELS_INT8)
    return ceilDiv(slot.k, 64) * 16;
  return slot.layout > ATTN_PACK_PANELS ? ceilDiv(slot.k, 32) * 16 : slot.k; // pairs
}

/// Bytes that follow the panels for each column: scales and sums.
static int64_t bytesBehind(const attn_abi_slot &slot) {
  if (slot.layout == ATTN_PACK_PANELS_INT4)
    return groupsOf(slot) / 4 * 2 + 4;
  return slot.layout == ATTN_PACK_PANELS_INT8 ? 8 : 0;
}

/// Columns of a panel, [k][columns], in the slot's layout.
static void storePanel(const attn_abi_slot &slot, const float *values, int64_t column,
                       int64_t columns, char *base) {
  int64_t width = slot.width, within = column % width;
  int64_t panelBytes = 4 * groupsOf(slot) * width;
  char *panel = base + column / width * panelBytes + 4 * within;
  uint16_t *pairs = reinterpret_cast<uint16_t *>(panel);
  if (slot.layout == ATTN_PACK_PANELS_BF16)
    return storePairs(values, slot.k, columns, width, pairs,
                      [](float value) { return floatToBfloat(value); });
  if (slot.layout == ATTN_PACK_PANELS_F16)
    return storePairs(values, slot.k, columns, width, pairs,
                      [](float value) { return floatToHalf(value); });
  int64_t panels = (slot.columns + width - 1) / width;
  if (slot.layout == ATTN_PACK_PANELS_INT4) {
    int64_t panelScales = groupsOf(slot) / 4 * width;
    uint16_t *scales = reinterpret_cast<uint16_t *>(base + panels * panelBytes);
    float *sums = reinterpret_cast<float *>(scales + panels * panelScales);
    return storeHalfBytes(values, slot.k, columns, width, reinterpret_cast<unsigned char *>(panel),
                          scales + column / width * panelScales + within, sums + column);
  }
  float *scales = reinterpret_cast<float *>(base + panels * panelBytes);
  int32_t *sums = reinterpret_cast<int32_t *>(scales + panels * width);
  storeBytes(values, slot.k, columns, width, reinterpret_cast<signed char *>(panel),
             scales + column, sums + column);
}

static bool packUnit(const Unit &unit, char *block, float *scratch, Window &window) {
  const attn_abi_slot &slot = *unit.job->slot;
  const attn_abi_part &part = *unit.job->part;
  const StoredTensor &source = *unit.job->source;
  float *base = reinterpret_cast<float *>(block + slot.offset + unit.job->layer * slot.layerStride);
  bool isPanels = slot.layout != ATTN_PACK_ROWS, isF32 = slot.layout <= ATTN_PACK_PANELS;
  // Columns whose source advances evenly may be taken together; groups of one advance by
  // outerStride.
  bool isEven = part.inner == 1 || part.outerStride == part.inner * part.innerStride;
  int64_t stride = part.inner == 1 ? part.outerStride : part.innerStride;
  for (int64_t n = unit.begin; n < unit.end;) {
    int64_t column = part.column + n, run = unit.end - n;
    if (!isEven)
      run = smaller(run, part.inner - n % part.inner);
    if (isPanels)
      run = smaller(run, slot.width - column % slot.width);
    int64_t index = part.offset + unit.kBegin * part.kStride + n / part.inner * part.outerStride +
                    n % part.inner * part.innerStride;
    float *to = isPanels ? base + column / slot.width * slot.k * slot.width +
                               unit.kBegin * slot.width + column % slot.width
                         : base + unit.kBegin * slot.columns + column;
    int64_t rows = unit.kEnd - unit.kBegin;
    int64_t toStride = !isF32 ? run : isPanels ? slot.width : slot.columns;
    if (!packFrom(source, index, part.kStride, stride, rows, run, isF32 ? to : scratch, toStride,
                  window))
      return false;
    if (!isF32)
      storePanel(slot, scratch, column, run, reinterpret_cast<char *>(base));
    n += run;
  }
  return true;
}

static void packOnThread(void *argument, int64_t thread) {
  Work &work = *static_cast<Work *>(argument);
  float *scratch = work.scratch + size_t(thread) * work.scratchSize;
  Window window{work, {}};
  for (size_t i; (i = work.next.fetch_add(1, std::memory_order_relaxed)) < work.units.size();)
    if (!packUnit(work.units[i], work.block, scratch, window))
      return;
}

/// Cuts a job into pieces of about 256 Ki elements, along columns (whole panels) or along rows.
static bool addUnits(const PackJob &job, Vector<Unit> &units) {
  constexpr int64_t wanted = 1 << 18;
  const attn_abi_slot &slot = *job.slot;
  int64_t count = job.part->count;
  if (slot.k == 0 || count == 0)
    return true;
  if (slot.layout != ATTN_PACK_ROWS) {
    int64_t step = wanted / slot.k / slot.width * slot.width;
    step = step > slot.width ? step : slot.width;
    for (int64_t n = 0; n < count; n += step)
      if (!units.push({&job, n, smaller(n + step, count), 0, slot.k}))
        return false;
    return true;
  }
  int64_t step = wanted / count > 0 ? wanted / count : 1;
  for (int64_t k = 0; k < slot.k; k += step)
    if (!units.push({&job, 0, count, k, smaller(k + step, slot.k)}))
      return false;
  return true;
}

attn_status attn::packAll(const Vector<PackJob> &jobs, char *block, Team &team, Error &error) {
  Vector<Unit> units;
  int64_t most = 0; // elements of a panel that is not f32
  for (const PackJob &job : jobs) {
    if (!addUnits(job, units))
      return error.outOfMemory("packing the weights");
    int64_t panel = job.slot->layout > ATTN_PACK_PANELS ? job.slot->k * job.slot->width : 0;
    most = panel > most ? panel : most;
  }
  PackedBlock scratch;
  if (most > 0 && !scratch.allocate(uint64_t(most) * 4 * uint64_t(team.size())))
    return error.outOfMemory("packing the weights");
  Work work{units, block, reinterpret_cast<float *>(scratch.data()), size_t(most)};
  team.run(packOnThread, &work);
  if (const SourceFile *file = work.unreadable)
    return file->cannotRead(error);
  return work.lacksMemory ? error.outOfMemory("packing the weights") : ATTN_OK;
}

bool attn::isSlotSound(const attn_abi_model &tables, const attn_abi_slot &slot) {
  bool isPanels = slot.layout != ATTN_PACK_ROWS;
  if (slot.k < 0 || slot.columns < 0 || slot.layers < 1 || slot.offset < 0 || slot.offset % 4 ||
      slot.layerStride % 4 || slot.layerStride < 0 || slot.layout < ATTN_PACK_ROWS ||
      slot.layout > ATTN_PACK_PANELS_F16 ||
      (isPanels && (slot.width < 1 || slot.width > ATTN_MAX_PANEL)) ||
      (slot.layout == ATTN_PACK_PANELS_INT4 && slot.width % 2 != 0))
    return false;
  int64_t columns = slot.columns, bytes, end;
  if (isPanels)
    columns = (slot.columns + slot.width - 1) / slot.width * slot.width;
  if (slot.k > INT64_MAX / 8)
    return false;
  if (__builtin_mul_overflow(columns, 4 * groupsOf(slot) + bytesBehind(slot), &bytes) ||
      bytes > slot.bytes ||
      __builtin_mul_overflow(int64_t(slot.layers) - 1, slot.layerStride, &end) ||
      __builtin_add_overflow(end, slot.offset, &end) ||
      __builtin_add_overflow(end, slot.bytes, &end) || end > tables.packedBytes)
    return false;
  for (int32_t i = 0; i < slot.partCount; ++i) {
    const attn_abi_part &part = slot.parts[i];
    if (part.parameter < 0 || part.parameter >= tables.parameterCount || part.column < 0 ||
        part.count < 0 || part.inner < 1 || part.kStride < 0 || part.innerStride < 0 ||
        part.outerStride < 0 || part.offset < 0 || part.column > slot.columns - part.count)
      return false;
    if (part.count == 0 || slot.k == 0)
      continue;
    const attn_abi_parameter &parameter = tables.parameters[part.parameter];
    int64_t total, inner = smaller(part.inner, part.count) - 1;
    int64_t last = part.offset + (slot.k - 1) * part.kStride +
                   (part.count - 1) / part.inner * part.outerStride + inner * part.innerStride;
    if (!countElements(parameter.shape, parameter.rank, total) || last >= total ||
        parameter.layers > slot.layers || !isFloat(parameter.dtype))
      return false;
  }
  return true;
}
