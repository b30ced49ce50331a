// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Running on a GPU, with tables and PTX written by hand, on the interpreter of PTX in the driver's
// place: entry "box" copies bf16 [B, 64] through a tensor map and shared memory, "weights" returns
// the packed block as it lies on the GPU, "look" a row of a table for each index.
#include "TestSupport.h"
#include "cuda/Panels.h"
#include "tiny_model.h"
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <numeric>
#include <tuple>

using namespace attn;
using namespace attn::test;

namespace {

constexpr int64_t mostRows = 16, rowWords = 32;
constexpr int64_t panelWords = 2 * 16 * 48, layers = 2, tailWords = 16;
constexpr int64_t packedWords = layers * panelWords + tailWords;

const char *const ptx = R"(
.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 128 .b8 smem[];
.shared .align 8 .b64 bar;

.visible .entry copyWords(.param .u64 from, .param .u64 to, .param .u64 count)
{
  .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [from];
  ld.param.u64 %rd2, [to];
  ld.param.u64 %rd3, [count];
  cvt.u32.u64 %r3, %rd3;
  mov.u32 %r1, %tid.x;
NEXT:
  setp.ge.u32 %p1, %r1, %r3;
  @%p1 bra END;
  mul.wide.u32 %rd4, %r1, 4;
  add.s64 %rd5, %rd1, %rd4;
  add.s64 %rd6, %rd2, %rd4;
  ld.global.u32 %r2, [%rd5];
  st.global.u32 [%rd6], %r2;
  add.s32 %r1, %r1, 64;
  bra NEXT;
END:
  ret;
}

.visible .entry copyBox(.param .u64 to, .param .u64 count, .param .align 64 .b8 map[128])
{
  .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p<4>;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, smem;
  add.s32 %r2, %r2, 51200;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra READY;
  mbarrier.init.shared::cta.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
  mov.b64 %rd1, map;
  cvta.param.u64 %rd1, %rd1;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 2048;
  mov.u32 %r5, 0;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], [%rd1, {%r5, %r5}], [bar];
READY:
  bar.sync 0;
L:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;
  @!%p2 bra L;
  ld.param.u64 %rd2, [to];
  ld.param.u64 %rd3, [count];
  cvt.u32.u64 %r6, %rd3;
NEXT:
  setp.ge.u32 %p3, %r1, %r6;
  @%p3 bra END;
  shl.b32 %r3, %r1, 2;
  add.s32 %r4, %r2, %r3;
  ld.shared.u32 %r7, [%r4];
  mul.wide.u32 %rd4, %r1, 4;
  add.s64 %rd5, %rd2, %rd4;
  st.global.u32 [%rd5], %r7;
  add.s32 %r1, %r1, 64;
  bra NEXT;
END:
  ret;
}
)";

const attn_abi_dim dims[] = {{"B", mostRows, 1}};
const attn_abi_axis boxAxes[] = {{"B", 0, 1, 0}, {"64", -1, 0, 64}};
const attn_abi_axis packedAxes[] = {{"N", -1, 0, packedWords}};
const attn_abi_axis indexAxes[] = {{"B", 0, 1, 0}};
const attn_abi_tensor x[] = {{"x", ATTN_BF16, 2, boxAxes, 0}};
const attn_abi_tensor y[] = {{"y", ATTN_BF16, 2, boxAxes, 0}};
const attn_abi_tensor packedOut[] = {{"packed", ATTN_I32, 1, packedAxes, 0}};
const attn_abi_tensor ids[] = {{"ids", ATTN_I32, 1, indexAxes, 7}};
const attn_abi_tensor copies[] = {{"copies", ATTN_I32, 1, indexAxes, 0}};
const attn_abi_axis noRows = {"", -1, 0, 0};
const attn_abi_entry entries[] = {{"box", 1, 1, x, y, -1, noRows},
                                  {"weights", 0, 1, nullptr, packedOut, -1, noRows},
                                  {"look", 1, 1, ids, copies, -1, noRows}};

const attn_abi_slot slots[] = {
    {0, 4 * panelWords, 4 * panelWords, layers, ATTN_PACK_PANELS_BF16, 20, 50, 48, 0, nullptr},
    {4 * layers * panelWords, 0, 4 * tailWords, 1, ATTN_PACK_ROWS, 1, tailWords, 0, 0, nullptr}};

