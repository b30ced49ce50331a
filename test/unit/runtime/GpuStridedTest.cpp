// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strided tensors on a GPU: the kernel that copies them, against plain loops, and runs with
// transposed, sliced and repeated ones.
#include "GpuFixture.h"
#include "base/Overlap.h"
#include "cuda/Strided.h"
#include <random>

using namespace attn;
using namespace attn::test;

namespace {

/// A random tensor within `bytes` of memory, of which no two elements are in one place where
/// `isOutput`.
struct RandomTensor {
  attn_tensor tensor = {};
  int64_t strides[ATTN_MAX_RANK] = {};
  int64_t elements = 1, width = 1;
  size_t begin = 0, bytes = 0; ///< Of the first element, of all memory.

  RandomTensor(std::mt19937 &random, bool isOutput) {
    auto below = [&](int count) { return int64_t(random() % unsigned(count)); };
    static constexpr int32_t dtypes[] = {ATTN_U8, ATTN_BF16, ATTN_F32, ATTN_I64};
    tensor.dtype = dtypes[below(4)];
    width = int64_t(attn_dtype_size(tensor.dtype));
    tensor.rank = int32_t(below(ATTN_MAX_RANK + 1));
    std::vector<int> order(size_t(tensor.rank));
    std::iota(order.begin(), order.end(), 0);
    if (below(2))
      std::shuffle(order.begin(), order.end(), random);
    int64_t step = 1, lowest = 0, highest = 0;
    for (size_t i = order.size(); i-- > 0;) {
      int a = order[i];
      int64_t size = tensor.shape[a] = elements > 500 ? 1 + below(2) : 1 + below(i % 2 ? 4 : 9);
      strides[a] = step;
      step *= size + (below(3) ? 0 : below(4));
      if (!isOutput && below(5) == 0)
        strides[a] = 0;
      if (below(5) == 0)
        strides[a] = -strides[a];
      (strides[a] < 0 ? lowest : highest) += strides[a] * (size - 1);
      elements *= size;
    }
    size_t shift = size_t(width * below(5));
    begin = shift - size_t(lowest * width);
    bytes = begin + size_t((highest + 1) * width) + 16;
    tensor.strides = strides;
  }
  RandomTensor(const RandomTensor &) = delete;

  /// Where element `i` is, in bytes behind the first.
  int64_t offset(int64_t i) const {
    int64_t sum = 0;
    for (int32_t a = tensor.rank; a-- > 0; i /= tensor.shape[a])
      sum += i % tensor.shape[a] * strides[a];
    return sum * width;
  }
};

class StridedTest : public GpuTest {
protected:
  void *module = nullptr, *functions[StridedCopy::widthCount] = {};

  void SetUp() override {
    GpuTest::SetUp();
    if (const char *folder = getenv("ATTN_PTX_FOLDER")) // for ptxas
      writeText(std::string(folder) + "/strided.ptx", stridedPtx);
    ASSERT_EQ(0, (function<int(void **, const void *, unsigned, int *, void **)>(
                     "cuModuleLoadDataEx")(&module, stridedPtx, 0, nullptr, nullptr)));
    for (int k = 0; k < StridedCopy::widthCount; ++k)
      ASSERT_EQ(0, (function<int(void **, void *, const char *)>("cuModuleGetFunction")(
                       &functions[k], module, stridedKernels[k])));
  }
  void TearDown() override {
    function<int(void *)>("cuModuleUnload")(module);
    GpuTest::TearDown();
  }
  void launch(const StridedCopy &copy, unsigned blocks) {
    int64_t words[StridedCopy::wordCount];
    copy.toWords(words);
    void *arguments[StridedCopy::argumentCount];
    for (int i = 0; i < StridedCopy::argumentCount; ++i)
      arguments[i] = words + i;
    using Launch = int(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       void *, void **, void **);
    ASSERT_EQ(0, function<Launch>("cuLaunchKernel")(functions[copy.kernel()], blocks, 1, 1, 64, 1,
                                                    1, 0, nullptr, arguments, nullptr));
    ASSERT_EQ(0, function<int(void *)>("cuStreamSynchronize")(nullptr));
  }
  /// In parts of at most `most` elements.
  void launchAll(StridedCopy copy, int64_t most) {
    while (copy.elements() > most)
      launchAll(copy.takeHalf(), most);
    launch(copy, 1 + unsigned(copy.elements() % 3));
  }
};

} // namespace

