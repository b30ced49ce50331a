// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Creating, binding and running through the C API.
#include "TestSupport.h"
#include "base/Team.h"
#include "tiny_model.h"
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <thread>
#include <unistd.h>

using namespace attn;
using namespace attn::test;

namespace {
class RunTest : public testing::Test {
protected:
  Handles handles;
  Tensors weights = tinyWeights(7);
  std::vector<float> x, y;
  attn_tensor input = {}, output = {};

  void create(int threads, const char *options = nullptr) {
    ASSERT_EQ(ATTN_OK, attn_model_create(tiny_model(), options, &handles.model, &handles.message))
        << handles.text();
    std::string file = safetensors(weights);
    ASSERT_EQ(ATTN_OK,
              attn_model_bind_memory(handles.model, file.data(), file.size(), &handles.message))
        << handles.text();
    ASSERT_EQ(ATTN_OK,
              attn_context_create(handles.model, threads, &handles.context, &handles.message));
  }
  void setBatch(int64_t batch) {
    x.resize(size_t(batch * TINY_D));
    y.assign(size_t(batch * TINY_K), -1);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = float(i % 11) * 0.25f - 1;
    input = {x.data(), ATTN_F32, 2, {batch, TINY_D}, nullptr, 0, 0};
    output = {y.data(), ATTN_F32, 2, {batch, TINY_K}, nullptr, 0, 0};
  }
  attn_status run() {
    handles.text();
    return attn_run(handles.context, 0, &input, &output, &handles.message);
  }
};
} // namespace

TEST_F(RunTest, MatchesPlainLoopsForAllThreadsAndBatches) {
  for (int threads : {1, 2, 3, 8}) {
    create(threads);
    EXPECT_EQ(threads, attn_context_threads(handles.context));
    for (int64_t batch : {1, 8, 3}) {
      setBatch(batch);
      ASSERT_EQ(ATTN_OK, run()) << handles.text();
      std::vector<double> expected = tinyReference(weights, x);
      for (size_t i = 0; i < y.size(); ++i) // sums of about 10 terms of magnitude below 10
        EXPECT_NEAR(expected[i], y[i], 1e-4) << threads << " threads, batch " << batch;
    }
    attn_context_destroy(handles.context);
    attn_model_destroy(handles.model);
    handles.context = nullptr;
    handles.model = nullptr;
  }
}

TEST_F(RunTest, ProfilesEachKernelOnEachThread) {
  create(2);
  setBatch(3);
  attn_kernel_info info;
  EXPECT_EQ(0, attn_profile_events(handles.context, 0, nullptr));
  EXPECT_EQ(ATTN_NOT_FOUND, attn_profile_kernel(handles.context, 0, &info));
  ASSERT_EQ(ATTN_OK, attn_profile_enable(handles.context, 1, &handles.message));
  for (int repeat = 0; repeat < 2; ++repeat) { // a run's events replace those of the one before
    ASSERT_EQ(ATTN_OK, run()) << handles.text();
    for (int thread : {0, 1}) {
      const attn_kernel_event *events = nullptr;
      ASSERT_EQ(3, attn_profile_events(handles.context, thread, &events));
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(i == 0 ? 0 : 1, events[i].kernel);
        EXPECT_LE(i ? events[i - 1].end : 0, events[i].begin);
        EXPECT_LE(events[i].begin, events[i].done);
        EXPECT_LE(events[i].done, events[i].end);
      }
    }
  }
  EXPECT_EQ(0, attn_profile_events(handles.context, 2, nullptr));
  ASSERT_EQ(ATTN_OK, attn_profile_kernel(handles.context, 1, &info));
  EXPECT_STREQ("Layer", info.function);
  EXPECT_STREQ("linear 6 -> 6", info.title);
  EXPECT_STREQ("tiny.attn:3:10", info.location);
  EXPECT_EQ(2 * 6 * 6 * 3, info.flop);
  EXPECT_EQ(8 * 6 * 3 + 4 * 6 * 6, info.bytes);
  EXPECT_EQ(ATTN_NOT_FOUND, attn_profile_kernel(handles.context, 2, &info));
  EXPECT_EQ(ATTN_INVALID_ARGUMENT, attn_profile_kernel(handles.context, 1, nullptr));
  EXPECT_EQ(ATTN_INVALID_ARGUMENT, attn_profile_enable(nullptr, 1, nullptr));

  std::vector<float> profiled = y;
  ASSERT_EQ(ATTN_OK, attn_profile_enable(handles.context, 0, &handles.message));
  ASSERT_EQ(ATTN_OK, run()) << handles.text();
  EXPECT_EQ(profiled, y);
  EXPECT_EQ(0, attn_profile_events(handles.context, 0, nullptr));
}

