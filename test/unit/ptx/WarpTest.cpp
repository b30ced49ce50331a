// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads: divergence and what the lanes of a warp exchange.
#include "test/unit/ptx/KernelText.h"

using namespace attn::ptx;
using namespace attn::ptx::test;

namespace {

/// Stores %r8 of every thread of a grid; `body` has the thread's number in the grid in %r1.
std::string storing(const std::string &body) {
  return kernelText(".param .u64 out", R"(
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r1, %r2, %r3, %r4;
)" + body + R"(
    ld.param.u64 %rd1, [out];
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r8;
    ret;)");
}

template <typename Expected>
void expectThreads(const std::string &body, Expected expected, Dim grid = {3}, Dim block = {70}) {
  std::vector<uint32_t> out(size_t(grid.count()) * block.count());
  Device device;
  expectRuns({storing(body), device, grid, block, 0, {device.map(out, "out")}}, [&] {
    for (uint32_t i = 0; i < out.size(); ++i)
      ASSERT_EQ(out[i], uint32_t(expected(i % block.x, i / block.x))) << "thread " << i;
    std::fill(out.begin(), out.end(), ~0u);
  });
}

} // namespace

TEST(Threads, know_where_they_are) {
  expectThreads("mov.u32 %r5, %laneid;\nmov.u32 %r6, %warpid;\nmov.u32 %r7, %nctaid.x;\n"
                "mad.lo.s32 %r8, %r6, 32, %r5;\nmad.lo.s32 %r8, %r8, 8, %r7;",
                [](uint32_t thread, uint32_t) { return thread * 8 + 3; });
}

TEST(Threads, diverge_and_meet_again) {
  // Each thread counts the Collatz steps of its number; the meeting is aligned.
  expectThreads(R"(
    add.s32 %r5, %r4, 1;
    mov.u32 %r8, 0;
LOOP:
    setp.eq.s32 %p1, %r5, 1;
    @%p1 bra DONE;
    and.b32 %r6, %r5, 1;
    setp.eq.s32 %p2, %r6, 0;
    @%p2 bra EVEN;
    mad.lo.s32 %r5, %r5, 3, 1;
    bra NEXT;
EVEN:
    shr.u32 %r5, %r5, 1;
NEXT:
    add.s32 %r8, %r8, 1;
    bra.uni LOOP;
DONE:
    bar.sync 0;
)",
                [](uint32_t thread, uint32_t) {
                  uint32_t steps = 0;
                  for (uint32_t n = thread + 1; n != 1; ++steps)
                    n = n % 2 ? 3 * n + 1 : n / 2;
                  return steps;
                });
}

TEST(Threads, branch_by_index) {
  std::string body = R"(
    and.b32 %r5, %r4, 3;
T: .branchtargets A, B, A, C;
    brx.idx %r5, T;
A:
    mov.u32 %r8, 1;
    bra END;
B:
    mov.u32 %r8, 2;
    bra END;
C:
    mov.u32 %r8, 3;
END:
)";
  expectThreads(body, [](uint32_t thread, uint32_t) {
    return thread % 4 == 0 || thread % 4 == 2 ? 1 : thread % 4 == 1 ? 2 : 3;
  });
  Device device;
  std::vector<uint32_t> out(8);
  expectFails({storing(replaced(body, "A, B, A, C", "A, B, C")),
               device,
               {1},
               {8},
               0,
               {device.map(out, "out")}},
              "index 3 of 3 labels");
}

TEST(Threads, shuffle) {
  expectThreads("shfl.sync.bfly.b32 %r8, %r4, 5, 31, -1;",
                [](uint32_t thread, uint32_t) { return thread ^ 5; }, {2}, {64});
  expectThreads("shfl.sync.idx.b32 %r8, %r4, 3, 0x181f, -1;",
                [](uint32_t thread, uint32_t) { return thread / 8 * 8 + 3; }, {2}, {64});
  expectThreads("shfl.sync.down.b32 %r8|%p1, %r4, 2, 31, -1;\n@!%p1 mov.u32 %r8, 99;",
                [](uint32_t thread, uint32_t) { return thread % 32 < 30 ? thread + 2 : 99; }, {1},
                {32});
  expectThreads("shfl.sync.up.b32 %r8, %r4, 1, 0, -1;",
                [](uint32_t thread, uint32_t) { return thread % 32 ? thread - 1 : thread; }, {1},
                {64});
}