TEST_F(StridedTest, gathers_and_scatters_equal_plain_loops) {
  std::mt19937 random(5);
  int widths = 0;
  for (int round = 0; round < 150; ++round) {
    bool isOutput = round % 2;
    RandomTensor own(random, isOutput);
    size_t denseBytes = size_t(own.elements * own.width);
    std::vector<uint8_t> strided(own.bytes), dense(denseBytes + 16, 7), expected;
    for (uint8_t &value : strided)
      value = uint8_t(random());
    for (size_t i = 0; i < denseBytes && isOutput; ++i)
      dense[i] = uint8_t(random());
    unsigned long long there = onDevice(strided), denseThere = onDevice(dense);
    attn_tensor tensor = onGpu(own.tensor, there + own.begin);
    expected = isOutput ? strided : dense;
    for (int64_t i = 0; i < own.elements; ++i) {
      auto *at = strided.data() + own.begin + own.offset(i);
      if (isOutput)
        memcpy(expected.data() + (at - strided.data()), dense.data() + i * own.width,
               size_t(own.width));
      else
        memcpy(expected.data() + i * own.width, at, size_t(own.width));
    }
    StridedCopy copy = isOutput ? StridedCopy::scatter(denseThere, tensor)
                                : StridedCopy::gather(tensor, denseThere);
    widths |= 1 << copy.kernel();
    launchAll(copy, round % 3 ? StridedCopy::mostElements : 1 + own.elements / 5);
    fromDevice(isOutput ? strided : dense, isOutput ? there : denseThere);
    ASSERT_EQ(expected, isOutput ? strided : dense) << "round " << round;
  }
  EXPECT_EQ((1 << StridedCopy::widthCount) - 1, widths) << "widths that were met";
}

TEST_F(StridedTest, rows_are_copied_by_16_bytes_and_neighbouring_axes_are_one) {
  const int64_t strides[] = {4096, 512, 32, 1}, columns[] = {1, 64};
  attn_tensor tensor = onGpu({nullptr, ATTN_BF16, 4, {3, 8, 16, 32}, strides, 0, 0}, 1 << 20);
  StridedCopy copy = StridedCopy::gather(tensor, 1 << 16);
  EXPECT_EQ(1, copy.rank);
  EXPECT_EQ(16, copy.width);
  EXPECT_EQ(3 * 8 * 16 * 32 / 8, copy.elements());
  tensor.shape[3] = 24;
  copy = StridedCopy::gather(tensor, 1 << 16);
  EXPECT_EQ(2, copy.rank);
  EXPECT_EQ(16, copy.width);
  tensor.data = static_cast<char *>(tensor.data) + 4;
  EXPECT_EQ(4, StridedCopy::gather(tensor, 1 << 16).width);
  tensor = onGpu({nullptr, ATTN_BF16, 2, {64, 64}, columns, 0, 0}, 1 << 20);
  EXPECT_EQ(2, StridedCopy::gather(tensor, 1 << 16).width);
}

TEST(Overlap, is_found_byte_for_byte) {
  std::mt19937 random(9);
  int met = 0;
  for (int round = 0; round < 4000; ++round) {
    RandomTensor a(random, true), b(random, round % 2);
    if (a.elements * b.elements > 4000)
      continue;
    std::vector<uint8_t> memory(a.bytes + b.bytes + 4096);
    uint8_t *base = memory.data() + 1024;
    auto place = [&](RandomTensor &own) {
      own.tensor.data = base + own.begin + size_t(own.width) * (random() % 40);
    };
    place(a), place(b);
    bool isShared = false;
    for (int64_t i = 0; i < a.elements; ++i)
      for (int64_t j = 0; j < b.elements; ++j) {
        auto *one = static_cast<uint8_t *>(a.tensor.data) + a.offset(i),
             *other = static_cast<uint8_t *>(b.tensor.data) + b.offset(j);
        isShared |= one < other + b.width && other < one + a.width;
      }
    met |= 1 << isShared;
    ASSERT_EQ(isShared, mayOverlap(a.tensor, b.tensor)) << "round " << round;
    ASSERT_FALSE(mayOverlapItself(a.tensor));
  }
  EXPECT_EQ(3, met);
}

TEST(Overlap, of_an_output_with_itself) {
  const int64_t repeated[] = {0, 1}, crossing[] = {2, 1}, columns[] = {1, 4}, back[] = {-3, 1};
  attn_tensor tensor = {nullptr, ATTN_F32, 2, {4, 3}, repeated, 0, 0};
  EXPECT_TRUE(mayOverlapItself(tensor));
  tensor.strides = crossing;
  EXPECT_TRUE(mayOverlapItself(tensor));
  tensor.strides = columns;
  EXPECT_FALSE(mayOverlapItself(tensor));
  tensor.strides = back;
  EXPECT_FALSE(mayOverlapItself(tensor));
  tensor.shape[0] = 1, tensor.strides = repeated;
  EXPECT_FALSE(mayOverlapItself(tensor));
}

TEST(Overlap, reaches_that_leave_memory_are_not_counted) {
  int64_t lowest = 0, end = 0;
  char data[64];
  const int64_t far[] = {INT64_MAX, 1}, below[] = {-(int64_t(1) << 59), 1};
  attn_tensor tensor = {data, ATTN_F32, 2, {4, 3}, nullptr, 0, 0};
  EXPECT_TRUE(reachOf(tensor, lowest, end));
  EXPECT_EQ(0, lowest);
  EXPECT_EQ(48, end);
  for (const int64_t *strides : {far, below}) {
    tensor.strides = strides;
    EXPECT_FALSE(reachOf(tensor, lowest, end));
  }
}

