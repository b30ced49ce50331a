// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A whole kernel with the structure of those for Hopper: c = a b' in bf16, 128 x 64 a block, a
// producer warp group that feeds two stages by tensor copies, two consumers with wgmma, the result
// through stmatrix and a tensor copy. Then one synchronisation at a time is taken away.
#include "test/gpu/interpreter/Numbers.h"
#include "test/unit/ptx/KernelText.h"
#include <algorithm>
#include <cmath>
#include <random>

using namespace attn::ptx;
using namespace attn::ptx::test;

namespace {

constexpr int rows = 256;
constexpr int columns = 64;
constexpr int depth = 192;

/// full[s] at bars + 8 s, empty[s] at bars + 16 + 8 s; a stage has A at 0 and B at 16384.
const char *const setUp = R"(
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, smem;
    mov.u32 %r3, bars;
    mov.u32 %r4, %ctaid.x;
    shl.b32 %r4, %r4, 7;
    shr.u32 %r5, %r1, 7;
    setp.ne.s32 %p1, %r1, 0;
    @%p1 bra READY;
    mbarrier.init.shared::cta.b64 [%r3], 1;
    mbarrier.init.shared::cta.b64 [%r3+8], 1;
    mbarrier.init.shared::cta.b64 [%r3+16], 8;
    mbarrier.init.shared::cta.b64 [%r3+24], 8;
    fence.mbarrier_init.release.cluster;
READY:
    bar.sync 0;
    mov.u32 %r10, 0;
    setp.ne.s32 %p1, %r5, 0;
    @%p1 bra CONSUMER;
    setmaxnreg.dec.sync.aligned.u32 24;
    setp.ge.u32 %p1, %r1, 32;
    @%p1 bra END;
    elect.sync _|%p2, -1;
    @!%p2 bra END;
    mov.b64 %rd1, mapA;
    cvta.param.u64 %rd1, %rd1;
    mov.b64 %rd2, mapB;
    cvta.param.u64 %rd2, %rd2;
)";

/// %r11 stage, %r12 its mbarrier, %r13 its memory, %r14 the parity of its use.
const char *const stage = R"(
    and.b32 %r11, %r10, 1;
    shl.b32 %r12, %r11, 3;
    add.s32 %r12, %r12, %r3;
    mad.lo.s32 %r13, %r11, 24576, %r2;
    shr.u32 %r14, %r10, 1;
    and.b32 %r14, %r14, 1;
)";

const char *const produce = R"(
    xor.b32 %r14, %r14, 1;
    // begin inline asm
    {
    .reg .pred P1;
    LAB_WAIT:
    mbarrier.try_wait.parity.shared.b64 P1, [%r12+16], %r14;
    @P1 bra.uni DONE;
    bra.uni LAB_WAIT;
    DONE:
    }
    // end inline asm
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r12], 24576;
    shl.b32 %r15, %r10, 6;
    mov.u32 %r16, 0;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r13], [%rd1, {%r15, %r4}], [%r12];
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r13+16384], [%rd2, {%r15, %r16}], [%r12];
    add.s32 %r10, %r10, 1;
    setp.lt.u32 %p3, %r10, 3;
    @%p3 bra PRODUCE;
    bra END;
CONSUMER:
    setmaxnreg.inc.sync.aligned.u32 240;
    sub.s32 %r5, %r5, 1;
)";

const char *const waitForStage = R"(
    // begin inline asm
    {
    .reg .pred P1;
    LAB_WAIT:
    mbarrier.try_wait.parity.shared.b64 P1, [%r12], %r14;
    @P1 bra.uni DONE;
    bra.uni LAB_WAIT;
    DONE:
    }
    // end inline asm
    mad.lo.s32 %r15, %r5, 8192, %r13;
    shr.u32 %r15, %r15, 4;
    add.s32 %r16, %r13, 16384;
    shr.u32 %r16, %r16, 4;
    cvt.u64.u32 %rd5, %r15;
    cvt.u64.u32 %rd6, %r16;
    // A swizzle of 128 bytes, 1024 bytes from 8 rows to the next.
    or.b64 %rd5, %rd5, 0x4000004000010000;
    or.b64 %rd6, %rd6, 0x4000004000010000;
    setp.ne.s32 %p4, %r10, 0;
    setp.eq.s32 %p5, 0, 0;
    wgmma.fence.sync.aligned;
)";

