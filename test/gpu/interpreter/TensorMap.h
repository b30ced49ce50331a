// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor maps (ISA 5.5.8): the 128 bytes that tell a tensor copy where a tensor lies and what box
// of it to move. The driver's encoding is secret, and this one is our own, behind a function that
// takes what cuTensorMapEncodeTiled takes and refuses what it refuses.
#pragma once

#include <cstdint>
#include <string>

namespace attn::ptx {

enum class Swizzle : uint8_t { None, B32, B64, B128 };

/// What a kernel takes as `.param .align 64 .b8 map[128]`.
struct alignas(64) TensorMap {
  uint8_t bytes[128];
};

/// What a tensor map says. Dimension 0 is the innermost; sizes in elements, strides in bytes, the
/// innermost one being the element's size.
struct TensorGeometry {
  uint32_t magic;
  uint8_t rank;
  uint8_t elementBytes;
  Swizzle swizzle;
  uint64_t address;
  uint32_t dims[5];
  uint64_t strides[5];
  uint32_t box[5];

  uint32_t boxBytes() const;
};

/// Fills `map`; `strides` are those of dimensions 1 to rank - 1. Returns what is wrong, or "".
/// Refused besides: interleaved layouts, element strides other than 1, NaN filling, and boxes
/// narrower than their swizzle, whose rows in shared memory the manual does not describe.
std::string encodeTiled(TensorMap &map, int elementBytes, int rank, uint64_t address,
                        const uint64_t *dims, const uint64_t *strides, const uint32_t *box,
                        Swizzle swizzle);

/// The geometry of a map; false where the bytes are none.
bool decode(const TensorMap &map, TensorGeometry &geometry);

/// The address in shared memory where the bytes of unswizzled address `address` lie (ISA 5.5.7):
/// bits of the row within the pattern are added to those of the 16-byte chunk, without carry.
uint32_t swizzled(uint32_t address, Swizzle swizzle);

} // namespace attn::ptx
