// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a GPU would punish in memory: out of bounds, misaligned, uninitialised, races. Each kernel
// that fails has a mended twin that runs.
#include "test/unit/ptx/KernelText.h"

using namespace attn::ptx;
using namespace attn::ptx::test;

TEST(GlobalMemory, has_bounds) {
  std::vector<uint32_t> out(32);
  const std::vector<uint32_t> in(32);
  Device device;
  uint64_t address = device.map(out, "out");
  uint64_t source = device.map(in, "in");
  std::string text = kernelText(".param .u64 out", R"(
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r1;
    ret;)");
  expectRuns({text, device, {1}, {32}, 0, {address}}, [&] { EXPECT_EQ(out[31], 31u); });
  expectFails({text, device, {1}, {33}, 0, {address}},
              "line 17: st.global.u32: out of bounds: 4 bytes at offset 128 of buffer 'out', which "
              "has 128 (thread (32, 0, 0) of block (0, 0, 0))");
  expectFails({text, device, {1}, {1}, 0, {address - 4}}, "at offset -4 of buffer 'out'");
  expectFails({text, device, {1}, {1}, 0, {uint64_t(0)}}, "in no buffer");
  expectFails({text, device, {1}, {1}, 0, {address + 2}}, "is not a multiple of 4");
  expectFails({text, device, {1}, {1}, 0, {source}}, "buffer 'in' is read-only");
  expectFails({replaced(text, "st.global.u32 [%rd1], %r1",
                        "ld.global.v4.u32 {%r2,%r3,%r4,%r5}, "
                        "[%rd1]"),
               device,
               {1},
               {2},
               0,
               {address}},
              "is not a multiple of 16");
}

TEST(GlobalMemory, narrow_loads_extend) {
  std::vector<uint8_t> in = {0x80, 0xff, 0x01, 0x80, 0, 0, 0, 0};
  std::vector<uint32_t> out(4);
  Device device;
  std::string text = kernelText(".param .u64 in, .param .u64 out", R"(
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    ld.global.s8 %r1, [%rd1];
    ld.global.u8 %r2, [%rd1+1];
    ld.global.s16 %r3, [%rd1+2];
    ld.global.v2.b16 {%h1, %h2}, [%rd1];
    mov.b32 %r4, {%h2, %h1};
    st.global.v4.b32 [%rd2], {%r1, %r2, %r3, %r4};
    st.global.b8 [%rd2+1], 7;
    ret;)");
  expectRuns({text, device, {1}, {1}, 0, {device.map(in, "in"), device.map(out, "out")}}, [&] {
    EXPECT_EQ(out, (std::vector<uint32_t>{0xffff0780, 0xff, 0xffff8001, 0xff808001}));
  });
}

/// Thread i stores to shared[i] and reads its neighbour's.
static const char *const neighbours = R"(
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 2;
    mov.u32 %r3, smem;
    add.s32 %r4, %r3, %r2;
    st.shared.u32 [%r4], %r1;
    SYNC
    xor.b32 %r5, %r2, WHO;
    add.s32 %r5, %r5, %r3;
    ld.shared.u32 %r6, [%r5];
    ld.param.u64 %rd1, [out];
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r6;
    ret;)";

static std::string neighbourText(const std::string &sync, const std::string &who) {
  return kernelText(".param .u64 out", replaced(replaced(neighbours, "SYNC", sync), "WHO", who),
                    ".extern .shared .align 16 .b8 smem[];");
}

TEST(SharedMemory, is_read_behind_a_barrier) {
  std::vector<uint32_t> out(64);
  Device device;
  uint64_t address = device.map(out, "out");
  auto run = [&](const std::string &sync, const std::string &who) {
    return Trial{neighbourText(sync, who), device, {1}, {64}, 256, {address}};
  };
  expectRuns(run("bar.sync 0;", "128"), [&] { EXPECT_EQ(out[3], 35u); });
  expectOneOf(run("", "128"), {"and no synchronisation orders the two", "never written"});
  // Within a warp, lanes need a warp's barrier; a shuffle is none.
  expectRuns(run("bar.warp.sync -1;", "4"), [&] { EXPECT_EQ(out[3], 2u); });
  expectFails(run("", "4"), "and no synchronisation orders the two");
  expectFails(run("shfl.sync.bfly.b32 %r7, %r1, 1, 31, -1;", "4"),
              "and no synchronisation orders the two");
  expectOneOf(run("bar.warp.sync -1;", "128"),
              {"and no synchronisation orders the two", "never written"});
}

TEST(SharedMemory, race_names_both_lines) {
  std::vector<uint32_t> out(64);
  Device device;
  Result result =
      launchText({neighbourText("", "4"), device, {1}, {32}, 256, {device.map(out, "out")}}, 1);
  EXPECT_EQ(result.error,
            "line 21: ld.shared.u32: thread (0, 0, 0) reads shared byte 1044, which thread (1, 0, "
            "0) writes in line 17, and no synchronisation orders the two (thread (0, 0, 0) of "
            "block (0, 0, 0))");
}

