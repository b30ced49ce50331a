// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the tensors of a binding to the jobs of Pack.h.
#include "weights/PackCheckpoint.h"
#include "base/Team.h"
#include "weights/Pack.h"
#include "weights/PanelLayout.h"

using namespace attn;

attn_status attn::checkSlots(const attn_abi_model &tables, Error &error) {
  for (int32_t i = 0; i < tables.slotCount; ++i)
    if (!isSlotSound(tables, tables.slots[i]))
      return error.set(ATTN_INVALID_ARGUMENT, "R0106",
                       "the artifact's table of weights contradicts itself (slot %d)", int(i));
  return ATTN_OK;
}

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

/// What was read is of one state of the files.
static attn_status checkUnchanged(const Checkpoint &checkpoint, Error &error) {
  for (const SourceFile *file : checkpoint.sourceFiles())
    if (attn_status status = file->checkUnchanged(error))
      return status;
  return ATTN_OK;
}

attn_status attn::packCheckpoint(const attn_abi_model &tables, const Checkpoint &checkpoint,
                                 const Binding &binding, char *block, Team &team, Error &error) {
  Vector<PackJob> jobs;
  if (!listJobs(tables, binding, jobs))
    return error.outOfMemory("packing the weights");
  if (attn_status status = packAll(jobs, block, team, error))
    return status;
  return checkUnchanged(checkpoint, error);
}
