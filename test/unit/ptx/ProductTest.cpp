// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix instructions against plain loops: ldmatrix, stmatrix, mma.sync, and wgmma with operands
// that tensor copies brought, in every swizzle and either majorness.
#include "test/gpu/interpreter/Numbers.h"
#include "test/unit/ptx/KernelText.h"
#include <cmath>
#include <numeric>
#include <random>

using namespace attn::ptx;
using namespace attn::ptx::test;

namespace {

std::string number(int64_t value) { return std::to_string(value); }

std::vector<uint16_t> randomHalves(size_t count, uint64_t seed, NarrowFormat format) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<uint16_t> values(count);
  for (uint16_t &value : values)
    value = narrow(uniform(random), format);
  return values;
}

/// sum over k of a[i, k] b[j, k], plus `start`; strides in elements.
double product(const std::vector<uint16_t> &a, size_t firstA, size_t strideA,
               const std::vector<uint16_t> &b, size_t firstB, size_t strideB, int k,
               NarrowFormat format, double start) {
  double sum = 0;
  for (int i = 0; i < k; ++i)
    sum += widen(a[firstA + i * strideA], format) * widen(b[firstB + i * strideB], format);
  return sum + start;
}

/// One product of a warp group: m64 nN, K a multiple of 16.
struct ProductCase {
  int n;
  int k;
  Swizzle swizzle;
  bool transposeA = false;
  bool transposeB = false;
  bool registersA = false;
  const char *type = "bf16";
  int signB = 1;
};

int boxWidth(Swizzle swizzle) { return 8 << int(swizzle); }

/// A matrix of `outer` rows of `inner` elements in shared memory: boxes as wide as the swizzle, one
/// after the other.
struct Tile {
  int inner;
  int outer;
  Swizzle swizzle;
  int at;

  int boxBytes() const { return boxWidth(swizzle) * outer * 2; }
  int bytes() const { return (inner + boxWidth(swizzle) - 1) / boxWidth(swizzle) * boxBytes(); }

  std::string load(const std::string &map) const {
    std::string text = "mov.b64 %rd1, " + map + ";\ncvta.param.u64 %rd1, %rd1;\n";
    for (int box = 0; box * boxWidth(swizzle) < inner; ++box)
      text +=
          "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2+" +
          number(at + box * boxBytes()) + "], [%rd1, {" + number(box * boxWidth(swizzle)) +
          ", 0}], [bar];\n";
    return text;
  }

  /// The descriptor of step s along K, into `to`; %rd2 is the shared address / 16.
  std::string descriptor(const std::string &to, bool transposed, int s) const {
    int width = boxWidth(swizzle);
    bool plain = swizzle == Swizzle::None;
    int leading = plain ? (transposed ? 128 : boxBytes()) : (transposed ? boxBytes() : 16);
    int stride = plain && transposed ? boxBytes() : 16 * width;
    int start = transposed ? s * 16 * width * 2
                : plain    ? 2 * s * boxBytes()
                           : s * 16 / width * boxBytes() + s * 16 % width * 2;
    uint64_t layout = (4 - uint64_t(swizzle)) % 4;
    uint64_t bits = layout << 62 | uint64_t(stride / 16) << 32 | uint64_t(leading / 16) << 16;
    return "add.s64 " + to + ", %rd2, " + number(int64_t(bits) + (at + start) / 16) + ";\n";
  }
};

Tile tileA(const ProductCase &one) {
  return one.transposeA ? Tile{64, one.k, one.swizzle, 0} : Tile{one.k, 64, one.swizzle, 0};
}
Tile tileB(const ProductCase &one) {
  int at = one.registersA ? 0 : (tileA(one).bytes() + 1023) / 1024 * 1024;
  return one.transposeB ? Tile{one.n, one.k, one.swizzle, at} : Tile{one.k, one.n, one.swizzle, at};
}

