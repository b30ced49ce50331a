// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contexts and running: a team, a workspace that only grows, and the checks of the caller's
// buffers.
#include "core/Dtype.h"
#include "core/Model.h"
#include "core/Team.h"
#include <new>

using namespace attn;

struct attn_context {
  attn_model *model = nullptr;
  Team team;
  PackedBlock workspace;
  /// Room for the pointers of the entry with most inputs or outputs.
  Vector<void *> inputs, outputs;
};

static void destroyContext(attn_context *context) {
  attn_model *model = context->model;
  context->~attn_context();
  free(context);
  attn_model_destroy(model);
}

static attn_status createContext(attn_model *model, int32_t threads, attn_context **result,
                                 Error &error) {
  if (!model || !result)
    return error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_context_create: null pointer");
  if (threads < 0 || threads > 1024)
    return error.set(ATTN_INVALID_ARGUMENT, "R0101",
                     "attn_context_create: %d threads, expected 0 to 1024", int(threads));
  void *memory = nullptr;
  if (posix_memalign(&memory, alignof(attn_context), sizeof(attn_context)) != 0)
    return error.outOfMemory("a context");
  attn_context *context = new (memory) attn_context;
  model->holders.fetch_add(1, std::memory_order_relaxed);
  context->model = model;
  int32_t inputs = 0, outputs = 0;
  for (int32_t i = 0; i < model->tables->entryCount; ++i) {
    const attn_abi_entry &entry = model->tables->entries[i];
    inputs = entry.inputCount > inputs ? entry.inputCount : inputs;
    outputs = entry.outputCount > outputs ? entry.outputCount : outputs;
  }
  int32_t wanted = threads ? threads : model->threads;
  if (!context->inputs.resize(size_t(inputs)) || !context->outputs.resize(size_t(outputs)))
    error.outOfMemory("a context");
  else if (!context->team.start(wanted))
    error.set(ATTN_OUT_OF_MEMORY, "R0402", "the system gives no %d threads", int(wanted));
  if (error.status != ATTN_OK) {
    destroyContext(context);
    return error.status;
  }
  *result = context;
  return ATTN_OK;
}

extern "C" attn_status attn_context_create(attn_model *model, int32_t threads,
                                           attn_context **context, char **message) {
  Error error;
  createContext(model, threads, context, error);
  return error.report(message);
}

extern "C" void attn_context_destroy(attn_context *context) {
  if (context)
    destroyContext(context);
}

extern "C" int32_t attn_context_threads(const attn_context *context) {
  return context->team.size();
}

static int64_t workspaceBytes(const attn_context &context, int32_t entry, const int64_t *dims) {
  return context.model->level->workspaces[entry](dims, context.team.size());
}

extern "C" attn_status attn_workspace_bytes(const attn_context *context, int32_t entry,
                                            const attn_tensor *inputs, int64_t *bytes,
                                            char **message) {
  Error error;
  int64_t dims[kMaxDims];
  if (!context || !bytes)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_workspace_bytes: null pointer");
  else if (resolveDims(*context->model->tables, entry, inputs, nullptr, dims, error) == ATTN_OK)
    *bytes = workspaceBytes(*context, entry, dims);
  return error.report(message);
}

static uint64_t byteSize(const attn_tensor &tensor) {
  uint64_t elements = 1;
  for (int32_t a = 0; a < tensor.rank; ++a)
    elements *= uint64_t(tensor.shape[a]);
  return elements * attn_dtype_size(tensor.dtype);
}

static bool overlaps(const attn_tensor &a, const attn_tensor &b) {
  uintptr_t aBegin = uintptr_t(a.data), bBegin = uintptr_t(b.data);
  return aBegin < bBegin + byteSize(b) && bBegin < aBegin + byteSize(a);
}

