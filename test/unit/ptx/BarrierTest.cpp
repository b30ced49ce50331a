// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Named barriers, mbarriers and their phases, deadlocks, setmaxnreg.
#include "test/unit/ptx/KernelText.h"

using namespace attn::ptx;
using namespace attn::ptx::test;

static const char *const memory = ".extern .shared .align 16 .b8 smem[];";

/// Warp 0 produces, warp 1 consumes, barrier 1 hands over.
TEST(NamedBarrier, orders_those_who_arrive_and_those_who_wait) {
  std::string body = R"(
    mov.u32 %r1, %tid.x;
    and.b32 %r2, %r1, 31;
    shl.b32 %r3, %r2, 2;
    mov.u32 %r4, smem;
    add.s32 %r4, %r4, %r3;
    setp.ge.u32 %p1, %r1, 32;
    @%p1 bra CONSUMER;
    st.shared.u32 [%r4], %r2;
    bar.arrive 1, 64;
    bra END;
CONSUMER:
    bar.sync 1, 64;
    xor.b32 %r4, %r4, 0;
    ld.shared.u32 %r5, [%r4];
    ld.param.u64 %rd1, [out];
    mul.wide.u32 %rd2, %r2, 4;
    add.s64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r5;
END:
    ret;)";
  std::vector<uint32_t> out(32);
  Device device;
  uint64_t address = device.map(out, "out");
  auto trial = [&](const std::string &text) {
    return Trial{kernelText(".param .u64 out", text, memory), device, {1}, {64}, 128, {address}};
  };
  expectRuns(trial(body), [&] { EXPECT_EQ(out[31], 31u); });
  expectOneOf(trial(replaced(body, "bar.sync 1, 64;", "")),
              {"and no synchronisation", "never written", "1 of 64 threads arrived"});
  expectFails(trial(replaced(body, "bar.sync 1, 64;", "bar.sync 1, 96;")),
              "where others have arrived");
  expectFails(trial(replaced(body, "bar.arrive 1, 64;", "bar.arrive 2, 64;")),
              "for barrier 1, at which 32 of 64 threads have arrived");
  expectFails(trial(replaced(body, "1, 64;", "1, 40;")), "expected a multiple of 32 threads");
  expectFails(trial(replaced(body, "bar.sync 1, 64;", "bar.sync 16, 64;")),
              "expected a barrier of 0 to 15");
}

TEST(NamedBarrier, deadlock_says_who_waits_where) {
  Device device;
  std::string text = kernelText("", R"(
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 32;
    @%p1 bra OTHER;
    bar.sync 1, 64;
    ret;
OTHER:
    bar.sync 2, 64;
    ret;)");
  Result result = launchText({text, device, {1}, {64}, 0, {}}, 3);
  EXPECT_EQ(
      result.error,
      "deadlock: no thread can go on\n"
      "  block (0, 0, 0), warp 0: lanes 0xffffffff wait in line 19 for barrier 2, at which 32 "
      "of 64 threads have arrived\n"
      "  block (0, 0, 0), warp 1: lanes 0xffffffff wait in line 16 for barrier 1, at which 32 "
      "of 64 threads have arrived");
}

TEST(NamedBarrier, an_endless_loop_is_stopped) {
  Device device;
  expectFails({kernelText("", "L: bra L;"), device, {1}, {1}, 0, {}}, "the kernel does not end");
}

/// Warp 0 fills a ring of two slots, warp 1 empties it, 9 rounds; full and empty mbarriers.
static const char *const ring = R"(
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, smem;
    setp.ne.s32 %p1, %r1, 0;
    @%p1 bra READY;
    mbarrier.init.shared.b64 [%r2], 32;
    mbarrier.init.shared.b64 [%r2+8], 32;
    mbarrier.init.shared.b64 [%r2+16], 32;
    mbarrier.init.shared.b64 [%r2+24], 32;
READY:
    bar.sync 0;
    and.b32 %r3, %r1, 31;
    shl.b32 %r4, %r3, 2;
    add.s32 %r4, %r4, %r2;
    mov.u32 %r10, 0;
    mov.u32 %r20, 0;
    setp.ge.u32 %p1, %r1, 32;
    @%p1 bra CONSUMER;
PRODUCE:
    and.b32 %r11, %r10, 1;
    shl.b32 %r12, %r11, 3;
    add.s32 %r13, %r2, %r12;
    shr.u32 %r14, %r10, 1;
    and.b32 %r14, %r14, 1;
    xor.b32 %r14, %r14, 1;
EMPTY:
    mbarrier.try_wait.parity.shared.b64 %p2, [%r13+16], %r14;
    @!%p2 bra EMPTY;
    shl.b32 %r15, %r11, 7;
    add.s32 %r15, %r15, %r4;
    add.s32 %r16, %r10, %r3;
    st.shared.u32 [%r15+32], %r16;
    mbarrier.arrive.shared.b64 _, [%r13];
    add.s32 %r10, %r10, 1;
    setp.lt.u32 %p3, %r10, 9;
    @%p3 bra PRODUCE;
    ret;
CONSUMER:
    and.b32 %r11, %r10, 1;
    shl.b32 %r12, %r11, 3;
    add.s32 %r13, %r2, %r12;
    shr.u32 %r14, %r10, 1;
    and.b32 %r14, %r14, 1;
