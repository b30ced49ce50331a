// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The readers that are fuzzed: each takes the bytes of a file, and either reads them or says what
// is wrong with them. What it must not do, it shows by ending the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#define ATTN_FUZZ_TARGETS(X)                                                                       \
  X(artifact)                                                                                      \
  X(chat)                                                                                          \
  X(config)                                                                                        \
  X(folder)                                                                                        \
  X(format)                                                                                        \
  X(infer)                                                                                         \
  X(npy)                                                                                           \
  X(onnx) X(picture) X(safetensors) X(shards) X(sound) X(spec) X(texts) X(tokenizer) X(tuning)

namespace attn::fuzz {

#define ATTN_DECLARE(name) void name(const uint8_t *data, size_t size);
ATTN_FUZZ_TARGETS(ATTN_DECLARE)
#undef ATTN_DECLARE

/// Ends the process where `holds` is false, and says why.
void require(bool holds, const char *what);

/// A file in memory, for readers that take a path.
class MemoryFile {
public:
  MemoryFile(const uint8_t *data, size_t size);
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;
  ~MemoryFile();
  std::string path() const;

private:
  int descriptor;
};

} // namespace attn::fuzz
