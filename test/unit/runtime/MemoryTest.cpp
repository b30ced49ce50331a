// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Peak memory of binding: at most 1.4 times the weights, since files are read piece by piece.
#include "TestSupport.h"
#include "tiny_model.h"
#include <chrono>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace attn::test;

static constexpr int64_t size = 1024;
static constexpr int32_t layers = 24; // 96 MB

static long peakKilobytes() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line))
    if (line.rfind("VmHWM:", 0) == 0)
      return atol(line.c_str() + 6);
  return -1;
}

static void writeCheckpoint(const std::string &path) {
  std::string header = "{", body(size_t(size * size * 4), 0);
  for (int32_t n = 0; n < layers; ++n)
    header += std::string(n ? "," : "") + "\"w." + std::to_string(n) +
              "\":{\"dtype\":\"F32\",\"shape\":[1024,1024],\"data_offsets\":[" +
              std::to_string(n * size * size * 4) + "," +
              std::to_string((n + 1) * size * size * 4) + "]}";
  std::ofstream file(path, std::ios::binary);
  file << withHeader(header + "}", 0);
  for (int32_t n = 0; n < layers; ++n) {
    for (size_t i = 0; i < body.size(); i += 4) {
      float value = float(n + 1);
      memcpy(&body[i], &value, 4);
    }
    file.write(body.data(), long(body.size()));
  }
}

/// In a process of its own: 0 where all is well, else what was wrong.
static int bindInChild(const std::string &path, bool isTransposed, int threads) {
  int64_t shape[2] = {size, size};
  attn_abi_parameter parameter = {"w.{n}", ATTN_F32, layers, 2, 0, shape, "big.attn:1:1"};
  attn_abi_part part = {0, 0, size, 0, 1, size, size, 0};
  if (!isTransposed)
    part.kStride = size, part.innerStride = 1;
  attn_abi_slot slot = {
      0,    size * size * 4, size * size * 4, layers, ATTN_PACK_PANELS, size, size, size, 64, 1,
      &part};
  attn_abi_model tables = *tiny_model();
  tables.parameterCount = tables.slotCount = 1;
  tables.parameters = &parameter;
  tables.slots = &slot;
  tables.packedBytes = layers * size * size * 4;
  Handles handles;
  std::string options = "threads=" + std::to_string(threads);
  if (attn_model_create(&tables, options.c_str(), &handles.model, &handles.message) ||
      attn_model_bind_file(handles.model, path.c_str(), &handles.message)) {
    fprintf(stderr, "%s\n", handles.message);
    return 1;
  }
  double most = 1.4 * double(tables.packedBytes) / 1024;
  fprintf(stderr, "peak %ld KB, allowed %.0f KB\n", peakKilobytes(), most);
  return double(peakKilobytes()) <= most ? 0 : 2;
}

TEST(MemoryTest, PeakWhileBindingIsAtMostOnePointFourTimesTheWeights) {
  std::string path = scratchPath("big.safetensors");
  writeCheckpoint(path);
  for (bool isTransposed : {true, false})
    for (int threads : {1, 2}) {
      pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0)
        _exit(bindInChild(path, isTransposed, threads));
      int status;
      ASSERT_EQ(child, waitpid(child, &status, 0));
      EXPECT_TRUE(WIFEXITED(status));
      EXPECT_EQ(0, WEXITSTATUS(status)) << isTransposed << " " << threads;
    }
  unlink(path.c_str());
}
