// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reader of the safetensors format: 8 bytes with the header's length (little-endian), a JSON
// object {name: {"dtype", "shape", "data_offsets": [begin, end]}, "__metadata__": {string:
// string}}, then the tensors' bytes, which lie side by side without holes.
#include "io/Safetensors.h"
#include "base/Dtype.h"
#include "base/Json.h"
#include "base/Slice.h"
#include "io/Checkpoint.h"

using namespace attn;

static constexpr uint64_t maxHeader = 100 * 1000 * 1000;

namespace {
struct StoredDtype {
  const char *name;
  int32_t dtype, bits; ///< ATTN_*, -1 of one that is not read; of an element
};

struct HeaderReader {
  JsonReader json;
  const char *label;
  Arena &arena;
  Vector<StoredTensor> &tensors;
  Error &error;
  uint64_t body, bodySize; ///< where the tensors begin, and the bytes from there on

  attn_status malformed(const char *name);
  attn_status read();
  bool readMetadata();
  bool readTensor(StoredTensor &tensor);
  attn_status checkCoverage(size_t first);
};
} // namespace

static const StoredDtype dtypes[] = {
    {"F32", ATTN_F32, 32},  {"F16", ATTN_F16, 16},  {"BF16", ATTN_BF16, 16}, {"F64", ATTN_F64, 64},
    {"I32", ATTN_I32, 32},  {"I64", ATTN_I64, 64},  {"U8", ATTN_U8, 8},      {"BOOL", ATTN_BOOL, 8},
    {"I8", -1, 8},          {"I16", -1, 16},        {"U16", -1, 16},         {"U32", -1, 32},
    {"U64", -1, 64},        {"C64", -1, 64},        {"F8_E4M3", -1, 8},      {"F8_E5M2", -1, 8},
    {"F8_E8M0", -1, 8},     {"F4", -1, 4},          {"F6_E2M3", -1, 6},      {"F6_E3M2", -1, 6},
    {"F8_E4M3FNUZ", -1, 8}, {"F8_E5M2FNUZ", -1, 8},
};

const char *attn::safetensorsName(int32_t dtype) {
  for (const StoredDtype &known : dtypes)
    if (known.dtype == dtype && dtype >= 0)
      return known.name;
  return nullptr;
}

attn_status HeaderReader::malformed(const char *name) {
  Text quoted;
  if (name)
    quoted.appendQuoted(name, strlen(name) < 200 ? strlen(name) : 200);
  error.set(ATTN_BAD_WEIGHTS, "W0201", "`%s` is not a valid safetensors file: %s", label,
            json.problem);
  if (name)
    error.note("at byte %zu of the header, in tensor `%s`", json.position, quoted.c_str());
  else
    error.note("at byte %zu of the header", json.position);
  return error.status;
}

bool HeaderReader::readMetadata() {
  Vector<char> key, value;
  if (!json.enterObject())
    return false;
  while (json.nextKey(key))
    if (!json.readString(value))
      return false;
  return json.isGood();
}

static const StoredDtype *findDtype(const char *name) {
  for (const StoredDtype &dtype : dtypes)
    if (strcmp(dtype.name, name) == 0)
      return &dtype;
  return nullptr;
}

bool HeaderReader::readTensor(StoredTensor &tensor) {
  const StoredDtype *dtype = nullptr;
  int64_t begin = -1, end = -1;
  bool hasShape = false;
  Vector<char> key, text;
  if (!json.enterObject())
    return false;
  while (json.nextKey(key)) {
    if (strcmp(key.data(), "dtype") == 0 && !dtype) {
      if (!json.readString(text))
        return false;
      if (!(dtype = findDtype(text.data())))
        return json.fail("a dtype that the format does not have");
    } else if (strcmp(key.data(), "shape") == 0 && !hasShape) {
      hasShape = true;
      if (!json.enterArray())
        return false;
      while (json.nextElement()) {
        int64_t size;
        if (!json.readSize(size))
          return false;
        if (tensor.rank == ATTN_MAX_RANK)
          return json.fail("more than 8 axes");
        tensor.shape[tensor.rank++] = size;
      }
    } else if (strcmp(key.data(), "data_offsets") == 0 && begin < 0) {
      if (!json.enterArray() || !json.nextElement() || !json.readSize(begin) ||
          !json.nextElement() || !json.readSize(end) || json.nextElement())
        return json.fail("expected `data_offsets` to be [begin, end]");
    } else {
      return json.fail(
          "expected each of `dtype`, `shape` and `data_offsets` once, and no other key");
    }
  }
  if (!json.isGood())
    return false;
  if (!dtype || !hasShape || begin < 0)
    return json.fail("`dtype`, `shape` or `data_offsets` is missing");
  int64_t elements, bits;
  if (!countElements(tensor.shape, tensor.rank, elements) ||
      __builtin_mul_overflow(elements, int64_t(dtype->bits), &bits))
    return json.fail("a shape whose size overflows");
  if (bits % 8)
    return json.fail("a shape whose elements fill no whole number of bytes");
  int64_t bytes = bits / 8;
  if (end < begin || uint64_t(end) > bodySize)
    return json.fail("`data_offsets` lie outside the file");
  if (end - begin != bytes)
    return json.fail("`data_offsets` span another number of bytes than shape and dtype need");
  tensor.dtype = dtype->dtype;
  memcpy(tensor.dtypeName, dtype->name, strlen(dtype->name) + 1);
  if (dtype->dtype >= 0)
    strcpy(tensor.dtypeName, attn_dtype_name(dtype->dtype));
  tensor.offset = body + uint64_t(begin);
  tensor.bytes = size_t(bytes);
  return true;
}

