// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contexts: how they begin and end, and the device that they run on.
#include "run/Context.h"
#include <unistd.h>

using namespace attn;

attn_context::~attn_context() {
  dispose(gpu);
  for (CacheMemory *cache : caches)
    dispose(cache);
  for (StateMemory *state : states)
    dispose(state);
}

/// Makes `count` of what a context keeps from call to call; false where memory is lacking.
template <typename Memory> static bool fill(Vector<Memory *> &list, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    auto *memory = create<Memory>();
    if (!memory || !list.push(memory)) {
      dispose(memory);
      return false;
    }
  }
  return true;
}

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
  if (!fill(context->caches, model->tables->cacheCount) ||
      !fill(context->states, model->tables->stateCount) ||
      !context->completed.resize(size_t(inputs)) || !context->inputs.resize(size_t(inputs)) ||
      !context->outputs.resize(size_t(outputs)) ||
      !context->cacheBlocks.resize(size_t(model->tables->cacheCount)))
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

// Where linears are in 16 bits, GPUs keep f32 that is only multiplied in them.
bool attn::isSameEverywhere(const attn_abi_model &tables, const attn_abi_cache &cache) {
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
    attn_model &model = *context->model;
    gpu->open(*model.tables, model.slots.data(), model.onDevices, index, error);
  }
  if (error.status || moveCaches(*context, gpu, error)) {
    dispose(gpu);
    return error.status;
  }
  dispose(context->gpu);
  context->gpu = gpu;
  context->gpuProcess = getpid();
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
