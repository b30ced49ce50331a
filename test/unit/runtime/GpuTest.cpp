// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Running on a GPU: code, weights, buffers, times.
#include "GpuFixture.h"
#include "cuda/Panels.h"
#include <tuple>

using namespace attn;
using namespace attn::test;

TEST(Panels, are_transposed_each_by_itself) {
  PanelShape shape{3, 32, 48};
  std::vector<uint32_t> from(size_t(shape.panels * shape.words())), to(from.size());
  std::iota(from.begin(), from.end(), 0u);
  transposePanels(from.data(), to.data(), shape, shape.panels);
  for (int64_t p = 0; p < shape.panels; ++p)
    for (int64_t g = 0; g < shape.depth; ++g)
      for (int64_t c = 0; c < shape.width; ++c)
        ASSERT_EQ(from[size_t((p * shape.depth + g) * shape.width + c)],
                  to[size_t((p * shape.width + c) * shape.depth + g)]);
}

TEST_F(GpuTest, weights_are_transposed_and_what_is_no_panel_is_copied) {
  create();
  std::vector<int32_t> there(packedWords);
  attn_tensor output = {there.data(), ATTN_I32, 1, {packedWords}, nullptr, 0, 0};
  ASSERT_EQ(ATTN_OK, attn_run(handles.context, 1, nullptr, &output, &handles.message))
      << handles.text();
  for (int64_t panel = 0; panel < 2 * layers; ++panel)
    for (int64_t g = 0; g < 16; ++g)
      for (int64_t c = 0; c < 48; ++c)
        ASSERT_EQ(int32_t(embedded[(panel * 16 + g) * 48 + c]),
                  there[size_t((panel * 48 + c) * 16 + g)]);
  for (int64_t i = layers * panelWords; i < packedWords; ++i)
    ASSERT_EQ(int32_t(embedded[i]), there[size_t(i)]);
}

TEST_F(GpuTest, weights_that_no_kernel_wants_transposed_stay) {
  gpu.transposesPanels = 0;
  create();
  std::vector<int32_t> there(packedWords);
  attn_tensor output = {there.data(), ATTN_I32, 1, {packedWords}, nullptr, 0, 0};
  ASSERT_EQ(ATTN_OK, attn_run(handles.context, 1, nullptr, &output, &handles.message));
  EXPECT_TRUE(std::equal(there.begin(), there.end(), embedded));
}

TEST_F(GpuTest, machine_code_is_taken_where_it_is_for_this_gpu_and_loads) {
  std::vector<int32_t> there(packedWords);
  attn_tensor output = {there.data(), ATTN_I32, 1, {packedWords}, nullptr, 0, 0};
  // The interpreter refuses ELF files, and has PTX in the place of machine code.
  for (auto [text, cubin, capability] :
       {std::tuple(ptx,
                   "\x7f"
                   "ELF",
                   80),
        std::tuple("no PTX", ptx, 80), std::tuple(ptx, "no PTX", 75)}) {
    gpu.ptx = text, gpu.cubin = cubin, gpu.capability = capability;
    create();
    EXPECT_EQ(ATTN_OK, attn_run(handles.context, 1, nullptr, &output, &handles.message))
        << handles.text();
    attn_context_destroy(handles.context);
    attn_model_destroy(handles.model);
    handles.context = nullptr, handles.model = nullptr;
  }
}

TEST_F(GpuTest, kernels_get_tensor_maps_and_more_than_48_kB_of_shared_memory) {
  create();
  for (int64_t rows : {1, 16, 5}) {
    std::fill(made.begin(), made.end(), 0);
    ASSERT_EQ(ATTN_OK, run(0, bfloats(given, rows), bfloats(made, rows))) << handles.text();
    EXPECT_TRUE(std::equal(made.begin(), made.begin() + rows * 64, given.begin()));
    EXPECT_TRUE(std::all_of(made.begin() + rows * 64, made.end(), [](int v) { return v == 0; }));
  }
}

TEST_F(GpuTest, a_refused_tensor_map_is_an_error_that_says_what_it_is_of) {
  create();
  rowBytes = 120;
  EXPECT_EQ(ATTN_NO_DEVICE, run(0, bfloats(given, 4), bfloats(made, 4)));
  std::string text = handles.text();
  EXPECT_NE(std::string::npos, text.find("error[R0604]: making tensor map 0 of kernel `copyBox` "
                                         "failed: expected a stride that is a multiple of 16"))
      << text;
  EXPECT_NE(std::string::npos,
            text.find("sizes [64, 4], strides in bytes [120], box [64, 16], swizzle 0"))
      << text;
  rowBytes = 128;
  EXPECT_EQ(ATTN_OK, run(0, bfloats(given, 4), bfloats(made, 4)));
}

