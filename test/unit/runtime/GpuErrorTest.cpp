// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run that fails, wherever it does: nothing that it began is under way when it returns, and the
// next run is none the worse.
#include "GpuFixture.h"
#include <memory>

using namespace attn;
using namespace attn::test;

namespace {

class GpuErrorTest : public GpuTest {
protected:
  /// Adds a number to the cache, from and to memory of the host that is gone afterwards.
  attn_status push(int32_t value, bool isStrided = false) {
    int64_t length = attn_cache_length(handles.context, 0) + 1;
    auto number = std::make_unique<int32_t>(value);
    auto held = std::make_unique<int32_t[]>(size_t(length));
    attn_tensor input = {number.get(), ATTN_I32, 1, {1}, nullptr, 0, 0};
    // At no multiple of 16, so that it is copied on the GPU, too.
    if (isStrided)
      input = onGpu(input, onDevice(std::vector<int32_t>{0, value}) + 4);
    attn_status status = run(3, input, {held.get(), ATTN_I32, 1, {length}, nullptr, 0, 0});
    EXPECT_EQ(0u, counts().pendingActions);
    for (int64_t i = 0; status == ATTN_OK && i < length; ++i)
      EXPECT_EQ(100 + i, held[size_t(i)]);
    return status;
  }
};

} // namespace

TEST_F(GpuErrorTest, a_run_that_fails_waits_for_what_it_began) {
  create();
  int failures = 0;
  for (bool isCallers : {false, true})
    for (bool isStrided : {false, true})
      for (int runsBefore : {0, 1, 2}) // plain launches, a graph that is made, one that is updated
        for (const char *function :
             {"cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuLaunchKernel", "cuGraphLaunch",
              "cuTensorMapEncodeTiled", "cuMemAlloc_v2", "cuModuleLoadDataEx"})
          for (int skipped = 0;; ++skipped) {
            // A context of its own: without weights, workspace or graphs.
            ASSERT_EQ(ATTN_OK, attn_context_set_device(handles.context, ATTN_DEVICE_CUDA, 0,
                                                       &handles.message));
            ASSERT_EQ(ATTN_OK,
                      attn_context_set_stream(handles.context, isCallers ? asPointer(1) : nullptr,
                                              &handles.message));
            ASSERT_EQ(ATTN_OK, attn_cache_truncate(handles.context, 0, 0, &handles.message));
            for (int i = 0; i < runsBefore; ++i)
              ASSERT_EQ(ATTN_OK, push(100 + i, isStrided)) << handles.text();
            fail(function, skipped + (isStrided && std::string(function) == "cuMemAlloc_v2") +
                               (isStrided && std::string(function) == "cuMemcpyHtoDAsync_v2"));
            bool isFailed = push(100 + runsBefore, isStrided) != ATTN_OK;
            fail("", 0, 0);
            handles.text();
            ASSERT_EQ(runsBefore + !isFailed, attn_cache_length(handles.context, 0));
            for (int i = runsBefore + !isFailed; i < 4; ++i)
              ASSERT_EQ(ATTN_OK, push(100 + i, isStrided)) << function << handles.text();
            if (!isFailed)
              break;
            ++failures;
          }
  EXPECT_GT(failures, 50);
}

TEST_F(GpuErrorTest, a_look_at_indices_that_fails_waits_for_its_copy) {
  create();
  std::vector<int32_t> copy(4);
  attn_tensor input = onGpu({nullptr, ATTN_I32, 1, {4}, nullptr, 0, 0},
                            onDevice(std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 0}));
  attn_tensor output = {copy.data(), ATTN_I32, 1, {4}, nullptr, 0, 0};
  const int64_t strides[] = {2};
  input.strides = strides;
  for (const char *function : {"cuMemcpyDtoHAsync_v2", "cuLaunchKernel"}) {
    fail(function);
    EXPECT_EQ(ATTN_NO_DEVICE, run(2, input, output));
    EXPECT_EQ(0u, counts().pendingActions);
  }
  ASSERT_EQ(ATTN_OK, run(2, input, output)) << handles.text();
  EXPECT_EQ((std::vector<int32_t>{0, 2, 4, 6}), copy);
}

TEST_F(GpuErrorTest, a_kernel_that_fails_is_an_error_of_its_run) {
  create();
  // Words behind the end of the input.
  std::vector<int32_t> indices = {0, 6, 5, 1}, copy(4);
  attn_tensor output = {copy.data(), ATTN_I32, 1, {4}, nullptr, 0, 0};
  attn_tensor input =
      onGpu({nullptr, ATTN_I32, 1, {4}, nullptr, 0, 0}, onDevice(std::vector<int32_t>{1, 2, 3}));
  ASSERT_EQ(ATTN_OK, attn_context_set_stream(handles.context, asPointer(1), &handles.message));
  EXPECT_EQ(ATTN_NO_DEVICE, run(2, input, output));
  std::string text = handles.text();
  EXPECT_NE(std::string::npos, text.find("running the model failed: copyWords: ")) << text;
  EXPECT_EQ(0u, counts().pendingActions);
}
