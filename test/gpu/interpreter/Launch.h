// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a kernel for a small grid as a GPU would, or says what a GPU would punish. See README.md.
//
//   Module module = Module::parse(text);                  // module.errors
//   Device device;
//   uint64_t out = device.map(values, "out");
//   Result result = launch(device, module, "kernel", {2}, {128}, 0, {out, 7u});
#pragma once

#include "test/gpu/interpreter/Device.h"
#include "test/gpu/interpreter/Module.h"
#include "test/gpu/interpreter/TensorMap.h"
#include <type_traits>

namespace attn::ptx {

struct Dim {
  uint32_t x = 1;
  uint32_t y = 1;
  uint32_t z = 1;

  uint32_t count() const { return x * y * z; }
};

/// A kernel's argument: a scalar, an address that Device::map gave, or a TensorMap.
struct Argument {
  std::vector<uint8_t> bytes;

  template <typename T> Argument(const T &value) : bytes(sizeof(T)) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto *from = reinterpret_cast<const uint8_t *>(&value);
    bytes.assign(from, from + sizeof(T));
  }
};

struct Options {
  /// Chooses the interleaving: which warp goes on, which lanes of a diverged warp, when
  /// asynchronous copies arrive.
  uint64_t seed = 1;
  /// How many blocks run at a time; the next starts when one ends.
  uint32_t residentBlocks = 4;
  /// Instructions of warps after which the kernel is held to hang.
  uint64_t stepLimit = 1ull << 26;
  /// Tensor copies to shared memory never arrive, as of a GPU that hangs.
  bool losesCopies = false;
};

struct Result {
  /// What is wrong, with the line in the PTX; empty where all is well.
  std::string error;
  /// Instructions of warps that were executed.
  uint64_t steps = 0;

  explicit operator bool() const { return error.empty(); }
};

Result launch(Device &device, const Module &module, const std::string &kernel, Dim grid, Dim block,
              uint32_t dynamicSharedBytes, const std::vector<Argument> &arguments,
              Options options = {});

} // namespace attn::ptx
