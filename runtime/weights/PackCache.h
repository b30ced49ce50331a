// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packed blocks on disk, so that a checkpoint is packed once and not at every start: files
// ATTN_CACHE_DIR/<key>.pack. The key is a hash of the compiler's version, the slot tables and of
// the checkpoint's files (device, inode, size, and the time of change, ctime, which no program
// sets); what is read is checked against a hash of its own. Nothing is kept of a checkpoint that
// has been changed within a tick of the clock: another change could have the same time. A file that
// is missing, damaged or of another model is none: the checkpoint is packed again and the file
// replaced, whole or not at all.
#pragma once

#include "weights/Pack.h"

namespace attn {

class Checkpoint;

/// A hash of a block, computed on all threads of the team, which is the same for any number of
/// them.
uint64_t hashBlock(const char *block, uint64_t bytes, Team &team);

/// The file of one packed block.
class PackCache {
public:
  /// The file for a model's block with the weights of `checkpoint`. None where ATTN_CACHE_DIR is
  /// not set, the checkpoint is no file or was changed a moment ago, or memory is lacking.
  PackCache(const attn_abi_model &tables, const Checkpoint &checkpoint);
  PackCache(const PackCache &) = delete;
  PackCache &operator=(const PackCache &) = delete;
  ~PackCache() { free(path); }

  /// Fills `block` from the file on all threads of the team; false where there is no such file.
  bool read(char *block, Team &team) const;
  /// Writes the file. What keeps it from being written (a full disk) is no error: the next start
  /// packs again.
  void write(const char *block, Team &team) const;

private:
  char *path = nullptr;
  uint64_t key = 0, bytes;
};

} // namespace attn
