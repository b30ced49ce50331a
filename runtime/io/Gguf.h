// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GGUF files, versions 2 and 3: values by keys, then where tensors lie, then their bytes. The
// format is that of ggml's docs/gguf.md; numbers are little-endian.
#pragma once

#include "base/Arena.h"
#include "base/Error.h"
#include "base/Slice.h"

namespace attn {

struct StoredTensor;

/// Kinds of values, by their numbers in files.
enum class GgufKind : uint32_t {
  U8,
  I8,
  U16,
  I16,
  U32,
  I32,
  F32,
  Bool,
  String,
  Array,
  U64,
  I64,
  F64
};

/// A value: its bytes, of an array those of its elements.
struct GgufValue {
  GgufKind kind = GgufKind::U8, element = GgufKind::U8;
  uint64_t count = 0;
  Slice bytes;
  /// Whether the file has it.
  bool exists() const { return bytes.data != nullptr; }
  /// Whether it is an array of such elements.
  bool isArrayOf(GgufKind wanted) const {
    return exists() && kind == GgufKind::Array && element == wanted;
  }
  /// Element `i`, of the size of T.
  template <typename T> T at(size_t i) const {
    T value;
    memcpy(&value, bytes.data + sizeof(T) * i, sizeof(T));
    return value;
  }
};

/// Reads numbers, strings and values from front to back.
class GgufReader {
public:
  explicit GgufReader(Slice bytes) : all(bytes), rest(bytes) {}

  /// The numbers at the beginning: the version, which may be any, and how many tensors and values
  /// there are.
  bool takeHeader(uint32_t &version, uint64_t &tensors, uint64_t &values);
  template <typename T> bool take(T &value) {
    if (rest.size < sizeof(T))
      return fail();
    memcpy(&value, rest.data, sizeof(T));
    rest = rest.from(sizeof(T));
    return true;
  }
  bool takeString(Slice &text);
  bool takeValue(GgufValue &value);
  /// How many bytes were read.
  size_t position() const { return all.size - rest.size; }

  /// Whether the bytes ended too early, or hold what cannot be.
  bool isCut = false, isWrong = false;

private:
  /// Notes that the bytes ended too early.
  bool fail() {
    isCut = true;
    return false;
  }
  /// Passes over elements.
  bool skip(GgufKind kind, uint64_t count);

  Slice all, rest;
};

/// Calls `each(key, value)` with all values of a file whose first bytes are given, and afterwards
/// stands behind them. False where they end too early or cannot be.
template <typename Each> bool eachGgufValue(GgufReader &reader, uint64_t count, Each each) {
  for (uint64_t i = 0; i < count; ++i) {
    Slice key;
    GgufValue value;
    if (!reader.takeString(key) || !reader.takeValue(value))
      return false;
    each(key, value);
  }
  return true;
}

/// The first bytes of a GGUF file, up to the end of its values. ATTN_IO; ATTN_BAD_WEIGHTS, W0204,
/// where it is none.
attn_status readGgufValueBytes(const char *path, Vector<char> &bytes, Error &error);

/// Which part of a model a file is, of how many.
struct GgufParts {
  uint32_t number = 0, count = 1; ///< the first is number 0
};

/// Appends the tensors of a GGUF file of `size` bytes, of which `bytes` are the first ones; names
/// are copied into `arena`. Shapes are those of the tensors, the axis that lies side by side last.
/// `isCut` says whether more bytes are needed, after an error, and `parts` becomes what the file is
/// a part of. ATTN_BAD_WEIGHTS, W0204, with the tensor that is wrong.
attn_status readGgufTensors(Slice bytes, uint64_t size, const char *label, Arena &arena,
                            Vector<StoredTensor> &tensors, bool &isCut, GgufParts &parts,
                            Error &error);

} // namespace attn
