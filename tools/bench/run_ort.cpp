// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs an ONNX file in ONNX Runtime on the CPU, as protocol.h says:
//
//   run_ort LIBRARY MODEL THREADS INPUT INPUT_SIZES OUTPUT_SIZES [INPUTS]
//   run_ort libonnxruntime.so.1 vit.onnx 2 image.bin 1,3,224,224 1,1000
//
// The model has inputs `image`, or `query`, `key` and `value` of the same sizes where INPUTS is 3,
// one after the other in INPUT, and one output `logits`. The package that the library comes in
// has no header; its C API is a table of functions whose positions never change, so functions are
// called by position.
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
constexpr int elementF32 = 1;

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
  void *session = nullptr, *inputs[3] = {}, *output = nullptr;
  size_t inputCount = 1;
};

void runSession(void *state) {
  const Session &session = *static_cast<Session *>(state);
  const char *image[] = {"image"}, *qkv[] = {"query", "key", "value"}, *outputNames[] = {"logits"};
  const char *const *inputNames = session.inputCount == 1 ? image : qkv;
  void *outputs[] = {session.output};
  const void *options = nullptr;
  session.api.call(Run, session.session, options, inputNames,
                   static_cast<const void *const *>(session.inputs), session.inputCount,
                   static_cast<const char *const *>(outputNames), size_t(1),
                   static_cast<void **>(outputs));
}

/// A tensor on memory of its own. Returns that memory.
float *makeTensor(const Api &api, void *memoryInfo, const char *sizes, size_t &count,
                  void *&tensor) {
  int64_t shape[8];
  size_t rank = size_t(readSizes(sizes, shape, &count));
  float *data = allocateFloats(count);
  api.call(CreateTensorWithData, memoryInfo, static_cast<void *>(data), count * sizeof(float),
           static_cast<const int64_t *>(shape), rank, elementF32, &tensor);
  return data;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 7 && argc != 8)
    fail("run_ort", "expected LIBRARY MODEL THREADS INPUT INPUT_SIZES OUTPUT_SIZES [INPUTS]");
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

  size_t inputCount = 0, outputCount = 0;
  session.inputCount = argc == 8 ? 3 : 1;
  for (size_t i = 0; i < session.inputCount; ++i) {
    float *input = makeTensor(api, memoryInfo, argv[5], inputCount, session.inputs[i]);
    readFloats(argv[4], i, input, inputCount);
  }
  float *output = makeTensor(api, memoryInfo, argv[6], outputCount, session.output);
  printf("ready version=%s\n", getBase()->getVersion());

  Job job = {runSession, &session, output, outputCount};
  int code = serve(&job);
  fflush(stdout);
  _Exit(code); // without the library's destructors, which wait for its threads
}