int64_t wide(const void *pointer) { return int64_t(reinterpret_cast<uintptr_t>(pointer)); }

/// So that a tensor map is refused.
int64_t rowBytes = 128;

void box(const attn_abi_call *call, int64_t) {
  int64_t words[] = {wide(call->outputs[0]), call->dims[0] * rowWords,
                     wide(call->inputs[0]),  64,
                     call->dims[0],          rowBytes};
  call->launch(call->team, 1, words, 6);
}
void copyPacked(const attn_abi_call *call, int64_t) {
  int64_t words[] = {wide(call->packed), wide(call->outputs[0]), packedWords};
  call->launch(call->team, 0, words, 3);
}
void look(const attn_abi_call *call, int64_t) {
  // Twice, so that a profile has two events.
  for (const void *to :
       {static_cast<const void *>(call->workspace), static_cast<const void *>(call->outputs[0])}) {
    int64_t words[] = {wide(call->inputs[0]), wide(to), call->dims[0]};
    call->launch(call->team, 0, words, 3);
  }
}
int64_t workspace(const int64_t *dims, int64_t) { return 4 * dims[0]; }

const attn_abi_tensor_map maps[] = {{2, 0, {64, 16, 0, 0, 0}}};
const attn_abi_gpu_kernel kernels[] = {{"copyWords", 64, 1, 0, 0, 3, 0, nullptr},
                                       {"copyBox", 64, 1, 51200 + 2048, -1, 2, 1, maps}};
const attn_abi_entry_fn functions[] = {box, copyPacked, look};
const attn_abi_workspace_fn workspaces[] = {workspace, workspace, workspace};
const attn_abi_level levels[] = {{"plain", 0, functions, workspaces}};
const attn_abi_kernel costs[] = {{"look", "copy", "hand:1:1", 0, 0, nullptr, nullptr}};

class GpuTest : public testing::Test {
protected:
  attn_abi_gpu gpu = {"sm_80", 80, 0, 1, 2, kernels, ptx, nullptr, functions, workspaces};
  attn_abi_model tables = {};
  std::vector<uint32_t> packed;
  std::vector<uint16_t> given = std::vector<uint16_t>(mostRows * 64),
                        made = std::vector<uint16_t>(mostRows * 64);
  Handles handles;
  void *driver = nullptr;

  void SetUp() override {
    setenv("ATTN_CUDA_PATH", ATTN_TEST_CUDA, 1);
    driver = dlopen(ATTN_TEST_CUDA "/libcuda.so.1", RTLD_NOW);
    ASSERT_TRUE(driver) << dlerror();
    void *block = nullptr;
    ASSERT_EQ(0, posix_memalign(&block, 64, 4 * packedWords));
    embedded = static_cast<uint32_t *>(block);
    std::iota(embedded, embedded + packedWords, 1000u);
    std::iota(given.begin(), given.end(), uint16_t(1));
    tables.abiVersion = ATTN_ABI_VERSION;
    tables.name = "Hand";
    tables.version = "test";
    tables.precision = "bf16";
    tables.description = "{}";
    tables.dimCount = tables.levelCount = tables.gpuCount = tables.kernelCount = 1;
    tables.slotCount = 2;
    tables.entryCount = 3;
    tables.dims = dims;
    tables.slots = slots;
    tables.levels = levels;
    tables.entries = entries;
    tables.kernels = costs;
    tables.gpus = &gpu;
    tables.packedBytes = 4 * packedWords;
    tables.embedded = reinterpret_cast<const char *>(embedded);
  }
  void TearDown() override {
    rowBytes = 128;
    free(embedded);
  }
  void create() {
    ASSERT_EQ(ATTN_OK, attn_model_create(&tables, nullptr, &handles.model, &handles.message))
        << handles.text();
    ASSERT_EQ(ATTN_OK, attn_context_create(handles.model, 1, &handles.context, &handles.message));
    ASSERT_EQ(ATTN_OK,
              attn_context_set_device(handles.context, ATTN_DEVICE_CUDA, 0, &handles.message))
        << handles.text();
  }
  attn_tensor bfloats(std::vector<uint16_t> &values, int64_t rows) {
    return {values.data(), ATTN_BF16, 2, {rows, 64}, nullptr, 0, 0};
  }
  attn_status run(int32_t entry, const attn_tensor &input, const attn_tensor &output) {
    handles.text();
    return attn_run(handles.context, entry, &input, &output, &handles.message);
  }
  template <typename Signature> Signature *function(const char *name) {
    return reinterpret_cast<Signature *>(dlsym(driver, name));
  }
  int graphLaunches() { return function<int()>("interpretedGraphLaunches")(); }
  /// A copy of `values` on the GPU.
  template <typename T> unsigned long long onDevice(const std::vector<T> &values) {
    unsigned long long pointer = 0;
    size_t bytes = values.size() * sizeof(T);
    function<int(unsigned long long *, size_t)>("cuMemAlloc_v2")(&pointer, bytes);
    function<int(unsigned long long, const void *, size_t, void *)>("cuMemcpyHtoDAsync_v2")(
        pointer, values.data(), bytes, nullptr);
    return pointer;
  }
  template <typename T> void fromDevice(std::vector<T> &values, unsigned long long pointer) {
    function<int(void *, unsigned long long, size_t, void *)>("cuMemcpyDtoHAsync_v2")(
        values.data(), pointer, values.size() * sizeof(T), nullptr);
  }
  static attn_tensor onGpu(attn_tensor tensor, unsigned long long pointer) {
    tensor.data = reinterpret_cast<void *>(pointer); // NOLINT(performance-no-int-to-ptr)
    tensor.deviceKind = ATTN_DEVICE_CUDA;
    return tensor;
  }

