// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The states of a context: what a call takes of them, and what it leaves.
#include "run/States.h"
#include "base/Tensor.h"
#include <cstring>

using namespace attn;

/// Gives a state the shape that a call takes it in; zeros where no call has set it.
static attn_status shapeState(StateMemory &state, const attn_abi_entry &entry,
                              const attn_abi_tensor &known, const int64_t *dims, Error &error) {
  attn_tensor wanted = {};
  wanted.dtype = known.dtype, wanted.rank = known.rank;
  for (int32_t a = 0; a < known.rank; ++a) {
    wanted.shape[a] = axisSize(known.axes[a], dims);
    if (!state.isSet || wanted.shape[a] == state.tensor.shape[a])
      continue;
    error.set(ATTN_BAD_INPUT, "R0213",
              "state `%s` has %lld along axis %d, `%s`, but entry `%s` is called with %lld",
              known.name, static_cast<long long>(state.tensor.shape[a]), int(a), known.axes[a].name,
              entry.name, static_cast<long long>(wanted.shape[a]));
    error.help("give it as an input, or begin anew with attn_context_reset");
    return error.status;
  }
  if (state.isSet)
    return ATTN_OK;
  size_t bytes = size_t(byteSize(wanted));
  if (bytes > state.block.size() && !state.block.allocate(bytes))
    return error.outOfMemory("a state");
  memset(state.block.data(), 0, bytes);
  wanted.data = state.block.data();
  state.tensor = wanted;
  return ATTN_OK;
}

const attn_tensor *attn::withStates(attn_context &context, const attn_abi_entry &entry,
                                    const attn_tensor *inputs, const int64_t *dims, Error &error) {
  const attn_tensor *all = inputs;
  for (int32_t i = 0; i < entry.inputCount; ++i) {
    const attn_abi_tensor &known = entry.inputs[i];
    if (known.state == 0 || inputs[i].data)
      continue;
    if (all == inputs) {
      memcpy(context.completed.data(), inputs, sizeof(attn_tensor) * size_t(entry.inputCount));
      all = context.completed.data();
    }
    StateMemory &state = *context.states[size_t(known.state - 1)];
    if (shapeState(state, entry, known, dims, error))
      return nullptr;
    context.completed[size_t(i)] = state.tensor;
  }
  return all;
}

attn_status attn::checkStateOutputs(const attn_context &context, const attn_abi_entry &entry,
                                    const attn_tensor *outputs, Error &error) {
  for (int32_t i = 0; i < entry.outputCount; ++i)
    if (entry.outputs[i].state && isOnDevice(outputs[i]) && context.gpu->hasCallersStream())
      return error.set(ATTN_INVALID_ARGUMENT, "R0101",
                       "entry `%s`: output `%s` sets a state, and has to be in host memory where "
                       "runs go to the caller's stream",
                       entry.name, entry.outputs[i].name);
  return ATTN_OK;
}

attn_status attn::keepStates(attn_context &context, const attn_abi_entry &entry,
                             const attn_tensor *outputs, Error &error) {
  for (int32_t i = 0; i < entry.outputCount; ++i) {
    if (entry.outputs[i].state == 0)
      continue;
    StateMemory &state = *context.states[size_t(entry.outputs[i].state - 1)];
    size_t bytes = size_t(byteSize(outputs[i]));
    if (bytes > state.block.size() && !state.block.allocate(bytes))
      return error.outOfMemory("a state");
    if (!isOnDevice(outputs[i]))
      memcpy(state.block.data(), outputs[i].data, bytes);
    else if (context.gpu->read(state.block.data(), outputs[i], error))
      return error.status;
    state.tensor = outputs[i];
    state.tensor.data = state.block.data(), state.tensor.strides = nullptr;
    state.tensor.deviceKind = ATTN_DEVICE_CPU, state.tensor.deviceIndex = 0;
    state.isSet = true;
  }
  return ATTN_OK;
}

void attn::forgetStates(attn_context &context) {
  for (StateMemory *state : context.states)
    state->isSet = false;
}

extern "C" attn_status attn_context_reset(attn_context *context, char **message) {
  Error error;
  if (!context)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_context_reset: null pointer");
  else {
    forgetStates(*context);
    for (CacheMemory *cache : context->caches)
      cache->length = 0;
  }
  return error.report(message);
}
