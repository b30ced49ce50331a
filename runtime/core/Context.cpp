// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contexts and running: a team, a workspace that only grows, or a GPU.
#include "core/Buffers.h"
#include "core/Cache.h"
#include "core/Dtype.h"
#include "core/Model.h"
#include "core/Profile.h"
#include "core/Team.h"
#include "cpu/Features.h"
#include "cuda/Gpu.h"
#include <cstring>
#include <new>

using namespace attn;

struct attn_context {
  attn_model *model = nullptr;
  Team team;
  PackedBlock workspace;
  /// Room for the pointers of the entry with most inputs or outputs.
  Vector<void *> inputs, outputs;
  Vector<CacheMemory *> caches; ///< One per cache of the model.
  Profile profile{team};
  Gpu *gpu = nullptr; ///< Null where entries run on the CPU.

  ~attn_context() {
    dispose(gpu);
    for (CacheMemory *cache : caches)
      dispose(cache);
  }
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
  for (int32_t i = 0; i < model->tables->cacheCount; ++i) {
    auto *cache = create<CacheMemory>();
    if (!cache || !context->caches.push(cache)) {
      dispose(cache);
      error.outOfMemory("a context");
      break;
    }
  }
  int32_t wanted = threads ? threads : model->threads;
  if (!context->inputs.resize(size_t(inputs)) || !context->outputs.resize(size_t(outputs)))
    error.outOfMemory("a context");
  else if (!context->team.start(wanted, model->pinsThreads))
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

/// Whether a cache lies in a GPU's memory as in the CPU's: where linears are in 16 bits, GPUs keep
/// f32 that is only multiplied in them.
static bool isSameEverywhere(const attn_abi_model &tables, const attn_abi_cache &cache) {
  bool isSame = strcmp(tables.precision, "bf16") != 0 && strcmp(tables.precision, "f16") != 0;
  for (int32_t s = 0; !isSame && s < cache.stateCount; ++s)
    if (cache.states[s].tensor.dtype == ATTN_F32)
      return false;
  return true;
}

/// Copies caches that hold something to where the context is about to run, by way of their memory
/// on the host: `to`, or the CPU where that is null. After an error they are where they were.
static attn_status moveCaches(attn_context &context, Gpu *to, Error &error) {
  const attn_abi_model &tables = *context.model->tables;
  for (int32_t i = 0; i < tables.cacheCount; ++i) {
    CacheMemory &cache = *context.caches[size_t(i)];
    size_t bytes = cache.block.size();
    if (cache.length == 0)
      continue;
    bool isBetweenGpus = context.gpu && to;
    if (!isBetweenGpus && !isSameEverywhere(tables, tables.caches[i])) {
      error.set(ATTN_INVALID_ARGUMENT, "R0208",
                "cache `%s` holds %lld positions, which a GPU keeps in another form than the CPU "
                "where linears are in %s",
                tables.caches[i].name, static_cast<long long>(cache.length), tables.precision);
      error.help("empty it first (attn_cache_truncate to 0), or use another context");
      return error.status;
    }
    if (context.gpu && context.gpu->readCache(i, cache.block.data(), bytes, error))
      return error.status;
    if (to && to->writeCache(i, cache.block.data(), bytes, error))
      return error.status;
  }
  return ATTN_OK;
}

static attn_status setDevice(attn_context *context, int32_t kind, int32_t index, Error &error) {
  if (!context || (kind != ATTN_DEVICE_CPU && kind != ATTN_DEVICE_CUDA))
    return error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_context_set_device: %s",
                     context ? "no such kind of device" : "null pointer");
  if (kind == ATTN_DEVICE_CPU && !context->gpu)
    return ATTN_OK;
  Gpu *gpu = nullptr;
  if (kind == ATTN_DEVICE_CUDA) {
    if (!(gpu = create<Gpu>()))
      return error.outOfMemory("a GPU");
    gpu->open(*context->model->tables, context->model->onDevices, index, error);
  }
  if (error.status || moveCaches(*context, gpu, error)) {
    dispose(gpu);
    return error.status;
  }
  dispose(context->gpu);
  context->gpu = gpu;
  return ATTN_OK;
}

extern "C" attn_status attn_context_set_device(attn_context *context, int32_t kind, int32_t index,
                                               char **message) {
  Error error;
  setDevice(context, kind, index, error);
  return error.report(message);
}

extern "C" attn_status attn_context_set_stream(attn_context *context, void *stream,
                                               char **message) {
  Error error;
  if (!context)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_context_set_stream: null pointer");
  else if (!context->gpu)
    error.set(ATTN_INVALID_ARGUMENT, "R0101",
              "attn_context_set_stream: the context runs on the CPU");
  else
    context->gpu->setStream(static_cast<CuStream>(stream), error);
  return error.report(message);
}

Gpu *attn::gpuOf(attn_context &context) { return context.gpu; }

extern "C" const char *attn_context_code(const attn_context *context) {
  return context->gpu ? context->gpu->loaded() : context->model->level->name;
}