const char *const release = R"(
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    elect.sync _|%p2, -1;
    @%p2 mbarrier.arrive.shared::cta.b64 _, [%r12+16];
    add.s32 %r10, %r10, 1;
    setp.lt.u32 %p3, %r10, 3;
    @%p3 bra CONSUME;
)";

/// Each warp's 16 rows of the staging tile, 128 bytes a row.
const char *const stagingAddress = R"(
    and.b32 %r17, %r1, 127;
    shr.u32 %r18, %r17, 5;
    and.b32 %r19, %r1, 31;
    mad.lo.s32 %r20, %r5, 8192, %r2;
    add.s32 %r20, %r20, 49152;
    mad.lo.s32 %r21, %r18, 2048, %r20;
    and.b32 %r22, %r19, 15;
    mad.lo.s32 %r21, %r22, 128, %r21;
    shr.u32 %r22, %r19, 4;
    mad.lo.s32 %r21, %r22, 16, %r21;
)";

const char *const storeTile = R"(
    fence.proxy.async.shared::cta;
    add.s32 %r23, %r5, 1;
    bar.sync %r23, 128;
    setp.ne.s32 %p1, %r17, 0;
    @%p1 bra END;
    mov.b64 %rd1, mapC;
    cvta.param.u64 %rd1, %rd1;
    mad.lo.s32 %r4, %r5, 64, %r4;
    mov.u32 %r16, 0;
    cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {%r16, %r4}], [%r20];
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group.read 0;
END:
    ret;)";

std::string pipelineText() {
  std::string body =
      std::string(setUp) + "PRODUCE:" + stage + produce + "CONSUME:" + stage + waitForStage;
  std::string sums = "{";
  for (int i = 0; i < 32; ++i)
    sums += (i ? ", %f" : "%f") + std::to_string(i);
  sums += "}";
  for (int s = 0; s < 4; ++s) {
    if (s)
      body += "add.s64 %rd5, %rd5, 2;\nadd.s64 %rd6, %rd6, 2;\n";
    body += "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " + sums + ", %rd5, %rd6, " +
            (s ? "%p5" : "%p4") + ", 1, 1, 0, 0;\n";
  }
  body += std::string(release) + stagingAddress;
  for (int i = 0; i < 16; ++i)
    body += "cvt.rn.bf16x2.f32 %r" + std::to_string(32 + i) + ", %f" + std::to_string(2 * i + 1) +
            ", %f" + std::to_string(2 * i) + ";\n";
  for (int i = 0; i < 16; i += 4)
    body += "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r21+" + std::to_string(i * 8) + "], {%r" +
            std::to_string(32 + i) + ", %r" + std::to_string(33 + i) + ", %r" +
            std::to_string(34 + i) + ", %r" + std::to_string(35 + i) + "};\n";
  std::string text = kernelText(".param .align 64 .b8 mapA[128], .param .align 64 .b8 mapB[128], "
                                ".param .align 64 .b8 mapC[128]",
                                body + storeTile,
                                ".extern .shared .align 1024 .b8 smem[];\n"
                                ".shared .align 8 .b8 bars[32];");
  return replaced(text, "\n{\n.reg .b32 %r<64>",
                  "\n.maxntid 384\n.minnctapersm 1\n{\n.reg .b32 "
                  "%r<64>");
}

struct Pipeline {
  std::vector<uint16_t> a = std::vector<uint16_t>(rows * depth);
  std::vector<uint16_t> b = std::vector<uint16_t>(columns * depth);
  std::vector<uint16_t> c = std::vector<uint16_t>(rows * columns);
  Device device;
  std::vector<Argument> arguments;

