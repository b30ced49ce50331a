// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights on a GPU that contexts share, weights bound anew, caches that move with their context.
#include "GpuFixture.h"
#include <thread>

using namespace attn;
using namespace attn::test;

namespace {

constexpr size_t weightBytes = 4 * packedWords;

class GpuWeightsTest : public GpuTest {
protected:
  InterpretedCounts before = {};
  attn_context *second = nullptr;
  attn_abi_level level = levels[0];

  void SetUp() override {
    GpuTest::SetUp();
    gpu.transposesPanels = 0; // so that what is there is what was bound
    tables.levels = &level;
    before = counts();
  }
  void TearDown() override {
    attn_context_destroy(second);
    GpuTest::TearDown();
  }
  attn_context *another() {
    attn_context *context = nullptr;
    EXPECT_EQ(ATTN_OK, attn_context_create(handles.model, 1, &context, &handles.message));
    EXPECT_EQ(ATTN_OK, attn_context_set_device(context, ATTN_DEVICE_CUDA, 0, &handles.message));
    return context;
  }
  static attn_tensor all(std::vector<int32_t> &values) {
    values.assign(packedWords, -1);
    return {values.data(), ATTN_I32, 1, {packedWords}, nullptr, 0, 0};
  }
  /// The weights as a context's kernels see them.
  std::vector<int32_t> seenBy(attn_context *context) {
    std::vector<int32_t> values;
    attn_tensor output = all(values);
    handles.text();
    EXPECT_EQ(ATTN_OK, attn_run(context, 1, nullptr, &output, &handles.message)) << handles.text();
    return values;
  }
  std::vector<int32_t> embeddedWeights() { return {embedded, embedded + packedWords}; }
  /// Binds a parameter that is the last `tailWords` words; the others become 0.
  std::vector<int32_t> bind(int32_t value) {
    std::vector<int32_t> tail(tailWords, value), expected(packedWords, 0);
    std::fill(expected.end() - tailWords, expected.end(), value);
    attn_named_tensor tensor = {"w", {tail.data(), ATTN_F32, 1, {tailWords}, nullptr, 0, 0}};
    EXPECT_EQ(ATTN_OK, attn_model_bind_tensors(handles.model, &tensor, 1, &handles.message))
        << handles.text();
    return expected;
  }
  size_t uploads() { return (counts().bytesToDevice - before.bytesToDevice) / weightBytes; }
  size_t allocated() { return counts().allocatedBytes - before.allocatedBytes; }
};

} // namespace

TEST_F(GpuWeightsTest, contexts_of_a_model_share_one_copy) {
  create();
  EXPECT_EQ(embeddedWeights(), seenBy(handles.context));
  size_t one = allocated();
  second = another();
  EXPECT_EQ(embeddedWeights(), seenBy(second));
  EXPECT_EQ(1u, uploads());
  EXPECT_EQ(one + (one - weightBytes), allocated()) << "a workspace more";
  // The one that made it goes, then the last one, and its memory with it.
  attn_context_destroy(handles.context);
  handles.context = nullptr;
  EXPECT_EQ(one, allocated());
  EXPECT_EQ(embeddedWeights(), seenBy(second));
  EXPECT_EQ(1u, uploads());
  attn_context_destroy(second);
  EXPECT_EQ(0u, allocated());
  second = another();
  EXPECT_EQ(embeddedWeights(), seenBy(second));
  EXPECT_EQ(2u, uploads());
  // A context that leaves the GPU gives up its hold, too.
  ASSERT_EQ(ATTN_OK, attn_context_set_device(second, ATTN_DEVICE_CPU, 0, nullptr));
  EXPECT_EQ(0u, allocated());
}

TEST_F(GpuWeightsTest, models_share_nothing) {
  create();
  Handles other;
  ASSERT_EQ(ATTN_OK, attn_model_create(&tables, nullptr, &other.model, &other.message));
  ASSERT_EQ(ATTN_OK, attn_context_create(other.model, 1, &other.context, &other.message));
  ASSERT_EQ(ATTN_OK, attn_context_set_device(other.context, ATTN_DEVICE_CUDA, 0, &other.message));
  seenBy(handles.context), seenBy(other.context);
  EXPECT_EQ(2u, uploads());
}

