// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/gpu/driver/State.h"
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <set>
#include <sstream>
#include <unistd.h>

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

std::vector<CuContext> &Call::contexts() {
  thread_local std::vector<CuContext> contexts;
  return contexts;
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

namespace {

/// What ATTN_PTX_FAULTS plants in a kernel whose name holds NAME: "hang=NAME,nan=NAME,crash=NAME".
class Faults {
public:
  explicit Faults(const std::string &kernel) {
    const char *given = getenv("ATTN_PTX_FAULTS");
    std::istringstream list(given ? given : "");
    for (std::string fault; std::getline(list, fault, ',');) {
      size_t equals = fault.find('=');
      if (equals != std::string::npos && kernel.find(fault.substr(equals + 1)) != std::string::npos)
        kinds.insert(fault.substr(0, equals));
    }
  }

  void begin(ptx::Options &options) {
    if (kinds.count("crash"))
      raise(SIGSEGV);
    if (kinds.count("hang"))
      options.losesCopies = true, options.stepLimit = 1 << 22;
    if (kinds.count("nan"))
      for (const auto &[address, memory] : state().memory)
        before[address] = *memory;
  }

  /// A kernel that waits for ever does so; one with a watchdog has failed. In the first word that a
  /// kernel has written, all bits are ones.
  void end(const ptx::Result &result) {
    if (kinds.count("hang") && !result && result.error.find("trap") == std::string::npos)
      for (;;)
        pause();
    for (auto &[address, old] : before) {
      std::vector<uint8_t> &memory = *state().memory[address];
      auto written = std::mismatch(memory.begin(), memory.end(), old.begin()).first;
      if (written == memory.end())
        continue;
      auto word = memory.begin() + (written - memory.begin()) / 4 * 4;
      std::fill_n(word, std::min<ptrdiff_t>(4, memory.end() - word), uint8_t(0xff));
      return;
    }
  }

private:
  std::set<std::string> kinds;
  std::map<CuPointer, std::vector<uint8_t>> before;
};

} // namespace

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
    Faults faults(kernel->name);
    faults.begin(options);
    ptx::Result result = ptx::launch(state().device, kernel->owner->module, kernel->name, grid,
                                     block, sharedBytes, values, options);
    faults.end(result);
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
