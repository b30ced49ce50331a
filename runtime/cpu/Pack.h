// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The packed weights: one large-page block, filled from the checkpoint's tensors by the slot table.
#ifndef ATTN_CPU_PACK_H
#define ATTN_CPU_PACK_H
#include "attn/abi.h"
#include "core/Error.h"

namespace attn {

struct StoredTensor;
class Team;

/// Zeroed memory straight from the kernel, at 2 MB boundaries with large pages where it is that
/// large.
class PackedBlock {
public:
  PackedBlock() = default;
  PackedBlock(const PackedBlock &) = delete;
  PackedBlock &operator=(const PackedBlock &) = delete;
  ~PackedBlock() { reset(); }
  /// Replaces the block by one of at least `bytes` zeros; false, and none, where memory is lacking.
  bool allocate(uint64_t bytes);
  void reset();
  void swap(PackedBlock &other);
  char *data() const { return bytes; }
  uint64_t size() const { return length; }

private:
  void *map = nullptr;
  uint64_t mapLength = 0;
  char *bytes = nullptr;
  uint64_t length = 0;
};

/// One part of one layer of a slot, and the tensor it is read from.
struct PackJob {
  const attn_abi_slot *slot;
  const attn_abi_part *part;
  int32_t layer;
  const StoredTensor *source;
};

/// Fills the parts of `block` on all threads of the team. What lies in files is read piece by
/// piece; ATTN_IO where one has become shorter.
attn_status packAll(const Vector<PackJob> &jobs, char *block, Team &team, Error &error);

/// Whether a slot and its parts stay inside the block and inside tensors of the parameters' shapes.
bool isSlotSound(const attn_abi_model &tables, const attn_abi_slot &slot);

} // namespace attn
#endif
