// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One element at a time, by the C library's conversions.
#include "serve/TensorData.h"

#include "base/Dtype.h"
#include "base/Json.h"
#include <cerrno>
#include <cmath>

namespace attn {

static size_t elementsOf(const attn_tensor &tensor) {
  size_t count = 1;
  for (int32_t axis = 0; axis < tensor.rank; ++axis)
    count *= size_t(tensor.shape[axis]);
  return count;
}

size_t tensorBytes(const attn_tensor &tensor) {
  return elementsOf(tensor) * attn_dtype_size(tensor.dtype);
}

namespace {

/// Reads one array.
class DataReader {
public:
  DataReader(const char *text, size_t size, attn_tensor &tensor, Text &problem)
      : text(text), reader(text, size), tensor(tensor), problem(problem),
        count(elementsOf(tensor)) {}

  bool read() {
    if (reader.peek() != '[')
      return problem.append("`data` is no list"), false;
    if (!readLevel(0))
      return false;
    if (filled != count)
      return problem.append("`data` holds %zu numbers, expected %zu", filled, count), false;
    return true;
  }

private:
  /// An array, of elements or of arrays. A flat one holds the elements of all axes.
  bool readLevel(int32_t axis) {
    if (!reader.enterArray())
      return isNoData();
    int64_t size = 0;
    bool isNested = false;
    while (reader.nextElement()) {
      bool isList = reader.peek() == '[';
      if (size == 0)
        isNested = isList;
      if (isList != isNested || (isList && axis + 1 >= tensor.rank))
        return problem.append("`data` is nested otherwise than its shape"), false;
      if (!(isList ? readLevel(axis + 1) : readElement()))
        return false;
      ++size;
    }
    if (!reader.isGood())
      return isNoData();
    bool isFlat = axis == 0 && !isNested;
    if (!isFlat && (size != tensor.shape[axis] || (!isNested && axis + 1 != tensor.rank)))
      return problem.append("`data` has %lld elements on axis %d, expected %lld",
                            static_cast<long long>(size), axis,
                            static_cast<long long>(tensor.shape[axis])),
             false;
    return true;
  }

  bool isNoData() {
    return problem.append("`data` is no list of numbers: %s",
                          reader.problem ? reader.problem : "?"),
           false;
  }

  bool readElement() {
    if (filled == count)
      return problem.append("`data` holds more than %zu numbers", count), false;
    if (tensor.dtype == ATTN_BOOL)
      return readTruth();
    char first = reader.peek();
    size_t begin = reader.position;
    if (first != '-' && (first < '0' || first > '9'))
      return problem.append("`data` holds something else than a number at place %zu", filled),
             false;
    if (!reader.skipNumber())
      return isNoData();
    // The number ends where the reader stands, and is followed by another character or a NUL.
    bool isWhole = tensor.dtype == ATTN_I32 || tensor.dtype == ATTN_I64 || tensor.dtype == ATTN_U8;
    return isWhole ? storeWhole(text + begin, text + reader.position) : storeFloat(text + begin);
  }

  bool readTruth() {
    char first = reader.peek();
    if (first != 't' && first != 'f')
      return problem.append("`data` holds something else than true and false at place %zu", filled),
             false;
    if (!reader.skipWord(first == 't' ? "true" : "false"))
      return isNoData();
    static_cast<uint8_t *>(tensor.data)[filled++] = first == 't';
    return true;
  }

  bool storeWhole(const char *number, const char *end) {
    char *stop = nullptr;
    errno = 0;
    long long value = strtoll(number, &stop, 10);
    long long least = tensor.dtype == ATTN_I32  ? INT32_MIN
                      : tensor.dtype == ATTN_U8 ? 0
                                                : INT64_MIN;
    long long most = tensor.dtype == ATTN_I32  ? INT32_MAX
                     : tensor.dtype == ATTN_U8 ? UINT8_MAX
                                               : INT64_MAX;
    if (stop != end || errno || value < least || value > most)
      return problem.append(
                 "`data` holds %.*s at place %zu, expected a whole number from %lld to %lld",
                 int(end - number > 40 ? 40 : end - number), number, filled, least, most),
             false;
    if (tensor.dtype == ATTN_I32)
      static_cast<int32_t *>(tensor.data)[filled++] = int32_t(value);
    else if (tensor.dtype == ATTN_I64)
      static_cast<int64_t *>(tensor.data)[filled++] = value;
    else
      static_cast<uint8_t *>(tensor.data)[filled++] = uint8_t(value);
    return true;
  }

  bool storeFloat(const char *number) {
    if (tensor.dtype == ATTN_F64) {
      double value = strtod(number, nullptr);
      static_cast<double *>(tensor.data)[filled++] = value;
      return std::isfinite(value) || isTooLarge();
    }
    float value = strtof(number, nullptr);
    if (tensor.dtype == ATTN_F32)
      static_cast<float *>(tensor.data)[filled++] = value;
    else
      static_cast<uint16_t *>(tensor.data)[filled++] =
          tensor.dtype == ATTN_F16 ? floatToHalf(value) : floatToBfloat(value);
    return std::isfinite(loadFloat(tensor.data, tensor.dtype, int64_t(filled - 1))) || isTooLarge();
  }

  bool isTooLarge() {
    return problem.append("`data` holds a number at place %zu that is too large for %s", filled - 1,
                          attn_dtype_name(tensor.dtype)),
           false;
  }

  const char *text;
  JsonReader reader;
  attn_tensor &tensor;
  Text &problem;
  size_t count, filled = 0;
};

} // namespace

bool readTensorData(const char *text, size_t size, attn_tensor &tensor, Text &problem) {
  return DataReader(text, size, tensor, problem).read();
}

bool writeTensorData(const attn_tensor &tensor, Text &text, Text &problem) {
  size_t count = elementsOf(tensor);
  text.append("[");
  for (size_t i = 0; i < count; ++i) {
    const char *comma = i ? ", " : "";
    switch (tensor.dtype) {
    case ATTN_I32:
      text.append("%s%d", comma, static_cast<const int32_t *>(tensor.data)[i]);
      break;
    case ATTN_I64:
      text.append("%s%lld", comma,
                  static_cast<long long>(static_cast<const int64_t *>(tensor.data)[i]));
      break;
    case ATTN_U8:
      text.append("%s%d", comma, static_cast<const uint8_t *>(tensor.data)[i]);
      break;
    case ATTN_BOOL:
      text.append("%s%s", comma, static_cast<const uint8_t *>(tensor.data)[i] ? "true" : "false");
      break;
    default: {
      bool isDouble = tensor.dtype == ATTN_F64;
      double value = isDouble ? static_cast<const double *>(tensor.data)[i]
                              : double(loadFloat(tensor.data, tensor.dtype, int64_t(i)));
      if (!std::isfinite(value))
        return problem.append("holds %s at place %zu", std::isnan(value) ? "NaN" : "infinity", i),
               false;
      text.append(isDouble ? "%s%.17g" : "%s%.9g", comma, value);
    }
    }
  }
  text.append("]");
  return true;
}

} // namespace attn