  Pipeline() {
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (auto *values : {&a, &b})
      for (uint16_t &value : *values)
        value = narrow(uniform(random), bf16Format);
    arguments = {map(a, rows, depth, 128, Swizzle::B128, "a"),
                 map(b, columns, depth, 64, Swizzle::B128, "b"),
                 map(c, rows, columns, 64, Swizzle::None, "c")};
  }

  TensorMap map(std::vector<uint16_t> &values, int height, int width, int boxRows, Swizzle swizzle,
                const char *name) {
    TensorMap encoded{};
    uint64_t dims[] = {uint64_t(width), uint64_t(height)};
    uint64_t strides[] = {uint64_t(width) * 2};
    uint32_t box[] = {64, uint32_t(boxRows)};
    EXPECT_EQ(encodeTiled(encoded, 2, 2, device.map(values, name), dims, strides, box, swizzle),
              "");
    return encoded;
  }

  Trial trial(const std::string &text) {
    return {text, device, {rows / 128}, {384}, 65536, arguments};
  }

  void check() {
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) {
        double sum = 0;
        for (int k = 0; k < depth; ++k)
          sum += widen(a[i * depth + k], bf16Format) * widen(b[j * depth + k], bf16Format);
        // bf16 has 8 bits: half a unit in the last place, and the order of the sums.
        ASSERT_NEAR(widen(c[i * columns + j], bf16Format), sum, std::fabs(sum) / 256 + 1e-4)
            << i << ", " << j;
      }
    std::fill(c.begin(), c.end(), 0);
  }
};

} // namespace

TEST(Pipeline, multiplies_under_every_seed) {
  Pipeline pipeline;
  expectRuns(pipeline.trial(pipelineText()), [&] { pipeline.check(); });
}

TEST(Pipeline, misses_every_synchronisation) {
  Pipeline pipeline;
  std::string text = pipelineText();
  auto without = [&](const std::string &line, const std::vector<std::string> &parts) {
    SCOPED_TRACE(line);
    expectOneOf(pipeline.trial(replaced(text, line, "")), parts);
  };
  without("bar.sync 0;", {"no mbarrier was initialised", "orders the two"});
  without("fence.mbarrier_init.release.cluster;", {"no fence.mbarrier_init"});
  without("wgmma.fence.sync.aligned;", {"no wgmma.fence comes before"});
  without("wgmma.wait_group.sync.aligned 0;", {"a wgmma"});
  without("fence.proxy.async.shared::cta;", {"no fence.proxy.async orders the two"});
  without("bar.sync %r23, 128;", {"orders the two", "never written"});
  without("cp.async.bulk.wait_group.read 0;", {"that nothing has waited for"});
  without("@%p2 mbarrier.arrive.shared::cta.b64 _, [%r12+16];", {"deadlock"});
  without("xor.b32 %r14, %r14, 1;", {"deadlock"});
  without("setmaxnreg.dec.sync.aligned.u32 24;", {"deadlock"});
}

TEST(Pipeline, misses_exchanged_lines) {
  Pipeline pipeline;
  std::string text = pipelineText();
  // A consumer that releases the stage before its products are done.
  std::string arrive = "elect.sync _|%p2, -1;\n    @%p2 mbarrier.arrive.shared::cta.b64 _, "
                       "[%r12+16];\n";
  std::string wait = "wgmma.wait_group.sync.aligned 0;\n";
  expectFails(pipeline.trial(replaced(text, wait + "    " + arrive, arrive + "    " + wait)),
              "which a wgmma of warp");
  expectOneOf(pipeline.trial(replaced(text, "_, [%r12], 24576;", "_, [%r12], 16384;")),
              {"not yet there", "deadlock", "which a bulk copy writes"});
  expectFailsSometimes(
      pipeline.trial(replaced(text, "@P1 bra.uni DONE;\n    bra.uni LAB_WAIT;", "")),
      {"which a bulk copy writes"});
}
