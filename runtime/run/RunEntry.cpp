// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs of entries: sizes of what they take and give, then the entry on all threads of the team.
#include "run/RunEntry.h"
#include "base/Features.h"
#include "base/Tensor.h"
#include "run/Buffers.h"
#include "run/Rows.h"
#include "run/States.h"
#include <unistd.h>

using namespace attn;

attn_status attn::resolveCall(const attn_context &context, int32_t entry, const attn_tensor *inputs,
                              const attn_tensor *outputs, int64_t *dims, Error &error,
                              int64_t rows) {
  int64_t cached[maxDims]; // a cache is a dim, too
  for (size_t c = 0; c < context.caches.size(); ++c)
    cached[c] = context.caches[c]->length;
  return resolveDims(*context.model->tables, entry, inputs, outputs, cached, rows, dims, error);
}

attn_status attn::inferShapes(const attn_context &context, int32_t entry, const attn_tensor *inputs,
                              attn_tensor *outputs, Error &error) {
  int64_t dims[maxDims];
  if (attn_status status = resolveCall(context, entry, inputs, nullptr, dims, error))
    return status;
  const attn_abi_entry &found = context.model->tables->entries[entry];
  if (!outputs && found.outputCount > 0)
    return error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_infer_shapes: null pointer");
  for (int32_t i = 0; i < found.outputCount; ++i) {
    const attn_abi_tensor &tensor = found.outputs[i];
    outputs[i].dtype = tensor.dtype;
    outputs[i].rank = tensor.rank;
    for (int32_t a = 0; a < tensor.rank; ++a)
      outputs[i].shape[a] = axisSize(tensor.axes[a], dims);
  }
  return ATTN_OK;
}

extern "C" attn_status attn_infer_shapes(const attn_context *context, int32_t entry,
                                         const attn_tensor *inputs, attn_tensor *outputs,
                                         char **message) {
  Error error;
  if (!context)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_infer_shapes: null pointer");
  else
    inferShapes(*context, entry, inputs, outputs, error);
  return error.report(message);
}

static int64_t workspaceBytes(const attn_context &context, int32_t entry, const int64_t *dims) {
  return context.gpu ? context.gpu->workspaceBytes(entry, dims)
                     : context.model->level->workspaces[entry](dims, context.team.size());
}

extern "C" attn_status attn_workspace_bytes(const attn_context *context, int32_t entry,
                                            const attn_tensor *inputs, int64_t *bytes,
                                            char **message) {
  Error error;
  int64_t dims[maxDims];
  if (!context || !bytes)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_workspace_bytes: null pointer");
  else if (resolveCall(*context, entry, inputs, nullptr, dims, error) == ATTN_OK) {
    const attn_abi_unfold *unfold = context->model->tables->entries[entry].unfold;
    *bytes = workspaceBytes(*context, unfold ? unfold->first : entry, dims);
  }
  return error.report(message);
}

namespace {
struct Run {
  attn_abi_entry_fn function;
  attn_abi_call call;
  Profile *profile; ///< Null where none is wanted.
  bool usesTiles;   ///< Of AMX.
};
} // namespace

static void callBarrier(void *team, int64_t thread, int64_t) {
  static_cast<Team *>(team)->barrier(thread);
}

static int64_t callClaim(void *team, int64_t thread, int64_t least) {
  return static_cast<Team *>(team)->claim(thread, least);
}

/// A context that was made before a fork: on a CPU its threads are made anew.
static attn_status checkProcess(attn_context &context, Error &error) {
  if (context.gpu && context.gpuProcess != getpid()) {
    error.set(ATTN_INVALID_ARGUMENT, "R0101",
              "the context has been put on a GPU by another process than this, which was forked");
    error.help("CUDA works in no process that is forked behind its start: fork first, then call "
               "attn_context_set_device");
    return error.status;
  }
  if (!context.gpu && !context.team.prepare())
    return error.set(ATTN_OUT_OF_MEMORY, "R0402", "the system gives no %d threads",
                     int(context.team.size()));
  return ATTN_OK;
}

static attn_status checkWeights(const attn_model &model, Error &error) {
  if (model.weights || model.tables->packedBytes == 0)
    return ATTN_OK;
  error.set(ATTN_BAD_WEIGHTS, "R0105", "model `%s` has no weights", model.tables->name);
  error.help("bind weights before running it");
  return error.status;
}

