// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CUDA graphs: when they are made, what is updated in them, and what becomes of one that cannot be.
#include "GpuFixture.h"

using namespace attn;
using namespace attn::test;

namespace {

class GpuGraphTest : public GpuTest {
protected:
  InterpretedCounts before = {};
  std::vector<int32_t> number = {0}, held = std::vector<int32_t>(capacity);

  void SetUp() override {
    GpuTest::SetUp();
    create();
    before = counts();
    updates();
  }
  int launches() { return counts().launches - before.launches; }
  int graphLaunches() { return counts().graphLaunches - before.graphLaunches; }
  int instantiations() { return counts().instantiations - before.instantiations; }
  int copyUpdates() { return counts().copyUpdates - before.copyUpdates; }
  int encodings() { return counts().encodings - before.encodings; }

  /// Adds a number to the cache; what it holds then is in `held`.
  attn_status push(int32_t value) {
    std::fill(held.begin(), held.end(), -1);
    number[0] = value;
    int64_t length = attn_cache_length(handles.context, 0) + 1;
    return run(3, {number.data(), ATTN_I32, 1, {1}, nullptr, 0, 0},
               {held.data(), ATTN_I32, 1, {length}, nullptr, 0, 0});
  }
  /// Whether the cache held 100, 101, ... in the last call, and nothing was written behind them.
  void expectHeld(int count) {
    for (int i = 0; i < capacity; ++i)
      EXPECT_EQ(i < count ? 100 + i : -1, held[size_t(i)]) << "of " << count;
  }
};

} // namespace

TEST_F(GpuGraphTest, a_decode_loop_makes_one_graph_and_updates_what_knows_the_position) {
  for (int step = 0; step < capacity; ++step) {
    ASSERT_EQ(ATTN_OK, push(100 + step)) << handles.text();
    expectHeld(step + 1);
    EXPECT_EQ(4, launches()); // of the first run
    EXPECT_EQ(step, graphLaunches());
    EXPECT_EQ(step > 0, instantiations());
    EXPECT_EQ(step > 1 ? " copyWords copyAll" : "", updates());
    EXPECT_EQ(1, encodings());
    // The output is one longer, in the same place.
    EXPECT_EQ(step > 1 ? step - 1 : 0, copyUpdates());
  }
  EXPECT_EQ(ATTN_BAD_INPUT, push(0));
  handles.text();
  // From the beginning again: the same graph.
  ASSERT_EQ(ATTN_OK, attn_cache_truncate(handles.context, 0, 0, &handles.message));
  for (int step = 0; step < 3; ++step) {
    ASSERT_EQ(ATTN_OK, push(100 + step));
    expectHeld(step + 1);
  }
  EXPECT_EQ(1, instantiations());
  EXPECT_EQ(4, launches());
}

TEST_F(GpuGraphTest, a_repeated_run_launches_a_graph_without_updates) {
  for (int expected : {0, 1, 2, 3}) {
    std::fill(made.begin(), made.end(), 0);
    ASSERT_EQ(ATTN_OK, run(0, bfloats(given, 16), bfloats(made, 16))) << handles.text();
    EXPECT_EQ(expected, graphLaunches());
    EXPECT_EQ(given, made);
    std::rotate(given.begin(), given.begin() + 1, given.end()); // other values, the same place
  }
  EXPECT_EQ("", updates());
  EXPECT_EQ(0, copyUpdates());
  EXPECT_EQ(1, encodings());
}