TEST_F(GpuTest, buffers_on_the_gpu_are_used_in_place) {
  create();
  unsigned long long from = onDevice(given), to = onDevice(made);
  attn_tensor input = onGpu(bfloats(given, 16), from), output = onGpu(bfloats(made, 16), to);
  const int64_t strides[] = {64, 1};
  input.strides = strides;
  for (int stream : {0, 1}) { // the context's own and the legacy default stream
    ASSERT_EQ(ATTN_OK, attn_context_set_stream(handles.context,
                                               reinterpret_cast<void *>(intptr_t(stream)), // NOLINT
                                               &handles.message));
    ASSERT_EQ(ATTN_OK, run(0, input, output)) << handles.text();
    fromDevice(made, to);
    EXPECT_EQ(given, made);
    std::fill(made.begin(), made.end(), 0);
  }
  ASSERT_EQ(ATTN_OK, run(0, input, bfloats(made, 16)));
  EXPECT_EQ(given, made);
}

TEST_F(GpuTest, buffers_that_cannot_be_used_are_errors) {
  create();
  attn_tensor good = onGpu(bfloats(given, 16), onDevice(given));
  auto expectError = [&](attn_tensor input, const char *part) {
    EXPECT_EQ(ATTN_INVALID_ARGUMENT, run(0, input, bfloats(made, 16)));
    std::string text = handles.text();
    EXPECT_NE(std::string::npos, text.find(part)) << text;
  };
  attn_tensor bad = good;
  bad.data = static_cast<char *>(bad.data) + 1;
  expectError(bad, "its data is misaligned, expected a multiple of 2 bytes");
  bad = good, bad.deviceIndex = 1;
  expectError(bad, "is in memory of `cuda:1`, but the context runs on `cuda:0`");
  bad = good, bad.deviceKind = 10;
  expectError(bad, "its kind of device is 10, expected 1 (CPU), 2 (CUDA) or 3");
  bad = bfloats(given, 16);
  const int64_t strides[] = {1, 16}, far[] = {int64_t(1) << 60, 1};
  bad.strides = strides;
  expectError(bad, "its strides are [1, 16], expected those of a dense, row-major tensor of shape "
                   "[16, 64]");
  bad = good, bad.strides = far;
  expectError(bad, "which lead out of memory in a tensor of shape [16, 64]");
  ASSERT_EQ(ATTN_OK, attn_context_set_device(handles.context, ATTN_DEVICE_CPU, 0, nullptr));
  expectError(good, "is in memory of `cuda:0`, but the context runs on `cpu`");
  EXPECT_EQ(ATTN_INVALID_ARGUMENT,
            attn_context_set_stream(handles.context, nullptr, &handles.message));
}

TEST_F(GpuTest, indices_on_the_gpu_are_checked_where_a_run_waits) {
  create();
  std::vector<int32_t> indices = {0, 6, 7, 1}, copy(4);
  attn_tensor input = {indices.data(), ATTN_I32, 1, {4}, nullptr, 0, 0};
  attn_tensor output = {copy.data(), ATTN_I32, 1, {4}, nullptr, 0, 0};
  for (const attn_tensor &given : {input, onGpu(input, onDevice(indices))}) {
    EXPECT_EQ(ATTN_BAD_INPUT, run(2, given, output));
    std::string text = handles.text();
    EXPECT_NE(std::string::npos, text.find("holds 7 at [2], expected 0 to 6")) << text;
  }
  indices[2] = 2;
  ASSERT_EQ(ATTN_OK, run(2, onGpu(input, onDevice(indices)), output)) << handles.text();
  EXPECT_EQ(indices, copy);
}

TEST_F(GpuTest, a_profile_has_each_launch_of_a_run) {
  create();
  std::vector<int32_t> indices = {0, 6, 5, 1}, copy(4);
  attn_tensor input = {indices.data(), ATTN_I32, 1, {4}, nullptr, 0, 0};
  attn_tensor output = {copy.data(), ATTN_I32, 1, {4}, nullptr, 0, 0};
  ASSERT_EQ(ATTN_OK, attn_profile_enable(handles.context, 1, &handles.message));
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::fill(copy.begin(), copy.end(), 0);
    ASSERT_EQ(ATTN_OK, run(2, input, output)) << handles.text();
    EXPECT_EQ(indices, copy);
    const attn_kernel_event *events = nullptr;
    ASSERT_EQ(2, attn_profile_events(handles.context, 0, &events));
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(0, events[i].kernel);
      EXPECT_EQ(i ? events[i - 1].end : 0, events[i].begin);
      EXPECT_LT(events[i].begin, events[i].end);
    }
  }
  ASSERT_EQ(ATTN_OK, attn_profile_enable(handles.context, 0, &handles.message));
  ASSERT_EQ(ATTN_OK, run(2, input, output));
}