TEST_F(RunTest, DescribesItself) {
  create(1);
  EXPECT_STREQ("Tiny", attn_model_name(handles.model));
  EXPECT_EQ(1, attn_model_find_entry(handles.model, "see"));
  EXPECT_EQ(-1, attn_model_find_entry(handles.model, "hear"));
  attn_tensor_info info;
  ASSERT_EQ(ATTN_OK, attn_model_input(handles.model, 0, 0, &info));
  EXPECT_STREQ("x", info.name);
  EXPECT_EQ(TINY_B, info.shape[0]);
  EXPECT_TRUE(info.isDynamic[0]);
  EXPECT_FALSE(info.isDynamic[1]);
  EXPECT_EQ(ATTN_NOT_FOUND, attn_model_input(handles.model, 0, 1, &info));
  EXPECT_EQ(ATTN_NOT_FOUND, attn_model_output(handles.model, 2, 0, &info));
  attn_parameter_info parameter;
  ASSERT_EQ(ATTN_OK, attn_model_parameter(handles.model, 0, &parameter));
  EXPECT_STREQ("layers.{n}.weight", parameter.name);
  EXPECT_EQ(ATTN_NOT_FOUND, attn_model_parameter(handles.model, -1, &parameter));
}

TEST_F(RunTest, RefusesBatchOfZeroAndAboveBound) {
  create(2);
  setBatch(1);
  for (int64_t batch : {int64_t(0), int64_t(9), int64_t(-1), INT64_MAX, INT64_MIN}) {
    input.shape[0] = output.shape[0] = batch;
    EXPECT_EQ(ATTN_BAD_INPUT, run());
    std::string text = handles.text();
    EXPECT_NE(std::string::npos, text.find("entry `run`")) << text;
    EXPECT_NE(std::string::npos, text.find("has " + std::to_string(batch))) << text;
    EXPECT_NE(std::string::npos, text.find("expected 1 to 8")) << text;
  }
}

TEST_F(RunTest, RefusesContradictingOutput) {
  create(1);
  setBatch(2);
  output.shape[0] = 3;
  EXPECT_EQ(ATTN_BAD_INPUT, run());
  EXPECT_NE(std::string::npos, handles.text().find("`B` is 2 by `x`"));
}

TEST_F(RunTest, RefusesWrongTypeRankAndSize) {
  create(1);
  setBatch(2);
  input.dtype = ATTN_F64;
  EXPECT_EQ(ATTN_BAD_INPUT, run());
  EXPECT_NE(std::string::npos, handles.text().find("is f64, expected f32"));
  setBatch(2);
  input.rank = 3;
  EXPECT_EQ(ATTN_BAD_INPUT, run());
  EXPECT_NE(std::string::npos, handles.text().find("3 axes, expected 2: [B, D]"));
  setBatch(2);
  input.shape[1] = 7;
  EXPECT_EQ(ATTN_BAD_INPUT, run());
  EXPECT_NE(std::string::npos, handles.text().find("has 7 along axis 1, `D`, expected 6"));
}

