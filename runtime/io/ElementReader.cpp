// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes from memory or files, and codes to floats. A number is what its format defines, rounded to
// f32 once: (code - zero) and the float of a code are exact, and are multiplied by the scale.
#include "io/ElementReader.h"
#include "base/Dtype.h"
#include "io/BlockFormat.h"
#include "io/QuantizedTensor.h"
#include <algorithm>
#include <cmath>

using namespace attn;

static uint32_t wordAt(const char *words, int64_t index) {
  uint32_t word;
  memcpy(&word, words + 4 * index, 4);
  return word;
}

/// Columns of integers that are read together. The more, the longer are the pieces of the file that
/// lie side by side: of each row 1 KB of words where a word belongs to one column, else 512 bytes.
static int64_t columnsAtOnce(const QuantizedTensor &source) {
  return source.format == QuantizedTensor::IntRows ? 256 : 1024;
}

attn_status ReadFailure::report(const char *what, Error &error) const {
  if (unreadable)
    return unreadable->cannotRead(error);
  if (!groups)
    return error.outOfMemory(what);
  Text name;
  name.appendQuoted(groups->name, groups->nameLength);
  return error.set(ATTN_BAD_WEIGHTS, "W0206", "tensor `%s` names a group that has no scales",
                   name.c_str());
}

bool ElementReader::readTo(const StoredTensor &source, uint64_t first, size_t count, char *to) {
  if (!source.file) {
    if (count)
      memcpy(to, source.data + first, count);
    return true;
  }
  if (source.file->read(source.offset + first, count, to))
    return true;
  failure.unreadable = source.file;
  return false;
}

const char *ElementReader::read(const StoredTensor &source, uint64_t first, size_t count) {
  if (!source.file)
    return source.data + first;
  // Never null, even for no bytes.
  return bytes.reserve(count + 1) && readTo(source, first, count, bytes.data()) ? bytes.data()
                                                                                : nullptr;
}

bool ElementReader::readColumns(const StoredTensor &matrix, Columns columns, int64_t firstRow,
                                int64_t rowCount) {
  auto stride = matrix.bytes / size_t(matrix.shape[0]), begin = size_t(firstRow) * stride;
  if (!rows.reserve(columns.bytes * size_t(rowCount) + 1))
    return false;
  if (columns.bytes == stride)
    return readTo(matrix, begin, columns.bytes * size_t(rowCount), rows.data());
  for (size_t row = 0; row < size_t(rowCount); ++row)
    if (!readTo(matrix, begin + row * stride + columns.first, columns.bytes,
                rows.data() + row * columns.bytes))
      return false;
  return true;
}

bool ElementReader::take(const StoredTensor &source, int64_t first, int64_t count,
                         StoredTensor &view) {
  view = source;
  isDecoded = source.blocks || source.quantized;
  if (!isDecoded) {
    size_t width = attn_dtype_size(source.dtype);
    view.data = read(source, uint64_t(first) * width, size_t(count) * width);
    return view.data;
  }
  if (!decoded.reserve(size_t(count) * sizeof(float) + 1) ||
      !(source.blocks ? takeBlocks(source, first, count)
                      : takeQuantized(*source.quantized, first, count)))
    return false;
  view.data = decoded.data();
  view.blocks = nullptr;
  view.quantized = nullptr;
  return true;
}

bool ElementReader::takeBlocks(const StoredTensor &source, int64_t first, int64_t count) {
  const BlockFormat &format = *source.blocks;
  int64_t skip = first % format.elements, begin = first / format.elements,
          end = (first + count + format.elements - 1) / format.elements;
  const char *stored = read(source, uint64_t(begin) * uint64_t(format.bytes),
                            size_t(end - begin) * size_t(format.bytes));
  if (stored)
    decodeBlocks(format, stored, skip, count, reinterpret_cast<float *>(decoded.data()));
  return stored;
}

int ElementReader::lineBits(const StoredTensor &source) {
  if (source.blocks)
    return source.blocks->lineBits;
  const QuantizedTensor *own = source.quantized;
  if (!own || own->groups.name ||
      (own->format != QuantizedTensor::IntRows && own->format != QuantizedTensor::IntWords))
    return 0;
  bool areWhole = own->whole.shape[1] / own->scales.shape[0] % lineElements == 0;
  return !areWhole ? 0 : own->bits > 4 ? 8 : 4;
}

