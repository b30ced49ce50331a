// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asynchronous copies: cp.async and its groups, tensor copies with their swizzles, edges and
// mbarriers, and what is wrong with using their data too soon.
#include "test/unit/ptx/KernelText.h"
#include <algorithm>
#include <numeric>

using namespace attn::ptx;
using namespace attn::ptx::test;

static const char *const alignedMemory = ".extern .shared .align 1024 .b8 smem[];";

/// Each of 64 threads copies 16 bytes, and reads another's.
static const char *const copyBody = R"(
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, smem;
    shl.b32 %r3, %r1, 4;
    add.s32 %r4, %r2, %r3;
    ld.param.u64 %rd1, [in];
    mul.wide.u32 %rd2, %r1, 16;
    add.s64 %rd3, %rd1, %rd2;
    cp.async.cg.shared.global [%r4], [%rd3], 16;
    cp.async.commit_group;
    cp.async.ca.shared.global [%r4+1024], [%rd3], 8, 4;
    cp.async.commit_group;
    cp.async.wait_group 1;
    bar.sync 0;
    xor.b32 %r5, %r3, 512;
    add.s32 %r5, %r5, %r2;
    ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r5];
    cp.async.wait_all;
    ld.shared.v2.u32 {%r14, %r15}, [%r4+1024];
    add.s32 %r10, %r10, %r14;
    add.s32 %r11, %r11, %r15;
    ld.param.u64 %rd1, [out];
    add.s64 %rd3, %rd1, %rd2;
    st.global.v4.u32 [%rd3], {%r10, %r11, %r12, %r13};
    ret;)";

TEST(CpAsync, data_are_there_after_the_wait) {
  std::vector<uint32_t> in(256);
  std::iota(in.begin(), in.end(), 1000);
  std::vector<uint32_t> out(256);
  Device device;
  std::vector<Argument> arguments = {device.map(in, "in"), device.map(out, "out")};
  auto trial = [&](const std::string &body) {
    return Trial{kernelText(".param .u64 in, .param .u64 out", body, alignedMemory),
                 device,
                 {1},
                 {64},
                 2048,
                 arguments};
  };
  expectRuns(trial(copyBody), [&] {
    for (uint32_t i = 0; i < 256; ++i)
      ASSERT_EQ(out[i], in[i ^ 128] + (i % 4 == 0 ? in[i] : 0));
  });
  expectOneOf(trial(replaced(copyBody, "wait_group 1", "wait_group 2")),
              {"which a cp.async of thread"});
  expectFails(trial(replaced(copyBody, "cp.async.wait_all;", "")), "which a cp.async of thread");
  expectOneOf(trial(replaced(copyBody, "bar.sync 0;", "")),
              {"which a cp.async of thread", "never written"});
  expectFails(trial(replaced(copyBody, "ld.shared.v2.u32 {%r14, %r15}, [%r4+1024];",
                             "st.shared.u32 [%r4+2040], 0;")),
              "out of bounds");
  std::string unwaited = replaced(copyBody,
                                  "cp.async.wait_all;\n    ld.shared.v2.u32 {%r14, "
                                  "%r15}, [%r4+1024];",
                                  "");
  expectFails(trial(unwaited), "ends with asynchronous copies that nothing has waited for");
}

TEST(CpAsync, arrives_at_an_mbarrier) {
  std::vector<uint32_t> in(128);
  std::iota(in.begin(), in.end(), 7);
  std::vector<uint32_t> out(32);
  Device device;
  std::string body = R"(
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, smem;
    setp.ne.s32 %p1, %r1, 0;
    @!%p1 mbarrier.init.shared.b64 [%r2], 32;
    bar.sync 0;
    shl.b32 %r3, %r1, 4;
    add.s32 %r4, %r2, %r3;
    ld.param.u64 %rd1, [in];
    mul.wide.u32 %rd2, %r1, 16;
    add.s64 %rd3, %rd1, %rd2;
    cp.async.cg.shared.global [%r4+16], [%rd3], 16;
    cp.async.mbarrier.arrive.noinc.shared.b64 [%r2];
L:
    mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0;
    @!%p2 bra L;
    xor.b32 %r3, %r3, 16;
    add.s32 %r4, %r2, %r3;
    ld.shared.u32 %r5, [%r4+16];
    ld.param.u64 %rd1, [out];
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r5;
    ret;)";
  auto trial = [&](const std::string &text) {
    return Trial{kernelText(".param .u64 in, .param .u64 out", text, alignedMemory),
                 device,
                 {1},
                 {32},
                 1024,
                 {device.map(in, "in"), device.map(out, "out")}};
  };
  expectRuns(trial(body), [&] {
    for (uint32_t i = 0; i < 32; ++i)
      ASSERT_EQ(out[i], in[(i ^ 1) * 4]);
  });
  expectFailsSometimes(trial(replaced(body, "@!%p2 bra L;", "")), {"which a cp.async of thread"});
}

