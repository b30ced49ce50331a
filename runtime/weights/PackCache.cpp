// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files of packed blocks: their keys, their hashes, reading and writing them.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "weights/PackCache.h"
#include "base/Team.h"
#include "io/Checkpoint.h"
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <fcntl.h>
#include <initializer_list>
#include <sys/stat.h>
#include <unistd.h>

using namespace attn;

namespace {
/// What a file begins with; the block follows at the next page.
struct Header {
  char magic[8];
  uint64_t key, bytes, hash;
};
constexpr char fileMagic[8] = {'a', 't', 't', 'n', 'p', 'k', '0', '1'};
constexpr uint64_t blockAt = 4096, chunkSize = 1 << 20;

/// 64 bits; each word is mixed in by a product with an odd number and a shift.
class Hash {
public:
  void add(uint64_t word) {
    value = (value ^ word) * 0x9e3779b97f4a7c15u;
    value ^= value >> 29;
  }
  void addText(const char *text) {
    size_t length = strlen(text);
    add(length);
    add(hashName(text, length));
  }
  uint64_t value = 0x2545f4914f6cdd1du;
};

/// Reading or hashing of the block, chunk by chunk on all threads.
struct BlockWork {
  int descriptor; ///< -1: what is hashed is there already
  char *block;
  uint64_t bytes;
  std::atomic<uint64_t> next{0}, hash{0};
  std::atomic<bool> isWhole{true};
};
} // namespace

/// Four sums side by side: one alone would wait for its products.
static uint64_t hashChunk(const char *bytes, uint64_t size, uint64_t position) {
  Hash lanes[4];
  uint64_t at = 0;
  for (; at + 32 <= size; at += 32)
    for (uint64_t lane = 0; lane < 4; ++lane) {
      uint64_t word;
      memcpy(&word, bytes + at + 8 * lane, sizeof word);
      lanes[lane].add(word);
    }
  for (; at < size; ++at)
    lanes[0].add(uint8_t(bytes[at]));
  Hash all;
  all.add(position);
  for (const Hash &lane : lanes)
    all.add(lane.value);
  return all.value;
}

static bool readWhole(int descriptor, char *to, uint64_t size, uint64_t from) {
  while (size > 0) {
    ssize_t got = pread(descriptor, to, size, off_t(from));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    to += got, from += uint64_t(got), size -= uint64_t(got);
  }
  return true;
}

static void workOnThread(void *argument, int64_t) {
  BlockWork &work = *static_cast<BlockWork *>(argument);
  for (uint64_t at; (at = work.next.fetch_add(chunkSize)) < work.bytes;) {
    uint64_t size = work.bytes - at < chunkSize ? work.bytes - at : chunkSize;
    if (work.descriptor >= 0 && !readWhole(work.descriptor, work.block + at, size, blockAt + at)) {
      work.isWhole = false;
      return;
    }
    work.hash.fetch_add(hashChunk(work.block + at, size, at), std::memory_order_relaxed);
  }
}

/// What the packed block depends on.
static uint64_t keyOf(const attn_abi_model &tables, const Checkpoint &checkpoint) {
  Hash hash;
  auto all = [&](std::initializer_list<int64_t> values) {
    for (int64_t value : values)
      hash.add(uint64_t(value));
  };
  hash.addText(tables.version); // of the compiler: what packing does to numbers may change, too
  all({tables.abiVersion, tables.packedBytes, tables.slotCount, tables.parameterCount});
  for (int32_t i = 0; i < tables.parameterCount; ++i) {
    const attn_abi_parameter &parameter = tables.parameters[i];
    hash.addText(parameter.pattern);
    all({parameter.layers, parameter.rank});
    for (int32_t a = 0; a < parameter.rank; ++a)
      all({parameter.shape[a]});
  }
  for (int32_t i = 0; i < tables.slotCount; ++i) {
    const attn_abi_slot &slot = tables.slots[i];
    all({slot.offset, slot.layerStride, slot.bytes, slot.layers, slot.layout, slot.k, slot.columns,
         slot.padded, slot.width, slot.partCount});
    for (int32_t p = 0; p < slot.partCount; ++p) {
      const attn_abi_part &part = slot.parts[p];
      all({part.parameter, part.column, part.count, part.offset, part.kStride, part.kInner,
           part.kOuterStride, part.inner, part.innerStride, part.outerStride});
    }
    for (int64_t j = 0; slot.frequencies && j < slot.columns; ++j) {
      uint64_t bits;
      memcpy(&bits, &slot.frequencies[j], sizeof bits);
      hash.add(bits);
    }
  }
  for (const SourceFile *file : checkpoint.sourceFiles()) {
    const FileIdentity &own = file->identity();
    for (uint64_t word : {own.device, own.inode, own.size, own.changed})
      hash.add(word);
  }
  return hash.value;
}

PackCache::PackCache(const attn_abi_model &tables, const Checkpoint &checkpoint)
    : bytes(uint64_t(tables.packedBytes)) {
  const char *folder = getenv("ATTN_CACHE_DIR");
  if (!folder || !*folder || checkpoint.sourceFiles().empty())
    return;
  for (const SourceFile *file : checkpoint.sourceFiles())
    if (!file->hasSettled())
      return;
  size_t size = strlen(folder) + 32;
  if (!(path = static_cast<char *>(malloc(size))))
    return;
  key = keyOf(tables, checkpoint);
  mkdir(folder, 0777); // most often it is there
  snprintf(path, size, "%s/%016" PRIx64 ".pack", folder, key);
}

bool PackCache::read(char *block, Team &team) const {
  if (!path)
    return false;
  int descriptor = ::open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return false;
  Header header;
  struct stat info;
  bool isOurs = fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) &&
                uint64_t(info.st_size) == blockAt + bytes &&
                readWhole(descriptor, reinterpret_cast<char *>(&header), sizeof header, 0) &&
                memcmp(header.magic, fileMagic, sizeof fileMagic) == 0 && header.key == key &&
                header.bytes == bytes;
  if (isOurs) {
    BlockWork work{descriptor, block, bytes};
    team.run(workOnThread, &work);
    isOurs = work.isWhole && work.hash == header.hash;
    if (!isOurs)
      memset(block, 0, bytes); // packing fills zeros
  }
  close(descriptor);
  return isOurs;
}

uint64_t attn::hashBlock(const char *block, uint64_t bytes, Team &team) {
  BlockWork work{-1, const_cast<char *>(block), bytes};
  team.run(workOnThread, &work);
  return work.hash;
}

void PackCache::write(const char *block, Team &team) const {
  if (!path)
    return;
  char head[blockAt] = {};
  Header header{{}, key, bytes, hashBlock(block, bytes, team)};
  memcpy(header.magic, fileMagic, sizeof fileMagic);
  memcpy(head, &header, sizeof header);
  Error error; // dropped
  OutputFile file;
  if (file.open(path, error) == ATTN_OK && file.write(head, sizeof head, error) == ATTN_OK &&
      file.write(block, bytes, error) == ATTN_OK)
    file.commit(error);
}