bool ElementReader::takeLines(const StoredTensor &source, int64_t first, int64_t count,
                              CodeLine *lines, unsigned char *codes) {
  if (source.quantized)
    return takeIntLines(*source.quantized, first, count, lines, codes);
  const BlockFormat &format = *source.blocks;
  int64_t perBlock = format.elements / lineElements, line = first / lineElements,
          end = line + count / lineElements, begin = line / perBlock,
          blocks = (end + perBlock - 1) / perBlock - begin;
  const char *stored =
      read(source, uint64_t(begin) * uint64_t(format.bytes), size_t(blocks) * size_t(format.bytes));
  if (!stored)
    return false;
  constexpr int64_t most = 8;
  CodeLine own[most];
  unsigned char ownCodes[most * lineElements];
  for (int64_t block = begin; line < end; ++block, stored += format.bytes) {
    auto *bytes = reinterpret_cast<const unsigned char *>(stored);
    int64_t skip = line - block * perBlock, taken = std::min(perBlock - skip, end - line);
    bool isWhole = taken == perBlock;
    format.lines(bytes, isWhole ? lines : own);
    format.codes(bytes, isWhole ? codes : ownCodes);
    if (!isWhole) {
      memcpy(lines, own + skip, size_t(taken) * sizeof(CodeLine));
      memcpy(codes, ownCodes + skip * lineElements, size_t(taken * lineElements));
    }
    lines += taken, line += taken, codes += taken * lineElements;
  }
  return true;
}

void ElementReader::select(const QuantizedTensor &source) {
  if (loaded == &source)
    return;
  loaded = nullptr;
  loadedBlock = -1;
  groups.clear();
}

bool ElementReader::takeQuantized(const QuantizedTensor &source, int64_t first, int64_t count) {
  select(source);
  bool isRead = source.format == QuantizedTensor::Float8 || source.format == QuantizedTensor::Normed
                    ? takeScaled(source, first, count)
                : source.format == QuantizedTensor::Float4 ? takeFloat4(source, first, count)
                                                           : takeInts(source, first, count);
  loaded = isRead ? &source : nullptr;
  return isRead;
}

bool ElementReader::loadScales(const StoredTensor &source, const char *from, int64_t count) {
  scales.clear();
  if (!scales.reserve(size_t(count)))
    return false;
  for (int64_t i = 0; i < count; ++i)
    scales.push(source.dtype < 0 ? e8m0ToFloat(uint8_t(from[i]))
                                 : loadFloat(from, source.dtype, i));
  return true;
}

/// The place of the scale of an element that begins a run along the last axis, but for that axis.
static int64_t scaleOfRow(const QuantizedTensor &source, int64_t row) {
  int64_t at = 0;
  for (int32_t a = source.codes.rank - 2; a >= 0; row /= source.codes.shape[a--])
    at += row % source.codes.shape[a] / source.scaleBlocks[a] * source.scaleStrides[a];
  return at;
}

bool ElementReader::loadNorms(const QuantizedTensor &source) {
  constexpr int64_t atOnce = 1 << 16;
  const StoredTensor &codes = source.codes;
  int32_t last = codes.rank - 1;
  int64_t all = 0, columns = codes.rank ? codes.shape[last] : 1;
  countElements(codes.shape, codes.rank, all);
  Vector<double> squares;
  if (!squares.resize(scales.size()))
    return false;
  for (int64_t first = 0, count; first < all; first += count) {
    count = std::min(atOnce, all - first);
    auto width = attn_dtype_size(codes.dtype);
    const char *stored = read(codes, uint64_t(first) * width, size_t(count) * width);
    if (!stored)
      return false;
    for (int64_t i = 0; i < count; ++i) {
      int64_t column = (first + i) % columns;
      double value = double(loadFloat(stored, codes.dtype, i));
      int64_t at = codes.rank ? scaleOfRow(source, (first + i) / columns) +
                                    column / source.scaleBlocks[last] * source.scaleStrides[last]
                              : 0;
      squares[size_t(at)] += value * value;
    }
  }
  for (size_t i = 0; i < scales.size(); ++i)
    scales[i] = float(double(scales[i]) / sqrt(squares[i]));
  return true;
}

