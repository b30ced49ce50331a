// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a context keeps from call to call, its caches and states, to bytes and back: to another
// context of its model, or to one of another process with the same model and weights. Of caches the
// positions that are filled alone are written.
#include "attn/caches.h"
#include "base/Slice.h"
#include "base/Tensor.h"
#include "run/Context.h"
#include "run/States.h"
#include "weights/PackCache.h"

using namespace attn;

namespace {

/// What saved bytes begin with. Behind it, for each cache its length and, where that is not 0, the
/// sizes of the dims that it was laid out for, 0 for others, and its positions; for each state
/// whether it is set, and then its shape and values. Numbers are of 8 bytes in the order of the
/// machine, little.
struct Header {
  char magic[8];
  uint64_t model, weights; ///< hashes: of the description and level, of the packed block
  uint64_t form;           ///< whether caches are as a GPU has them, where that is not as a CPU's
  uint64_t bytes, hash;    ///< of what follows
};
constexpr char savedMagic[8] = {'a', 't', 't', 'n', 'c', 't', '0', '1'};

/// Takes numbers and bytes from the front; once there are too few, there are none.
class Reader {
public:
  explicit Reader(Slice bytes) : rest(bytes) {}
  const char *take(uint64_t bytes) {
    isWhole = isWhole && bytes <= rest.size;
    if (!isWhole)
      return nullptr;
    const char *at = rest.data;
    rest = rest.from(size_t(bytes));
    return at;
  }
  int64_t number() {
    int64_t value = -1;
    if (const char *at = take(sizeof value))
      memcpy(&value, at, sizeof value);
    return value;
  }
  bool failed() const { return !isWhole; }
  bool isAtEnd() const { return isWhole && rest.size == 0; }

private:
  Slice rest;
  bool isWhole = true;
};

/// Puts numbers and bytes behind each other; without memory for them, counts.
class Writer {
public:
  explicit Writer(char *to) : to(to) {}
  void add(const void *from, uint64_t bytes) {
    if (to && bytes > 0)
      memcpy(to + count, from, size_t(bytes));
    count += bytes;
  }
  void add(int64_t number) { add(&number, sizeof number); }
  uint64_t count = 0;

private:
  char *to;
};

} // namespace

namespace {

/// How the positions of a state lie: in so many stretches, in each of which they lie side by side.
struct Stretches {
  int64_t count, position; ///< `position`: bytes of one in a stretch
};

} // namespace

static Stretches stretchesOf(const attn_abi_state &state, int32_t positions, const int64_t *dims) {
  const attn_abi_tensor &tensor = state.tensor;
  Stretches of{state.layers, int64_t(attn_dtype_size(tensor.dtype))};
  bool isBehind = false; // of the axis of positions
  for (int32_t a = 0; a < tensor.rank; ++a)
    if (tensor.axes[a].dim == positions)
      isBehind = true;
    else
      (isBehind ? of.position : of.count) *= axisSize(tensor.axes[a], dims);
  return of;
}

/// Calls `each` with where each stretch of a cache's first `length` positions lies, in order, and
/// its bytes. `dims` are those that its memory is laid out for.
template <typename Each>
static void forFilled(const attn_abi_model &tables, const attn_abi_cache &cache,
                      const int64_t *dims, int64_t length, Each each) {
  int64_t begin = 0, capacity = tables.dims[cache.dim].value;
  for (int32_t s = 0; s < cache.stateCount; ++s) {
    Stretches of = stretchesOf(cache.states[s], cache.dim, dims);
    for (int64_t i = 0; i < of.count; ++i)
      each(begin + i * capacity * of.position, length * of.position);
    begin += of.count * capacity * of.position;
  }
}

attn_status attn::copyCache(const attn_abi_model &tables, int32_t number, CacheMemory &to,
                            const CacheMemory &from, int64_t length, Error &error) {
  const attn_abi_cache &cache = tables.caches[number];
  to.length = 0;
  if (length == 0)
    return ATTN_OK;
  if (attn_status status = layOutCache(tables, cache, to, from.dims.data(), error))
    return status;
  forFilled(tables, cache, from.dims.data(), length, [&](int64_t at, int64_t bytes) {
    memcpy(to.block.data() + at, from.block.data() + at, size_t(bytes));
  });
  to.length = length;
  return ATTN_OK;
}