TEST_F(GpuWeightsTest, first_runs_on_many_threads_copy_once) {
  create();
  constexpr int count = 6;
  std::vector<int32_t> found[count];
  attn_context *contexts[count] = {};
  std::vector<std::thread> threads;
  for (int round = 0; round < 8; ++round) {
    before = counts();
    for (int i = 0; i < count; ++i)
      threads.emplace_back([&, i] {
        attn_tensor output = all(found[i]);
        if (attn_context_create(handles.model, 1, &contexts[i], nullptr) == ATTN_OK &&
            attn_context_set_device(contexts[i], ATTN_DEVICE_CUDA, 0, nullptr) == ATTN_OK)
          attn_run(contexts[i], 1, nullptr, &output, nullptr);
        // Some go while others begin.
        if (round % 2 && i % 2) {
          attn_context_destroy(contexts[i]);
          contexts[i] = nullptr;
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    threads.clear();
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(embeddedWeights(), found[i]);
      attn_context_destroy(contexts[i]);
      contexts[i] = nullptr;
    }
    EXPECT_TRUE(round % 2 ? uploads() >= 1 : uploads() == 1) << uploads();
    EXPECT_EQ(0u, allocated());
  }
}

TEST_F(GpuWeightsTest, weights_bound_anew_are_copied_anew_to_the_same_place) {
  create();
  second = another();
  seenBy(handles.context), seenBy(second);
  size_t there = allocated();
  for (int32_t value : {5, 6}) {
    std::vector<int32_t> expected = bind(value);
    EXPECT_EQ(expected, seenBy(handles.context));
    EXPECT_EQ(expected, seenBy(second));
    EXPECT_EQ(size_t(value - 3), uploads());
    EXPECT_EQ(there, allocated());
  }
  // A graph of the earlier ones reads the new ones.
  std::vector<int32_t> expected = bind(7);
  EXPECT_EQ(expected, seenBy(second));
}

TEST_F(GpuWeightsTest, a_run_under_way_reads_the_weights_that_it_began_with) {
  create();
  second = another();
  std::vector<int32_t> values, found(packedWords);
  attn_tensor output = all(values);
  unsigned long long there = onDevice(values);
  output = onGpu(output, there);
  ASSERT_EQ(ATTN_OK, attn_context_set_stream(second, asPointer(1), &handles.message));
  ASSERT_EQ(ATTN_OK, attn_run(second, 1, nullptr, &output, &handles.message));
  EXPECT_LT(0u, counts().pendingActions);
  std::vector<int32_t> expected = bind(8);
  EXPECT_EQ(expected, seenBy(handles.context));
  fromDevice(found, there);
  EXPECT_EQ(embeddedWeights(), found);
}

/// The model's own block has the panels of the level, the GPU's those of the slots.
TEST_F(GpuWeightsTest, panels_that_a_level_has_otherwise_arrive_as_slots_have_them) {
  for (int32_t width : {0, 48, 24, 16}) {
    level.panelWidth = width;
    create();
    EXPECT_EQ(embeddedWeights(), seenBy(handles.context)) << width;
    attn_context_destroy(handles.context);
    attn_model_destroy(handles.model);
    handles.context = nullptr, handles.model = nullptr;
  }
  // Transposed, they are the same whatever the level has.
  gpu.transposesPanels = 1;
  std::vector<int32_t> transposed[2];
  for (int i : {0, 1}) {
    level.panelWidth = i ? 24 : 0;
    create();
    transposed[i] = seenBy(handles.context);
    attn_context_destroy(handles.context);
    attn_model_destroy(handles.model);
    handles.context = nullptr, handles.model = nullptr;
  }
  EXPECT_EQ(transposed[0], transposed[1]);
  EXPECT_NE(embeddedWeights(), transposed[0]);
}

TEST_F(GpuWeightsTest, weights_that_did_not_arrive_are_copied_by_the_next_run) {
  for (auto [transposed, width] : {std::pair{0, 0}, {1, 0}, {0, 24}, {1, 24}})
    for (const char *function : {"cuMemAlloc_v2", "cuMemcpyHtoDAsync_v2", "cuStreamSynchronize"}) {
      gpu.transposesPanels = transposed;
      level.panelWidth = width;
      create();
      second = another();
      std::vector<int32_t> values;
      attn_tensor output = all(values);
      bool isOneOfSeveral = (transposed || width) && std::string(function) != "cuMemAlloc_v2";
      fail(function, isOneOfSeveral); // the second
      EXPECT_EQ(ATTN_NO_DEVICE, attn_run(handles.context, 1, nullptr, &output, &handles.message));
      EXPECT_NE(std::string::npos, handles.text().find("the weights")) << function;
      EXPECT_EQ(0u, counts().pendingActions);
      std::vector<int32_t> expected = seenBy(second);
      EXPECT_EQ(expected, seenBy(handles.context));
      EXPECT_EQ(transposed == 0, embeddedWeights() == expected);
      attn_context_destroy(second);
      attn_context_destroy(handles.context);
      attn_model_destroy(handles.model);
      second = handles.context = nullptr, handles.model = nullptr;
    }
}

TEST_F(GpuWeightsTest, a_filled_cache_moves_with_its_context_or_stays) {
  create();
  std::vector<int32_t> number = {0}, held(capacity, -1);
  auto push = [&](int32_t value) {
    number[0] = value;
    return run(
        3, {number.data(), ATTN_I32, 1, {1}, nullptr, 0, 0},
        {held.data(), ATTN_I32, 1, {attn_cache_length(handles.context, 0) + 1}, nullptr, 0, 0});
  };
  for (int32_t value : {100, 101})
    ASSERT_EQ(ATTN_OK, push(value)) << handles.text();
  auto move = [&] {
    return attn_context_set_device(handles.context, ATTN_DEVICE_CUDA, 0, &handles.message);
  };
  for (const char *function : {"cuMemcpyDtoHAsync_v2", "cuMemcpyHtoDAsync_v2", "cuMemAlloc_v2"}) {
    fail(function);
    EXPECT_EQ(ATTN_NO_DEVICE, move()) << function;
    EXPECT_NE(std::string::npos, handles.text().find("a cache failed")) << function;
    EXPECT_EQ(2, attn_cache_length(handles.context, 0));
  }
  EXPECT_EQ(ATTN_NO_DEVICE,
            attn_context_set_device(handles.context, ATTN_DEVICE_CUDA, 1, &handles.message));
  handles.text();
  ASSERT_EQ(ATTN_OK, push(102));
  ASSERT_EQ(ATTN_OK, move());
  ASSERT_EQ(ATTN_OK, push(103)) << handles.text();
  // The CPU has another form of it, where linears are in 16 bits.
  auto leave = [&] {
    return attn_context_set_device(handles.context, ATTN_DEVICE_CPU, 0, &handles.message);
  };
  EXPECT_EQ(ATTN_INVALID_ARGUMENT, leave());
  EXPECT_NE(
      std::string::npos,
      handles.text().find("error[R0208]: cache `numbers` holds 4 positions, which a GPU keeps "
                          "in another form than the CPU where linears are in bf16"));
  tables.precision = "f32";
  ASSERT_EQ(ATTN_OK, leave()) << handles.text();
  EXPECT_EQ(4, attn_cache_length(handles.context, 0));
  ASSERT_EQ(ATTN_OK, move());
  ASSERT_EQ(ATTN_OK, push(104));
  EXPECT_EQ((std::vector<int32_t>{100, 101, 102, 103, 104, -1, -1, -1, -1, -1, -1, -1}), held);
}