bool ElementReader::takeScaled(const QuantizedTensor &source, int64_t first, int64_t count) {
  const StoredTensor &codes = source.codes, &own = source.scales;
  bool isNormed = source.format == QuantizedTensor::Normed;
  if (own.name && loaded != &source) {
    int64_t all = 0;
    const char *stored = read(own, 0, own.bytes);
    countElements(own.shape, own.rank, all);
    if (!stored || !loadScales(own, stored, all) || (isNormed && !loadNorms(source)))
      return false;
  }
  size_t width = isNormed ? attn_dtype_size(codes.dtype) : 1;
  const char *stored = read(codes, uint64_t(first) * width, size_t(count) * width);
  if (!stored)
    return false;
  int32_t last = codes.rank - 1;
  int64_t columns = codes.rank ? codes.shape[last] : 1;
  auto *to = reinterpret_cast<float *>(decoded.data());
  for (int64_t done = 0; done < count;) {
    int64_t column = (first + done) % columns, row = (first + done) / columns,
            run = std::min(columns - column, count - done),
            scaleAt = own.name ? scaleOfRow(source, row) : 0;
    for (int64_t i = 0; i < run; ++i, ++done) {
      auto code = uint8_t(stored[done]);
      float value = isNormed        ? loadFloat(stored, codes.dtype, done)
                    : source.isE5M2 ? e5m2ToFloat(code)
                                    : e4m3ToFloat(code);
      if (own.name && codes.rank)
        value *= scales[size_t(scaleAt + (column + i) / source.scaleBlocks[last] *
                                             source.scaleStrides[last])];
      else if (own.name)
        value *= scales[0];
      to[done] = value;
    }
  }
  return true;
}

bool ElementReader::takeFloat4(const QuantizedTensor &source, int64_t first, int64_t count) {
  int64_t begin = first / 32, end = (first + count + 31) / 32;
  auto blocks = size_t(end - begin);
  const char *stored = read(source.codes, uint64_t(begin) * 16, blocks * 16);
  if (!stored || !rows.reserve(blocks + 1) ||
      !readTo(source.scales, uint64_t(begin), blocks, rows.data()))
    return false;
  auto *to = reinterpret_cast<float *>(decoded.data());
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = first - 32 * begin + i;
    unsigned byte = uint8_t(stored[at / 2]);
    to[i] = e8m0ToFloat(uint8_t(rows[size_t(at / 32)])) * e2m1ToFloat(byte >> at % 2 * 4);
  }
  return true;
}

bool ElementReader::loadGroups(const QuantizedTensor &source) {
  int64_t in = source.whole.shape[1], count = source.scales.shape[0];
  if (!groups.resize(size_t(in)))
    return false;
  if (!source.groups.name) {
    for (int64_t i = 0; i < in; ++i)
      groups[size_t(i)] = int32_t(i / (in / count));
    return true;
  }
  if (!readTo(source.groups, 0, source.groups.bytes, reinterpret_cast<char *>(groups.data())))
    return false;
  for (int32_t group : groups)
    if (group < 0 || group >= count) {
      failure.groups = &source.groups;
      return false;
    }
  return true;
}

/// Where AWQ keeps the code of a column among the 8 of a word.
static int placeInWord(int64_t column) {
  static const int places[8] = {0, 4, 1, 5, 2, 6, 3, 7};
  return 4 * places[column % 8];
}

/// Code `index` of those that follow each other without holes, from the lowest bit of a word on.
static uint32_t packedCode(const char *words, int64_t index, int32_t bits) {
  int64_t bit = index * bits, shift = bit % 32;
  uint32_t code = wordAt(words, bit / 32) >> shift;
  if (shift + bits > 32)
    code |= wordAt(words, bit / 32 + 1) << (32 - shift);
  return code & ((1u << bits) - 1);
}

/// A zero as it is meant.
static float zeroOf(const QuantizedTensor &source, uint32_t stored) {
  bool isMiddle = source.config.isSymmetric && stored == 1u << (source.bits - 1);
  bool isLessOne =
      source.format == QuantizedTensor::IntRows && !source.config.keepsZeros && !isMiddle;
  return float(stored + isLessOne);
}

bool ElementReader::loadCodes(const StoredTensor &codes, Columns columns) {
  constexpr int64_t atOnce = 64;
  int64_t all = codes.shape[0], wordCount = int64_t(columns.bytes / 4);
  if (!words.reserve(columns.bytes * size_t(all)))
    return false;
  for (int64_t first = 0, count; first < all; first += count) {
    count = std::min(atOnce, all - first);
    if (!readColumns(codes, columns, first, count))
      return false;
    for (int64_t column = 0; column < wordCount; ++column)
      for (int64_t row = 0; row < count; ++row)
        memcpy(words.data() + 4 * (column * all + first + row),
               rows.data() + 4 * (row * wordCount + column), 4);
  }
  return true;
}