static int compareByPlace(const void *left, const void *right) {
  auto *a = *static_cast<const StoredTensor *const *>(left);
  auto *b = *static_cast<const StoredTensor *const *>(right);
  if (a->offset != b->offset)
    return a->offset < b->offset ? -1 : 1;
  return a->bytes < b->bytes ? -1 : a->bytes > b->bytes; // empty ones first: they take no place
}

attn_status HeaderReader::checkCoverage(size_t first) {
  Vector<const StoredTensor *> order;
  for (size_t i = first; i < tensors.size(); ++i)
    if (!order.push(&tensors[i]))
      return error.outOfMemory(label);
  if (!order.empty())
    qsort(order.data(), order.size(), sizeof(const StoredTensor *), compareByPlace);
  uint64_t reached = 0;
  for (const StoredTensor *tensor : order) {
    uint64_t begin = tensor->offset - body;
    if (begin != reached) {
      json.problem = begin < reached ? "two tensors overlap" : "bytes that belong to no tensor";
      return malformed(tensor->name);
    }
    reached = begin + tensor->bytes;
  }
  if (reached != bodySize) {
    json.problem = "bytes after the last tensor";
    return malformed(nullptr);
  }
  return ATTN_OK;
}

attn_status HeaderReader::read() {
  size_t first = tensors.size();
  NameTable seen;
  Vector<char> key;
  bool hasMetadata = false;
  if (json.enterObject())
    while (json.nextKey(key)) {
      if (strcmp(key.data(), "__metadata__") == 0) {
        if (hasMetadata)
          json.fail("`__metadata__` stands twice");
        hasMetadata = true;
        if (!json.isGood() || !readMetadata())
          return malformed(nullptr);
        continue;
      }
      StoredTensor tensor = {};
      if (!(tensor.name = arena.copy(key.data(), key.size())))
        return error.outOfMemory(label);
      tensor.nameLength = key.size();
      if (seen.find(tensor.name, tensor.nameLength) >= 0)
        json.fail("a name stands twice");
      if (!json.isGood() || !readTensor(tensor))
        return malformed(tensor.name);
      if (!tensors.push(tensor) || !seen.insert(tensor.name, tensor.nameLength, 0))
        return error.outOfMemory(label);
    }
  if (json.isGood() && !json.atEnd())
    json.fail("text after the header's closing `}`");
  return json.isGood() ? checkCoverage(first) : malformed(nullptr);
}

/// Files of torch.save are zip archives, older ones begin with a pickle of protocol 2 or later.
static bool isFromTorch(const char *data) {
  return memcmp(data, "PK\x03\x04", 4) == 0 || (data[0] == '\x80' && data[1] >= 2 && data[1] <= 5);
}

void attn::helpToConvert(Error &error) {
  error.help("convert it: python3 -c \"import sys, torch, safetensors.torch as s; "
             "s.save_file({k: v.contiguous() for k, v in torch.load(sys.argv[1], 'cpu', "
             "weights_only=True).items()}, "
             "sys.argv[2])\" OLD.pt NEW.safetensors");
}

static uint64_t headerLength(const char *start) {
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i)
    length = length << 8 | static_cast<unsigned char>(start[i]);
  return length;
}

uint64_t attn::headerBytes(const char *start, uint64_t size) {
  if (size < 8)
    return size;
  uint64_t length = headerLength(start);
  return length > maxHeader || length > size - 8 ? 8 : 8 + length;
}

attn_status attn::readSafetensors(const char *data, uint64_t size, const char *label, Arena &arena,
                                  Vector<StoredTensor> &tensors, Error &error) {
  if (size < 8)
    return error.set(ATTN_BAD_WEIGHTS, "W0201",
                     "`%s` is not a valid safetensors file: %zu bytes, expected at least 8", label,
                     size_t(size));
  uint64_t length = headerLength(data);
  bool isTooLong = length > maxHeader || length > size - 8;
  if (isTooLong && Slice(label).endsWith(Slice(".npz"))) {
    error.set(ATTN_BAD_WEIGHTS, "W0201", "`%s` is an archive of NumPy, expected a safetensors file",
              label);
    error.help("convert it: python3 -c \"import sys, numpy, safetensors.numpy as s; "
               "s.save_file(dict(numpy.load(sys.argv[1])), sys.argv[2])\" OLD.npz NEW.safetensors");
    return error.status;
  }
  if (isTooLong && isFromTorch(data)) {
    error.set(ATTN_BAD_WEIGHTS, "W0201", "`%s` is a PyTorch file (%s), expected a safetensors file",
              label, data[0] == 'P' ? "a zip archive of pickles" : "a pickle");
    helpToConvert(error);
    return error.status;
  }
  if (isTooLong) {
    error.set(ATTN_BAD_WEIGHTS, "W0201",
              "`%s` is not a valid safetensors file: its header is said to have %llu bytes", label,
              static_cast<unsigned long long>(length));
    error.note("expected at most %llu, the file has %llu bytes",
               static_cast<unsigned long long>(maxHeader), static_cast<unsigned long long>(size));
    error.help("the file may be truncated, or of another format");
    return error.status;
  }
  HeaderReader reader{JsonReader(data + 8, size_t(length)),
                      label,
                      arena,
                      tensors,
                      error,
                      8 + length,
                      size - 8 - length};
  return reader.read();
}
