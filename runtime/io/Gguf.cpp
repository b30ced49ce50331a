// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the values of GGUF files, and where their tensors lie.
#include "io/Gguf.h"
#include "base/Dtype.h"
#include "io/BlockFormat.h"
#include "io/Checkpoint.h"
#include "io/File.h"

using namespace attn;

bool GgufReader::takeHeader(uint32_t &version, uint64_t &tensors, uint64_t &values) {
  uint32_t magic;
  return take(magic) && take(version) && take(tensors) && take(values);
}

bool GgufReader::takeString(Slice &text) {
  uint64_t size;
  if (!take(size) || size > rest.size)
    return fail();
  text = rest.between(0, size_t(size));
  rest = rest.from(size_t(size));
  return true;
}

bool GgufReader::skip(GgufKind kind, uint64_t count) {
  static const uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  if (kind > GgufKind::F64 || kind == GgufKind::Array) {
    isWrong = true;
    return false;
  }
  if (kind != GgufKind::String) {
    size_t size = sizes[size_t(kind)];
    if (count > rest.size / size)
      return fail();
    rest = rest.from(size_t(count) * size);
    return true;
  }
  Slice text;
  for (uint64_t i = 0; i < count; ++i)
    if (!takeString(text))
      return false;
  return true;
}

bool GgufReader::takeValue(GgufValue &value) {
  if (!take(value.kind))
    return false;
  value.count = 1;
  value.element = value.kind;
  if (value.kind == GgufKind::Array && (!take(value.element) || !take(value.count)))
    return false;
  const char *begin = rest.data;
  if (!skip(value.element, value.count))
    return false;
  value.bytes = Slice(begin, size_t(rest.data - begin));
  return true;
}

namespace {

/// The types of tensors that are no blocks.
struct PlainType {
  uint32_t number;
  int32_t dtype;
  const char *name;
  uint32_t bytes;
};

/// Reads the list of tensors behind the values.
class TensorReader {
public:
  TensorReader(GgufReader &reader, uint64_t size, const char *label, Arena &arena,
               Vector<StoredTensor> &tensors, Error &error)
      : reader(reader), size(size), label(label), arena(arena), tensors(tensors), error(error) {}
  attn_status run(uint64_t count, uint64_t alignment);

private:
  attn_status fail(const char *problem, const StoredTensor *tensor = nullptr);
  attn_status readTensor(StoredTensor &tensor);
  attn_status readType(StoredTensor &tensor, uint32_t type);

  GgufReader &reader;
  uint64_t size;
  const char *label;
  Arena &arena;
  Vector<StoredTensor> &tensors;
  Error &error;
};

} // namespace

static const PlainType plainTypes[] = {{0, ATTN_F32, "f32", 4},    {1, ATTN_F16, "f16", 2},
                                       {30, ATTN_BF16, "bf16", 2}, {28, ATTN_F64, "f64", 8},
                                       {26, ATTN_I32, "i32", 4},   {27, ATTN_I64, "i64", 8},
                                       {24, -1, "i8", 1},          {25, -1, "i16", 2}};

attn_status TensorReader::fail(const char *problem, const StoredTensor *tensor) {
  error.set(ATTN_BAD_WEIGHTS, "W0204", "`%s` is not a valid GGUF file: %s", label, problem);
  if (tensor) {
    Text quoted;
    quoted.appendQuoted(tensor->name, tensor->nameLength < 200 ? tensor->nameLength : 200);
    error.note("in tensor `%s`, at byte %zu", quoted.c_str(), reader.position());
  }
  return error.status;
}

/// Sets the tensor's type and how many bytes it has.
attn_status TensorReader::readType(StoredTensor &tensor, uint32_t type) {
  int64_t elements;
  if (!countElements(tensor.shape, tensor.rank, elements))
    return fail("a shape whose size overflows", &tensor);
  int64_t bytes = -1;
  for (const PlainType &plain : plainTypes)
    if (plain.number == type) {
      tensor.dtype = plain.dtype;
      strcpy(tensor.dtypeName, plain.name);
      if (__builtin_mul_overflow(elements, int64_t(plain.bytes), &bytes))
        return fail("a shape whose size overflows", &tensor);
    }
  if (const BlockFormat *format = findBlockFormat(type)) {
    int64_t last = tensor.rank ? tensor.shape[tensor.rank - 1] : 1;
    if (last % format->elements)
      return fail("a last axis that is no multiple of the elements of a block", &tensor);
    tensor.blocks = format;
    tensor.dtype = ATTN_F32;
    strcpy(tensor.dtypeName, format->name);
    if (__builtin_mul_overflow(elements / format->elements, int64_t(format->bytes), &bytes))
      return fail("a shape whose size overflows", &tensor);
  }
  if (bytes < 0) {
    Text quoted;
    quoted.appendQuoted(tensor.name, tensor.nameLength < 200 ? tensor.nameLength : 200);
    error.set(ATTN_BAD_WEIGHTS, "W0205", "`%s`: tensor `%s` has the type %u, which is not read",
              label, quoted.c_str(), type);
    Text known;
    appendBlockFormats(known);
    error.help("types that are read: F32, F16, BF16, F64, %s", known.c_str());
    return error.status;
  }
  tensor.bytes = size_t(bytes);
  return ATTN_OK;
}

