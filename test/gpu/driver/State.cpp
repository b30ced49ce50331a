// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/gpu/driver/State.h"
#include <cstdlib>
#include <cstring>

namespace attn::interpreted {

State &state() {
  static State state;
  return state;
}

Stream &State::stream(CuStream handle) {
  if (streams.empty())
    streams.push_back(std::make_unique<Stream>());
  for (const auto &stream : streams)
    if (reinterpret_cast<Stream *>(handle) == stream.get())
      return *stream;
  return *streams.front(); // NULL and CU_STREAM_LEGACY
}

CuResult State::wait(Stream &stream) {
  while (!stream.waiting.empty()) {
    Action action = std::move(stream.waiting.front());
    stream.waiting.pop_front();
    if (CuResult result = action()) {
      stream.waiting.clear();
      return result;
    }
  }
  return success;
}

CuResult State::waitForAll() {
  CuResult first = success;
  for (const auto &stream : streams) {
    CuResult own = wait(*stream);
    first = first ? first : own;
  }
  return first;
}

Call::Call(const char *function) : lock(state().mutex) {
  if (state().failing != function)
    return;
  if (state().skipped > 0)
    --state().skipped;
  else
    isFailing = state().failures-- > 0;
}

uint8_t *hostOf(CuPointer pointer, size_t bytes, bool write) {
  std::string error;
  uint8_t *found = state().device.resolve(pointer, bytes, write, error);
  if (!found)
    state().lastError = error;
  return found;
}

CuResult prepareLaunch(const CuKernelNode &launch, Action &action) {
  auto *kernel = reinterpret_cast<Kernel *>(launch.function);
  if (launch.sharedBytes > kernel->sharedBytes) {
    state().lastError = kernel->name + " may have " + std::to_string(kernel->sharedBytes) +
                        " bytes of dynamic shared memory, but got " +
                        std::to_string(launch.sharedBytes);
    return invalidValue;
  }
  std::vector<ptx::Argument> values;
  const auto &parameters = kernel->owner->module.find(kernel->name)->parameters;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto *bytes = static_cast<const uint8_t *>(launch.arguments[i]);
    values.emplace_back(uint8_t(0));
    values.back().bytes.assign(bytes, bytes + parameters[i].size);
  }
  ptx::Dim grid{launch.gridX, launch.gridY, launch.gridZ},
      block{launch.blockX, launch.blockY, launch.blockZ};
  action = [kernel, values, grid, block, sharedBytes = launch.sharedBytes] {
    ptx::Options options;
    if (const char *seed = getenv("ATTN_PTX_SEED"))
      options.seed = strtoull(seed, nullptr, 10);
    ptx::Result result = ptx::launch(state().device, kernel->owner->module, kernel->name, grid,
                                     block, sharedBytes, values, options);
    if (result)
      return success;
    state().lastError = kernel->name + ": " + result.error;
    return launchFailed;
  };
  return success;
}

Action copyAction(void *host, CuPointer device, size_t bytes, bool isToDevice) {
  return [=] {
    uint8_t *there = hostOf(device, bytes, isToDevice);
    if (!there)
      return invalidValue;
    memcpy(isToDevice ? there : host, isToDevice ? host : there, bytes);
    state().counts.bytesToDevice += isToDevice ? bytes : 0;
    return success;
  };
}

} // namespace attn::interpreted