extern "C" int32_t attn_context_threads(const attn_context *context) {
  return context->team.size();
}

static CacheMemory *cacheOf(const attn_context &context, int32_t cache) {
  return cache < 0 || cache >= context.model->tables->cacheCount ? nullptr
                                                                 : context.caches[size_t(cache)];
}

extern "C" int64_t attn_cache_length(const attn_context *context, int32_t cache) {
  const CacheMemory *memory = context ? cacheOf(*context, cache) : nullptr;
  return memory ? memory->length : -1;
}

extern "C" attn_status attn_cache_truncate(attn_context *context, int32_t cache, int64_t length,
                                           char **message) {
  Error error;
  CacheMemory *memory = context ? cacheOf(*context, cache) : nullptr;
  if (!memory)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_cache_truncate: %s",
              context ? "there is no such cache" : "null pointer");
  else if (length < 0 || length > memory->length)
    error.set(ATTN_INVALID_ARGUMENT, "R0101",
              "attn_cache_truncate: %lld positions, but the cache holds %lld",
              static_cast<long long>(length), static_cast<long long>(memory->length));
  else
    memory->length = length;
  return error.report(message);
}

void attn::pretendCached(attn_context &context, int32_t cache, int64_t length) {
  CacheMemory &memory = *context.caches[size_t(cache)];
  // Pages that nobody has written would all be one page of zeros.
  if (context.gpu)
    context.gpu->fillCache(cache, 0x3c);
  else
    memset(memory.block.data(), 0x3c, memory.block.size());
  memory.length = length;
}

/// The dims of a call in this context.
static attn_status resolve(const attn_context &context, int32_t entry, const attn_tensor *inputs,
                           const attn_tensor *outputs, int64_t *dims, Error &error) {
  const attn_abi_model &tables = *context.model->tables;
  bool exists = entry >= 0 && entry < tables.entryCount;
  const CacheMemory *memory = exists ? cacheOf(context, tables.entries[entry].cache) : nullptr;
  return resolveDims(tables, entry, inputs, outputs, memory ? memory->length : 0, dims, error);
}