/// A's registers of step s: %r(16 + 4 s) and three more, from row-major memory.
std::string loadRegisters(const ProductCase &one) {
  std::string text = "ld.param.u64 %rd3, [a];\nshr.u32 %r5, %r1, 5;\nshl.b32 %r5, %r5, 4;\n"
                     "and.b32 %r6, %r1, 31;\nshr.u32 %r7, %r6, 2;\nadd.s32 %r5, %r5, %r7;\n"
                     "and.b32 %r6, %r6, 3;\nmul.lo.s32 %r5, %r5, " +
                     number(one.k * 2) +
                     ";\nmad.lo.s32 %r5, %r6, 4, %r5;\ncvt.u64.u32 %rd4, %r5;\n"
                     "add.s64 %rd3, %rd3, %rd4;\n";
  for (int s = 0; s < one.k / 16; ++s)
    for (int part = 0; part < 4; ++part)
      text += "ld.global.b32 %r" + number(16 + 4 * s + part) + ", [%rd3+" +
              number(s * 32 + part / 2 * 16 + part % 2 * 8 * one.k * 2) + "];\n";
  return text;
}

std::string accumulators(int n) {
  std::string list = "{";
  for (int i = 0; i < n / 2; ++i)
    list += (i ? ", %f" : "%f") + number(i);
  return list + "}";
}

std::string productText(const ProductCase &one) {
  int bytes = tileB(one).bytes() + (one.registersA ? 0 : tileA(one).bytes());
  std::string body = R"(
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, smem;
    setp.ne.s32 %p1, %r1, 0;
    @%p1 bra READY;
    mbarrier.init.shared::cta.b64 [bar], 1;
    fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], )" +
                     number(bytes) + ";\n" + (one.registersA ? "" : tileA(one).load("mapA")) +
                     tileB(one).load("mapB") + R"(
READY:
    bar.sync 0;
L:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;
    @!%p2 bra L;
    cvt.u64.u32 %rd2, %r2;
    shr.u64 %rd2, %rd2, 4;
)" + (one.registersA ? loadRegisters(one) : "");
  for (int i = 0; i < one.n / 2; ++i)
    body += "mov.f32 %f" + number(i) + ", 0f3F800000;\n";
  body += "setp.eq.s32 %p3, 0, 0;\nwgmma.fence.sync.aligned;\n";
  for (int s = 0; s < one.k / 16; ++s) {
    std::string a = "%rd5";
    if (one.registersA)
      a = "{%r" + number(16 + 4 * s) + ", %r" + number(17 + 4 * s) + ", %r" + number(18 + 4 * s) +
          ", %r" + number(19 + 4 * s) + "}";
    else
      body += tileA(one).descriptor(a, one.transposeA, s);
    body += tileB(one).descriptor("%rd6", one.transposeB, s);
    body += "wgmma.mma_async.sync.aligned.m64n" + number(one.n) + "k16.f32." + one.type + "." +
            one.type + " " + accumulators(one.n) + ", " + a + ", %rd6, %p3, 1, " +
            number(one.signB) + (one.registersA ? "" : ", " + number(one.transposeA)) + ", " +
            number(one.transposeB) + ";\n";
  }
  body += "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
  body += "ld.param.u64 %rd3, [out];\nshr.u32 %r5, %r1, 5;\nshl.b32 %r5, %r5, 4;\n"
          "and.b32 %r6, %r1, 31;\nshr.u32 %r7, %r6, 2;\nadd.s32 %r5, %r5, %r7;\n"
          "and.b32 %r6, %r6, 3;\nmul.lo.s32 %r5, %r5, " +
          number(one.n * 4) +
          ";\nmad.lo.s32 %r5, %r6, 8, %r5;\ncvt.u64.u32 %rd4, %r5;\nadd.s64 %rd3, %rd3, %rd4;\n";
  for (int i = 0; i < one.n / 2; ++i)
    body += "st.global.f32 [%rd3+" + number(i / 4 * 32 + i / 2 % 2 * 8 * one.n * 4 + i % 2 * 4) +
            "], %f" + number(i) + ";\n";
  return kernelText(".param .align 64 .b8 mapA[128], .param .align 64 .b8 mapB[128], "
                    ".param .u64 a, .param .u64 out",
                    body + "ret;",
                    ".extern .shared .align 1024 .b8 smem[];\n.shared .align 8 .b8 bar[8];");
}

TensorMap mapOf(Device &device, const std::vector<uint16_t> &values, const Tile &tile,
                const char *name) {
  TensorMap map{};
  uint64_t dims[] = {uint64_t(tile.inner), uint64_t(tile.outer)};
  uint64_t strides[] = {uint64_t(tile.inner) * 2};
  uint32_t box[] = {uint32_t(boxWidth(tile.swizzle)), uint32_t(tile.outer)};
  EXPECT_EQ(encodeTiled(map, 2, 2, device.map(values, name), dims, strides, box, tile.swizzle), "");
  return map;
}