  uint32_t *embedded = nullptr;
};

} // namespace

TEST(Panels, are_turned_each_by_itself) {
  PanelShape shape{3, 32, 48};
  std::vector<uint32_t> from(size_t(shape.panels * shape.words())), to(from.size());
  std::iota(from.begin(), from.end(), 0u);
  turnPanels(from.data(), to.data(), shape, shape.panels);
  for (int64_t p = 0; p < shape.panels; ++p)
    for (int64_t g = 0; g < shape.depth; ++g)
      for (int64_t c = 0; c < shape.width; ++c)
        ASSERT_EQ(from[size_t((p * shape.depth + g) * shape.width + c)],
                  to[size_t((p * shape.width + c) * shape.depth + g)]);
}

TEST_F(GpuTest, weights_are_turned_and_what_is_no_panel_is_copied) {
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

TEST_F(GpuTest, weights_that_no_kernel_wants_turned_stay) {
  gpu.turnsPanels = 0;
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

TEST_F(GpuTest, a_repeated_run_launches_a_graph_until_sizes_or_addresses_change) {
  create();
  int before = graphLaunches();
  for (int expected : {0, 1, 2}) {
    std::fill(made.begin(), made.end(), 0);
    ASSERT_EQ(ATTN_OK, run(0, bfloats(given, 16), bfloats(made, 16))) << handles.text();
    EXPECT_EQ(expected, graphLaunches() - before);
    EXPECT_EQ(given, made);
    std::rotate(given.begin(), given.begin() + 1, given.end()); // other values, the same place
  }
  ASSERT_EQ(ATTN_OK, run(0, bfloats(given, 3), bfloats(made, 3)));
  EXPECT_EQ(2, graphLaunches() - before);
  attn_tensor input = onGpu(bfloats(given, 3), onDevice(given));
  ASSERT_EQ(ATTN_OK, run(0, input, bfloats(made, 3)));
  EXPECT_EQ(2, graphLaunches() - before);
  ASSERT_EQ(ATTN_OK, run(0, input, bfloats(made, 3)));
  EXPECT_EQ(3, graphLaunches() - before);
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
  bad.data = static_cast<char *>(bad.data) + 8;
  expectError(bad, "its data is misaligned, expected a multiple of 16 bytes");
  bad = good, bad.deviceIndex = 1;
  expectError(bad, "is in memory of `cuda:1`, but the context runs on `cuda:0`");
  bad = good, bad.deviceKind = 10;
  expectError(bad, "its kind of device is 10, expected 1 (CPU), 2 (CUDA) or 3");
  bad = good;
  const int64_t strides[] = {1, 16};
  bad.strides = strides;
  expectError(bad, "its strides are [1, 16], expected those of a dense, row-major tensor of shape "
                   "[16, 64]");
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
