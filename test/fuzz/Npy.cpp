// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NumPy's files: what is read lies in the file.
#include "io/Npy.h"
#include "Targets.h"
#include "base/Dtype.h"

void attn::fuzz::npy(const uint8_t *data, size_t size) {
  Vector<char> bytes;
  require(bytes.resize(size), "no memory");
  if (size)
    memcpy(bytes.data(), data, size);
  attn_tensor tensor = {};
  Error error;
  if (readNpy(bytes, "fuzz.npy", tensor, error)) {
    require(error.text.size() > 0, "an error without words");
    return;
  }
  int64_t elements = 0;
  require(countElements(tensor.shape, tensor.rank, elements), "a size beyond all bounds");
  double sum = 0;
  for (int64_t i = 0; i < elements; ++i)
    sum += loadFloat(tensor.data, tensor.dtype, i);
  [[maybe_unused]] static volatile double sink;
  sink = sum;
}