/// The operands and the trial of a case.
struct ProductTrial {
  ProductCase one;
  NarrowFormat format;
  std::vector<uint16_t> a;
  std::vector<uint16_t> b;
  std::vector<float> out;
  Device device;
  std::vector<Argument> arguments;

  explicit ProductTrial(const ProductCase &one)
      : one(one), format(one.type[0] == 'b' ? bf16Format : f16Format),
        a(randomHalves(size_t(64) * one.k, 1, format)),
        b(randomHalves(size_t(one.n) * one.k, 2, format)), out(size_t(64) * one.n) {
    TensorMap mapA = one.registersA ? TensorMap{} : mapOf(device, a, tileA(one), "A");
    TensorMap mapB = mapOf(device, b, tileB(one), "B");
    arguments = {mapA, mapB, device.map(std::as_const(a), "a"), device.map(out, "out")};
  }

  Trial trial(const std::string &text) {
    return {text, device, {1}, {128}, uint32_t(tileB(one).at + tileB(one).bytes()), arguments};
  }

  void check() {
    for (int i = 0; i < 64; ++i)
      for (int j = 0; j < one.n; ++j) {
        double sum = product(a, one.transposeA ? i : size_t(i) * one.k, one.transposeA ? 64 : 1, b,
                             one.transposeB ? j : size_t(j) * one.k, one.transposeB ? one.n : 1,
                             one.k, format, 0);
        // Each step of 16 rounds once to f32.
        ASSERT_NEAR(out[size_t(i) * one.n + j], 1 + one.signB * sum, one.k * 1e-6)
            << i << ", " << j;
      }
    std::fill(out.begin(), out.end(), -1.0f);
  }
};

} // namespace

TEST(Wgmma, multiplies_in_every_layout) {
  for (Swizzle swizzle : {Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128})
    for (int transposes = 0; transposes < 4; ++transposes) {
      ProductCase one{64, 64, swizzle, bool(transposes & 1), bool(transposes & 2)};
      SCOPED_TRACE("swizzle " + number(int(swizzle)) + ", transposed " + number(transposes));
      ProductTrial trial(one);
      Result result = launchText(trial.trial(productText(one)), 1);
      ASSERT_EQ(result.error, "");
      trial.check();
    }
}

TEST(Wgmma, multiplies_shapes_and_types) {
  for (const ProductCase &one :
       {ProductCase{8, 16, Swizzle::B32}, ProductCase{176, 80, Swizzle::B32},
        ProductCase{256, 64, Swizzle::B128, false, true},
        ProductCase{128, 96, Swizzle::B64, false, true, true},
        ProductCase{80, 128, Swizzle::B128, true, false, false, "f16"},
        ProductCase{40, 32, Swizzle::None, false, false, true, "f16", -1}}) {
    SCOPED_TRACE("n " + number(one.n) + ", k " + number(one.k));
    ProductTrial trial(one);
    Result result = launchText(trial.trial(productText(one)), 2);
    ASSERT_EQ(result.error, "");
    trial.check();
  }
}

TEST(Wgmma, runs_under_every_seed) {
  ProductCase one{32, 64, Swizzle::B128, false, true, true};
  ProductTrial trial(one);
  expectRuns(trial.trial(productText(one)), [&] { trial.check(); });
}