extern "C" attn_status attn_infer_shapes(const attn_context *context, int32_t entry,
                                         const attn_tensor *inputs, attn_tensor *outputs,
                                         char **message) {
  Error error;
  int64_t dims[kMaxDims];
  if (!context || !outputs)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_infer_shapes: null pointer");
  else if (resolve(*context, entry, inputs, nullptr, dims, error) == ATTN_OK) {
    const attn_abi_entry &found = context->model->tables->entries[entry];
    for (int32_t i = 0; i < found.outputCount; ++i) {
      const attn_abi_tensor &tensor = found.outputs[i];
      outputs[i].dtype = tensor.dtype;
      outputs[i].rank = tensor.rank;
      for (int32_t a = 0; a < tensor.rank; ++a)
        outputs[i].shape[a] = axisSize(tensor.axes[a], dims);
    }
  }
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
  int64_t dims[kMaxDims];
  if (!context || !bytes)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_workspace_bytes: null pointer");
  else if (resolve(*context, entry, inputs, nullptr, dims, error) == ATTN_OK)
    *bytes = workspaceBytes(*context, entry, dims);
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

/// Indices in the GPU's memory are looked at where a run waits in any case.
static attn_status checkIndicesOnGpu(const attn_context &context, const attn_abi_entry &entry,
                                     const attn_tensor *inputs, Error &error) {
  for (int32_t i = 0; i < entry.inputCount; ++i) {
    if (entry.inputs[i].below <= 0 || !isOnDevice(inputs[i]) || context.gpu->hasCallersStream())
      continue;
    Vector<int64_t> values; // aligned for either kind of index
    attn_tensor copy = inputs[i];
    size_t bytes = size_t(byteSize(copy));
    if (!values.resize((bytes + 7) / 8))
      return error.outOfMemory("indices");
    copy.data = values.data(), copy.deviceKind = ATTN_DEVICE_CPU, copy.strides = nullptr;
    if (context.gpu->read(copy.data, inputs[i], error) || checkIndices(entry, i, copy, error))
      return error.status;
  }
  return ATTN_OK;
}

static bool addBuffers(const attn_tensor *tensors, int32_t count, Vector<RunBuffer> &buffers) {
  for (int32_t i = 0; i < count; ++i) {
    RunBuffer::Place place = !isOnDevice(tensors[i])     ? RunBuffer::Host
                             : isUsedInPlace(tensors[i]) ? RunBuffer::Device
                                                         : RunBuffer::Strided;
    if (!buffers.push({tensors[i], size_t(byteSize(tensors[i])), place}))
      return false;
  }
  return true;
}

static attn_status runOnGpu(attn_context &context, int32_t entryIndex, const int64_t *dims,
                            const attn_tensor *inputs, const attn_tensor *outputs, Error &error) {
  const attn_model &model = *context.model;
  const attn_abi_entry &entry = model.tables->entries[entryIndex];
  if (attn_status status = checkIndicesOnGpu(context, entry, inputs, error))
    return status;
  CacheMemory *cache = cacheOf(context, entry.cache);
  if (cache)
    if (attn_status status =
            prepareCache(*model.tables, model.tables->caches[entry.cache], *cache, dims, error))
      return status;
  GpuRun run{entryIndex, dims, model.weights, model.bindings, 0, {}, {}, nullptr};
  run.cacheBytes = cache ? int64_t(cache->block.size()) : 0;
  run.profile = context.profile.isEnabled() ? &context.profile : nullptr;
  if (!addBuffers(inputs, entry.inputCount, run.inputs) ||
      !addBuffers(outputs, entry.outputCount, run.outputs) ||
      (run.profile && !run.profile->beginRun(dims, model.tables->dimCount)))
    return error.outOfMemory("a run");
  attn_status status = context.gpu->run(run, error);
  if (cache && status == ATTN_OK)
    cache->length = dims[model.tables->caches[entry.cache].dim];
  return status;
}

static attn_status runEntry(attn_context &context, int32_t entryIndex, const attn_tensor *inputs,
                            const attn_tensor *outputs, Error &error) {
  const attn_model &model = *context.model;
  int64_t dims[kMaxDims];
  if (attn_status status = resolve(context, entryIndex, inputs, outputs, dims, error))
    return status;
  const attn_abi_entry &entry = model.tables->entries[entryIndex];
  if (!outputs && entry.outputCount > 0)
    return error.set(ATTN_INVALID_ARGUMENT, "R0101", "entry `%s`: the outputs are a null pointer",
                     entry.name);
  int32_t gpu = context.gpu ? context.gpu->index() : -1;
  if (attn_status status = checkBuffers(entry, inputs, outputs, gpu, error))
    return status;
  for (int32_t i = 0; i < entry.inputCount; ++i)
    if (!isOnDevice(inputs[i]))
      if (attn_status status = checkIndices(entry, i, inputs[i], error))
        return status;
  if (!model.weights && model.tables->packedBytes > 0) {
    error.set(ATTN_BAD_WEIGHTS, "R0105", "model `%s` has no weights", model.tables->name);
    error.help("bind weights before running it");
    return error.status;
  }
  if (context.gpu)
    return runOnGpu(context, entryIndex, dims, inputs, outputs, error);
  int64_t needed = workspaceBytes(context, entryIndex, dims);
  if (needed < 0 || (uint64_t(needed) > context.workspace.size() &&
                     !context.workspace.allocate(uint64_t(needed))))
    return error.set(ATTN_OUT_OF_MEMORY, "R0401", "no memory for a workspace of %lld bytes",
                     static_cast<long long>(needed));
  CacheMemory *cache = cacheOf(context, entry.cache);
  if (cache)
    if (attn_status status =
            prepareCache(*model.tables, model.tables->caches[entry.cache], *cache, dims, error))
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
           profile ? static_cast<void *>(profile) : &context.team,
           cache ? cache->block.data() : nullptr, nullptr},
          profile,
          model.level->level == ATTN_LEVEL_X86_AMX};
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
  if (cache)
    cache->length = dims[model.tables->caches[entry.cache].dim];
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

extern "C" attn_status attn_profile_enable(attn_context *context, int32_t isEnabled,
                                           char **message) {
  Error error;
  if (!context)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_profile_enable: null pointer");
  else if (!isEnabled)
    context->profile.disable();
  else if (!context->profile.enable())
    error.outOfMemory("a profile");
  return error.report(message);
}

extern "C" int64_t attn_profile_events(const attn_context *context, int32_t thread,
                                       const attn_kernel_event **events) {
  const Vector<attn_kernel_event> *found = context ? context->profile.events(thread) : nullptr;
  if (found && events)
    *events = found->data();
  return found ? int64_t(found->size()) : 0;
}

static double evaluate(const attn_abi_term *terms, int32_t count, const Vector<int64_t> &dims) {
  double sum = 0;
  for (int32_t t = 0; t < count; ++t) {
    double product = double(terms[t].factor);
    for (int32_t dim : terms[t].dims)
      if (dim >= 0)
        product *= double(dims[size_t(dim)]);
    sum += product;
  }
  return sum;
}

extern "C" attn_status attn_profile_kernel(const attn_context *context, int32_t kernel,
                                           attn_kernel_info *info) {
  if (!context || !info)
    return ATTN_INVALID_ARGUMENT;
  const attn_abi_model &tables = *context->model->tables;
  const Vector<int64_t> &dims = context->profile.dims();
  if (kernel < 0 || kernel >= tables.kernelCount || dims.empty() != (tables.dimCount == 0))
    return ATTN_NOT_FOUND;
  const attn_abi_kernel &own = tables.kernels[kernel];
  *info = {own.function, own.title, own.location, evaluate(own.flop, own.flopTerms, dims),
           evaluate(own.bytes, own.byteTerms, dims)};
  return ATTN_OK;
}
