// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Global memory: buffers of the host that kernels may read and write, each at an address of the
// device's with unmapped memory on both sides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace attn::ptx {

enum class BufferAccess : uint8_t { ReadWrite, ReadOnly };

class Device {
public:
  /// Maps `bytes` at `data`, which outlive the device, and returns their address on it, a multiple
  /// of 256. `name` stands in errors.
  uint64_t map(void *data, size_t bytes, std::string name,
               BufferAccess access = BufferAccess::ReadWrite);

  template <typename T> uint64_t map(std::vector<T> &values, std::string name) {
    return map(values.data(), values.size() * sizeof(T), std::move(name));
  }
  template <typename T> uint64_t map(const std::vector<T> &values, std::string name) {
    return map(const_cast<T *>(values.data()), values.size() * sizeof(T), std::move(name),
               BufferAccess::ReadOnly);
  }

  /// What is mapped at this address no longer is. Its addresses are not given out again.
  void unmap(uint64_t address);

  /// From now on addresses of the host are the device's, too, whose bounds nobody knows.
  void shareHost() { sharesHost = true; }

  /// The host's memory for device addresses [address, address + bytes); null and an error where
  /// they are not all in one buffer, or written although it is read-only.
  uint8_t *resolve(uint64_t address, uint64_t bytes, bool write, std::string &error) const;

private:
  struct Buffer {
    uint64_t address;
    uint64_t bytes;
    uint8_t *data;
    std::string name;
    BufferAccess access;
    bool isMapped;
  };
  std::vector<Buffer> buffers;
  bool sharesHost = false;
};

} // namespace attn::ptx