namespace {

/// One thread loads a box, all store the bytes as they lie.
const char *const loadBody = R"(
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, smem;
    setp.ne.s32 %p1, %r1, 0;
    @%p1 bra READY;
    mbarrier.init.shared::cta.b64 [bar], 1;
    fence.mbarrier_init.release.cluster;
    mov.b64 %rd1, map;
    cvta.param.u64 %rd1, %rd1;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], BYTES;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], [%rd1, {X, Y}], [bar];
READY:
    bar.sync 0;
L:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;
    @!%p2 bra L;
    ld.param.u64 %rd2, [out];
NEXT:
    shl.b32 %r3, %r1, 2;
    add.s32 %r4, %r2, %r3;
    ld.shared.u32 %r5, [%r4];
    cvt.u64.u32 %rd3, %r3;
    add.s64 %rd3, %rd2, %rd3;
    st.global.u32 [%rd3], %r5;
    add.s32 %r1, %r1, 64;
    setp.lt.u32 %p3, %r1, WORDS;
    @%p3 bra NEXT;
    ret;)";

struct Box {
  uint32_t columns;
  uint32_t rows;
  int x;
  int y;
  Swizzle swizzle;
};

std::string loadText(const Box &box) {
  uint32_t bytes = box.columns * box.rows * 2;
  std::string body = loadBody;
  body = replaced(body, "BYTES", std::to_string(bytes));
  body = replaced(body, "WORDS", std::to_string(bytes / 4));
  body = replaced(body, "{X, Y}", "{" + std::to_string(box.x) + ", " + std::to_string(box.y) + "}");
  return kernelText(".param .align 64 .b8 map[128], .param .u64 out", body,
                    std::string(alignedMemory) + "\n.shared .align 8 .b8 bar[8];");
}

/// A tensor of 100 x 70 halves, whose rows are 208 bytes apart.
struct Tensor {
  std::vector<uint16_t> values = std::vector<uint16_t>(70 * 104);
  std::vector<uint16_t> out = std::vector<uint16_t>(256 * 64, 0xffff);
  Device device;
  TensorMap map{};
  std::vector<Argument> arguments;

  explicit Tensor(const Box &box) {
    std::iota(values.begin(), values.end(), 1);
    uint64_t dims[] = {100, 70};
    uint64_t strides[] = {208};
    uint32_t boxDims[] = {box.columns, box.rows};
    EXPECT_EQ(
        encodeTiled(map, 2, 2, device.map(values, "values"), dims, strides, boxDims, box.swizzle),
        "");
    arguments = {map, device.map(out, "out")};
  }
  uint16_t at(int x, int y) const {
    return x >= 0 && x < 100 && y >= 0 && y < 70 ? values[y * 104 + x] : 0;
  }
  Trial trial(const std::string &text) { return {text, device, {1}, {64}, 32768, arguments}; }
};

} // namespace

TEST(TensorCopy, boxes_arrive_swizzled_with_zeros_outside) {
  for (const Box &box : {Box{64, 16, 0, 0, Swizzle::B128}, Box{64, 24, 64, 60, Swizzle::B128},
                         Box{32, 16, 32, 3, Swizzle::B64}, Box{16, 9, 88, 0, Swizzle::B32},
                         Box{40, 5, 8, -3, Swizzle::None}, Box{64, 8, -16, 66, Swizzle::B128}}) {
    Tensor tensor(box);
    expectRuns(tensor.trial(loadText(box)), [&] {
      for (uint32_t r = 0; r < box.rows; ++r)
        for (uint32_t c = 0; c < box.columns; ++c) {
          uint32_t place = swizzled((r * box.columns + c) * 2, box.swizzle);
          ASSERT_EQ(tensor.out[place / 2], tensor.at(box.x + int(c), box.y + int(r)))
              << r << ", " << c;
        }
    });
  }
}

