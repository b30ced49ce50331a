// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bulk copies and tensor copies (ISA 9.7.9.25.4, 9.7.9.25.5): boxes of tensors between global and
// shared memory, in the async proxy. Loads complete on an mbarrier, stores in bulk groups.
#include "test/gpu/interpreter/Copies.h"
#include "test/gpu/interpreter/Instructions.h"
#include "test/gpu/interpreter/Mbarriers.h"

namespace attn::ptx {
namespace {

/// A run of bytes in both memories. Where it lies outside of the tensor it is not in global memory.
struct Piece {
  uint32_t shared;
  uint32_t bytes;
  uint8_t *global;
};

/// One copy as issued: where its pieces lie, and who does it.
struct Copy {
  std::vector<Piece> pieces;
  uint32_t bytes = 0;
};

/// The next of the actors that tensor copies take in turn. Two copies of one actor could be
/// confused only if a thread learnt of the later and not of the earlier one, 64 copies before.
std::pair<uint32_t, uint32_t> nextActor(Block &block) {
  constexpr uint32_t most = 64;
  uint32_t turn = block.nextCopyActor++ % most;
  if (turn == block.copyActors.size()) {
    block.copyActors.push_back(block.hazards->addActor("a bulk copy"));
    block.copyClocks.push_back(0);
  }
  return {block.copyActors[turn], ++block.copyClocks[turn]};
}

bool noteCopy(Step &step, int lane, const Copy &copy, uint32_t actor, uint32_t clock, bool write) {
  Author author{&step.thread(lane).witness, actor, clock, step.instruction.line, true};
  for (const Piece &piece : copy.pieces)
    if (!noteAccess(step, lane, author, piece.shared, piece.bytes, write))
      return false;
  return true;
}

void issueLoad(Step &step, int lane, const Copy &copy, uint64_t mbarrierAddress) {
  Block &block = step.block;
  Mbarrier *mbarrier = findMbarrier(step, lane, mbarrierAddress);
  if (!mbarrier)
    return;
  if (!mbarrier->fenced)
    return step.fail("no fence.mbarrier_init or fence.proxy.async of the thread that initialised "
                     "the mbarrier comes before its use by a copy",
                     lane);
  uint32_t offset = step.sharedOffset(lane, mbarrierAddress, 8, 8);
  auto [actor, clock] = nextActor(block);
  if (!noteCopy(step, lane, copy, actor, clock, true))
    return;
  auto land = [&block, &machine = step.machine, &instruction = step.instruction, copy, offset,
               actor = actor, clock = clock] {
    for (const Piece &piece : copy.pieces) {
      uint8_t *to = block.shared.data() + piece.shared;
      if (piece.global)
        std::memcpy(to, piece.global, piece.bytes);
      else
        std::memset(to, 0, piece.bytes);
      block.hazards->setInFlight(piece.shared, piece.bytes, false);
    }
    std::string error = complete(block, offset, copy.bytes, 0, actor, clock);
    if (!error.empty())
      machine.fail("line " + std::to_string(instruction.line) + ": " + instruction.name + ": " +
                   error);
    return false;
  };
  if (!block.machine->options.losesCopies)
    block.copies.push_back({land, true});
}

void issueStore(Step &step, int lane, const Copy &copy) {
  Block &block = step.block;
  CopyGroups &copies = step.thread(lane).bulkCopies;
  nextCopy(step, lane, copies, "a bulk copy");
  if (!noteCopy(step, lane, copy, copies.actor, copies.clock, false))
    return;
  // First the source is read, later the destination written.
  auto read = std::make_shared<std::vector<uint8_t>>();
  auto go = [&block, &copies, group = copies.openNumber(), copy, read] {
    if (read->empty()) {
      for (const Piece &piece : copy.pieces)
        read->insert(read->end(), block.shared.begin() + piece.shared,
                     block.shared.begin() + piece.shared + piece.bytes);
      --copies.numbered(group)->toRead;
      return true;
    }
    const uint8_t *from = read->data();
    for (const Piece &piece : copy.pieces) {
      if (piece.global)
        std::memcpy(piece.global, from, piece.bytes);
      from += piece.bytes;
    }
    if (CopyGroups::Group *open = copies.numbered(group))
      --open->toFinish;
    return false;
  };
  block.copies.push_back({go, false});
}

/// The pieces of the box at `coordinates`, of 16 bytes each so that a swizzle can place them.
bool gatherBox(Step &step, int lane, const TensorGeometry &geometry, const int64_t *coordinates,
               uint32_t shared, bool write, Copy &copy) {
  constexpr uint32_t pieceBytes = 16;
  uint32_t at[5] = {};
  uint32_t perPiece = pieceBytes / geometry.elementBytes;
  for (copy.bytes = 0; copy.bytes < geometry.boxBytes(); copy.bytes += pieceBytes) {
    bool inside = true;
    uint64_t address = geometry.address;
    for (int d = 0; d < geometry.rank; ++d) {
      int64_t position = coordinates[d] + at[d];
      inside &= position >= 0 && position <= int64_t(geometry.dims[d]);
      address += uint64_t(position) * geometry.strides[d];
    }
    int64_t first = coordinates[0] + at[0];
    int64_t left = int64_t(geometry.dims[0]) + 1 - first;
    // The tensor's edge may lie within the piece, and then it is split there.
    auto present = uint32_t(std::min<int64_t>(perPiece, left));
    uint32_t presentBytes = inside ? present * geometry.elementBytes : 0;
    uint32_t place = swizzled(shared + copy.bytes, geometry.swizzle);
    if (!inside && first < 0 && first + perPiece > 0) {
      step.fail("a box that begins at a coordinate below 0 that is no multiple of 16 bytes is not "
                "supported",
                lane);
      return false;
    }
    if (presentBytes) {
      std::string error;
      uint8_t *global = step.machine.device.resolve(address, presentBytes, write, error);
      if (!global) {
        step.fail("the tensor map: " + error, lane);
        return false;
      }
      copy.pieces.push_back({place, presentBytes, global});
    }
    if (presentBytes < pieceBytes)
      copy.pieces.push_back({place + presentBytes, pieceBytes - presentBytes, nullptr});
    at[0] += perPiece;
    for (int d = 0; d + 1 < geometry.rank && at[d] == geometry.box[d]; ++d) {
      at[d] = 0;
      ++at[d + 1];
    }
  }
  return true;
}

/// Reads the tensor map and the box's place.
bool readBox(Step &step, int lane, const Operand &tensor, uint64_t sharedAddress, int rank,
             bool write, Copy &copy) {
  uint64_t mapAddress = step.read(tensor.parts[0], lane) + tensor.value;
  const uint8_t *bytes =
      step.locate(lane, Space::Generic, mapAddress, sizeof(TensorMap), false, false, 64);
  if (!bytes)
    return false;
  TensorMap map;
  TensorGeometry geometry;
  std::memcpy(map.bytes, bytes, sizeof map);
  if (!decode(map, geometry) || geometry.rank != rank) {
    step.fail("the address is not that of a tensor map of " + std::to_string(rank) + " dimensions",
              lane);
    return false;
  }
  int64_t coordinates[5] = {};
  for (int d = 0; d < rank; ++d)
    coordinates[d] = int32_t(step.read(tensor.parts[d + 1], lane));
  uint32_t shared = step.sharedOffset(lane, sharedAddress, geometry.boxBytes(), 128);
  return !step.machine.failed() &&
         gatherBox(step, lane, geometry, coordinates, shared, write, copy);
}

} // namespace

/// `.Nd.shared::cluster.global{.tile}.mbarrier::complete_tx::bytes [to], [map, {x, y}], [mbarrier]`
/// and `.Nd.global.shared::cta{.tile}.bulk_group [map, {x, y}], [from]`.
Action decodeTensorCopy(Decoding &decoding) {
  int rank = decoding.takeOneOf({"1d", "2d", "3d", "4d", "5d"}) + 1;
  bool load = decoding.take("mbarrier::complete_tx::bytes");
  bool store = decoding.take("bulk_group");
  decoding.ignore({"tile", "shared::cluster", "shared::cta", "global"});
  bool hint = decoding.take("L2::cache_hint");
  if (rank == 0 || load == store)
    decoding.fail("expected 1d to 5d, and an mbarrier or a bulk group");
  decoding.expectOperands((load ? 3 : 2) + hint);
  const Operand &tensor = decoding.instruction.operands[load ? 1 : 0];
  if (tensor.parts.size() != size_t(rank) + 1)
    decoding.fail("expected " + std::to_string(rank) + " coordinates");
  return [=](Step &step) {
    step.each([&](int lane) {
      Copy copy;
      const Operand &shared = step.operand(load ? 0 : 1);
      if (!readBox(step, lane, step.operand(load ? 1 : 0), step.address(shared, lane), rank, store,
                   copy))
        return;
      if (load)
        issueLoad(step, lane, copy, step.address(step.operand(2), lane));
      else
        issueStore(step, lane, copy);
    });
  };
}

/// `.shared::cluster.global.mbarrier::complete_tx::bytes [to], [from], size, [mbarrier]` and
/// `.global.shared::cta.bulk_group [to], [from], size`.
Action decodeBulkCopy(Decoding &decoding) {
  bool load = decoding.take("mbarrier::complete_tx::bytes");
  bool store = decoding.take("bulk_group");
  decoding.ignore({"shared::cluster", "shared::cta", "global"});
  bool hint = decoding.take("L2::cache_hint");
  if (load == store)
    decoding.fail("expected an mbarrier or a bulk group");
  decoding.expectOperands((load ? 4 : 3) + hint);
  return [=](Step &step) {
    step.each([&](int lane) {
      auto bytes = uint32_t(step.read(step.operand(2), lane));
      if (bytes % 16)
        return step.fail("expected a multiple of 16 bytes, but got " + std::to_string(bytes), lane);
      uint32_t shared =
          step.sharedOffset(lane, step.address(step.operand(load ? 0 : 1), lane), bytes, 16);
      uint8_t *global =
          step.locate(lane, Space::Global, step.address(step.operand(load ? 1 : 0), lane), bytes,
                      store, false, 16);
      if (step.machine.failed())
        return;
      Copy copy{{{shared, bytes, global}}, bytes};
      if (load)
        issueLoad(step, lane, copy, step.address(step.operand(3), lane));
      else
        issueStore(step, lane, copy);
    });
  };
}

} // namespace attn::ptx
