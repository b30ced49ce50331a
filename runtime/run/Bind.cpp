// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Binding weights: from a checkpoint or from random numbers into the packed block.
#include "base/RegroupPanels.h"
#include "base/Team.h"
#include "run/Model.h"
#include "weights/Angles.h"
#include "weights/PackCache.h"
#include "weights/PackCheckpoint.h"
#include "weights/RandomWeights.h"

using namespace attn;

/// The block and the team that a binding needs; the block replaces the model's only at the end.
namespace {
struct Packing {
  PageBlock block;
  Team team;

  attn_status start(const attn_model &model, Error &error) {
    if (attn_status status = checkSlots(model.packing, error))
      return status;
    if (!block.allocate(uint64_t(model.tables->packedBytes)))
      return error.outOfMemory("the weights");
    bool isSmall = model.tables->packedBytes < (1 << 20); // not worth starting threads
    if (!team.start(isSmall ? 1 : model.threads))
      return error.set(ATTN_OUT_OF_MEMORY, "R0402", "the system gives no %d threads",
                       int(model.threads));
    return fillAngles(model.packing, block.data(), team, error);
  }
  void finish(attn_model &model) {
    model.block.swap(block);
    model.weights = model.block.data();
    ++model.bindings;
    model.weightsHash = 0;
  }
};
} // namespace

attn_status attn::bindNothing(attn_model &model, Error &error) {
  Packing packing;
  if (attn_status status = packing.start(model, error))
    return status;
  packing.finish(model);
  return ATTN_OK;
}

attn_status attn::bindEmbedded(attn_model &model, Error &error) {
  const attn_abi_model &tables = *model.tables;
  model.weights = tables.embedded;
  if (!haveOtherPanels(tables, model.slots.data()))
    return ATTN_OK;
  PageBlock block;
  if (attn_status status = checkSlots(model.packing, error))
    return status;
  if (!block.allocate(uint64_t(tables.packedBytes)))
    return error.outOfMemory("the weights");
  regroupBlock(tables, tables.embedded, model.slots.data(), block.data());
  model.block.swap(block);
  model.weights = model.block.data();
  return ATTN_OK;
}

static attn_status bindCheckpoint(attn_model &model, const Checkpoint &checkpoint, Error &error) {
  Binding binding;
  Packing packing;
  if (matchCheckpoint(*model.tables, checkpoint, binding, error) || packing.start(model, error))
    return error.status;
  PackCache cache(model.packing, checkpoint);
  if (!cache.read(packing.block.data(), packing.team)) {
    if (packCheckpoint(model.packing, checkpoint, binding, packing.block.data(), packing.team,
                       error))
      return error.status;
    cache.write(packing.block.data(), packing.team);
  }
  packing.finish(model);
  return ATTN_OK;
}

extern "C" attn_status attn_abi_pack(const attn_abi_model *tables, const char *path,
                                     int32_t threads, void *block, char **message) {
  Error error;
  Checkpoint checkpoint;
  Binding binding;
  Team team;
  if (!tables || !path || !block || threads < 1 || threads > 1024)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_abi_pack: null pointer or %d threads",
              int(threads));
  else if (checkSlots(*tables, error) == ATTN_OK && checkpoint.open(path, error) == ATTN_OK &&
           matchCheckpoint(*tables, checkpoint, binding, error) == ATTN_OK) {
    if (!team.start(threads))
      error.set(ATTN_OUT_OF_MEMORY, "R0402", "the system gives no %d threads", int(threads));
    else if (fillAngles(*tables, static_cast<char *>(block), team, error) == ATTN_OK)
      packCheckpoint(*tables, checkpoint, binding, static_cast<char *>(block), team, error);
  }
  return error.report(message);
}

extern "C" attn_status attn_model_bind_file(attn_model *model, const char *path, char **message) {
  Error error;
  Checkpoint checkpoint;
  if (!model || !path)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_model_bind_file: null pointer");
  else if (checkpoint.open(path, error) == ATTN_OK)
    bindCheckpoint(*model, checkpoint, error);
  return error.report(message);
}

extern "C" attn_status attn_model_bind_memory(attn_model *model, const void *data, size_t size,
                                              char **message) {
  Error error;
  Checkpoint checkpoint;
  if (!model || !data)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_model_bind_memory: null pointer");
  else if (checkpoint.openMemory(static_cast<const char *>(data), size, "memory", error) == ATTN_OK)
    bindCheckpoint(*model, checkpoint, error);
  return error.report(message);
}

extern "C" attn_status attn_model_bind_tensors(attn_model *model, const attn_named_tensor *tensors,
                                               size_t count, char **message) {
  Error error;
  Checkpoint checkpoint;
  if (!model || (!tensors && count > 0))
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_model_bind_tensors: null pointer");
  else if (checkpoint.addTensors(tensors, count, error) == ATTN_OK)
    bindCheckpoint(*model, checkpoint, error);
  return error.report(message);
}

static attn_status bindRandom(attn_model &model, uint64_t seed, Error &error) {
  Packing packing;
  if (packing.start(model, error) ||
      packRandom(model.packing, seed, packing.block.data(), packing.team, error))
    return error.status;
  packing.finish(model);
  return ATTN_OK;
}

extern "C" attn_status attn_model_bind_random(attn_model *model, uint64_t seed, char **message) {
  Error error;
  if (!model)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_model_bind_random: null pointer");
  else
    bindRandom(*model, seed, error);
  return error.report(message);
}
