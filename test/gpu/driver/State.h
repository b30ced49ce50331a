// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the interpreting driver holds: the one device, its memory, streams with what they are to do.
#pragma once

#include "cuda/Driver.h"
#include "test/gpu/driver/InterpretedCuda.h"
#include "test/gpu/interpreter/Launch.h"
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace attn::interpreted {

constexpr CuResult success = 0, invalidValue = 1, outOfMemory = 2, invalidImage = 200,
                   invalidContext = 201, invalidPtx = 218, notFound = 500, launchFailed = 719,
                   captureUnsupported = 900, unknown = 999;

/// Dynamic shared memory that a kernel may have without asking.
constexpr unsigned plainSharedBytes = 48 << 10;

struct LoadedModule {
  ptx::Module module;
};

struct Kernel {
  LoadedModule *owner;
  std::string name;
  unsigned sharedBytes = plainSharedBytes;
};

struct Event {
  std::chrono::steady_clock::time_point time;
};

/// What is done when its turn comes: nothing that it was asked for with is looked at before.
using Action = std::function<CuResult()>;

struct Graph;

/// Does nothing until it is waited for, as if the device were slow.
struct Stream {
  std::deque<Action> waiting;
  Graph *captured = nullptr; ///< What it is asked for goes there.

  void add(Action action);
};

struct State {
  std::recursive_mutex mutex;
  ptx::Device device;
  std::map<CuPointer, std::unique_ptr<std::vector<uint8_t>>> memory;
  std::map<void *, size_t> hostBytes; ///< Of memory of the host that was allocated.
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::vector<std::unique_ptr<Stream>> streams; ///< The first is the legacy default stream.
  InterpretedCounts counts = {};
  std::string updates; ///< Names of kernels whose nodes were updated.
  std::string lastError = "an error of the interpreter";
  std::string failing;           ///< The function that is to fail.
  int skipped = 0, failures = 0; ///< Its calls until then, and those that fail.

  /// The stream of a handle, as the driver's reference has them.
  Stream &stream(CuStream handle);
  /// Does what a stream has to do. The first error ends it, and drops the rest.
  CuResult wait(Stream &stream);
  CuResult waitForAll();
};

State &state();

/// A call of a function of the driver: has the state for itself, and may be one that has to fail.
class Call {
public:
  explicit Call(const char *function);
  bool fails() const { return isFailing; }

  /// The contexts that the thread has pushed, the current one last.
  static std::vector<CuContext> &contexts();

private:
  std::lock_guard<std::recursive_mutex> lock;
  bool isFailing = false;
};

/// The host's memory of the device's; null, and `lastError`, where it is not all in one buffer.
uint8_t *hostOf(CuPointer pointer, size_t bytes, bool write);

/// The action of a launch: arguments are copied now, as the driver does.
CuResult prepareLaunch(const CuKernelNode &launch, Action &action);
/// The action of a copy between the host and the device.
Action copyAction(void *host, CuPointer device, size_t bytes, bool isToDevice);

} // namespace attn::interpreted

#define DRIVER extern "C" __attribute__((visibility("default"))) CuResult
/// Begins a function of the driver; one that needs a current context.
#define BEGIN_CALL()                                                                               \
  Call call(__func__);                                                                             \
  if (call.fails())                                                                                \
  return unknown
#define BEGIN_CALL_IN_CONTEXT()                                                                    \
  BEGIN_CALL();                                                                                    \
  if (Call::contexts().empty() || !Call::contexts().back())                                        \
  return invalidContext