int64_t attn::rowBytes(const attn_abi_model &tables, int32_t number, int32_t rows, int64_t length) {
  constexpr int64_t page = 4096;
  const attn_abi_cache &cache = tables.caches[number];
  int64_t dims[maxDims], capacity = tables.dims[cache.dim].value, pages = 0;
  for (int32_t d = 0; d < tables.dimCount; ++d)
    dims[d] = d == rows ? 1 : tables.dims[d].value;
  for (int32_t s = 0; s < cache.stateCount && length > 0; ++s) {
    Stretches of = stretchesOf(cache.states[s], cache.dim, dims);
    // One that begins within a page has a part of one more.
    bool isAligned = capacity * of.position % page == 0;
    pages += of.count * ((length * of.position + page - 1) / page + !isAligned);
  }
  return pages * page;
}

/// Whether a cache's memory depends on a dim, besides that of its positions.
static bool dependsOn(const attn_abi_cache &cache, int32_t dim) {
  for (int32_t s = 0; s < cache.stateCount; ++s)
    for (int32_t a = 0; a < cache.states[s].tensor.rank; ++a)
      if (dim != cache.dim && cache.states[s].tensor.axes[a].dim == dim)
        return true;
  return false;
}

/// An input that is a state of the model.
static const attn_abi_tensor *tensorOf(const attn_abi_model &tables, int32_t state) {
  for (int32_t e = 0; e < tables.entryCount; ++e) {
    const attn_abi_entry &entry = tables.entries[e];
    for (int32_t i = 0; i < entry.inputCount; ++i)
      if (entry.inputs[i].state == state + 1)
        return &entry.inputs[i];
  }
  return nullptr;
}

static void write(const attn_context &context, Writer &writer) {
  const attn_abi_model &tables = *context.model->tables;
  for (int32_t c = 0; c < tables.cacheCount; ++c) {
    const CacheMemory &memory = *context.caches[size_t(c)];
    writer.add(memory.length);
    if (memory.length == 0)
      continue;
    for (int32_t d = 0; d < tables.dimCount; ++d)
      writer.add(dependsOn(tables.caches[c], d) ? memory.dims[size_t(d)] : 0);
    forFilled(
        tables, tables.caches[c], memory.dims.data(), memory.length,
        [&](int64_t at, int64_t bytes) { writer.add(memory.block.data() + at, uint64_t(bytes)); });
  }
  for (const StateMemory *state : context.states) {
    writer.add(int64_t(state->isSet));
    if (!state->isSet)
      continue;
    for (int32_t a = 0; a < state->tensor.rank; ++a)
      writer.add(state->tensor.shape[a]);
    writer.add(state->tensor.data, uint64_t(byteSize(state->tensor)));
  }
}

/// Reads a cache: where it `isTaken`, to the context's memory, else it only looks. False where a
/// number is none that this model can have, or memory is lacking.
static bool readCache(attn_context &context, int32_t number, Reader &reader, bool isTaken) {
  const attn_abi_model &tables = *context.model->tables;
  const attn_abi_cache &cache = tables.caches[number];
  CacheMemory &memory = *context.caches[size_t(number)];
  int64_t length = reader.number(), dims[maxDims];
  if (length < 0 || length > tables.dims[cache.dim].value)
    return false;
  if (isTaken)
    memory.length = 0;
  if (length == 0)
    return !reader.failed();
  for (int32_t d = 0; d < tables.dimCount; ++d) {
    dims[d] = reader.number();
    if (dims[d] < int64_t(dependsOn(cache, d)) || dims[d] > tables.dims[d].value)
      return false;
  }
  Error error; // of memory alone
  if (isTaken && layOutCache(tables, cache, memory, dims, error))
    return false;
  forFilled(tables, cache, dims, length, [&](int64_t at, int64_t bytes) {
    const char *from = reader.take(uint64_t(bytes));
    if (isTaken && from)
      memcpy(memory.block.data() + at, from, size_t(bytes));
  });
  if (isTaken)
    memory.length = length;
  return !reader.failed();
}