TEST_F(RunTest, RefusesBadPointers) {
  create(1);
  setBatch(2);
  input.data = nullptr;
  EXPECT_EQ(ATTN_INVALID_ARGUMENT, run());
  setBatch(2);
  input.data = reinterpret_cast<char *>(x.data()) + 1;
  EXPECT_EQ(ATTN_INVALID_ARGUMENT, run());
  setBatch(2);
  output.data = x.data() + 2;
  EXPECT_EQ(ATTN_INVALID_ARGUMENT, run());
  setBatch(2);
  EXPECT_EQ(ATTN_INVALID_ARGUMENT, attn_run(handles.context, 2, &input, &output, nullptr));
  EXPECT_EQ(ATTN_INVALID_ARGUMENT, attn_run(handles.context, -1, &input, &output, nullptr));
  EXPECT_EQ(ATTN_INVALID_ARGUMENT, attn_run(handles.context, 0, nullptr, &output, nullptr));
  EXPECT_EQ(ATTN_INVALID_ARGUMENT, attn_run(handles.context, 0, &input, nullptr, nullptr));
  EXPECT_EQ(ATTN_INVALID_ARGUMENT, attn_run(nullptr, 0, &input, &output, nullptr));
}

TEST_F(RunTest, RefusesToRunWithoutWeights) {
  ASSERT_EQ(ATTN_OK, attn_model_create(tiny_model(), nullptr, &handles.model, nullptr));
  ASSERT_EQ(ATTN_OK, attn_context_create(handles.model, 1, &handles.context, nullptr));
  setBatch(1);
  EXPECT_EQ(ATTN_BAD_WEIGHTS, run());
}

TEST_F(RunTest, NanAndInfinityFollowArithmetic) {
  create(2);
  setBatch(3);
  x[TINY_D] = NAN; // in the second row only
  x[2 * TINY_D] = INFINITY;
  ASSERT_EQ(ATTN_OK, run());
  for (int n = 0; n < TINY_K; ++n) {
    EXPECT_TRUE(std::isfinite(y[n]));
    EXPECT_TRUE(std::isnan(y[TINY_K + n]));
    EXPECT_FALSE(std::isfinite(y[2 * TINY_K + n]));
  }
}

TEST_F(RunTest, InfersShapesAndWorkspace) {
  create(1);
  setBatch(5);
  input.data = nullptr;
  attn_tensor inferred = {};
  ASSERT_EQ(ATTN_OK, attn_infer_shapes(handles.context, 0, &input, &inferred, nullptr));
  EXPECT_EQ(2, inferred.rank);
  EXPECT_EQ(5, inferred.shape[0]);
  EXPECT_EQ(TINY_K, inferred.shape[1]);
  int64_t bytes = 0;
  ASSERT_EQ(ATTN_OK, attn_workspace_bytes(handles.context, 0, &input, &bytes, nullptr));
  EXPECT_EQ(5 * TINY_D * 8, bytes);
}

/// Read without a stream, whose buffer would come from the heap that the test watches.
static long virtualPages() {
  char text[64] = {};
  int file = open("/proc/self/statm", O_RDONLY);
  EXPECT_LT(0, read(file, text, sizeof text - 1));
  close(file);
  return atol(text);
}

TEST_F(RunTest, AllocatesNothingAfterTheFirstRun) {
  create(3);
  setBatch(8);
  ASSERT_EQ(ATTN_OK, run());
  auto used = mallinfo2().uordblks;
  long pages = virtualPages();
  for (int64_t batch : {8, 1, 8, 5})
    for (int i = 0; i < 50; ++i) {
      input.shape[0] = output.shape[0] = batch;
      if (run() != ATTN_OK)
        FAIL();
    }
  EXPECT_EQ(used, mallinfo2().uordblks);
  EXPECT_EQ(pages, virtualPages());
}

TEST_F(RunTest, ModelOutlivesItsOwnersHold) {
  create(2);
  attn_model_destroy(handles.model);
  handles.model = nullptr;
  setBatch(2);
  EXPECT_EQ(ATTN_OK, run());
}