TEST_F(GpuGraphTest, sizes_and_addresses_are_updated_maps_where_they_are_others) {
  for (int repeat = 0; repeat < 2; ++repeat)
    ASSERT_EQ(ATTN_OK, run(0, bfloats(given, 16), bfloats(made, 16)));
  EXPECT_EQ(1, encodings());
  std::fill(made.begin(), made.end(), 0);
  ASSERT_EQ(ATTN_OK, run(0, bfloats(given, 3), bfloats(made, 3)));
  EXPECT_TRUE(std::equal(made.begin(), made.begin() + 3 * 64, given.begin()));
  EXPECT_TRUE(std::all_of(made.begin() + 3 * 64, made.end(), [](int v) { return v == 0; }));
  EXPECT_EQ(2, graphLaunches());
  EXPECT_EQ(" copyBox", updates());
  EXPECT_EQ(2, copyUpdates());
  EXPECT_EQ(2, encodings());
  // Other memory of the host for as many rows: copies alone.
  std::vector<uint16_t> other(given.rbegin(), given.rend()), there(other.size());
  ASSERT_EQ(ATTN_OK, run(0, bfloats(other, 3), bfloats(there, 3)));
  EXPECT_TRUE(std::equal(there.begin(), there.begin() + 3 * 64, other.begin()));
  EXPECT_EQ("", updates());
  EXPECT_EQ(4, copyUpdates());
  EXPECT_EQ(2, encodings());
  EXPECT_EQ(1, instantiations());
  // An input on the GPU has no copy: another sequence, plain launches first.
  attn_tensor input = onGpu(bfloats(given, 3), onDevice(given));
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::fill(there.begin(), there.end(), 0);
    ASSERT_EQ(ATTN_OK, run(0, input, bfloats(there, 3)));
    EXPECT_TRUE(std::equal(there.begin(), there.begin() + 3 * 64, given.begin()));
    EXPECT_EQ(3 + repeat, graphLaunches());
  }
  EXPECT_EQ(2, instantiations());
  EXPECT_EQ(2, launches());
}

TEST_F(GpuGraphTest, launches_that_are_under_way_keep_their_words) {
  ASSERT_EQ(ATTN_OK, attn_context_set_stream(handles.context, asPointer(1), &handles.message));
  std::vector<int32_t> none(capacity);
  unsigned long long numbers[3], lists[3];
  for (int i = 0; i < 3; ++i) {
    number[0] = 100 + i;
    numbers[i] = onDevice(number), lists[i] = onDevice(none);
  }
  for (int i = 0; i < 3; ++i) // the graph of the second run is updated before that was waited for
    ASSERT_EQ(ATTN_OK, run(3, onGpu({nullptr, ATTN_I32, 1, {1}, nullptr, 0, 0}, numbers[i]),
                           onGpu({nullptr, ATTN_I32, 1, {i + 1}, nullptr, 0, 0}, lists[i])));
  EXPECT_EQ(" copyWords copyAll", updates());
  EXPECT_GT(counts().pendingActions, 8u);
  for (int i = 0; i < 3; ++i) {
    fromDevice(held, lists[i]);
    std::replace(held.begin(), held.end(), 0, -1);
    expectHeld(i + 1);
  }
}

TEST_F(GpuGraphTest, a_graph_that_was_updated_in_part_is_made_anew) {
  for (const char *function :
       {"cuGraphExecKernelNodeSetParams", "cuGraphExecMemcpyNodeSetParams"}) {
    ASSERT_EQ(ATTN_OK, attn_cache_truncate(handles.context, 0, 0, &handles.message));
    for (int step = 0; step < 3; ++step)
      ASSERT_EQ(ATTN_OK, push(100 + step)) << handles.text();
    int made = instantiations();
    bool isCopy = std::string(function).find("Memcpy") != std::string::npos;
    fail(function, isCopy ? 0 : 1); // after the first kernel was updated
    ASSERT_EQ(ATTN_OK, push(103)) << handles.text();
    expectHeld(4);
    EXPECT_EQ(made + 1, instantiations());
    ASSERT_EQ(ATTN_OK, push(104));
    expectHeld(5);
    EXPECT_EQ(made + 1, instantiations());
  }
}

TEST_F(GpuGraphTest, where_there_is_no_graph_kernels_are_launched_one_by_one) {
  ASSERT_EQ(ATTN_OK, push(100));
  fail("cuGraphInstantiateWithFlags", 0, 2); // with copies, and without
  for (int step = 1; step < 4; ++step) {
    ASSERT_EQ(ATTN_OK, push(100 + step)) << handles.text();
    expectHeld(step + 1);
    EXPECT_EQ(4 * (step + 1), launches());
  }
  EXPECT_EQ(0, graphLaunches());
  EXPECT_EQ("", updates());
}

TEST_F(GpuGraphTest, where_the_driver_takes_no_memory_of_the_host_copies_are_beside_the_graph) {
  ASSERT_EQ(ATTN_OK, push(100));
  fail("cuGraphAddMemcpyNode");
  for (int step = 1; step < 5; ++step) {
    ASSERT_EQ(ATTN_OK, push(100 + step)) << handles.text();
    expectHeld(step + 1);
    EXPECT_EQ(step, graphLaunches());
    EXPECT_EQ(step > 1 ? " copyWords copyAll" : "", updates());
  }
  EXPECT_EQ(1, instantiations());
  EXPECT_EQ(0, copyUpdates());
}