FULL:
    mbarrier.try_wait.parity.shared.b64 %p2, [%r13], %r14;
    @!%p2 bra FULL;
    shl.b32 %r15, %r11, 7;
    add.s32 %r15, %r15, %r4;
    ld.shared.u32 %r16, [%r15+32];
    mbarrier.arrive.shared::cta.b64 %rd9, [%r13+16];
    add.s32 %r20, %r20, %r16;
    add.s32 %r10, %r10, 1;
    setp.lt.u32 %p3, %r10, 9;
    @%p3 bra CONSUMER;
    ld.param.u64 %rd1, [out];
    mul.wide.u32 %rd2, %r3, 4;
    add.s64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r20;
    ret;)";

static Trial ringTrial(Device &device, uint64_t address, const std::string &body) {
  return {kernelText(".param .u64 out", body, memory), device, {1}, {64}, 288, {address}};
}

TEST(Mbarrier, phases_hand_slots_over) {
  std::vector<uint32_t> out(32);
  Device device;
  uint64_t address = device.map(out, "out");
  expectRuns(ringTrial(device, address, ring), [&] {
    for (uint32_t i = 0; i < 32; ++i)
      ASSERT_EQ(out[i], 36 + 9 * i);
  });
}

TEST(Mbarrier, mistakes_are_found) {
  std::vector<uint32_t> out(32);
  Device device;
  uint64_t address = device.map(out, "out");
  auto expect = [&](const char *from, const char *to, const std::vector<std::string> &parts) {
    SCOPED_TRACE(from);
    expectOneOf(ringTrial(device, address, replaced(ring, from, to)), parts);
  };
  // The consumer does not wait again, or the producer does not.
  expectFailsSometimes(ringTrial(device, address, replaced(ring, "@!%p2 bra FULL;", "")),
                       {"and no synchronisation", "never written"});
  expectFailsSometimes(ringTrial(device, address, replaced(ring, "@!%p2 bra EMPTY;", "")),
                       {"and no synchronisation", "deadlock"});
  // The consumer releases before it reads.
  expect("ld.shared.u32 %r16, [%r15+32];\n    mbarrier.arrive.shared::cta.b64 %rd9, [%r13+16];",
         "mbarrier.arrive.shared::cta.b64 %rd9, [%r13+16];\n    ld.shared.u32 %r16, [%r15+32];",
         {"and no synchronisation", "deadlock"});
  // Wrong parity, wrong count.
  expect("xor.b32 %r14, %r14, 1;", "", {"deadlock"});
  expect("[%r2+16], 32;", "[%r2+16], 33;", {"which lacks 1 of 33 arrivals"});
  expect("[%r2], 32;", "[%r2], 31;", {"more arrivals than the mbarrier's 31", "and no sync"});
  // Used without or before its initialisation.
  expect("mbarrier.init.shared.b64 [%r2+24], 32;", "", {"no mbarrier was initialised"});
  expect("bar.sync 0;", "", {"no mbarrier was initialised", "and no synchronisation"});
  expect("READY:", "mbarrier.init.shared.b64 [%r2], 32;\nREADY:", {"initialised already"});
  expect("_, [%r13];", "_, [%r13+4];", {"is not a multiple of 8"});
}

TEST(Mbarrier, deadlock_says_what_a_phase_lacks) {
  Device device;
  std::string text = kernelText("", R"(
    mbarrier.init.shared.b64 [smem], 2;
    mbarrier.arrive.expect_tx.shared.b64 _, [smem], 64;
L:
    mbarrier.try_wait.parity.shared.b64 %p1, [smem], 0;
    @!%p1 bra L;
    ret;)",
                                ".shared .align 8 .b8 smem[8];");
  expectFails(
      {text, device, {1}, {1}, 0, {}},
      "lanes 0x00000001 wait in line 16 for phase 0 of the mbarrier of line 13, which lacks "
      "1 of 2 arrivals and 64 bytes");
}

TEST(Mbarrier, states_name_phases) {
  Device device;
  std::string text = kernelText("", R"(
    mbarrier.init.shared.b64 [smem], 1;
    mbarrier.arrive.shared.b64 %rd1, [smem];
    mbarrier.test_wait.shared.b64 %p1, [smem], %rd1;
    @!%p1 trap;
    mbarrier.arrive.shared.b64 %rd1, [smem], 1;
    mbarrier.test_wait.parity.shared.b64 %p1, [smem], 1;
    @!%p1 trap;
    mbarrier.test_wait.parity.shared.b64 %p1, [smem], 0;
    @%p1 trap;
    mbarrier.inval.shared.b64 [smem];
    mbarrier.init.shared.b64 [smem], 1;
    ret;)",
                                ".shared .align 8 .b8 smem[8];");
  expectRuns({text, device, {1}, {1}, 0, {}});
}

TEST(Setmaxnreg, takes_what_others_give) {
  Device device;
  // 384 threads have 168 registers each; warps 4 to 11 want 240, which needs warps 0 to 3 at 24.
  std::string body = R"(
    mov.u32 %r1, %tid.x;
    setp.ge.u32 %p1, %r1, 128;
    @%p1 bra MORE;
    setmaxnreg.dec.sync.aligned.u32 24;
    ret;
MORE:
    setmaxnreg.inc.sync.aligned.u32 240;
    ret;)";
  expectRuns({kernelText("", body), device, {1}, {384}, 0, {}});
  expectFails({kernelText("", replaced(body, ".u32 24;", ".u32 40;")), device, {1}, {384}, 0, {}},
              "deadlock");
  expectFails({kernelText("", replaced(body, "240", "236")), device, {1}, {384}, 0, {}},
              "expected a multiple of 8 from 24 to 256");
  expectFails({kernelText("", replaced(body, "inc.sync", "dec.sync")), device, {1}, {384}, 0, {}},
              ".dec to more registers");
}