TEST(Wgmma, mistakes_are_found) {
  ProductCase one{16, 32, Swizzle::B64, false, false, true};
  ProductTrial trial(one);
  std::string text = productText(one);
  auto expect = [&](const std::string &from, const std::string &to,
                    const std::vector<std::string> &parts) {
    SCOPED_TRACE(from + " -> " + to);
    expectOneOf(trial.trial(replaced(text, from, to)), parts);
  };
  const std::string wait = "wgmma.wait_group.sync.aligned 0;\n";
  expect(wait, "", {"reads a register of a wgmma that no wgmma.wait_group has waited for"});
  expect(wait, "wgmma.wait_group.sync.aligned 1;\n", {"reads a register of a wgmma"});
  expect(wait, "mov.f32 %f3, 0f00000000;\n" + wait, {"writes a register of a wgmma"});
  expect(wait, "mov.b32 %r16, 0;\n" + wait, {"writes a register of a wgmma"});
  expect("wgmma.fence.sync.aligned;\n", "", {"no wgmma.fence comes before"});
  expect("wgmma.fence.sync.aligned;\n", "wgmma.fence.sync.aligned;\nmov.b32 %r17, 0;\n",
         {"no wgmma.fence comes between a register of A"});
  expect("wgmma.fence.sync.aligned;\n", "wgmma.fence.sync.aligned;\nadd.f32 %f2, %f2, %f2;\n",
         {"no wgmma.fence comes between an accumulator"});
  size_t second = text.rfind("wgmma.mma_async");
  std::string narrow =
      replaced(text.substr(second, text.find(';', second) - second), "m64n16k16", "m64n8k16");
  expect("wgmma.commit_group.sync.aligned;\n",
         replaced(narrow, ", %f4, %f5, %f6, %f7}", "}") + ";\nwgmma.commit_group.sync.aligned;\n",
         {"products of different shapes with one accumulator"});
  // A tile written through the generic proxy: the copy's word is written again.
  expect("wgmma.fence.sync.aligned;\n",
         "@!%p1 st.shared.u32 [%r2], 0;\nbar.sync 0;\nwgmma.fence.sync.aligned;\n",
         {"and no fence.proxy.async orders the two"});
  expect("wgmma.fence.sync.aligned;\n",
         "bar.sync 0;\n@!%p1 st.shared.u32 [%r2], 0;\n@!%p1 fence.proxy.async;\n"
         "wgmma.fence.sync.aligned;\n",
         {"and no synchronisation orders the two"});
  // B is overwritten while a product reads it.
  expect(wait, "bar.sync 0;\n@!%p1 st.shared.u32 [%r2], 0;\n" + wait, {"which a wgmma of warp"});
  // The data of the copies have not been waited for.
  expectFailsSometimes(trial.trial(replaced(text, "@!%p2 bra L;", "")),
                       {"which a bulk copy writes"});
  // Not all four warps, not all lanes.
  Trial fewer = trial.trial(text);
  fewer.block = {96};
  expectFails(fewer, "needs four whole warps");
  expect("setp.eq.s32 %p3, 0, 0;", "setp.eq.s32 %p3, %r1, 5;",
         {"the lanes differ in descriptors or scale-d"});
  expect(
      "ret;",
      "wgmma.fence.sync.aligned;\n" +
          text.substr(text.find("wgmma.mma_async"),
                      text.find(";", text.find("wgmma.mma_async")) - text.find("wgmma.mma_async")) +
          ";\nret;",
      {"ended with a wgmma that no wgmma.wait_group has waited for"});
}

TEST(Wgmma, groups_are_waited_for_in_order) {
  ProductCase one{8, 32, Swizzle::B64, false, false, true};
  ProductTrial trial(one);
  // The second product has accumulators and a group of its own, still in flight when the first
  // one's are stored.
  std::string text = productText(one);
  size_t second = text.rfind("wgmma.mma_async");
  text.replace(text.find(accumulators(8), second), accumulators(8).size(),
               "{%f100, %f101, %f102, %f103}");
  text.insert(second, "wgmma.commit_group.sync.aligned;\n");
  text = replaced(text, "wait_group.sync.aligned 0;", "wait_group.sync.aligned 1;");
  text = replaced(text, "ret;", "wgmma.wait_group.sync.aligned 0;\nadd.f32 %f3, %f100, %f3;\nret;");
  expectRuns(trial.trial(text));
  expectFails(trial.trial(replaced(text, "ld.param.u64 %rd3, [out];",
                                   "ld.param.u64 %rd3, [out];\nadd.f32 %f3, %f100, %f3;")),
              "reads a register of a wgmma");
}

TEST(Wgmma, warps_of_a_group_issue_the_same_products) {
  ProductCase one{8, 16, Swizzle::B32};
  ProductTrial trial(one);
  std::string text = productText(one);
  size_t begin = text.find("wgmma.mma_async");
  std::string instruction = text.substr(begin, text.find(';', begin) + 1 - begin);
  expectFails(trial.trial(replaced(text, instruction,
                                   "setp.ge.u32 %p6, %r1, 64;\n@%p6 bra ALSO;\n" + instruction +
                                       "\nbra JOIN;\nALSO:\n" + instruction + "\nJOIN:")),
              "another warp of the warp group executes");
}