/// Null, misaligned or overlapping buffers. Shapes have been checked.
static attn_status checkBuffers(const attn_abi_entry &entry, const attn_tensor *inputs,
                                const attn_tensor *outputs, Error &error) {
  int32_t total = entry.inputCount + entry.outputCount;
  for (int32_t i = 0; i < total; ++i) {
    bool isInput = i < entry.inputCount;
    const attn_tensor &tensor = isInput ? inputs[i] : outputs[i - entry.inputCount];
    const char *kind = isInput ? "input" : "output";
    const char *name = isInput ? entry.inputs[i].name : entry.outputs[i - entry.inputCount].name;
    if (!tensor.data || uintptr_t(tensor.data) % attn_dtype_size(tensor.dtype))
      return error.set(ATTN_INVALID_ARGUMENT, "R0101",
                       "%s `%s` of entry `%s`: its data is %s, expected a multiple of %zu bytes",
                       kind, name, entry.name, tensor.data ? "misaligned" : "a null pointer",
                       attn_dtype_size(tensor.dtype));
    for (int32_t j = 0; !isInput && j < i; ++j) {
      bool isOther = j < entry.inputCount;
      const attn_tensor &other = isOther ? inputs[j] : outputs[j - entry.inputCount];
      if (overlaps(tensor, other))
        return error.set(ATTN_INVALID_ARGUMENT, "R0101", "output `%s` of entry `%s` overlaps `%s`",
                         name, entry.name,
                         isOther ? entry.inputs[j].name : entry.outputs[j - entry.inputCount].name);
    }
  }
  return ATTN_OK;
}

namespace {
struct Run {
  attn_abi_entry_fn function;
  attn_abi_call call;
};
} // namespace

static void callBarrier(void *team, int64_t) { static_cast<Team *>(team)->barrier(); }

static attn_status runEntry(attn_context &context, int32_t entryIndex, const attn_tensor *inputs,
                            const attn_tensor *outputs, Error &error) {
  const attn_model &model = *context.model;
  int64_t dims[kMaxDims];
  if (attn_status status = resolveDims(*model.tables, entryIndex, inputs, outputs, dims, error))
    return status;
  const attn_abi_entry &entry = model.tables->entries[entryIndex];
  if (!outputs && entry.outputCount > 0)
    return error.set(ATTN_INVALID_ARGUMENT, "R0101", "entry `%s`: the outputs are a null pointer",
                     entry.name);
  if (attn_status status = checkBuffers(entry, inputs, outputs, error))
    return status;
  if (attn_status status = checkIndices(entry, inputs, error))
    return status;
  if (!model.weights && model.tables->packedBytes > 0) {
    error.set(ATTN_BAD_WEIGHTS, "R0105", "model `%s` has no weights", model.tables->name);
    error.help("bind weights before running it");
    return error.status;
  }
  int64_t needed = workspaceBytes(context, entryIndex, dims);
  if (needed < 0 || (uint64_t(needed) > context.workspace.size() &&
                     !context.workspace.allocate(uint64_t(needed))))
    return error.set(ATTN_OUT_OF_MEMORY, "R0401", "no memory for a workspace of %lld bytes",
                     static_cast<long long>(needed));
  for (int32_t i = 0; i < entry.inputCount; ++i)
    context.inputs[size_t(i)] = inputs[i].data;
  for (int32_t i = 0; i < entry.outputCount; ++i)
    context.outputs[size_t(i)] = outputs[i].data;
  Run run{model.level->entries[entryIndex],
          {context.inputs.data(), context.outputs.data(), dims, model.weights,
           context.workspace.data(), context.team.size(), callBarrier, &context.team}};
  context.team.run(
      [](void *argument, int64_t thread) {
        const Run &run = *static_cast<Run *>(argument);
        run.function(&run.call, thread);
      },
      &run);
  return ATTN_OK;
}

extern "C" attn_status attn_run(attn_context *context, int32_t entry, const attn_tensor *inputs,
                                const attn_tensor *outputs, char **message) {
  Error error;
  if (!context)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_run: null pointer");
  else
    runEntry(*context, entry, inputs, outputs, error);
  return error.report(message);
}
