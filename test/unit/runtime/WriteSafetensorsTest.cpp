// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is written as a .safetensors file reads as the same tensors, or is not written at all.
#include "TestSupport.h"
#include "io/Checkpoint.h"
#include "io/Safetensors.h"
#include <cstring>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace attn;
using namespace attn::test;

namespace {

attn_named_tensor named(const char *name, int32_t dtype, std::vector<int64_t> shape, void *data) {
  attn_named_tensor tensor = {name, {data, dtype, int32_t(shape.size()), {}, nullptr, 0, 0}};
  std::copy(shape.begin(), shape.end(), tensor.tensor.shape);
  return tensor;
}

} // namespace

TEST(WriteSafetensors, ReadsBackAsWritten) {
  float floats[6] = {0, -1, 2.5f, 3, 4, 5};
  int64_t integers[2] = {INT64_MIN, 7};
  uint8_t flags[3] = {1, 0, 1};
  uint16_t half = 0x3c00;
  const attn_named_tensor tensors[] = {
      named("blocks.0.y", ATTN_F32, {2, 3}, floats), named("ids", ATTN_I64, {2}, integers),
      named("m\"as\\k \xc3\xa9", ATTN_BOOL, {3, 1}, flags), named("scalar", ATTN_F16, {}, &half),
      named("nothing", ATTN_F32, {0, 4}, nullptr)};
  std::string path = scratchPath("written.safetensors");
  Error error;
  ASSERT_EQ(writeSafetensors(path.c_str(), tensors, 5, error), ATTN_OK) << error.text.c_str();
  Checkpoint checkpoint;
  ASSERT_EQ(checkpoint.open(path.c_str(), error), ATTN_OK) << error.text.c_str();
  ASSERT_EQ(checkpoint.tensors().size(), 5u);
  for (const attn_named_tensor &wanted : tensors) {
    const StoredTensor *got = checkpoint.find(wanted.name);
    ASSERT_NE(got, nullptr) << wanted.name;
    EXPECT_EQ(got->dtype, wanted.tensor.dtype) << wanted.name;
    ASSERT_EQ(got->rank, wanted.tensor.rank) << wanted.name;
    size_t bytes = attn_dtype_size(got->dtype);
    for (int32_t a = 0; a < got->rank; ++a) {
      EXPECT_EQ(got->shape[a], wanted.tensor.shape[a]) << wanted.name;
      bytes *= size_t(got->shape[a]);
    }
    ASSERT_EQ(got->bytes, bytes) << wanted.name;
    Vector<char> memory;
    const char *data = Checkpoint::bytesOf(*got, memory, error);
    ASSERT_NE(data, nullptr) << error.text.c_str();
    if (bytes)
      EXPECT_EQ(memcmp(data, wanted.tensor.data, bytes), 0) << wanted.name;
  }
}

TEST(WriteSafetensors, ElementsBeginAtACacheLine) {
  float value = 1.5f;
  for (std::string name : {"a", "ab", "a long name that moves the header's end"}) {
    attn_named_tensor tensor = named(name.c_str(), ATTN_F32, {1}, &value);
    std::string path = scratchPath("aligned.safetensors");
    Error error;
    ASSERT_EQ(writeSafetensors(path.c_str(), &tensor, 1, error), ATTN_OK);
    std::string bytes = readText(path);
    ASSERT_EQ(bytes.size() % 64, 4u) << name;
    float written;
    memcpy(&written, bytes.data() + bytes.size() - 4, 4);
    EXPECT_EQ(written, value);
  }
}

TEST(WriteSafetensors, SaysWhatIsNoTensorAndWhatCannotBeWritten) {
  float value = 0;
  attn_named_tensor wrong = named("w", 99, {1}, &value), good = named("g", ATTN_F32, {1}, &value);
  std::string path = scratchPath("none.safetensors");
  Error error;
  EXPECT_EQ(writeSafetensors(path.c_str(), &wrong, 1, error), ATTN_INVALID_ARGUMENT);
  EXPECT_NE(access(path.c_str(), F_OK), 0);
  EXPECT_EQ(writeSafetensors("/nowhere/at/all.safetensors", &good, 1, error), ATTN_IO);
  EXPECT_NE(strstr(error.text.c_str(), "/nowhere/at/all.safetensors"), nullptr);
}
