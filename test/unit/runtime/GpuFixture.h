// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model for GPUs, with tables and PTX written by hand, on the interpreter of PTX in the driver's
// place: entry "box" copies bf16 [B, 64] through a tensor map and shared memory, "weights" returns
// the packed block as it lies on the GPU, "look" a row of a table for each index, "push" adds a
// number to a cache and returns all that are there.
#pragma once

#include "TestSupport.h"
#include "cuda/Recording.h"
#include "test/gpu/driver/InterpretedCuda.h"
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <numeric>

namespace attn::test {

constexpr int64_t mostRows = 16, rowWords = 32, capacity = 12;
constexpr int64_t panelWords = 2 * 16 * 48, layers = 2, tailWords = 16;
constexpr int64_t packedWords = layers * panelWords + tailWords;

/// Copies words, by a block of 64 threads.
#define ATTN_COPY_KERNEL(name)                                                                     \
  ".visible .entry " name R"((.param .u64 from, .param .u64 to, .param .u64 count)
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
)"

inline const char *const ptx = R"(
.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 128 .b8 smem[];
.shared .align 8 .b64 bar;
)" ATTN_COPY_KERNEL("copyWords") ATTN_COPY_KERNEL("copyAll") R"(
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

inline const attn_abi_dim dims[] = {{"B", mostRows, 1}, {"S", capacity, 1}};
inline const attn_abi_axis boxAxes[] = {{"B", 0, 1, 0}, {"64", -1, 0, 64}};
inline const attn_abi_axis packedAxes[] = {{"N", -1, 0, packedWords}};
inline const attn_abi_axis indexAxes[] = {{"B", 0, 1, 0}};
inline const attn_abi_tensor x[] = {{"x", ATTN_BF16, 2, boxAxes, 0, nullptr, 0}};
inline const attn_abi_tensor y[] = {{"y", ATTN_BF16, 2, boxAxes, 0, nullptr, 0}};
inline const attn_abi_tensor packedOut[] = {{"packed", ATTN_I32, 1, packedAxes, 0, nullptr, 0}};
inline const attn_abi_tensor ids[] = {{"ids", ATTN_I32, 1, indexAxes, 7, nullptr, 0}};
inline const attn_abi_tensor copies[] = {{"copies", ATTN_I32, 1, indexAxes, 0, nullptr, 0}};
inline const attn_abi_axis oneAxis[] = {{"1", -1, 0, 1}};
inline const attn_abi_axis heldAxes[] = {{"S", 1, 1, 0}};
inline const attn_abi_tensor number[] = {{"number", ATTN_I32, 1, oneAxis, 0, nullptr, 0}};
inline const attn_abi_tensor held[] = {{"held", ATTN_I32, 1, heldAxes, 0, nullptr, 0}};
/// Floats, of which the kernel only takes the four bytes.
inline const attn_abi_state states[] = {{{"state", ATTN_F32, 1, heldAxes, 0, nullptr}, 1}};
inline const attn_abi_cache cacheTables[] = {{"numbers", 1, 1, states}};
inline const attn_abi_cache_use pushes[] = {{0, ATTN_CACHE_PUSH, oneAxis[0]}};
inline const attn_abi_entry entries[] = {
    {"box", 1, 1, x, y, 0, -1, -1, nullptr, nullptr},
    {"weights", 0, 1, nullptr, packedOut, 0, -1, -1, nullptr, nullptr},
    {"look", 1, 1, ids, copies, 0, -1, -1, nullptr, nullptr},
    {"push", 1, 1, number, held, 1, -1, -1, pushes, nullptr}};

inline const int64_t tailShape[] = {tailWords};
inline const attn_abi_parameter parameters[] = {{"w", ATTN_F32, 0, 1, 0, tailShape, "hand:2:1"}};
inline const attn_abi_part parts[] = {{0, 0, tailWords, 0, tailWords, tailWords, 1, 0}};
inline const attn_abi_slot slots[] = {
    {0, 4 * panelWords, 4 * panelWords, layers, ATTN_PACK_PANELS_BF16, 20, 50, 96, 48, 0, nullptr},
    {4 * layers * panelWords, 0, 4 * tailWords, 1, ATTN_PACK_ROWS, 1, tailWords, tailWords, 0, 1,
     parts}};

inline int64_t wide(const void *pointer) { return int64_t(reinterpret_cast<uintptr_t>(pointer)); }

/// So that a tensor map is refused.
inline int64_t rowBytes = 128;

inline void box(const attn_abi_call *call, int64_t) {
  int64_t words[] = {wide(call->outputs[0]), call->dims[0] * rowWords,
                     wide(call->inputs[0]),  64,
                     call->dims[0],          rowBytes};
  call->launch(call->team, 1, words, 6);
}
inline void copyPacked(const attn_abi_call *call, int64_t) {
  int64_t words[] = {wide(call->packed), wide(call->outputs[0]), packedWords};
  call->launch(call->team, 0, words, 3);
}
inline void look(const attn_abi_call *call, int64_t) {
  // Twice, so that a profile has two events.
  for (const void *to :
       {static_cast<const void *>(call->workspace), static_cast<const void *>(call->outputs[0])}) {
    int64_t words[] = {wide(call->inputs[0]), wide(to), call->dims[0]};
    call->launch(call->team, 0, words, 3);
  }
}
inline void push(const attn_abi_call *call, int64_t) {
  int64_t position = call->dims[1] - 1, cache = wide(call->caches[0]);
  // What stays the same in each call: words, and a tensor map.
  int64_t packedRow[] = {wide(call->packed), wide(call->workspace), 16};
  int64_t packedBox[] = {wide(call->workspace) + 64, 32, wide(call->packed), 64, 16, 128};
  int64_t in[] = {wide(call->inputs[0]), cache + 4 * position, 1};
  int64_t out[] = {cache, wide(call->outputs[0]), call->dims[1]};
  call->launch(call->team, 0, packedRow, 3);
  call->launch(call->team, 1, packedBox, 6);
  call->launch(call->team, 0, in, 3);
  call->launch(call->team, 2, out, 3);
}
inline int64_t workspace(const int64_t *dims, int64_t) { return 4 * dims[0] + 256; }

inline const attn_abi_tensor_map maps[] = {{2, 0, {64, 16, 0, 0, 0}}};
inline const attn_abi_gpu_kernel kernels[] = {{"copyWords", 64, 1, 0, 0, 3, 0, nullptr},
                                              {"copyBox", 64, 1, 51200 + 2048, -1, 2, 1, maps},
                                              {"copyAll", 64, 1, 0, -1, 3, 0, nullptr}};
inline const attn_abi_entry_fn functions[] = {box, copyPacked, look, push};
inline const attn_abi_workspace_fn workspaces[] = {workspace, workspace, workspace, workspace};
inline const attn_abi_level levels[] = {{"plain", 0, 0, functions, workspaces}};
inline const attn_abi_kernel costs[] = {{"look", "copy", "hand:1:1", 0, 0, nullptr, nullptr}};

class GpuTest : public testing::Test {
protected:
  attn_abi_gpu gpu = {"sm_80", 80, 0, 1, 3, kernels, ptx, nullptr, functions, workspaces};
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
    function<int(void *)>("cuCtxSetCurrent")(callersContext());
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
    tables.levelCount = tables.gpuCount = tables.kernelCount = tables.cacheCount = 1;
    tables.parameterCount = 1;
    tables.parameters = parameters;
    tables.dimCount = tables.slotCount = 2;
    tables.entryCount = 4;
    tables.caches = cacheTables;
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
    fail("", 0, 0);
    rowBytes = 128;
    free(embedded);
    void *current = nullptr;
    function<int(void **)>("cuCtxGetCurrent")(&current);
    EXPECT_EQ(callersContext(), current) << "the caller's, as before";
  }
  /// Another GPU's, which is the thread's current one while the runtime uses its own.
  void *callersContext() { return &tables; }
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
  InterpretedCounts counts() {
    InterpretedCounts counts;
    function<InterpretedCountsFunction>("interpretedCounts")(&counts);
    return counts;
  }
  /// Kernels of nodes that were updated since the last call.
  std::string updates() { return function<InterpretedUpdatesFunction>("interpretedUpdates")(); }
  /// The driver's function of this name is to fail so many times, after so many calls.
  void fail(const char *name, int skipped = 0, int times = 1) {
    function<InterpretedFailFunction>("interpretedFail")(name, skipped, times);
  }
  void wait() { function<int(void *)>("cuStreamSynchronize")(nullptr); }
  /// A copy of `values` on the GPU.
  template <typename T> unsigned long long onDevice(const std::vector<T> &values) {
    unsigned long long pointer = 0;
    size_t bytes = values.size() * sizeof(T);
    function<int(unsigned long long *, size_t)>("cuMemAlloc_v2")(&pointer, bytes);
    function<int(unsigned long long, const void *, size_t, void *)>("cuMemcpyHtoDAsync_v2")(
        pointer, values.data(), bytes, nullptr);
    wait();
    return pointer;
  }
  template <typename T> void fromDevice(std::vector<T> &values, unsigned long long pointer) {
    function<int(void *, unsigned long long, size_t, void *)>("cuMemcpyDtoHAsync_v2")(
        values.data(), pointer, values.size() * sizeof(T), nullptr);
    wait();
  }
  static attn_tensor onGpu(attn_tensor tensor, unsigned long long pointer) {
    tensor.data = reinterpret_cast<void *>(pointer); // NOLINT(performance-no-int-to-ptr)
    tensor.deviceKind = ATTN_DEVICE_CUDA;
    return tensor;
  }

  uint32_t *embedded = nullptr;
};

} // namespace attn::test