TEST(Wgmma, a_fence_through_the_proxy_lets_written_tiles_in) {
  ProductCase one{16, 32, Swizzle::B64, false, false, true};
  ProductTrial trial(one);
  std::string text =
      replaced(productText(one), "wgmma.fence.sync.aligned;\n",
               "@!%p1 st.shared.u32 [%r2], 0;\n@!%p1 fence.proxy.async;\nbar.sync 0;\n"
               "wgmma.fence.sync.aligned;\n");
  expectRuns(trial.trial(text));
  // Copies of accumulators between the fence and the product, as LLVM leaves them, do no harm.
  expectRuns(trial.trial(replaced(productText(one), "wgmma.fence.sync.aligned;\n",
                                  "wgmma.fence.sync.aligned;\nmov.f32 %f200, %f3;\n"
                                  "mov.f32 %f3, %f200;\n")),
             [&] { trial.check(); });
}

TEST(Fragments, move_between_registers_and_shared_memory) {
  std::vector<uint16_t> in(256);
  std::iota(in.begin(), in.end(), 100);
  std::vector<uint16_t> out(256);
  Device device;
  std::vector<Argument> arguments = {device.map(in, "in"), device.map(out, "out")};
  // Four matrices: rows come in by thread, go through registers, and out again.
  std::string text = kernelText(".param .u64 in, .param .u64 out", R"(
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 4;
    cvt.u64.u32 %rd3, %r2;
    mov.u32 %r3, smem;
    add.s32 %r3, %r3, %r2;
    ld.param.u64 %rd1, [in];
    add.s64 %rd1, %rd1, %rd3;
    ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%rd1];
    st.shared.v4.b32 [%r3], {%r4, %r5, %r6, %r7};
    bar.warp.sync -1;
    ldmatrix.sync.aligned.m8n8.x4LOAD.shared.b16 {%r10, %r11, %r12, %r13}, [%r3];
    bar.warp.sync -1;
    stmatrix.sync.aligned.m8n8.x4STORE.shared.b16 [%r3], {%r11, %r10, %r12, %r13};
    bar.warp.sync -1;
    ld.shared.v4.b32 {%r4, %r5, %r6, %r7}, [%r3];
    ld.param.u64 %rd1, [out];
    add.s64 %rd1, %rd1, %rd3;
    st.global.v4.b32 [%rd1], {%r4, %r5, %r6, %r7};
    ret;)",
                                ".shared .align 16 .b8 smem[512];");
  for (int transposes = 0; transposes < 4; ++transposes) {
    std::string one = replaced(replaced(text, "LOAD", transposes & 1 ? ".trans" : ""), "STORE",
                               transposes & 2 ? ".trans" : "");
    bool once = transposes == 1 || transposes == 2;
    expectRuns({one, device, {1}, {32}, 0, arguments}, [&] {
      for (int m = 0; m < 4; ++m)
        for (int r = 0; r < 8; ++r)
          for (int c = 0; c < 8; ++c) {
            int from = m < 2 ? 1 - m : m;
            ASSERT_EQ(out[m * 64 + r * 8 + c], in[from * 64 + (once ? c * 8 + r : r * 8 + c)]);
          }
    });
  }
  std::string hasty = replaced(replaced(text, "LOAD", ""), "STORE", "");
  hasty = hasty.replace(hasty.find("bar.warp.sync -1;"), 17, "");
  expectFails({hasty, device, {1}, {32}, 0, arguments}, "and no synchronisation orders the two");
}

