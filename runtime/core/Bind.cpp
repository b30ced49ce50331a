// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Binding weights: from a checkpoint or from random numbers into the packed block.
#include "core/Bind.h"
#include "core/Random.h"
#include "core/Team.h"
#include "cpu/PackCache.h"

using namespace attn;

static attn_status checkSlots(const attn_abi_model &tables, Error &error) {
  for (int32_t i = 0; i < tables.slotCount; ++i)
    if (!isSlotSound(tables, tables.slots[i]))
      return error.set(ATTN_INVALID_ARGUMENT, "R0106",
                       "the artifact's table of weights contradicts itself (slot %d)", int(i));
  return ATTN_OK;
}

/// The block and the team that a binding needs; the block replaces the model's only at the end.
namespace {
struct Packing {
  PackedBlock block;
  Team team;

  attn_status start(const attn_model &model, Error &error) {
    if (attn_status status = checkSlots(*model.tables, error))
      return status;
    if (!block.allocate(uint64_t(model.tables->packedBytes)))
      return error.outOfMemory("the weights");
    bool isSmall = model.tables->packedBytes < (1 << 20); // not worth starting threads
    if (!team.start(isSmall ? 1 : model.threads))
      return error.set(ATTN_OUT_OF_MEMORY, "R0402", "the system gives no %d threads",
                       int(model.threads));
    return ATTN_OK;
  }
  void finish(attn_model &model) {
    model.block.swap(block);
    model.weights = model.block.data();
    ++model.bindings;
  }
};
} // namespace

/// One job per part and layer whose tensor there is.
static bool listJobs(const attn_abi_model &tables, const Binding &binding, Vector<PackJob> &jobs) {
  for (int32_t s = 0; s < tables.slotCount; ++s)
    for (int32_t layer = 0; layer < tables.slots[s].layers; ++layer)
      for (int32_t p = 0; p < tables.slots[s].partCount; ++p) {
        const attn_abi_part &part = tables.slots[s].parts[p];
        int32_t layers = tables.parameters[part.parameter].layers;
        int64_t index = binding.firsts[size_t(part.parameter)] + (layer < layers ? layer : 0);
        const StoredTensor *tensor = binding.tensors[size_t(index)];
        if (tensor && !jobs.push({&tables.slots[s], &part, layer, tensor}))
          return false;
      }
  return true;
}

static attn_status packBinding(const attn_abi_model &tables, const Binding &binding, char *block,
                               Team &team, Error &error) {
  Vector<PackJob> jobs;
  if (!listJobs(tables, binding, jobs))
    return error.outOfMemory("packing the weights");
  return packAll(jobs, block, team, error);
}

/// What was read is of one state of the files.
static attn_status checkUnchanged(const Checkpoint &checkpoint, Error &error) {
  for (const SourceFile *file : checkpoint.sourceFiles())
    if (attn_status status = file->checkUnchanged(error))
      return status;
  return ATTN_OK;
}

static attn_status bindCheckpoint(attn_model &model, const Checkpoint &checkpoint, Error &error) {
  Binding binding;
  Packing packing;
  if (matchCheckpoint(*model.tables, checkpoint, binding, error) || packing.start(model, error))
    return error.status;
  PackCache cache(*model.tables, checkpoint);
  if (!cache.read(packing.block.data(), packing.team)) {
    if (packBinding(*model.tables, binding, packing.block.data(), packing.team, error) ||
        checkUnchanged(checkpoint, error))
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
    if (team.start(threads))
      packBinding(*tables, binding, static_cast<char *>(block), team, error) ||
          checkUnchanged(checkpoint, error);
    else
      error.set(ATTN_OUT_OF_MEMORY, "R0402", "the system gives no %d threads", int(threads));
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

namespace {
struct Drawing {
  RandomStream stream;
  RandomRule rule;
  int64_t count, threads;
  float *values;
};
} // namespace

/// Fills one tensor, each thread an even-sized stretch of it.
static void drawOnThread(void *argument, int64_t thread) {
  const Drawing &drawing = *static_cast<Drawing *>(argument);
  int64_t share = (drawing.count / drawing.threads + 2) / 2 * 2, begin = thread * share;
  int64_t end = begin + share < drawing.count ? begin + share : drawing.count;
  if (begin < end)
    drawing.stream.normal(begin, end - begin, drawing.rule.mean, drawing.rule.scale,
                          drawing.values + begin);
}

/// All parts that read this parameter at this layer.
static bool addJobs(const attn_abi_model &tables, int32_t parameter, int32_t layer,
                    const StoredTensor &tensor, Vector<PackJob> &jobs) {
  bool isStacked = tables.parameters[parameter].layers > 0;
  for (int32_t s = 0; s < tables.slotCount; ++s)
    for (int32_t p = 0; p < tables.slots[s].partCount; ++p) {
      const attn_abi_slot &slot = tables.slots[s];
      if (slot.parts[p].parameter != parameter)
        continue;
      int32_t begin = isStacked ? layer : 0, end = isStacked ? layer + 1 : slot.layers;
      for (int32_t l = begin; l < end; ++l)
        if (!jobs.push({&slot, &slot.parts[p], l, &tensor}))
          return false;
    }
  return true;
}

static attn_status bindRandom(attn_model &model, uint64_t seed, Error &error) {
  const attn_abi_model &tables = *model.tables;
  Packing packing;
  if (attn_status status = packing.start(model, error))
    return status;
  Vector<PackJob> jobs;
  Text name;
  for (int32_t i = 0; i < tables.parameterCount; ++i) {
    const attn_abi_parameter &parameter = tables.parameters[i];
    StoredTensor tensor = {};
    tensor.dtype = ATTN_F32;
    int64_t count = 1;
    for (int32_t a = 0; a < parameter.rank; ++a)
      count *= parameter.shape[a];
    PackedBlock scratch;
    if (!scratch.allocate(uint64_t(count) * 4))
      return error.outOfMemory("a random tensor");
    tensor.data = scratch.data();
    for (int32_t layer = 0; layer < (parameter.layers ? parameter.layers : 1); ++layer) {
      expandName(parameter, layer, name);
      Drawing drawing{RandomStream(seed, name.c_str(), name.size()),
                      RandomRule(name.c_str(), name.size(), parameter.rank, parameter.shape), count,
                      packing.team.size(), reinterpret_cast<float *>(scratch.data())};
      packing.team.run(drawOnThread, &drawing);
      jobs.clear();
      if (name.failed() || !addJobs(tables, i, layer, tensor, jobs))
        return error.outOfMemory("packing the weights");
      if (attn_status status = packAll(jobs, packing.block.data(), packing.team, error))
        return status;
    }
  }
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
