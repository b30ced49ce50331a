// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The .npy format: "\x93NUMPY", a version, the header's length, a header that is a Python dict
// literal with the keys 'descr', 'fortran_order' and 'shape', then the elements.
#include "io/Npy.h"
#include "base/Dtype.h"

using namespace attn;

namespace {
struct NpyDtype {
  const char *name;
  int32_t dtype;
};

/// A cursor over the header. Like JsonReader, keeps the first problem.
class HeaderReader {
public:
  HeaderReader(const char *text, size_t size) : text(text), size(size) {}
  bool read(attn_tensor &tensor);
  const char *problem = nullptr;
  /// What 'descr' was, for messages.
  char descr[32] = "";

private:
  bool fail(const char *why) {
    problem = problem ? problem : why;
    return false;
  }
  char peek() {
    while (position < size && (text[position] == ' ' || text[position] == '\n'))
      ++position;
    return position < size ? text[position] : 0;
  }
  bool take(char c) {
    if (peek() != c || position >= size)
      return false;
    ++position;
    return true;
  }
  bool readString(char (&value)[32]);
  bool readWord(const char *word);
  bool readShape(attn_tensor &tensor);
  bool readSize(int64_t &value);

  const char *text;
  size_t size, position = 0;
};
} // namespace

static const NpyDtype dtypes[] = {{"<f4", ATTN_F32},  {"<f2", ATTN_F16}, {"<f8", ATTN_F64},
                                  {"<i4", ATTN_I32},  {"<i8", ATTN_I64}, {"|u1", ATTN_U8},
                                  {"|b1", ATTN_BOOL}, {"u1", ATTN_U8},   {"?", ATTN_BOOL}};

bool HeaderReader::readString(char (&value)[32]) {
  char quote = peek();
  if (quote != '\'' && quote != '"')
    return fail("expected a string in the header");
  ++position;
  size_t length = 0;
  while (position < size && text[position] != quote) {
    unsigned char c = static_cast<unsigned char>(text[position++]);
    if (c < 0x20 || c > 0x7e || c == '\\' || length + 1 >= sizeof value)
      return fail("a string in the header that NumPy would not write");
    value[length++] = char(c);
  }
  value[length] = 0;
  return position < size ? (++position, true) : fail("a string in the header does not end");
}

bool HeaderReader::readWord(const char *word) {
  size_t length = strlen(word);
  peek();
  if (size - position < length || memcmp(text + position, word, length) != 0)
    return false;
  position += length;
  return true;
}

bool HeaderReader::readSize(int64_t &value) {
  char c = peek();
  if (c < '0' || c > '9')
    return fail("expected a size in `shape`");
  value = 0;
  for (; position < size && text[position] >= '0' && text[position] <= '9'; ++position)
    if (__builtin_mul_overflow(value, int64_t(10), &value) ||
        __builtin_add_overflow(value, int64_t(text[position] - '0'), &value))
      return fail("a size in `shape` is too large");
  return true;
}

bool HeaderReader::readShape(attn_tensor &tensor) {
  if (!take('('))
    return fail("expected `shape` to be a tuple");
  tensor.rank = 0;
  while (!take(')')) {
    int64_t value;
    if (!readSize(value))
      return false;
    if (tensor.rank == ATTN_MAX_RANK)
      return fail("more than 8 axes");
    tensor.shape[tensor.rank++] = value;
    if (!take(',') && peek() != ')')
      return fail("expected `,` or `)` in `shape`");
  }
  return true;
}

bool HeaderReader::read(attn_tensor &tensor) {
  bool hasDescr = false, hasOrder = false, hasShape = false, isFortran = false;
  if (!take('{'))
    return fail("expected the header to be a dict");
  while (!take('}')) {
    char key[32];
    if (!readString(key))
      return false;
    if (!take(':'))
      return fail("expected `:` after a key of the header");
    if (strcmp(key, "descr") == 0 && !hasDescr) {
      if (!readString(descr))
        return false;
      hasDescr = true;
    } else if (strcmp(key, "fortran_order") == 0 && !hasOrder) {
      isFortran = readWord("True");
      if (!isFortran && !readWord("False"))
        return fail("expected `fortran_order` to be True or False");
      hasOrder = true;
    } else if (strcmp(key, "shape") == 0 && !hasShape) {
      if (!readShape(tensor))
        return false;
      hasShape = true;
    } else {
      return fail("expected each of `descr`, `fortran_order` and `shape` once, and no other key");
    }
    if (!take(',') && peek() != '}')
      return fail("expected `,` or `}` in the header");
  }
  if (!hasDescr || !hasOrder || !hasShape)
    return fail("`descr`, `fortran_order` or `shape` is missing from the header");
  if (peek() != 0 || position != size)
    return fail("text after the header's closing `}`");
  if (isFortran && tensor.rank > 1)
    return fail("it is in Fortran order; save numpy.ascontiguousarray(array) instead");
  tensor.dtype = -1;
  for (const NpyDtype &dtype : dtypes)
    if (strcmp(dtype.name, descr) == 0)
      tensor.dtype = dtype.dtype;
  return true;
}

