// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows that are by themselves. Compiled code gets each row of a call as a call of its own
// (attn_abi_row), whose batch is 1: with the dims and the caches of the row, and where its
// positions begin among those of all.
#include "run/Rows.h"
#include "run/RunEntry.h"
#include <cstring>

using namespace attn;

attn_row::~attn_row() {
  for (CacheMemory *cache : caches)
    dispose(cache);
}

static void destroyRow(attn_row *row) {
  attn_model *model = row->model;
  dispose(row);
  attn_model_destroy(model);
}

extern "C" int32_t attn_model_rows_dim(const attn_model *model, int32_t entry) {
  bool isThere = model && entry >= 0 && entry < model->tables->entryCount;
  return isThere ? model->tables->entries[entry].rows : -1;
}

extern "C" attn_status attn_row_create(attn_model *model, attn_row **result, char **message) {
  Error error;
  if (!model || !result) {
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_row_create: null pointer");
    return error.report(message);
  }
  auto *row = create<attn_row>();
  if (!row) {
    error.outOfMemory("a row");
    return error.report(message);
  }
  model->holders.fetch_add(1, std::memory_order_relaxed);
  row->model = model;
  for (int32_t c = 0; !error.status && c < model->tables->cacheCount; ++c) {
    auto *memory = create<CacheMemory>();
    if (!memory || !row->caches.push(memory)) {
      dispose(memory);
      error.outOfMemory("a row");
    }
  }
  if (error.status)
    destroyRow(row);
  else
    *result = row;
  return error.report(message);
}

extern "C" void attn_row_destroy(attn_row *row) {
  if (row)
    destroyRow(row);
}

static CacheMemory *cacheOfRow(const attn_row *row, int32_t cache) {
  bool isThere = row && cache >= 0 && cache < row->model->tables->cacheCount;
  return isThere ? row->caches[size_t(cache)] : nullptr;
}

extern "C" int64_t attn_row_length(const attn_row *row, int32_t cache) {
  const CacheMemory *memory = cacheOfRow(row, cache);
  return memory ? memory->length : -1;
}

extern "C" attn_status attn_row_truncate(attn_row *row, int32_t cache, int64_t length,
                                         char **message) {
  Error error;
  CacheMemory *memory = cacheOfRow(row, cache);
  if (!memory)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_row_truncate: %s",
              row ? "there is no such cache" : "null pointer");
  else if (length < 0 || length > memory->length)
    error.set(ATTN_INVALID_ARGUMENT, "R0101",
              "attn_row_truncate: %lld positions, but the row holds %lld",
              static_cast<long long>(length), static_cast<long long>(memory->length));
  else
    memory->length = length;
  return error.report(message);
}

attn_status attn::copyRow(attn_row &to, const attn_row &from, int64_t length, Error &error) {
  for (size_t c = 0; !error.status && c < to.caches.size(); ++c) {
    const CacheMemory &cache = *from.caches[c];
    copyCache(*to.model->tables, int32_t(c), *to.caches[c], cache,
              length < cache.length ? length : cache.length, error);
  }
  for (size_t c = 0; error.status && c < to.caches.size(); ++c)
    to.caches[c]->length = 0;
  return error.status;
}

extern "C" attn_status attn_row_copy(attn_row *to, const attn_row *from, char **message) {
  Error error;
  if (!to || !from)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_row_copy: null pointer");
  else if (to->model != from->model)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_row_copy: the rows are of two models");
  else if (to != from)
    copyRow(*to, *from, INT64_MAX, error);
  return error.report(message);
}

/// What a row of a call has in its caches.
static const Vector<CacheMemory *> &cachesOf(const attn_context &context, const RowsOfCall &rows,
                                             int64_t number) {
  return rows.rows ? rows.rows[number]->caches : context.caches;
}

//===-- calls -------------------------------------------------------------------------------===//

