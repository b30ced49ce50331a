// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/gpu/interpreter/Launch.h"
#include "test/gpu/interpreter/Layout.h"
#include "test/gpu/interpreter/Machine.h"

namespace attn::ptx {

/// What a driver would refuse.
static std::string checkLaunch(const Kernel &kernel, Dim grid, Dim block, uint32_t dynamicBytes,
                               const std::vector<Argument> &arguments) {
  uint32_t threads = block.count();
  if (grid.count() == 0 || threads == 0)
    return "expected at least one thread and one block";
  if (threads > 1024)
    return "expected at most 1024 threads, but got " + std::to_string(threads);
  if (kernel.maxThreads && threads > kernel.maxThreads)
    return "kernel '" + kernel.name + "' takes at most " + std::to_string(kernel.maxThreads) +
           " threads, but got " + std::to_string(threads);
  uint32_t sharedBytes = kernel.staticSharedEnd - sharedBegin + dynamicBytes;
  if (sharedBytes > sharedLimit)
    return "a block has at most " + std::to_string(sharedLimit) +
           " bytes of shared memory, but got " + std::to_string(sharedBytes);
  if (arguments.size() != kernel.parameters.size())
    return "kernel '" + kernel.name + "' takes " + std::to_string(kernel.parameters.size()) +
           " arguments, but got " + std::to_string(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].bytes.size() != kernel.parameters[i].size)
      return "argument " + std::to_string(i) + " has " + std::to_string(kernel.parameters[i].size) +
             " bytes, but got " + std::to_string(arguments[i].bytes.size());
  return "";
}

Result launch(Device &device, const Module &module, const std::string &name, Dim grid, Dim block,
              uint32_t dynamicSharedBytes, const std::vector<Argument> &arguments,
              Options options) {
  if (!module.errors.empty())
    return {module.errors[0], 0};
  const Kernel *kernel = module.find(name);
  if (!kernel)
    return {"no kernel '" + name + "' in the module", 0};
  std::string error = checkLaunch(*kernel, grid, block, dynamicSharedBytes, arguments);
  if (!error.empty())
    return {error, 0};
  Machine machine{device,
                  *kernel,
                  options,
                  grid,
                  block,
                  dynamicSharedBytes,
                  std::vector<uint8_t>(kernel->parameterBytes),
                  module.globals.bytes,
                  module.constants.bytes,
                  std::mt19937_64(options.seed),
                  {},
                  0,
                  0,
                  ""};
  for (size_t i = 0; i < arguments.size(); ++i)
    std::copy(arguments[i].bytes.begin(), arguments[i].bytes.end(),
              machine.parameters.begin() + kernel->parameters[i].offset);
  machine.run();
  return {machine.error, machine.steps};
}

} // namespace attn::ptx