attn_status TensorReader::readTensor(StoredTensor &tensor) {
  Slice name;
  uint32_t rank = 0, type;
  if (!reader.takeString(name) || !reader.take(rank))
    return fail("its list of tensors ends too early");
  if (!(tensor.name = arena.copy(name.data, name.size)))
    return error.outOfMemory(label);
  tensor.nameLength = name.size;
  if (memchr(name.data, 0, name.size))
    return fail("a name with a NUL in it", &tensor);
  if (rank > ATTN_MAX_RANK)
    return fail("more than 8 axes", &tensor);
  tensor.rank = int32_t(rank);
  for (uint32_t axis = rank; axis-- > 0;) {
    uint64_t axisSize;
    if (!reader.take(axisSize))
      return fail("its list of tensors ends too early", &tensor);
    if (axisSize > uint64_t(INT64_MAX))
      return fail("a shape whose size overflows", &tensor);
    tensor.shape[axis] = int64_t(axisSize);
  }
  if (!reader.take(type) || !reader.take(tensor.offset))
    return fail("its list of tensors ends too early", &tensor);
  return readType(tensor, type);
}

attn_status TensorReader::run(uint64_t count, uint64_t alignment) {
  size_t first = tensors.size();
  for (uint64_t i = 0; i < count; ++i) {
    StoredTensor tensor = {};
    if (attn_status status = readTensor(tensor))
      return status;
    if (!tensors.push(tensor))
      return error.outOfMemory(label);
  }
  uint64_t body = (reader.position() + alignment - 1) / alignment * alignment;
  for (size_t i = first; i < tensors.size(); ++i) {
    StoredTensor &tensor = tensors[i];
    if (tensor.offset % alignment)
      return fail("an offset that is no multiple of `general.alignment`", &tensor);
    if (body > size || tensor.offset > size - body || tensor.bytes > size - body - tensor.offset)
      return fail("a tensor lies outside the file, which may be truncated", &tensor);
    tensor.offset += body;
  }
  return ATTN_OK;
}

static attn_status failValues(const char *label, Error &error) {
  return error.set(ATTN_BAD_WEIGHTS, "W0204",
                   "`%s` is not a valid GGUF file: its metadata are damaged, or end too early",
                   label);
}

attn_status attn::readGgufValueBytes(const char *path, Vector<char> &bytes, Error &error) {
  SourceFile file;
  if (attn_status status = file.open(path, error))
    return status;
  for (uint64_t wanted = uint64_t(1) << 22;; wanted *= 4) {
    uint64_t size = file.size() < wanted ? file.size() : wanted;
    if (!bytes.resize(size_t(size)))
      return error.outOfMemory(path);
    if (!file.read(0, bytes.size(), bytes.data()))
      return file.cannotRead(error);
    GgufReader reader{Slice(bytes)};
    uint32_t version;
    uint64_t tensors, count;
    if (Slice(bytes).startsWith(Slice("GGUF")) && reader.takeHeader(version, tensors, count) &&
        eachGgufValue(reader, count, [](Slice, const GgufValue &) {}))
      return bytes.resize(reader.position()) ? ATTN_OK : error.outOfMemory(path);
    if (!reader.isCut || size == file.size())
      return failValues(path, error);
  }
}

attn_status attn::readGgufTensors(Slice bytes, uint64_t size, const char *label, Arena &arena,
                                  Vector<StoredTensor> &tensors, bool &isCut, GgufParts &parts,
                                  Error &error) {
  GgufReader reader(bytes);
  uint32_t version = 0, alignment = 32;
  uint64_t tensorCount = 0, valueCount = 0;
  parts = GgufParts();
  bool isGood = reader.takeHeader(version, tensorCount, valueCount);
  if (uint32_t other = __builtin_bswap32(version); isGood && (other == 2 || other == 3)) {
    error.set(ATTN_BAD_WEIGHTS, "W0204",
              "`%s` is a big-endian GGUF file of version %u, expected a little-endian one", label,
              other);
    error.help("llama.cpp's gguf_convert_endian.py makes one of it");
    return error.status;
  }
  if (isGood && version != 2 && version != 3)
    return error.set(ATTN_BAD_WEIGHTS, "W0204",
                     "`%s` is a GGUF file of version %u, expected 2 or 3", label, version);
  isGood = isGood && eachGgufValue(reader, valueCount, [&](Slice key, const GgufValue &value) {
             if (key.is("general.alignment") && value.kind == GgufKind::U32)
               alignment = value.at<uint32_t>(0);
             if (key.is("split.count") && value.kind == GgufKind::U16)
               parts.count = value.at<uint16_t>(0);
             if (key.is("split.no") && value.kind == GgufKind::U16)
               parts.number = value.at<uint16_t>(0);
           });
  attn_status status;
  if (!isGood)
    status = failValues(label, error);
  else if (alignment == 0 || alignment & (alignment - 1))
    status = error.set(ATTN_BAD_WEIGHTS, "W0204",
                       "`%s` is not a valid GGUF file: `general.alignment` is %u, expected a power "
                       "of two",
                       label, alignment);
  else
    status = TensorReader(reader, size, label, arena, tensors, error).run(tensorCount, alignment);
  isCut = reader.isCut;
  return status;
}