/// Whether a row can take what a call adds to it.
static attn_status checkRow(const attn_model &model, const attn_abi_entry &entry,
                            const RowsOfCall &rows, int64_t number, Error &error) {
  const attn_row *row = rows.rows[number];
  auto invalid = [&](const char *what) {
    return error.set(ATTN_INVALID_ARGUMENT, "R0101", "entry `%s`: row %lld %s", entry.name,
                     static_cast<long long>(number), what);
  };
  if (!row)
    return invalid("is a null pointer");
  if (row->model != &model)
    return invalid("is of another model");
  if (rows.counts[number] < 1)
    return invalid("gets no position, expected 1 or more");
  for (int64_t other = 0; other < number; ++other)
    if (rows.rows[other] == row)
      return invalid("comes twice");
  for (int32_t c = 0; c < entry.cacheCount; ++c) {
    const attn_abi_cache &cache = model.tables->caches[entry.caches[c].cache];
    int64_t capacity = model.tables->dims[cache.dim].value,
            held = row->caches[size_t(entry.caches[c].cache)]->length;
    if (rows.counts[number] <= capacity - held)
      continue;
    error.set(ATTN_BAD_INPUT, "R0207",
              "cache `%s` holds %lld of %lld positions of row %lld, entry `%s` would add %lld",
              cache.name, static_cast<long long>(held), static_cast<long long>(capacity),
              static_cast<long long>(number), entry.name,
              static_cast<long long>(rows.counts[number]));
    error.help("empty it, or compile the model with a larger capacity");
    return error.status;
  }
  return ATTN_OK;
}

/// The dim that counts the positions which an entry adds.
static int32_t positionsOf(const attn_abi_entry &entry) {
  for (int32_t c = 0; c < entry.cacheCount; ++c)
    if (entry.caches[c].use == ATTN_CACHE_PUSH)
      return entry.caches[c].rows.dim;
  return -1;
}

attn_status attn::checkRows(const attn_context &context, int32_t number, const RowsOfCall &rows,
                            int64_t *dims, Error &error) {
  const attn_model &model = *context.model;
  const attn_abi_entry &entry = model.tables->entries[number];
  if (entry.rows < 0) {
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "entry `%s` takes no rows", entry.name);
    error.help("call attn_run, or an entry `by` a dim (attn_model_rows_dim)");
    return error.status;
  }
  if (context.gpu)
    return error.set(ATTN_INVALID_ARGUMENT, "R0101",
                     "entry `%s`: entries whose rows are by themselves run on CPUs alone",
                     entry.name);
  if (!rows.rows)
    return ATTN_OK;
  const attn_abi_dim &dim = model.tables->dims[entry.rows];
  if (rows.count > dim.value)
    return error.set(ATTN_BAD_INPUT, "R0203", "entry `%s` gets %lld rows, expected 1 to %lld",
                     entry.name, static_cast<long long>(rows.count),
                     static_cast<long long>(dim.value));
  int64_t all = 0, added = dims[positionsOf(entry)];
  for (int64_t r = 0; r < rows.count; ++r) {
    if (attn_status status = checkRow(model, entry, rows, r, error))
      return status;
    all += rows.counts[r];
  }
  if (all != added)
    return error.set(ATTN_BAD_INPUT, "R0204",
                     "the inputs of entry `%s` have %lld positions, and its rows %lld", entry.name,
                     static_cast<long long>(added), static_cast<long long>(all));
  for (int32_t c = 0; c < entry.cacheCount; ++c) {
    int32_t cache = entry.caches[c].cache;
    int64_t most = 0;
    for (int64_t r = 0; r < rows.count; ++r) {
      int64_t own = rows.rows[r]->caches[size_t(cache)]->length + rows.counts[r];
      most = own > most ? own : most;
    }
    dims[model.tables->caches[cache].dim] = most;
  }
  return ATTN_OK;
}

attn_status attn::prepareRows(attn_context &context, const attn_abi_entry &entry,
                              const RowsOfCall &rows, const int64_t *dims, Error &error) {
  const attn_abi_model &tables = *context.model->tables;
  RowCalls &told = context.rowCalls;
  size_t count = size_t(rows.count), dimCount = size_t(tables.dimCount),
         cacheCount = size_t(tables.cacheCount);
  if (!told.rows.resize(count) || !told.dims.resize(count * dimCount) ||
      !told.caches.resize(count * cacheCount) || !told.alone.resize(count) ||
      !told.load.resize(size_t(context.team.size())))
    return error.outOfMemory("the rows of a call");
  int32_t positions = positionsOf(entry);
  for (size_t r = 0; r < count; ++r) {
    int64_t *own = told.dims.data() + r * dimCount;
    memcpy(own, dims, dimCount * sizeof(int64_t));
    own[entry.rows] = 1;
    if (rows.rows)
      own[positions] = rows.counts[r];
    for (size_t c = 0; c < cacheCount; ++c)
      told.caches[r * cacheCount + c] = nullptr;
    for (int32_t c = 0; c < entry.cacheCount; ++c) {
      int32_t number = entry.caches[c].cache;
      CacheMemory &memory = *cachesOf(context, rows, int64_t(r))[size_t(number)];
      own[tables.caches[number].dim] = memory.length + own[positions];
      if (memory.length == 0)
        if (attn_status status = layOutCache(tables, tables.caches[number], memory, own, error))
          return status;
      told.caches[r * cacheCount + size_t(number)] = memory.block.data();
    }
  }
  return ATTN_OK;
}