/// The same of a state.
static bool readState(attn_context &context, int32_t number, Reader &reader, bool isTaken) {
  const attn_abi_model &tables = *context.model->tables;
  const attn_abi_tensor *known = tensorOf(tables, number);
  StateMemory &state = *context.states[size_t(number)];
  int64_t isSet = reader.number();
  if (!known || isSet < 0 || isSet > 1)
    return false;
  if (isTaken)
    state.isSet = false;
  if (!isSet)
    return true;
  attn_tensor tensor = {};
  tensor.dtype = known->dtype, tensor.rank = known->rank;
  for (int32_t a = 0; a < known->rank; ++a) {
    const attn_abi_axis &axis = known->axes[a];
    int64_t most =
        axis.dim < 0 ? axis.offset : axis.scale * tables.dims[axis.dim].value + axis.offset;
    tensor.shape[a] = reader.number();
    if (tensor.shape[a] < 1 || tensor.shape[a] > most)
      return false;
  }
  auto bytes = size_t(byteSize(tensor));
  const char *from = reader.take(bytes);
  if (!from || !isTaken)
    return from != nullptr;
  if (bytes > state.block.size() && !state.block.allocate(bytes))
    return false;
  memcpy(state.block.data(), from, bytes);
  state.tensor = tensor;
  state.tensor.data = state.block.data();
  return state.isSet = true;
}

static bool readAll(attn_context &context, Slice saved, bool isTaken) {
  const attn_abi_model &tables = *context.model->tables;
  Reader reader(saved);
  for (int32_t c = 0; c < tables.cacheCount; ++c)
    if (!readCache(context, c, reader, isTaken))
      return false;
  for (int32_t s = 0; s < tables.stateCount; ++s)
    if (!readState(context, s, reader, isTaken))
      return false;
  return reader.isAtEnd();
}

static void empty(attn_context &context) {
  for (CacheMemory *cache : context.caches)
    cache->length = 0;
  forgetStates(context);
}

/// Takes bytes that `write` has made; without memory for them the context is empty.
static attn_status take(attn_context &context, Slice saved, Error &error) {
  if (!readAll(context, saved, /*isTaken=*/false))
    return error.set(ATTN_BAD_INPUT, "R0220", "the saved caches are damaged");
  bool isThere = readAll(context, saved, /*isTaken=*/true);
  for (int32_t c = 0; isThere && context.gpu && c < context.model->tables->cacheCount; ++c) {
    const CacheMemory &cache = *context.caches[size_t(c)];
    isThere = cache.length == 0 ||
              context.gpu->writeCache(c, cache.block.data(), cache.block.size(), error) == ATTN_OK;
  }
  if (isThere)
    return ATTN_OK;
  empty(context);
  return error.status ? error.status : error.outOfMemory("saved caches");
}

/// Brings what lies on a GPU to the caches' memory on the host.
static attn_status fetchCaches(attn_context &context, Error &error) {
  for (int32_t c = 0; context.gpu && c < context.model->tables->cacheCount; ++c) {
    CacheMemory &cache = *context.caches[size_t(c)];
    if (cache.length > 0 &&
        context.gpu->readCache(c, cache.block.data(), cache.block.size(), error))
      return error.status;
  }
  return ATTN_OK;
}

/// Whether caches of a context lie in another form than on the CPU.
static bool hasOwnForm(const attn_context &context) {
  const attn_abi_model &tables = *context.model->tables;
  for (int32_t c = 0; context.gpu && c < tables.cacheCount; ++c)
    if (!isSameEverywhere(tables, tables.caches[c]))
      return true;
  return false;
}

