// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/gpu/interpreter/TensorMap.h"
#include <cstring>

namespace attn::ptx {

static_assert(sizeof(TensorGeometry) <= sizeof(TensorMap));
constexpr uint32_t magicNumber = 0x70414d54;

uint32_t TensorGeometry::boxBytes() const {
  uint32_t bytes = elementBytes;
  for (int d = 0; d < rank; ++d)
    bytes *= box[d];
  return bytes;
}

static uint32_t swizzleBytes(Swizzle swizzle) {
  return swizzle == Swizzle::None ? 0 : 16 << int(swizzle);
}

std::string encodeTiled(TensorMap &map, int elementBytes, int rank, uint64_t address,
                        const uint64_t *dims, const uint64_t *strides, const uint32_t *box,
                        Swizzle swizzle) {
  auto dimension = [](int d) { return " of dimension " + std::to_string(d); };
  if (rank < 1 || rank > 5)
    return "expected 1 to 5 dimensions, but got " + std::to_string(rank);
  if (elementBytes != 1 && elementBytes != 2 && elementBytes != 4 && elementBytes != 8)
    return "expected elements of 1, 2, 4 or 8 bytes, but got " + std::to_string(elementBytes);
  if (address % 16)
    return "expected an address that is a multiple of 16";
  TensorGeometry geometry{};
  geometry.magic = magicNumber;
  geometry.rank = rank;
  geometry.elementBytes = elementBytes;
  geometry.swizzle = swizzle;
  geometry.address = address;
  for (int d = 0; d < rank; ++d) {
    uint64_t stride = d ? strides[d - 1] : elementBytes;
    if (dims[d] < 1 || dims[d] > 1ull << 32)
      return "expected a size of 1 to 2^32" + dimension(d);
    if (box[d] < 1 || box[d] > 256)
      return "expected a box size of 1 to 256" + dimension(d) + ", but got " +
             std::to_string(box[d]);
    if (d && (stride % 16 || stride >= 1ull << 40))
      return "expected a stride that is a multiple of 16 below 2^40" + dimension(d) + ", but got " +
             std::to_string(stride);
    geometry.dims[d] = uint32_t(dims[d] - 1);
    geometry.strides[d] = stride;
    geometry.box[d] = box[d];
  }
  uint32_t inner = box[0] * elementBytes;
  if (inner % 16)
    return "expected the box's inner dimension to be a multiple of 16 bytes, but got " +
           std::to_string(inner);
  if (swizzle != Swizzle::None && inner != swizzleBytes(swizzle))
    return "expected the box's inner dimension to have the swizzle's " +
           std::to_string(swizzleBytes(swizzle)) + " bytes, but got " + std::to_string(inner);
  map = {};
  std::memcpy(map.bytes, &geometry, sizeof geometry);
  return "";
}

bool decode(const TensorMap &map, TensorGeometry &geometry) {
  std::memcpy(&geometry, map.bytes, sizeof geometry);
  return geometry.magic == magicNumber;
}

uint32_t swizzled(uint32_t address, Swizzle swizzle) {
  switch (swizzle) {
  case Swizzle::None:
    return address;
  case Swizzle::B32:
    return address ^ (address >> 7 & 1) << 4;
  case Swizzle::B64:
    return address ^ (address >> 7 & 3) << 4;
  case Swizzle::B128:
    return address ^ (address >> 7 & 7) << 4;
  }
  return address;
}

} // namespace attn::ptx