static attn_status makeWorkspace(attn_context &context, int32_t entry, const int64_t *dims,
                                 Error &error) {
  int64_t needed = workspaceBytes(context, entry, dims);
  bool isThere = needed >= 0 && uint64_t(needed) <= context.workspace.size();
  if (!isThere && (needed < 0 || !context.workspace.allocate(uint64_t(needed))))
    return error.set(ATTN_OUT_OF_MEMORY, "R0401", "no memory for a workspace of %lld bytes",
                     static_cast<long long>(needed));
  return ATTN_OK;
}

attn_status attn::runEntry(attn_context &context, int32_t entryIndex, const attn_tensor *given,
                           const attn_tensor *outputs, Error &error, const RowsOfCall *rows) {
  const attn_model &model = *context.model;
  int64_t dims[maxDims];
  if (attn_status status =
          resolveCall(context, entryIndex, given, outputs, dims, error, rows ? rows->count : 0))
    return status;
  const attn_abi_entry &entry = model.tables->entries[entryIndex];
  const RowsOfCall own{nullptr, nullptr, 1};
  if (entry.rows >= 0 && !rows)
    rows = &own;
  if (attn_status status = rows ? checkRows(context, entryIndex, *rows, dims, error) : ATTN_OK)
    return status;
  if (!outputs && entry.outputCount > 0)
    return error.set(ATTN_INVALID_ARGUMENT, "R0101", "entry `%s`: the outputs are a null pointer",
                     entry.name);
  const attn_tensor *inputs = withStates(context, entry, given, dims, error);
  if (!inputs && entry.inputCount > 0)
    return error.status;
  int32_t gpu = context.gpu ? context.gpu->index() : -1;
  if (attn_status status = checkBuffers(entry, inputs, outputs, gpu, error))
    return status;
  if (attn_status status = checkStateOutputs(context, entry, outputs, error))
    return status;
  for (int32_t i = 0; i < entry.inputCount; ++i)
    if (!isOnDevice(inputs[i]))
      if (attn_status status = checkIndices(entry, i, inputs[i], error))
        return status;
  if (attn_status status = checkWeights(model, error))
    return status;
  if (attn_status status = checkProcess(context, error))
    return status;
  if (context.gpu) {
    if (attn_status status = runOnGpu(context, entryIndex, dims, inputs, outputs, error))
      return status;
    return keepStates(context, entry, outputs, error);
  }
  if (attn_status status = makeWorkspace(context, entryIndex, dims, error))
    return status;
  if (attn_status status =
          !rows || rows == &own ? prepareCaches(context, entry, dims, error) : ATTN_OK)
    return status;
  if (attn_status status = rows ? prepareRows(context, entry, *rows, dims, error) : ATTN_OK)
    return status;
  for (int32_t i = 0; i < entry.inputCount; ++i)
    context.inputs[size_t(i)] = inputs[i].data;
  for (int32_t i = 0; i < entry.outputCount; ++i)
    context.outputs[size_t(i)] = outputs[i].data;
  Profile *profile = context.profile.isEnabled() ? &context.profile : nullptr;
  if (profile && !profile->beginRun(dims, model.tables->dimCount))
    return error.outOfMemory("a profile");
  Run run{model.level->entries[entryIndex],
          {context.inputs.data(), context.outputs.data(), dims, model.weights,
           context.workspace.data(), context.team.size(), profile ? Profile::barrier : callBarrier,
           profile ? Profile::claim : callClaim,
           profile ? static_cast<void *>(profile) : &context.team, context.cacheBlocks.data(),
           nullptr, nullptr, 0},
          profile,
          model.level->level == ATTN_LEVEL_X86_AMX};
  if (rows)
    describeRows(context, *rows, run.call);
  context.team.run(
      [](void *argument, int64_t thread) {
        const Run &run = *static_cast<Run *>(argument);
        if (run.profile)
          run.profile->beginThread(thread);
        if (run.usesTiles)
          configureTiles();
        run.function(&run.call, thread);
        if (run.usesTiles)
          releaseTiles();
      },
      &run);
  if (rows) {
    countAdded(context, entry, *rows);
    return ATTN_OK;
  }
  countCached(context, entry, dims);
  return keepStates(context, entry, outputs, error);
}

extern "C" attn_status attn_run(attn_context *context, int32_t entry, const attn_tensor *inputs,
                                const attn_tensor *outputs, char **message) {
  if (context && generates(*context->model, entry)) {
    attn_generation generation;
    if (attn_status status = attn_generation_default(context->model, entry, &generation, message))
      return status;
    return attn_generate(context, entry, &generation, inputs, outputs, message);
  }
  Error error;
  if (!context)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_run: null pointer");
  else
    runEntry(*context, entry, inputs, outputs, error);
  return error.report(message);
}