/// A team of one: the pieces of a kernel are all its own.
static int64_t claimAlone(void *team, int64_t, int64_t) {
  auto &isTaken = *static_cast<char *>(team);
  isTaken = !isTaken;
  return isTaken ? ATTN_PIECES : 0;
}

static void passAlone(void *, int64_t, int64_t) {}

/// Who computes the rows of one position: who has least to do so far, by the positions that are
/// read. A row that is longer than a thread's share is computed by all.
static void giveOwners(attn_context &context, const RowsOfCall &rows) {
  RowCalls &told = context.rowCalls;
  size_t threads = told.load.size();
  constexpr int64_t fixedCost = 64; // of a row, in positions
  constexpr int64_t longRow = 2048; // from which on it is worth while to wait for each other
  int64_t all = 0;
  auto costOf = [&](int64_t r) {
    int64_t most = 0;
    for (CacheMemory *cache : cachesOf(context, rows, r))
      most = cache->length > most ? cache->length : most;
    return most + fixedCost;
  };
  auto isSingle = [&](int64_t r) { return rows.rows && rows.counts[r] == 1; };
  for (int64_t r = 0; r < rows.count; ++r)
    all += isSingle(r) ? costOf(r) : 0;
  for (int64_t &load : told.load)
    load = 0;
  for (int64_t r = 0; r < rows.count; ++r) {
    int64_t cost = costOf(r);
    bool isLong = threads > 1 && cost > longRow && cost > all / int64_t(threads);
    if (!isSingle(r) || isLong)
      continue;
    size_t owner = 0;
    for (size_t t = 1; t < threads; ++t)
      owner = told.load[t] < told.load[owner] ? t : owner;
    told.load[owner] += cost;
    attn_abi_row &row = told.rows[size_t(r)];
    row.owner = int64_t(owner);
    told.alone[size_t(r)] = 0;
    row.call.threads = 1;
    row.call.team = &told.alone[size_t(r)];
    row.call.claim = claimAlone;
    row.call.barrier = passAlone;
  }
}

void attn::describeRows(attn_context &context, const RowsOfCall &rows, attn_abi_call &call) {
  const attn_abi_model &tables = *context.model->tables;
  RowCalls &told = context.rowCalls;
  int64_t begin = 0;
  for (int64_t r = 0; r < rows.count; ++r) {
    attn_abi_row &row = told.rows[size_t(r)];
    row = {call, begin, r, -1};
    row.call.dims = told.dims.data() + size_t(r) * size_t(tables.dimCount);
    row.call.caches = told.caches.data() + size_t(r) * size_t(tables.cacheCount);
    begin += rows.rows ? rows.counts[r] : 0;
  }
  giveOwners(context, rows);
  call.rows = told.rows.data();
  call.rowCount = rows.count;
}

void attn::countAdded(attn_context &context, const attn_abi_entry &entry, const RowsOfCall &rows) {
  const attn_abi_model &tables = *context.model->tables;
  for (int64_t r = 0; r < rows.count; ++r)
    for (int32_t c = 0; c < entry.cacheCount; ++c) {
      int32_t cache = entry.caches[c].cache;
      const int64_t *own = context.rowCalls.rows[size_t(r)].call.dims;
      cachesOf(context, rows, r)[size_t(cache)]->length = own[tables.caches[cache].dim];
    }
}

extern "C" attn_status attn_run_rows(attn_context *context, int32_t entry, attn_row *const *rows,
                                     const int64_t *counts, int64_t count,
                                     const attn_tensor *inputs, const attn_tensor *outputs,
                                     char **message) {
  Error error;
  RowsOfCall call{rows, counts, count};
  if (!context || !rows || !counts)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_run_rows: null pointer");
  else if (count < 1)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_run_rows: %lld rows, expected 1 or more",
              static_cast<long long>(count));
  else
    runEntry(*context, entry, inputs, outputs, error, &call);
  return error.report(message);
}
