// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs drawn by what the tables say about an entry's tensors.
#include "main/RandomInputs.h"
#include "base/Dtype.h"
#include "base/Names.h"
#include "base/Random.h"
#include <cerrno>

using namespace attn;

/// One of so many integers is among the notable ones, where there are some.
static constexpr uint64_t notableOneIn = 8;

static bool isCache(const attn_abi_model &tables, int32_t dim) {
  for (int32_t c = 0; c < tables.cacheCount; ++c)
    if (tables.caches[c].dim == dim)
      return true;
  return false;
}

/// The dim of that name whose size can be set, or -1.
static int32_t findDim(const attn_abi_model &tables, const Setting &setting) {
  for (int32_t d = 0; d < tables.dimCount; ++d)
    if (strlen(tables.dims[d].name) == size_t(setting.length) &&
        memcmp(tables.dims[d].name, setting.name, size_t(setting.length)) == 0 &&
        tables.dims[d].isDynamic && !isCache(tables, d))
      return d;
  return -1;
}

/// Says which sizes there are, and which of them was meant.
static attn_status unknownDim(const attn_abi_model &tables, const Setting &setting, Error &error) {
  error.set(ATTN_INVALID_ARGUMENT, "U0002",
            "`--set-size %s`: model `%s` has no size `%.*s` that is known only when running",
            setting.name, tables.name, setting.length, setting.name);
  size_t length = size_t(setting.length), best = length / 4 + 2;
  const char *nearest = nullptr;
  Text names;
  for (int32_t d = 0; d < tables.dimCount; ++d) {
    const char *name = tables.dims[d].name;
    if (!tables.dims[d].isDynamic || isCache(tables, d))
      continue;
    names.append(names.size() ? ", `%s`" : "`%s`", name);
    size_t distance = editDistance(setting.name, length, name, strlen(name), best);
    if (distance < best)
      best = distance, nearest = name;
  }
  if (nearest && length > 1)
    error.help("did you mean `%s`?", nearest);
  else if (names.size())
    error.help("there are %s", names.c_str());
  return error.status;
}

attn_status attn::chooseSizes(const Command &command, const attn_abi_model &tables, int64_t *dims,
                              Error &error) {
  for (int32_t d = 0; d < tables.dimCount; ++d)
    dims[d] = tables.dims[d].isDynamic ? 1 : tables.dims[d].value;
  for (const Setting &setting : command.sizes) {
    int32_t dim = findDim(tables, setting);
    if (dim < 0)
      return unknownDim(tables, setting, error);
    char *end;
    errno = 0;
    long long value = strtoll(setting.value, &end, 10);
    if (end == setting.value || *end)
      return error.set(ATTN_INVALID_ARGUMENT, "U0002", "`--set-size %s`: expected DIM=N",
                       setting.name);
    if (errno || value < 1 || value > tables.dims[dim].value)
      return error.set(ATTN_BAD_INPUT, "R0203", "`--set-size %s`: expected 1 to %lld", setting.name,
                       static_cast<long long>(tables.dims[dim].value));
    dims[dim] = value;
  }
  return ATTN_OK;
}

void attn::storeFloat(float value, int32_t dtype, void *data, int64_t index) {
  char *at = static_cast<char *>(data) + index * int64_t(attn_dtype_size(dtype));
  double wide = double(value);
  uint16_t half = dtype == ATTN_F16 ? floatToHalf(value) : floatToBfloat(value);
  const void *from = dtype == ATTN_F32   ? static_cast<const void *>(&value)
                     : dtype == ATTN_F64 ? static_cast<const void *>(&wide)
                                         : static_cast<const void *>(&half);
  memcpy(at, from, attn_dtype_size(dtype));
}

static void drawIntegers(const attn_abi_tensor &wanted, const int64_t *dims,
                         const RandomStream &stream, int64_t elements, attn_tensor &tensor) {
  int64_t least = 0, most = wanted.below > 0 ? wanted.below - 1 : 1;
  uint64_t notable = 0;
  if (wanted.random) {
    least = axisSize(wanted.random->least, dims);
    most = axisSize(wanted.random->most, dims);
    most = most > least ? most : least;
    notable = uint64_t(wanted.random->notableCount);
  }
  size_t width = attn_dtype_size(tensor.dtype);
  char *at = static_cast<char *>(tensor.data);
  for (int64_t i = 0; i < elements; ++i, at += width) {
    uint64_t bits = stream.bits(uint64_t(i));
    int64_t value = least + int64_t((bits >> 16) % (uint64_t(most - least) + 1));
    if (notable && bits % notableOneIn == 0)
      value = wanted.random->notable[bits / notableOneIn % notable];
    memcpy(at, &value, width); // low bytes first
  }
}

void attn::drawInput(const attn_abi_tensor &wanted, const int64_t *dims, uint64_t seed,
                     attn_tensor &tensor) {
  int64_t elements = 0;
  countElements(tensor.shape, tensor.rank, elements);
  RandomStream stream(seed, wanted.name, strlen(wanted.name));
  if (!isFloat(tensor.dtype))
    return drawIntegers(wanted, dims, stream, elements, tensor);
  for (int64_t begin = 0; begin < elements; begin += 256) {
    int64_t count = elements - begin < 256 ? elements - begin : 256;
    float values[256];
    stream.normal(begin, count, 0, 1, values);
    for (int64_t i = 0; i < count; ++i)
      storeFloat(values[i], tensor.dtype, tensor.data, begin + i);
  }
}
