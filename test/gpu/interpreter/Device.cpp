// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/gpu/interpreter/Device.h"
#include "test/gpu/interpreter/Layout.h"

namespace attn::ptx {

uint64_t Device::map(void *data, size_t bytes, std::string name, BufferAccess access) {
  constexpr uint64_t gap = 1 << 20;
  uint64_t end = buffers.empty() ? bufferWindow : buffers.back().address + buffers.back().bytes;
  uint64_t address = (end + gap) / 256 * 256;
  buffers.push_back({address, bytes, static_cast<uint8_t *>(data), std::move(name), access, true});
  return address;
}

void Device::unmap(uint64_t address) {
  for (Buffer &buffer : buffers)
    if (buffer.address == address)
      buffer.isMapped = false;
}

uint8_t *Device::resolve(uint64_t address, uint64_t bytes, bool write, std::string &error) const {
  const Buffer *nearest = nullptr;
  for (const Buffer &buffer : buffers) {
    if (address >= buffer.address && address - buffer.address < buffer.bytes &&
        bytes <= buffer.bytes - (address - buffer.address)) {
      if (!buffer.isMapped) {
        error = "buffer '" + buffer.name + "' is freed";
        return nullptr;
      }
      if (!write || buffer.access == BufferAccess::ReadWrite)
        return buffer.data + (address - buffer.address);
      error = "buffer '" + buffer.name + "' is read-only";
      return nullptr;
    }
    uint64_t reach = 1 << 19;
    if (address + reach >= buffer.address && address < buffer.address + buffer.bytes + reach)
      nearest = &buffer;
  }
  // Above what Device::map and the windows give out.
  if (sharesHost && address >= uint64_t(1) << 44)
    return reinterpret_cast<uint8_t *>(address); // NOLINT(performance-no-int-to-ptr)
  error = "out of bounds: " + std::to_string(bytes) + " bytes ";
  if (nearest)
    error += "at offset " + std::to_string(int64_t(address - nearest->address)) + " of buffer '" +
             nearest->name + "', which has " + std::to_string(nearest->bytes);
  else
    error += "at address " + std::to_string(address) + ", which is in no buffer";
  return nullptr;
}

} // namespace attn::ptx