static attn_status malformed(const char *label, const char *problem, Error &error) {
  return error.set(ATTN_BAD_INPUT, "R0301", "`%s` cannot be used as a NumPy file: %s", label,
                   problem);
}

attn_status attn::readNpy(Vector<char> &bytes, const char *label, attn_tensor &tensor,
                          Error &error) {
  auto at = [&](size_t i) { return size_t(static_cast<unsigned char>(bytes[i])); };
  if (bytes.size() >= 4 && memcmp(bytes.data(), "PK\x03\x04", 4) == 0) {
    malformed(label, "it is a zip archive, as .npz and PyTorch's files are", error);
    error.help("save one array: numpy.save('x.npy', array), of a PyTorch tensor `x.cpu().numpy()`");
    return error.status;
  }
  if (bytes.size() < 10 || memcmp(bytes.data(), "\x93NUMPY", 6) != 0)
    return malformed(label, "it does not begin with \\x93NUMPY", error);
  size_t version = at(6), start = version == 1 ? 10 : 12, length = at(8) | at(9) << 8;
  if (version < 1 || version > 3)
    return malformed(label, "a version of the format other than 1, 2 and 3", error);
  if (version > 1 && bytes.size() >= 12)
    length |= at(10) << 16 | at(11) << 24;
  if (bytes.size() < start || length > bytes.size() - start || length > (1 << 20))
    return malformed(label, "it ends inside its header", error);
  HeaderReader reader(bytes.data() + start, length);
  tensor = {};
  if (!reader.read(tensor))
    return malformed(label, reader.problem, error);
  if (tensor.dtype < 0) {
    Text problem;
    problem.append("elements of type `%s`", reader.descr);
    malformed(label, problem.c_str(), error);
    error.help("save it as one of <f2, <f4, <f8, <i4, <i8, |u1, |b1 (`array.astype('<f4')`)");
    return error.status;
  }
  int64_t elements = 0, wanted = 0;
  size_t have = bytes.size() - start - length;
  if (!countElements(tensor.shape, tensor.rank, elements) ||
      __builtin_mul_overflow(elements, int64_t(attn_dtype_size(tensor.dtype)), &wanted))
    return malformed(label, "a shape whose size overflows", error);
  if (uint64_t(wanted) != have) {
    Text problem;
    problem.append("it has %zu bytes of elements, its shape needs %lld", have,
                   static_cast<long long>(wanted));
    return malformed(label, problem.c_str(), error);
  }
  // To the front of the buffer, where malloc's alignment holds.
  memmove(bytes.data(), bytes.data() + start + length, have);
  tensor.data = bytes.data();
  return ATTN_OK;
}

static const char *npyName(int32_t dtype) {
  for (const NpyDtype &known : dtypes)
    if (known.dtype == dtype)
      return known.name;
  return "<f4";
}

bool attn::appendNpyHeader(const attn_tensor &tensor, Text &file) {
  Text header;
  header.append("{'descr': '%s', 'fortran_order': False, 'shape': (", npyName(tensor.dtype));
  for (int32_t a = 0; a < tensor.rank; ++a)
    header.append(a + 1 < tensor.rank ? "%lld, " : "%lld", static_cast<long long>(tensor.shape[a]));
  header.append(tensor.rank == 1 ? ",), }" : "), }");
  // Elements begin at a multiple of 64 bytes; the header ends in a newline.
  size_t padding = 63 - (10 + header.size()) % 64;
  header.append("%*s\n", int(padding), "");
  file.append("\x93NUMPY\x01%c%c%c%s", 0, int(header.size() & 255), int(header.size() >> 8),
              header.c_str());
  return !header.failed() && !file.failed();
}

attn_status attn::writeNpy(const char *path, const attn_tensor &tensor, Error &error) {
  Text head;
  int64_t elements = 1;
  for (int32_t a = 0; a < tensor.rank; ++a)
    elements *= tensor.shape[a];
  if (!appendNpyHeader(tensor, head))
    return error.outOfMemory(path);
  OutputFile file;
  if (attn_status status = file.open(path, error))
    return status;
  if (file.write(head.c_str(), head.size(), error))
    return error.status;
  if (tensor.dtype != ATTN_BF16) {
    size_t size = size_t(elements) * attn_dtype_size(tensor.dtype);
    if (file.write(tensor.data, size, error))
      return error.status;
    return file.commit(error);
  }
  for (int64_t begin = 0; begin < elements; begin += 1024) {
    float values[1024];
    int64_t count = elements - begin < 1024 ? elements - begin : 1024;
    for (int64_t i = 0; i < count; ++i)
      values[i] = loadFloat(tensor.data, ATTN_BF16, begin + i);
    if (file.write(values, size_t(count) * 4, error))
      return error.status;
  }
  return file.commit(error);
}
