// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs an ONNX file in ONNX Runtime on the CPU, as protocol.h says:
//
//   run_ort LIBRARY MODEL THREADS TENSOR...
//   run_ort libonnxruntime.so.1 vit.onnx 2 image=f32:1,3,224,224:image.bin@0 logits=1,1000
//
// The output of the protocol is the first one. The package that the library comes in has no header;
// its C API is a table of functions whose positions never change, so functions are called by
// position.
#include "protocol.h"
#include <dlfcn.h>

namespace {

/// Positions in the function table.
enum Function {
  GetErrorMessage = 2,
  CreateEnv = 3,
  CreateSession = 7,
  Run = 9,
  CreateSessionOptions = 10,
  SetGraphOptimizationLevel = 23,
  SetIntraOpNumThreads = 24,
  SetInterOpNumThreads = 25,
  CreateTensorWithData = 49,
  CreateCpuMemoryInfo = 69
};

struct ApiBase {
  void **(*getApi)(uint32_t version);
  const char *(*getVersion)();
};

constexpr uint32_t apiVersion = 8; ///< all that is called here is older
constexpr int errorsOnly = 3, allOptimizations = 99, deviceAllocator = 0, defaultMemory = 0;
constexpr int elementTypes[] = {1, 6, 7}; ///< of F32, I32, I64

/// Calls functions of the table; ends the program where one returns a status.
struct Api {
  void **table = nullptr;

  template <typename... Arguments> void call(Function function, Arguments... arguments) const {
    void *status = reinterpret_cast<void *(*)(Arguments...)>(table[function])(arguments...);
    if (status)
      fail("ONNX Runtime",
           reinterpret_cast<const char *(*)(void *)>(table[GetErrorMessage])(status));
  }
};

struct Session {
  Api api;
  void *session = nullptr;
  Tensor tensors[MOST_TENSORS];
  size_t count = 0, inputs = 0;
  const char *names[MOST_TENSORS];
  void *values[MOST_TENSORS];
};

void runSession(void *state) {
  Session &session = *static_cast<Session *>(state);
  const void *options = nullptr;
  session.api.call(Run, session.session, options, static_cast<const char *const *>(session.names),
                   static_cast<const void *const *>(session.values), session.inputs,
                   static_cast<const char *const *>(session.names + session.inputs),
                   session.count - session.inputs, session.values + session.inputs);
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 6)
    fail("run_ort", "expected LIBRARY MODEL THREADS TENSOR...");
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library)
    fail(argv[1], dlerror());
  auto getBase = reinterpret_cast<const ApiBase *(*)()>(dlsym(library, "OrtGetApiBase"));
  if (!getBase)
    fail(argv[1], "is not ONNX Runtime");

  Session session;
  const Api &api = session.api;
  session.api.table = getBase()->getApi(apiVersion);
  if (!api.table)
    fail(argv[1], "is too old");

  void *environment = nullptr, *options = nullptr, *memoryInfo = nullptr;
  api.call(CreateEnv, errorsOnly, "bench", &environment);
  api.call(CreateSessionOptions, &options);
  api.call(SetGraphOptimizationLevel, options, allOptimizations);
  api.call(SetIntraOpNumThreads, options, atoi(argv[3]));
  api.call(SetInterOpNumThreads, options, 1);
  api.call(CreateSession, environment, static_cast<const char *>(argv[2]), options,
           &session.session);
  api.call(CreateCpuMemoryInfo, deviceAllocator, defaultMemory, &memoryInfo);

  session.count = size_t(argc - 4);
  session.inputs = size_t(readTensors(argv + 4, argc - 4, session.tensors));
  for (size_t i = 0; i < session.count; ++i) {
    Tensor &tensor = session.tensors[i];
    session.names[i] = tensor.name;
    session.values[i] = nullptr;
    api.call(CreateTensorWithData, memoryInfo, tensor.data, tensor.bytes,
             static_cast<const int64_t *>(tensor.sizes), size_t(tensor.rank),
             elementTypes[tensor.type], &session.values[i]);
  }
  printf("ready version=%s\n", getBase()->getVersion());

  const Tensor &output = session.tensors[session.inputs];
  Job job = {runSession, &session, static_cast<const float *>(output.data), output.count};
  int code = serve(&job);
  fflush(stdout);
  _Exit(code); // without the library's destructors, which wait for its threads
}