TEST(Threads, vote_and_reduce) {
  expectThreads("setp.lt.u32 %p1, %r4, 5;\nvote.sync.ballot.b32 %r8, %p1, -1;",
                [](uint32_t, uint32_t) { return 31; }, {1}, {32});
  expectThreads("redux.sync.add.s32 %r8, %r4, -1;", [](uint32_t, uint32_t) { return 496; }, {2},
                {32});
  expectThreads("setp.lt.u32 %p1, %r4, 32;\nvote.sync.all.pred %p2, %p1, -1;\n"
                "selp.u32 %r8, 1, 0, %p2;",
                [](uint32_t, uint32_t) { return 1; }, {1}, {32});
  expectThreads("setp.eq.u32 %p1, %r4, 5;\nvote.sync.any.pred %p2, %p1, -1;\n"
                "vote.sync.uni.pred %p3, %p1, -1;\nselp.u32 %r8, 1, 0, %p2;\n"
                "selp.u32 %r9, 2, 0, %p3;\nor.b32 %r8, %r8, %r9;",
                [](uint32_t thread, uint32_t) { return thread < 32 ? 1 : 2; }, {1}, {64});
  expectThreads("and.b32 %r5, %r4, 3;\nmatch.any.sync.b32 %r8, %r5, -1;",
                [](uint32_t thread, uint32_t) { return 0x11111111u << thread % 4; }, {1}, {32});
  // Half of the warp is elsewhere.
  expectThreads("mov.u32 %r8, 0;\nsetp.lt.u32 %p1, %r4, 16;\n@!%p1 bra SKIP;\n"
                "activemask.b32 %r8;\nSKIP:\nand.b32 %r8, %r8, 0xffff0000;",
                [](uint32_t, uint32_t) { return 0; }, {1}, {32});
}

TEST(Threads, elect_one) {
  std::vector<uint32_t> out(1);
  Device device;
  std::string text = kernelText(".param .u64 out", R"(
    ld.param.u64 %rd1, [out];
    elect.sync _|%p1, -1;
    @%p1 red.global.add.u32 [%rd1], 1;
    ret;)");
  expectRuns({text, device, {2}, {96}, 0, {device.map(out, "out")}}, [&] {
    EXPECT_EQ(out[0], 6u);
    out[0] = 0;
  });
}

TEST(Threads, add_atomically_across_blocks) {
  std::vector<uint32_t> out(2);
  std::vector<float> sums(1);
  Device device;
  std::string text = kernelText(".param .u64 out, .param .u64 sum", R"(
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [sum];
    mov.u32 %r1, %tid.x;
    atom.global.add.u32 %r2, [%rd1], 1;
    atom.global.max.u32 %r3, [%rd1+4], %r1;
    red.relaxed.gpu.global.add.f32 [%rd2], 0f3F000000;
    ret;)");
  expectRuns({text, device, {5}, {40}, 0, {device.map(out, "out"), device.map(sums, "sums")}}, [&] {
    EXPECT_EQ(out[0], 200u);
    EXPECT_EQ(out[1], 39u);
    EXPECT_EQ(sums[0], 100.0f);
    out = {0, 0};
    sums = {0};
  });
}

TEST(Threads, aligned_instructions_need_the_whole_warp) {
  Device device;
  std::string body = R"(
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 16;
    @%p1 bra SKIP;
    bar.sync 1, 32;
SKIP:
    bar.sync 0;
    ret;)";
  expectFails({kernelText("", body), device, {1}, {32}, 0, {}},
              "bar.sync, which must be executed together");
  expectFails({kernelText("", replaced(replaced(body, "bra SKIP", "bar.sync 2, 32"), "SKIP:", "")),
               device,
               {1},
               {32},
               0,
               {}},
              "only some of the lanes that execute it together have its guard set");
  expectRuns({kernelText("", replaced(body, "lt.u32 %p1, %r1, 16", "lt.u32 %p1, %r1, 64")),
              device,
              {1},
              {32},
              0,
              {}});
}

TEST(Threads, shuffle_needs_the_lanes_of_its_mask) {
  Device device;
  std::string body = R"(
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 16;
    @!%p1 bra SKIP;
    shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;
SKIP:
    ret;)";
  expectFails({kernelText("", body), device, {1}, {32}, 0, {}}, "deadlock");
  expectRuns({kernelText("", replaced(body, "-1;", "0xffff;")), device, {1}, {32}, 0, {}});
  expectFails({kernelText("", replaced(replaced(body, "-1;", "0xffff;"), "1, 31", "16, 31")),
               device,
               {1},
               {32},
               0,
               {}},
              "which is not in the membermask");
}