TEST(SharedMemory, bytes_of_a_word_are_accessed_apart) {
  std::string body = R"(
    mov.u32 %r1, %tid.x;
    and.b32 %r2, %r1, 31;
    shl.b32 %r3, %r2, 2;
    mov.u32 %r4, smem;
    add.s32 %r4, %r4, %r3;
    setp.ge.u32 %p1, %r1, 32;
    @!%p1 st.shared.u32 [%r4], %r2;
    bar.sync 0;
    @%p1 st.shared.u8 [%r4+2], %r2;
    @!%p1 ld.shared.u8 %r5, [%r4+1];
    bar.sync 0;
    ld.shared.u32 %r6, [%r4];
    bar.sync 0;
    @%p1 st.shared.u32 [%r4], %r2;
    bar.sync 0;
    ld.shared.u8 %r5, [%r4+3];
    ret;)";
  Device device;
  auto run = [&](const std::string &from, const std::string &to) {
    return Trial{kernelText("", replaced(body, from, to), ".extern .shared .align 16 .b8 smem[];"),
                 device,
                 {1},
                 {64},
                 128,
                 {}};
  };
  expectRuns(run("[%r4+1]", "[%r4+3]"));
  const char *race = "and no synchronisation orders the two";
  expectFails(run("[%r4+1]", "[%r4+2]"), race);
  expectFails(run("ld.shared.u8 %r5, [%r4+1]", "ld.shared.u32 %r5, [%r4]"), race);
  expectFails(run("bar.sync 0;\n    ld.shared.u32", "ld.shared.u32"), race);
  // All have read the word; one who writes a byte of it must know of them all.
  expectFails(run("ld.shared.u32 %r6, [%r4];\n    bar.sync 0;\n    @%p1 st.shared.u32 [%r4]",
                  "ld.shared.u32 %r6, [%r4];\n    @%p1 st.shared.u8 [%r4+3]"),
              race);
  expectFails(run("bar.sync 0;\n    ld.shared.u8 %r5, [%r4+3]", "ld.shared.u8 %r5, [%r4+3]"), race);
}

TEST(SharedMemory, is_written_after_others_have_read) {
  std::string body = R"(
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 2;
    mov.u32 %r3, smem;
    add.s32 %r4, %r3, %r2;
    st.shared.u32 [%r4], %r1;
    bar.sync 0;
    ld.shared.u32 %r6, [%r3];
    bar.sync 0;
    st.shared.u32 [%r4], %r6;
    ret;)";
  Device device;
  std::string dynamic = ".extern .shared .align 4 .b8 smem[];";
  expectRuns({kernelText("", body, dynamic), device, {2}, {96}, 384, {}});
  size_t second = body.rfind("bar.sync 0;");
  expectFails({kernelText("", body.replace(second, 11, ""), dynamic), device, {1}, {96}, 384, {}},
              "and no synchronisation orders the two");
}

TEST(SharedMemory, has_bounds_and_begins_undefined) {
  Device device;
  std::string body = R"(
    mov.u32 %r1, smem;
    st.shared.u32 [%r1+60], 1;
    ld.shared.u32 %r2, [%r1+60];
    ret;)";
  std::string dynamic = ".extern .shared .align 16 .b8 smem[];";
  expectRuns({kernelText("", body, dynamic), device, {1}, {1}, 64, {}});
  expectFails({kernelText("", body, dynamic), device, {1}, {1}, 60, {}}, "out of bounds");
  expectFails({kernelText("", replaced(body, "%r2, [%r1+60]", "%r2, [%r1+56]"), dynamic),
               device,
               {1},
               {1},
               64,
               {}},
              "which was never written");
  expectFails({kernelText("", replaced(body, "+60]", "+58]"), dynamic), device, {1}, {1}, 64, {}},
              "is not a multiple of 4");
}

TEST(SharedMemory, generic_addresses_reach_it) {
  std::vector<uint32_t> out(1);
  Device device;
  std::string text = kernelText(".param .u64 out", R"(
    mov.u64 %rd1, smem;
    cvta.shared.u64 %rd2, %rd1;
    st.u32 [%rd2], 77;
    cvta.to.shared.u64 %rd3, %rd2;
    ld.shared.u32 %r1, [%rd3];
    ld.param.u64 %rd4, [out];
    cvta.to.global.u64 %rd5, %rd4;
    st.global.u32 [%rd5], %r1;
    ret;)",
                                ".shared .align 4 .b8 smem[4];");
  expectRuns({text, device, {1}, {1}, 0, {device.map(out, "out")}},
             [&] { EXPECT_EQ(out[0], 77u); });
  expectFails({replaced(text, "cvta.to.shared.u64 %rd3, %rd2", "cvta.to.shared.u64 %rd3, %rd1"),
               device,
               {1},
               {1},
               0,
               {device.map(out, "out")}},
              "is not of this space");
}

TEST(SharedMemory, atomics_do_not_race_with_one_another) {
  std::vector<uint32_t> out(1);
  Device device;
  std::string body = R"(
    mov.u32 %r1, %tid.x;
    setp.ne.s32 %p1, %r1, 0;
    @!%p1 st.shared.u32 [smem], 0;
    bar.sync 0;
    atom.shared.add.u32 %r2, [smem], %r1;
    bar.sync 0;
    ld.param.u64 %rd1, [out];
    ld.shared.u32 %r3, [smem];
    @!%p1 st.global.u32 [%rd1], %r3;
    ret;)";
  std::string variable = ".shared .align 4 .b8 smem[4];";
  uint64_t address = device.map(out, "out");
  expectRuns({kernelText(".param .u64 out", body, variable), device, {1}, {64}, 0, {address}},
             [&] { EXPECT_EQ(out[0], 2016u); });
  size_t second = body.rfind("bar.sync 0;");
  expectFails({kernelText(".param .u64 out", body.replace(second, 11, ""), variable),
               device,
               {1},
               {64},
               0,
               {address}},
              "and no synchronisation orders the two");
}