TEST(TensorCopy, has_one_to_five_dimensions) {
  // A tensor of 24 x 3 x 4 x 2 x 3 halves and boxes of 16 x 2 x 2 x 2 x 2 that reach over its edge.
  const uint64_t dims[] = {24, 3, 4, 2, 3};
  const uint32_t box[] = {16, 2, 2, 2, 2};
  const int at[] = {16, 2, 1, 1, 2};
  std::vector<uint16_t> in(24 * 3 * 4 * 2 * 3);
  std::iota(in.begin(), in.end(), 1);
  uint64_t strides[5] = {2};
  for (int d = 1; d < 5; ++d)
    strides[d] = strides[d - 1] * dims[d - 1];
  for (int rank = 1; rank <= 5; ++rank) {
    Device device;
    std::vector<uint16_t> out(256);
    TensorMap map;
    ASSERT_EQ(
        encodeTiled(map, 2, rank, device.map(in, "in"), dims, strides + 1, box, Swizzle::None), "");
    uint32_t count = 1;
    std::string place;
    for (int d = 0; d < rank; ++d) {
      count *= box[d];
      place += (d ? ", " : "") + std::to_string(at[d]);
    }
    std::string body = replaced(loadBody, "{X, Y}", "{" + place + "}");
    body = replaced(body, ".2d.", "." + std::to_string(rank) + "d.");
    body = replaced(body, "BYTES", std::to_string(count * 2));
    body = replaced(body, "WORDS", std::to_string(count / 2));
    body = replaced(body, "NEXT:",
                    "NEXT:\nsetp.ge.u32 %p3, %r1, " + std::to_string(count / 2) + ";\n@%p3 ret;");
    Trial trial{kernelText(".param .align 64 .b8 map[128], .param .u64 out", body,
                           std::string(alignedMemory) + "\n.shared .align 8 .b8 bar[8];"),
                device,
                {1},
                {64},
                1024,
                {map, device.map(out, "out")}};
    expectRuns(trial, [&] {
      for (uint32_t i = 0; i < count; ++i) {
        uint64_t offset = 0;
        bool inside = true;
        uint32_t rest = i;
        for (int d = 0; d < rank; rest /= box[d++]) {
          uint64_t x = at[d] + rest % box[d];
          inside &= x < dims[d];
          offset += x * strides[d];
        }
        ASSERT_EQ(out[i], inside ? in[offset / 2] : 0) << "rank " << rank << ", " << i;
      }
    });
  }
}

TEST(TensorCopy, swizzles_exchange_chunks_within_rows) {
  // Row 3 of 128 bytes: chunk 5 goes to 5 ^ 3; of 64 bytes, rows 6 and 7 share a line.
  EXPECT_EQ(swizzled(3 * 128 + 5 * 16 + 2, Swizzle::B128), 3 * 128 + 6 * 16 + 2u);
  EXPECT_EQ(swizzled(6 * 64 + 1 * 16, Swizzle::B64), 6 * 64 + 2 * 16u);
  EXPECT_EQ(swizzled(4 * 32, Swizzle::B32), 4 * 32 + 16u);
}

TEST(TensorCopy, mistakes_are_found) {
  Box box{64, 16, 0, 0, Swizzle::B128};
  Tensor tensor(box);
  std::string text = loadText(box);
  auto expect = [&](const char *from, const char *to, const std::vector<std::string> &parts) {
    SCOPED_TRACE(from);
    expectOneOf(tensor.trial(replaced(text, from, to)), parts);
  };
  // Where the data are late, a wait that gives up is not repeated.
  expectFailsSometimes(tensor.trial(replaced(text, "@!%p2 bra L;", "")),
                       {"which a bulk copy writes in line"});
  expect("_, [bar], 2048", "_, [bar], 1024", {"not yet there", "deadlock"});
  expect("_, [bar], 2048", "_, [bar], 4096", {"and 2048 bytes"});
  expect("fence.mbarrier_init.release.cluster;", "", {"no fence.mbarrier_init"});
  expect("[%r2], [%rd1,", "[%r2+64], [%rd1,", {"is not a multiple of 128"});
  expect(".tensor.2d", ".tensor.1d", {"expected 1 coordinates"});
  expect("cvta.param.u64 %rd1, %rd1;", "", {"in no buffer"});
  expect("mov.b64 %rd1, map;",
         "mov.b64 %rd1, 0;\nld.param.u64 %rd5, [out];\n"
         "st.global.u64 [%rd5], 0;\nst.shared.u32 [%r2], 0;",
         {"and no fence.proxy.async orders the two"});
  expect("mov.b64 %rd1, map;",
         "mov.b64 %rd1, map;\nst.shared.u32 [%r2], 0;\n"
         "fence.proxy.async.shared::cta;\nst.shared.u32 [%r2+4], 0;",
         {"and no fence.proxy.async orders the two"});
}

