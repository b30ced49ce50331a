// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows of beams. A cache on a GPU is copied to the host, changed there, and copied back.
#include "run/BeamRows.h"
#include "base/Tensor.h"

using namespace attn;

BeamRows::~BeamRows() {
  for (PageBlock *block : owned)
    dispose(block);
}

int32_t BeamRows::axisAt(const attn_abi_tensor &known) const {
  for (int32_t a = 0; a < known.rank; ++a)
    if (known.axes[a].dim == dim)
      return a;
  return -1;
}

attn_status BeamRows::checkRoom(const attn_abi_entry &entry, int64_t rows, Error &error) const {
  long long most = tables.dims[dim].value, all = rows * beams;
  if (all <= most)
    return ATTN_OK;
  error.set(ATTN_BAD_INPUT, "R0212", "entry `%s`: %lld rows with %lld beams each, but `%s` <= %lld",
            entry.name, static_cast<long long>(rows), static_cast<long long>(beams),
            tables.dims[dim].name, most);
  error.help("give fewer rows or fewer beams, or compile the model with `dyn %s <= %lld`",
             tables.dims[dim].name, all);
  return error.status;
}

RowLayout BeamRows::layoutOf(const attn_abi_tensor &known, const attn_tensor &tensor) const {
  int32_t at = axisAt(known);
  if (at < 0)
    return {0, 0, 0, 0, 0};
  RowLayout layout{1, tensor.shape[at], 1, attn_dtype_size(tensor.dtype), 0};
  for (int32_t a = 0; a < tensor.rank; ++a) {
    if (a < at)
      layout.outer *= tensor.shape[a];
    if (a > at)
      layout.pieceBytes *= size_t(tensor.shape[a]);
  }
  layout.usedBytes = layout.pieceBytes;
  return layout;
}

RowLayout BeamRows::layoutOf(const attn_abi_cache &cache, const attn_abi_state &state,
                             const CacheMemory &memory) const {
  const attn_abi_tensor &known = state.tensor;
  int32_t at = axisAt(known);
  RowLayout layout{state.layers, 1, 1, attn_dtype_size(known.dtype), 0};
  size_t used = layout.pieceBytes;
  bool isBehind = false; // the axis of positions
  for (int32_t a = 0; a < known.rank; ++a) {
    const attn_abi_axis &axis = known.axes[a];
    bool isPosition = axis.dim == cache.dim;
    int64_t size = isPosition ? tables.dims[cache.dim].value : axisSize(axis, memory.dims.data());
    isBehind |= isPosition;
    if (a == at)
      layout.rows = size;
    else if (a < at)
      layout.outer *= size;
    else if (isBehind)
      layout.pieceBytes *= size_t(size), used *= size_t(isPosition ? memory.length : size);
    else
      layout.pieces *= size;
  }
  layout.usedBytes = isBehind ? used : layout.pieceBytes;
  return layout;
}

attn_status BeamRows::repeat(int32_t input, attn_tensor &tensor, Error &error) {
  const attn_abi_tensor &known = step.inputs[input];
  RowLayout layout = layoutOf(known, tensor);
  if (layout.rows == 0)
    return ATTN_OK;
  auto *block = create<PageBlock>();
  bool isOwned = block && owned.push(block);
  if (!isOwned)
    dispose(block);
  if (!isOwned || !block->allocate(layout.bytes() * size_t(beams)))
    return error.outOfMemory("the rows of beams");
  repeatRows(block->data(), static_cast<const char *>(tensor.data), layout, beams);
  tensor.data = block->data();
  tensor.shape[axisAt(known)] *= beams;
  return ATTN_OK;
}

attn_status BeamRows::fetch(int32_t cache, Error &error) {
  PageBlock &block = context.caches[size_t(cache)]->block;
  return context.gpu ? context.gpu->readCache(cache, block.data(), size_t(block.size()), error)
                     : ATTN_OK;
}

attn_status BeamRows::store(int32_t cache, Error &error) {
  PageBlock &block = context.caches[size_t(cache)]->block;
  return context.gpu ? context.gpu->writeCache(cache, block.data(), size_t(block.size()), error)
                     : ATTN_OK;
}

attn_status BeamRows::repeatCaches(Error &error) {
  for (int32_t c = 0; c < step.cacheCount; ++c) {
    int32_t number = step.caches[c].cache;
    const attn_abi_cache &cache = tables.caches[number];
    CacheMemory &memory = *context.caches[size_t(number)];
    if (memory.length == 0)
      continue;
    if (attn_status status = fetch(number, error))
      return status;
    size_t bytes = 0;
    auto timesOf = [&](int32_t s) { return axisAt(cache.states[s].tensor) < 0 ? 1 : beams; };
    for (int32_t s = 0; s < cache.stateCount; ++s)
      bytes += layoutOf(cache, cache.states[s], memory).bytes() * size_t(timesOf(s));
    PageBlock wider;
    if (!wider.allocate(bytes, PageBlock::Pages::Small))
      return error.outOfMemory("the rows of beams");
    const char *from = memory.block.data();
    char *to = wider.data();
    for (int32_t s = 0; s < cache.stateCount; ++s) {
      RowLayout layout = layoutOf(cache, cache.states[s], memory);
      repeatRows(to, from, layout, timesOf(s));
      from += layout.bytes(), to += layout.bytes() * size_t(timesOf(s));
    }
    memory.block.swap(wider);
    memory.dims[size_t(dim)] *= beams;
    if (attn_status status = store(number, error))
      return status;
  }
  return ATTN_OK;
}

void BeamRows::copy(const attn_abi_tensor &known, attn_tensor &tensor,
                    const Vector<Copy> &copies) const {
  RowLayout layout = layoutOf(known, tensor);
  for (size_t i = 0; layout.rows > 0 && i < copies.size(); ++i)
    copyRow(static_cast<char *>(tensor.data), layout, copies[i].to, copies[i].from);
}

attn_status BeamRows::copyInCaches(const Vector<Copy> &copies, Error &error) {
  // What is filled once is the same for all beams of a row.
  for (int32_t c = 0; c < step.cacheCount && !copies.empty(); ++c) {
    if (step.caches[c].use != ATTN_CACHE_PUSH)
      continue;
    int32_t number = step.caches[c].cache;
    const attn_abi_cache &cache = tables.caches[number];
    CacheMemory &memory = *context.caches[size_t(number)];
    if (attn_status status = fetch(number, error))
      return status;
    char *state = memory.block.data();
    for (int32_t s = 0; s < cache.stateCount; ++s) {
      RowLayout layout = layoutOf(cache, cache.states[s], memory);
      for (size_t i = 0; axisAt(cache.states[s].tensor) >= 0 && i < copies.size(); ++i)
        copyRow(state, layout, copies[i].to, copies[i].from);
      state += layout.bytes();
    }
    if (attn_status status = store(number, error))
      return status;
  }
  return ATTN_OK;
}
