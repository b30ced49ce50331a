// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runner itself: loops, vectors, parameters and barriers, without any kernel.
#include "test/unit/kernels/KernelRunner.h"

#include "attn/abi.h"
#include <gtest/gtest.h>
#include <vector>

namespace attn::test {
namespace {

class KernelRunnerTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    if (!KernelRunner::supports(GetParam()))
      GTEST_SKIP() << "this machine is below " << GetParam();
  }
};

INSTANTIATE_TEST_SUITE_P(Levels, KernelRunnerTest, testing::Values("x86-64-v3", "x86-64-v4"));

TEST_P(KernelRunnerTest, VectorLoopWithMaskedTail) {
  auto runner = KernelRunner::create(R"(
    func.func @scale(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>,
                     %thread: index, %threads: index, %n: index, %in: memref<f32>, %out: memref<f32>) {
      %c0 = arith.constant 0 : index
      %c8 = arith.constant 8 : index
      %two = arith.constant dense<2.0> : vector<8xf32>
      %zero = arith.constant dense<0.0> : vector<8xf32>
      %from = memref.reinterpret_cast %in to offset: [0], sizes: [%n], strides: [1] : memref<f32> to memref<?xf32>
      %to = memref.reinterpret_cast %out to offset: [0], sizes: [%n], strides: [1] : memref<f32> to memref<?xf32>
      scf.for %i = %c0 to %n step %c8 {
        %left = arith.subi %n, %i : index
        %mask = vector.create_mask %left : vector<8xi1>
        %x = vector.maskedload %from[%i], %mask, %zero : memref<?xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
        %y = math.fma %x, %two, %two : vector<8xf32>
        vector.maskedstore %to[%i], %mask, %y : memref<?xf32>, vector<8xi1>, vector<8xf32>
      }
      return
    })",
                                     GetParam());
  ASSERT_TRUE(runner);
  for (int64_t n : {1, 7, 8, 9, 31}) {
    std::vector<float> in(n), out(n + 1, -1.0f);
    for (int64_t i = 0; i < n; ++i)
      in[i] = float(i);
    runner->run("scale", 1, nullptr, nullptr, n, in.data(), out.data());
    for (int64_t i = 0; i < n; ++i)
      EXPECT_EQ(out[i], 2.0f * float(i) + 2.0f);
    EXPECT_EQ(out[n], -1.0f) << "written past the end";
  }
}

TEST_P(KernelRunnerTest, AddressOfASlotsLayer) {
  auto runner = KernelRunner::create(R"(
    attn.slot @w [@p] k 1 columns 4 width 0 bytes 16 layers 3 at 64 + 128
    func.func @pick(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>,
                    %thread: index, %threads: index, %layer: index, %out: memref<f32>) {
      %w = attn.address @w[%layer] in %packed : memref<i8> -> memref<f32>
      func.call @copy(%w, %out) : (memref<f32>, memref<f32>) -> ()
      attn.barrier %call, %thread : memref<i8>
      return
    }
    func.func private @copy(%from: memref<f32>, %to: memref<f32>) {
      %x = memref.load %from[] : memref<f32>
      memref.store %x, %to[] : memref<f32>
      return
    })",
                                     GetParam());
  ASSERT_TRUE(runner);
  std::vector<float> packed(128);
  for (size_t i = 0; i < packed.size(); ++i)
    packed[i] = float(i);
  for (int64_t layer : {0, 1, 2}) {
    float out = -1.0f;
    runner->run("pick", 1, packed.data(), nullptr, layer, &out);
    EXPECT_EQ(out, float(16 + 32 * layer));
  }
}

TEST_P(KernelRunnerTest, BarrierIsCalledWithTeamAndThread) {
  auto runner = KernelRunner::create(R"(
    func.func @wait(%packed: memref<i8>, %workspace: memref<i8>, %call: memref<i8>,
                    %thread: index, %threads: index) {
      attn.barrier %call, %thread : memref<i8>
      return
    })",
                                     GetParam());
  ASSERT_TRUE(runner);
  auto *wait = runner->function<void(void *, void *, const void *, int64_t, int64_t)>("wait");
  ASSERT_TRUE(wait);
  std::vector<int64_t> calls;
  attn_abi_call call = {};
  call.barrier = [](void *team, int64_t thread, int64_t kernel) {
    EXPECT_EQ(kernel, -1);
    static_cast<std::vector<int64_t> *>(team)->push_back(thread);
  };
  call.team = &calls;
  wait(nullptr, nullptr, &call, 5, 8);
  EXPECT_EQ(calls, std::vector<int64_t>{5});
}

} // namespace
} // namespace attn::test