bool ElementReader::loadInts(const QuantizedTensor &source, int64_t block) {
  bool isRows = source.format == QuantizedTensor::IntRows;
  int64_t from = block * columnsAtOnce(source),
          count = std::min(columnsAtOnce(source), source.whole.shape[0] - from),
          groupCount = source.scales.shape[0];
  if (groups.empty() && !loadGroups(source))
    return false;
  // Columns fill words: their number is a multiple of 8, or of 32 where codes have 3 bits.
  auto columns = [&](int64_t bits) {
    return Columns{size_t(from * bits / 8), size_t(count * bits / 8)};
  };
  auto width = int64_t(attn_dtype_size(source.scales.dtype));
  Columns packed = columns(source.bits);
  if (!loadCodes(source.codes, isRows ? columns(32) : packed) ||
      !readColumns(source.scales, columns(8 * width), 0, groupCount) ||
      !loadScales(source.scales, rows.data(), groupCount * count) ||
      !readColumns(source.zeros, packed, 0, groupCount))
    return false;
  zeros.clear();
  if (!zeros.reserve(size_t(groupCount * count)))
    return false;
  for (int64_t group = 0; group < groupCount; ++group) {
    const char *row = rows.data() + size_t(group) * packed.bytes;
    for (int64_t column = 0; column < count; ++column)
      zeros.push(zeroOf(source, isRows ? packedCode(row, column, source.bits)
                                       : wordAt(row, column / 8) >> placeInWord(column) & 15));
  }
  loadedBlock = block;
  return true;
}

struct ElementReader::ColumnCodes {
  const char *words;
  int32_t bits;
  int place; ///< of a code in its word; -1 where words hold codes of this column alone

  uint32_t at(int64_t i) const {
    return place < 0 ? packedCode(words, i, bits) : wordAt(words, i) >> place & 15;
  }
};

ElementReader::ColumnCodes ElementReader::codesOf(const QuantizedTensor &source,
                                                  int64_t column) const {
  bool isRows = source.format == QuantizedTensor::IntRows;
  int64_t own = column % columnsAtOnce(source);
  return {words.data() + 4 * source.codes.shape[0] * (isRows ? own : own / 8), source.bits,
          isRows ? -1 : placeInWord(own)};
}

bool ElementReader::takeIntLines(const QuantizedTensor &source, int64_t first, int64_t count,
                                 CodeLine *lines, unsigned char *codes) {
  select(source);
  int64_t in = source.whole.shape[1];
  for (int64_t i = first; i < first + count; i += lineElements) {
    int64_t column = i / in, block = column / columnsAtOnce(source);
    if (block != loadedBlock && !loadInts(source, block))
      return false;
    loaded = &source;
    int64_t before = block * columnsAtOnce(source),
            kept = std::min(columnsAtOnce(source), source.whole.shape[0] - before);
    auto at = size_t(groups[size_t(i % in)] * kept + column - before);
    *lines++ = {scales[at], -(zeros[at] * scales[at])};
    ColumnCodes own = codesOf(source, column);
    for (int64_t k = i % in; k < i % in + lineElements; ++k)
      *codes++ = static_cast<unsigned char>(own.at(k));
  }
  return true;
}

bool ElementReader::takeInts(const QuantizedTensor &source, int64_t first, int64_t count) {
  int64_t out = source.whole.shape[0], in = source.whole.shape[1];
  auto *to = reinterpret_cast<float *>(decoded.data());
  for (int64_t done = 0; done < count;) {
    int64_t column = (first + done) / in, begin = (first + done) % in,
            end = std::min(in, begin + count - done), block = column / columnsAtOnce(source);
    if (block != loadedBlock && !loadInts(source, block))
      return false;
    int64_t before = block * columnsAtOnce(source),
            kept = std::min(columnsAtOnce(source), out - before);
    ColumnCodes codes = codesOf(source, column);
    for (int64_t i = begin; i < end;) {
      int32_t group = groups[size_t(i)];
      auto at = size_t(group * kept + column - before);
      float zero = zeros[at], scale = scales[at];
      for (; i < end && groups[size_t(i)] == group; ++i)
        to[done++] = (float(codes.at(i)) - zero) * scale;
    }
  }
  return true;
}