TEST_F(RunTest, ThreadsShareAModel) {
  create(1);
  setBatch(4);
  ASSERT_EQ(ATTN_OK, run());
  std::vector<float> expected = y;
  std::vector<std::thread> threads;
  std::vector<int> failures(6);
  for (size_t t = 0; t < failures.size(); ++t)
    threads.emplace_back([&, t] {
      attn_context *context = nullptr;
      failures[t] = attn_context_create(handles.model, int(t % 3) + 1, &context, nullptr);
      for (int i = 0; i < 200 && !failures[t]; ++i) {
        std::vector<float> own(expected.size());
        attn_tensor mine = output;
        mine.data = own.data();
        failures[t] = attn_run(context, 0, &input, &mine, nullptr) != ATTN_OK || own != expected;
      }
      attn_context_destroy(context);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(std::vector<int>(6), failures);
}

TEST_F(RunTest, EmbeddedWeightsAreUsedInPlace) {
  std::string path = scratchPath("embed.safetensors");
  writeText(path, safetensors(weights));
  attn_abi_model embedded = *tiny_model();
  alignas(64) static char block[4096];
  ASSERT_LE(embedded.packedBytes, int64_t(sizeof block));
  ASSERT_EQ(ATTN_OK, attn_abi_pack(&embedded, path.c_str(), 2, block, &handles.message))
      << handles.text();
  embedded.embedded = block;
  ASSERT_EQ(ATTN_OK, attn_model_create(&embedded, nullptr, &handles.model, nullptr));
  ASSERT_TRUE(attn_model_has_weights(handles.model));
  ASSERT_EQ(ATTN_OK, attn_context_create(handles.model, 2, &handles.context, nullptr));
  setBatch(3);
  ASSERT_EQ(ATTN_OK, run());
  std::vector<double> expected = tinyReference(weights, x);
  for (size_t i = 0; i < y.size(); ++i)
    EXPECT_NEAR(expected[i], y[i], 1e-4);
  EXPECT_EQ(ATTN_IO, attn_abi_pack(&embedded, "/no/such/file", 1, block, nullptr));
  EXPECT_EQ(ATTN_INVALID_ARGUMENT, attn_abi_pack(&embedded, path.c_str(), 0, block, nullptr));
}

TEST_F(RunTest, ThreadsCanBePinned) {
  CpuMask before = CpuMask::ofCaller();
  create(2, "pin");
  setBatch(3);
  ASSERT_EQ(ATTN_OK, run());
  CpuMask after = CpuMask::ofCaller();
  EXPECT_TRUE(std::equal(std::begin(before.words), std::end(before.words), after.words));
}

TEST_F(RunTest, LevelsCanBeForced) {
  create(1, "level=plain,threads=2");
  EXPECT_STREQ("plain", attn_model_level(handles.model));
  attn_model *none = nullptr;
  EXPECT_EQ(ATTN_UNSUPPORTED_CPU,
            attn_model_create(tiny_model(), "level=beyond", &none, &handles.message));
  EXPECT_NE(std::string::npos, handles.text().find("R0403"));
  EXPECT_EQ(ATTN_INVALID_ARGUMENT,
            attn_model_create(tiny_model(), "level=sse9", &none, &handles.message));
  EXPECT_NE(std::string::npos, handles.text().find("it has: plain, x86-64-v4, beyond"));
  for (const char *bad :
       {"speed=9", "pins", "pin=1", "threads=0", "threads=2000", "threads=x", "level="})
    EXPECT_EQ(ATTN_INVALID_ARGUMENT, attn_model_create(tiny_model(), bad, &none, nullptr)) << bad;
  EXPECT_EQ(nullptr, none);
}

TEST_F(RunTest, CpuBelowTheLowestLevelGetsOneSentence) {
  attn_abi_model beyond = *tiny_model();
  beyond.levels += 2;
  beyond.levelCount = 1;
  attn_model *none = nullptr;
  EXPECT_EQ(ATTN_UNSUPPORTED_CPU, attn_model_create(&beyond, nullptr, &none, &handles.message));
  EXPECT_NE(std::string::npos, handles.text().find("needs a CPU of level beyond or above"));
}

TEST_F(RunTest, OtherAbiVersionIsRefused) {
  attn_abi_model other = *tiny_model();
  other.abiVersion = ATTN_ABI_VERSION + 1;
  attn_model *none = nullptr;
  EXPECT_EQ(ATTN_INVALID_ARGUMENT, attn_model_create(&other, nullptr, &none, &handles.message));
  EXPECT_NE(std::string::npos, handles.text().find("R0104"));
  EXPECT_EQ(ATTN_INVALID_ARGUMENT, attn_model_create(nullptr, nullptr, &none, nullptr));
}