/// All that a context's caches depend on besides the calls; computed once for the same weights.
static Header identityOf(attn_context &context) {
  attn_model &model = *context.model;
  Header header = {};
  memcpy(header.magic, savedMagic, sizeof savedMagic);
  header.model = hashOf(Slice(model.tables->description)) * 31 + hashOf(Slice(model.level->name));
  header.form = hasOwnForm(context);
  header.weights = model.weightsHash.load(std::memory_order_relaxed);
  if (header.weights == 0 && model.weights) {
    header.weights =
        hashBlock(model.weights, uint64_t(model.tables->packedBytes), context.team) | 1;
    model.weightsHash.store(header.weights, std::memory_order_relaxed);
  }
  return header;
}

static attn_status save(attn_context &context, char **data, size_t *size, Error &error) {
  if (fetchCaches(context, error))
    return error.status;
  Writer counter(nullptr);
  write(context, counter);
  auto *bytes = static_cast<char *>(malloc(sizeof(Header) + size_t(counter.count)));
  if (!bytes)
    return error.outOfMemory("saved caches");
  Writer writer(bytes + sizeof(Header));
  write(context, writer);
  Header header = identityOf(context);
  header.bytes = writer.count;
  header.hash = hashBlock(bytes + sizeof header, writer.count, context.team);
  memcpy(bytes, &header, sizeof header);
  *data = bytes;
  *size = sizeof header + size_t(writer.count);
  return ATTN_OK;
}

static attn_status load(attn_context &context, Slice saved, Error &error) {
  Header header, own = identityOf(context);
  if (saved.size < sizeof header || memcmp(saved.data, savedMagic, sizeof savedMagic) != 0)
    return error.set(ATTN_BAD_INPUT, "R0220", "these are no saved caches of this version");
  memcpy(&header, saved.data, sizeof header);
  Slice rest = saved.from(sizeof header);
  if (header.model != own.model)
    error.set(ATTN_BAD_INPUT, "R0221",
              "the caches were saved from another model, or from other code of it than %s of %s",
              context.model->level->name, context.model->tables->name);
  else if (header.weights != own.weights)
    error.set(ATTN_BAD_INPUT, "R0221", "the caches were saved from a model with other weights");
  else if (header.form != own.form)
    error.set(ATTN_BAD_INPUT, "R0208",
              "the caches were saved on a device that keeps them in another form");
  else if (header.bytes != rest.size ||
           hashBlock(rest.data, rest.size, context.team) != header.hash)
    error.set(ATTN_BAD_INPUT, "R0220", "the saved caches are damaged");
  return error.status ? error.status : take(context, rest, error);
}

static attn_status copy(attn_context &to, attn_context &from, Error &error) {
  if (&to == &from)
    return ATTN_OK;
  if (hasOwnForm(to) != hasOwnForm(from))
    return error.set(ATTN_BAD_INPUT, "R0208",
                     "the contexts run on devices that keep caches in different forms");
  if (fetchCaches(from, error))
    return error.status;
  Writer counter(nullptr);
  write(from, counter);
  Vector<char> bytes;
  if (!bytes.resize(size_t(counter.count)))
    return error.outOfMemory("copied caches");
  Writer writer(bytes.data());
  write(from, writer);
  return take(to, Slice(bytes), error);
}

extern "C" attn_status attn_context_save(attn_context *context, void **data, size_t *size,
                                         char **message) {
  Error error;
  char *bytes = nullptr;
  if (!context || !data || !size)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_context_save: null pointer");
  else if (save(*context, &bytes, size, error) == ATTN_OK)
    *data = bytes;
  return error.report(message);
}

extern "C" attn_status attn_context_load(attn_context *context, const void *data, size_t size,
                                         char **message) {
  Error error;
  if (!context || !data)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_context_load: null pointer");
  else
    load(*context, Slice(static_cast<const char *>(data), size), error);
  return error.report(message);
}

extern "C" attn_status attn_context_copy(attn_context *to, attn_context *from, char **message) {
  Error error;
  if (!to || !from)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_context_copy: null pointer");
  else if (to->model != from->model)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_context_copy: the contexts are of two models");
  else
    copy(*to, *from, error);
  return error.report(message);
}