TEST(TensorCopy, fence_orders_the_generic_proxy) {
  Box box{64, 16, 0, 0, Swizzle::B128};
  Tensor tensor(box);
  expectRuns(tensor.trial(replaced(loadText(box), "mov.b64 %rd1, map;",
                                   "mov.b64 %rd1, map;\nst.shared.u32 [%r2], 0;\n"
                                   "fence.proxy.async.shared::cta;")));
}

/// 64 threads write a tile, one stores it.
static const char *const storeBody = R"(
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, smem;
    shl.b32 %r3, %r1, 4;
    add.s32 %r4, %r2, %r3;
    st.shared.v4.u32 [%r4], {%r1, %r1, %r1, %r1};
    fence.proxy.async.shared::cta;
    bar.sync 0;
    setp.ne.s32 %p1, %r1, 0;
    @%p1 bra END;
    mov.b64 %rd1, map;
    cvta.param.u64 %rd1, %rd1;
    cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {96, 68}], [%r2];
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group.read 0;
    st.shared.u32 [%r2], 0;
END:
    ret;)";

TEST(TensorCopy, stores_stay_within_the_tensor) {
  Box box{16, 32, 0, 0, Swizzle::None};
  Tensor tensor(box);
  std::string text =
      kernelText(".param .align 64 .b8 map[128], .param .u64 out", storeBody, alignedMemory);
  std::vector<uint16_t> before = tensor.values;
  expectRuns(tensor.trial(text), [&] {
    for (int y = 0; y < 70; ++y)
      for (int x = 0; x < 104; ++x) {
        bool written = x >= 96 && x < 100 && y >= 68;
        int word = ((y - 68) * 16 + x - 96) / 2;
        ASSERT_EQ(tensor.values[y * 104 + x],
                  written ? (word % 4 * 0 + (x % 2 ? 0 : word / 4)) : before[y * 104 + x]);
      }
  });
  expectFails(tensor.trial(replaced(text, "fence.proxy.async.shared::cta;", "")),
              "and no fence.proxy.async orders the two");
  expectFails(tensor.trial(replaced(text, "bar.sync 0;", "")), {"orders the two"});
  expectFails(tensor.trial(replaced(text, "cp.async.bulk.wait_group.read 0;", "")),
              "which a bulk copy of thread (0, 0, 0) reads in line");
  expectFails(tensor.trial(replaced(
                  text, "cp.async.bulk.wait_group.read 0;\n    st.shared.u32 [%r2], 0;", "")),
              "ends with asynchronous copies that nothing has waited for");
}

TEST(TensorMap, refuses_what_the_driver_refuses) {
  TensorMap map;
  uint64_t dims[] = {100, 70};
  uint64_t strides[] = {208};
  uint32_t box[] = {64, 16};
  auto encode = [&](uint64_t address, Swizzle swizzle) {
    return encodeTiled(map, 2, 2, address, dims, strides, box, swizzle);
  };
  EXPECT_EQ(encode(256, Swizzle::B128), "");
  EXPECT_EQ(encode(8, Swizzle::B128), "expected an address that is a multiple of 16");
  EXPECT_EQ(encode(256, Swizzle::B64),
            "expected the box's inner dimension to have the swizzle's 64 bytes, but got 128");
  strides[0] = 200;
  EXPECT_EQ(encode(256, Swizzle::B128),
            "expected a stride that is a multiple of 16 below 2^40 of dimension 1, but got 200");
  strides[0] = 208;
  box[1] = 257;
  EXPECT_EQ(encode(256, Swizzle::B128),
            "expected a box size of 1 to 256 of dimension 1, but got 257");
  EXPECT_EQ(encodeTiled(map, 2, 6, 256, dims, strides, box, Swizzle::None),
            "expected 1 to 5 dimensions, but got 6");
}

TEST(BulkCopy, moves_bytes_both_ways) {
  std::vector<uint32_t> in(64);
  std::iota(in.begin(), in.end(), 5);
  std::vector<uint32_t> out(64);
  Device device;
  std::string text = kernelText(".param .u64 in, .param .u64 out", R"(
    mov.u32 %r2, smem;
    mbarrier.init.shared.b64 [bar], 1;
    fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
    ld.param.u64 %rd1, [in];
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 256, [bar];
L:
    mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;
    @!%p2 bra L;
    ld.param.u64 %rd1, [out];
    cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 256;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
    ret;)",
                                std::string(alignedMemory) + "\n.shared .align 8 .b8 bar[8];");
  expectRuns({text, device, {1}, {1}, 256, {device.map(in, "in"), device.map(out, "out")}}, [&] {
    EXPECT_EQ(out, in);
    std::fill(out.begin(), out.end(), 0);
  });
}