TEST_F(GpuGraphTest, a_graph_that_was_not_launched_is_dropped) {
  for (int step = 0; step < 3; ++step)
    ASSERT_EQ(ATTN_OK, push(100 + step));
  fail("cuGraphLaunch");
  EXPECT_EQ(ATTN_NO_DEVICE, push(103));
  EXPECT_NE(std::string::npos, handles.text().find("error[R0604]: launching a graph failed"));
  EXPECT_EQ(3, attn_cache_length(handles.context, 0));
  ASSERT_EQ(ATTN_OK, push(103));
  expectHeld(4);
  EXPECT_EQ(2, instantiations());
}

TEST_F(GpuGraphTest, a_map_that_is_refused_leaves_the_graph_as_it_was) {
  for (int repeat = 0; repeat < 2; ++repeat)
    ASSERT_EQ(ATTN_OK, run(0, bfloats(given, 16), bfloats(made, 16)));
  rowBytes = 120;
  EXPECT_EQ(ATTN_NO_DEVICE, run(0, bfloats(given, 16), bfloats(made, 16)));
  rowBytes = 128;
  std::fill(made.begin(), made.end(), 0);
  ASSERT_EQ(ATTN_OK, run(0, bfloats(given, 16), bfloats(made, 16)));
  EXPECT_EQ(given, made);
  EXPECT_EQ("", updates());
  EXPECT_EQ(1, instantiations());
}

TEST_F(GpuGraphTest, runs_on_a_stream_that_is_captured_are_the_callers_graph) {
  void *stream = nullptr, *graph = nullptr, *exec = nullptr;
  ASSERT_EQ(0, function<int(void **, unsigned)>("cuStreamCreate")(&stream, 1));
  ASSERT_EQ(ATTN_OK, attn_context_set_stream(handles.context, stream, &handles.message));
  auto input = onDevice(given), first = onDevice(made), second = onDevice(made);
  attn_tensor in = onGpu(bfloats(given, 16), input), one = onGpu(bfloats(made, 16), first),
              two = onGpu(bfloats(made, 16), second);
  ASSERT_EQ(ATTN_OK, run(0, in, one)) << handles.text();
  ASSERT_EQ(0, function<int(void *, int)>("cuStreamBeginCapture_v2")(stream, 0));
  for (const attn_tensor &output : {one, two, one})
    ASSERT_EQ(ATTN_OK, run(0, in, output)) << handles.text();
  ASSERT_EQ(0, function<int(void *, void **)>("cuStreamEndCapture")(stream, &graph));
  ASSERT_EQ(0, function<int(void **, void *, unsigned long long)>("cuGraphInstantiateWithFlags")(
                   &exec, graph, 0));
  function<int(void *)>("cuStreamSynchronize")(stream);
  fromDevice(made, second);
  EXPECT_NE(given, made) << "captured, not run";
  function<int(void *, void *)>("cuGraphLaunch")(exec, stream);
  function<int(void *)>("cuStreamSynchronize")(stream);
  fromDevice(made, second);
  EXPECT_EQ(given, made);
  // Graphs of the runtime's own go on afterwards.
  std::fill(made.begin(), made.end(), 0);
  for (int repeat = 0; repeat < 3; ++repeat)
    ASSERT_EQ(ATTN_OK, run(0, in, two)) << handles.text();
  function<int(void *)>("cuStreamSynchronize")(stream);
  fromDevice(made, second);
  EXPECT_EQ(given, made);
  function<int(void *)>("cuGraphExecDestroy")(exec);
  function<int(void *)>("cuGraphDestroy")(graph);
  ASSERT_EQ(ATTN_OK, attn_context_set_stream(handles.context, nullptr, &handles.message));
  function<int(void *)>("cuStreamDestroy_v2")(stream);
}

TEST_F(GpuGraphTest, the_code_that_runs_is_named) {
  EXPECT_STREQ("sm_80, PTX", attn_context_code(handles.context));
  ASSERT_EQ(ATTN_OK, attn_context_set_device(handles.context, ATTN_DEVICE_CPU, 0, nullptr));
  EXPECT_STREQ("plain", attn_context_code(handles.context));
}