/// d = a b + c of one warp, fragments loaded as the manual draws them.
static void expectMma(const std::string &type, int k, int bytes,
                      const std::function<double(uint32_t)> &value) {
  SCOPED_TRACE(type);
  std::mt19937_64 random(9);
  std::uniform_real_distribution<double> uniform(-2, 2);
  std::vector<uint8_t> a(16 * k * bytes);
  std::vector<uint8_t> b(8 * k * bytes);
  auto fill = [&](std::vector<uint8_t> &values) {
    for (size_t i = 0; i < values.size(); i += bytes) {
      uint32_t bits = type == "tf32" ? roundToTf32(uint32_t(bitsOf(float(uniform(random)))))
                      : type == "s8"
                          ? uint32_t(random())
                          : narrow(uniform(random), type == "f16" ? f16Format : bf16Format);
      std::memcpy(&values[i], &bits, bytes);
    }
  };
  fill(a);
  fill(b);
  bool whole = type == "s8";
  std::vector<uint32_t> out(16 * 8);
  Device device;
  int steps = k * bytes / 16;
  std::string body = "mov.u32 %r1, %tid.x;\nshr.u32 %r2, %r1, 2;\nand.b32 %r3, %r1, 3;\n"
                     "shl.b32 %r3, %r3, 2;\nmad.lo.s32 %r4, %r2, " +
                     number(k * bytes) +
                     ", %r3;\ncvt.u64.u32 %rd1, %r4;\nld.param.u64 %rd2, [a];\n"
                     "add.s64 %rd2, %rd2, %rd1;\nld.param.u64 %rd3, [b];\nadd.s64 %rd3, %rd3, "
                     "%rd1;\n";
  std::string listA = "{";
  std::string listB = "{";
  for (int s = 0; s < steps; ++s) {
    for (int half = 0; half < 2; ++half) {
      std::string name = "%r" + number(10 + 2 * s + half);
      body += "ld.global.b32 " + name + ", [%rd2+" + number(s * 16 + half * 8 * k * bytes) + "];\n";
      listA += (s + half ? ", " : "") + name;
    }
    body += "ld.global.b32 %r" + number(20 + s) + ", [%rd3+" + number(s * 16) + "];\n";
    listB += (s ? ", %r" : "%r") + number(20 + s);
  }
  std::string d = whole ? "s32" : "f32";
  std::string one = whole ? "3" : "0f40400000";
  std::string r = whole ? "%r3" : "%f";
  std::string listC = "{" + r + "0, " + r + "1, " + r + "2, " + r + "3}";
  for (int i = 0; i < 4; ++i)
    body += "mov.b32 " + r + number(i) + ", " + one + ";\n";
  body += "mma.sync.aligned.m16n8k" + number(k) + ".row.col." + d + "." + type + "." + type + "." +
          d + " " + listC + ", " + listA + "}, " + listB + "}, " + listC + ";\n" +
          "shl.b32 %r5, %r2, 5;\nand.b32 %r6, %r1, 3;\nmad.lo.s32 %r5, %r6, 8, %r5;\n"
          "cvt.u64.u32 %rd1, %r5;\nld.param.u64 %rd2, [out];\nadd.s64 %rd2, %rd2, %rd1;\n"
          "st.global.v2.b32 [%rd2], {" +
          r + "0, " + r + "1};\nst.global.v2.b32 [%rd2+256], {" + r + "2, " + r + "3};\nret;";
  std::string text = kernelText(".param .u64 a, .param .u64 b, .param .u64 out", body);
  Result result = launchText({text,
                              device,
                              {1},
                              {32},
                              0,
                              {device.map(a, "a"), device.map(b, "b"), device.map(out, "out")}},
                             1);
  ASSERT_EQ(result.error, "");
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) {
      double sum = 3;
      for (int x = 0; x < k; ++x) {
        uint32_t p = 0;
        uint32_t q = 0;
        std::memcpy(&p, &a[size_t(i * k + x) * bytes], bytes);
        std::memcpy(&q, &b[size_t(j * k + x) * bytes], bytes);
        sum += value(p) * value(q);
      }
      double got = whole ? double(int32_t(out[i * 8 + j])) : double(floatOf(out[i * 8 + j]));
      ASSERT_NEAR(got, sum, whole ? 0 : 1e-5) << i << ", " << j;
    }
}

TEST(Mma, multiplies) {
  auto bfloat = [](uint32_t bits) { return widen(uint16_t(bits), bf16Format); };
  auto half = [](uint32_t bits) { return widen(uint16_t(bits), f16Format); };
  expectMma("bf16", 16, 2, bfloat);
  expectMma("f16", 16, 2, half);
  expectMma("bf16", 8, 2, bfloat);
  expectMma("tf32", 8, 4, [](uint32_t bits) { return double(floatOf(bits)); });
  expectMma("tf32", 4, 4, [](uint32_t bits) { return double(floatOf(bits)); });
  expectMma("s8", 32, 1, [](uint32_t bits) { return double(int8_t(bits)); });
}