TEST_F(GpuTest, strided_tensors_of_the_gpu_are_inputs_and_outputs) {
  create();
  constexpr int64_t rows = 5;
  // Rows of `given` as they lie, transposed, every third, backwards, one of them repeated, and from
  // an odd element on.
  struct Case {
    const char *name;
    int64_t strides[2], first;
    bool isOutput;
  };
  const Case cases[] = {{"dense", {64, 1}, 0, true},      {"transposed", {1, 16}, 0, true},
                        {"sliced", {192, 1}, 64, true},   {"backwards", {-128, 1}, 640, true},
                        {"repeated", {0, 1}, 128, false}, {"odd", {64, 1}, 3, true},
                        {"columns", {64, 2}, 1, false}};
  std::vector<uint16_t> from(1024), to(1024);
  std::iota(from.begin(), from.end(), uint16_t(5));
  for (bool callers : {false, true}) {
    ASSERT_EQ(ATTN_OK, attn_context_set_stream(handles.context, callers ? asPointer(1) : nullptr,
                                               &handles.message));
    for (const Case &in : cases)
      for (const Case &out : cases) {
        if (!out.isOutput)
          continue;
        unsigned long long fromThere = onDevice(from), toThere = onDevice(to);
        attn_tensor input = onGpu(bfloats(given, rows), fromThere + 2 * size_t(in.first));
        attn_tensor output = onGpu(bfloats(made, rows), toThere + 2 * size_t(out.first));
        input.strides = in.strides, output.strides = out.strides;
        ASSERT_EQ(ATTN_OK, run(0, input, output)) << in.name << out.name << handles.text();
        std::vector<uint16_t> found(1024), expected = to;
        EXPECT_EQ(callers, counts().pendingActions > 0);
        fromDevice(found, toThere);
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t c = 0; c < 64; ++c)
            expected[size_t(out.first + r * out.strides[0] + c * out.strides[1])] =
                from[size_t(in.first + r * in.strides[0] + c * in.strides[1])];
        ASSERT_EQ(expected, found) << in.name << " to " << out.name;
      }
  }
}

TEST_F(GpuTest, strided_outputs_that_share_memory_are_errors) {
  create();
  unsigned long long there = onDevice(std::vector<uint16_t>(2048));
  attn_tensor input = onGpu(bfloats(given, 4), there), output = onGpu(bfloats(made, 4), there);
  const int64_t halves[] = {128, 1}, repeated[] = {0, 1};
  auto expectError = [&](const char *part) {
    EXPECT_EQ(ATTN_INVALID_ARGUMENT, run(0, input, output));
    std::string text = handles.text();
    EXPECT_NE(std::string::npos, text.find(part)) << text;
  };
  output.strides = repeated;
  expectError("output `y` of entry `box`: its strides are [0, 1], which put elements in one place "
              "in a tensor of shape [4, 64]");
  // Halves of one tensor's columns are apart, though one reaches into the other.
  input.strides = output.strides = halves;
  output.data = static_cast<char *>(output.data) + 126;
  expectError("output `y` of entry `box` overlaps `x`");
  output.data = static_cast<char *>(output.data) + 2;
  EXPECT_EQ(ATTN_OK, run(0, input, output)) << handles.text();
}

TEST_F(GpuTest, strided_copies_are_nodes_of_the_graph) {
  create();
  std::vector<uint16_t> parent(2048);
  std::iota(parent.begin(), parent.end(), uint16_t(9));
  unsigned long long there = onDevice(parent);
  attn_tensor input = onGpu(bfloats(given, 8), there);
  InterpretedCounts before = counts();
  updates();
  for (int64_t step = 0; step < 5; ++step) {
    const int64_t strides[] = {128 + 8 * step, 1};
    input.strides = strides;
    ASSERT_EQ(ATTN_OK, run(0, input, bfloats(made, 8))) << handles.text();
    for (int64_t i = 0; i < 8 * 64; ++i)
      ASSERT_EQ(parent[size_t(i / 64 * strides[0] + i % 64)], made[size_t(i)]);
  }
  EXPECT_EQ(1, counts().instantiations - before.instantiations);
  EXPECT_EQ(2, counts().launches - before.launches);
  EXPECT_EQ(" attnCopy16 attnCopy16 attnCopy16", updates());
}

TEST_F(GpuTest, strided_indices_are_checked) {
  create();
  std::vector<int32_t> indices = {0, 9, 6, 9, 7, 9, 1, 9}, copy(4);
  attn_tensor input = onGpu({nullptr, ATTN_I32, 1, {4}, nullptr, 0, 0}, onDevice(indices));
  attn_tensor output = {copy.data(), ATTN_I32, 1, {4}, nullptr, 0, 0};
  const int64_t strides[] = {2};
  input.strides = strides;
  EXPECT_EQ(ATTN_BAD_INPUT, run(2, input, output));
  std::string text = handles.text();
  EXPECT_NE(std::string::npos, text.find("holds 7 at [2], expected 0 to 6")) << text;
  indices[4] = 2;
  input = onGpu(input, onDevice(indices));
  ASSERT_EQ(ATTN_OK, run(2, input, output)) << handles.text();
  EXPECT_EQ((std::vector<int32_t>{0, 6, 2, 1}), copy);
}
