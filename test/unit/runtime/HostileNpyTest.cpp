// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The .npy reader and writer: round trips, malformed files, files that appear whole or not at all.
#include "TestSupport.h"
#include "io/Npy.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace attn::test;

namespace {
struct Read {
  attn_status status;
  attn_tensor tensor;
  std::string text;
  attn::Vector<char> bytes;
};
} // namespace

static Read readBytes(const std::string &file) {
  Read result = {};
  attn::Error error;
  EXPECT_TRUE(result.bytes.resize(file.size()));
  if (!file.empty())
    memcpy(result.bytes.data(), file.data(), file.size());
  result.status = attn::readNpy(result.bytes, "x.npy", result.tensor, error);
  result.text = error.text.c_str();
  return result;
}

static std::string npy(const std::string &header, size_t bodySize, char version = 1) {
  std::string file = "\x93NUMPY";
  file += version;
  file += '\0';
  for (size_t i = 0; i < (version == 1 ? 2u : 4u); ++i)
    file += char(header.size() >> 8 * i);
  return file + header + std::string(bodySize, 1);
}

TEST(NpyTest, RoundTripsAllTypesAndRanks) {
  for (int32_t dtype : {ATTN_F32, ATTN_F16, ATTN_I32, ATTN_I64, ATTN_U8, ATTN_BOOL, ATTN_F64})
    for (int32_t rank = 0; rank <= 4; ++rank) {
      std::string data(24 * attn_dtype_size(dtype), 0);
      for (size_t i = 0; i < data.size(); ++i)
        data[i] = char(i * 37);
      attn_tensor tensor = {data.data(), dtype, rank, {2, 3, 4, 1}, nullptr, 0, 0};
      size_t elements = rank == 0 ? 1 : rank == 1 ? 2 : rank == 2 ? 6 : 24;
      std::string path = scratchPath("round.npy");
      attn::Error error;
      ASSERT_EQ(ATTN_OK, attn::writeNpy(path.c_str(), tensor, error)) << error.text.c_str();
      std::string file = readText(path);
      EXPECT_EQ(0u, (file.size() - elements * attn_dtype_size(dtype)) % 64);
      Read back = readBytes(file);
      ASSERT_EQ(ATTN_OK, back.status) << back.text;
      EXPECT_EQ(dtype, back.tensor.dtype);
      ASSERT_EQ(rank, back.tensor.rank);
      for (int32_t a = 0; a < rank; ++a)
        EXPECT_EQ(tensor.shape[a], back.tensor.shape[a]);
      EXPECT_EQ(0, memcmp(data.data(), back.tensor.data, elements * attn_dtype_size(dtype)));
      for (size_t length = 0; length < file.size(); ++length)
        ASSERT_EQ(ATTN_BAD_INPUT, readBytes(file.substr(0, length)).status) << length;
    }
}

TEST(NpyTest, ReadsVersionsTwoAndThree) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }\n";
  for (char version : {1, 2, 3})
    EXPECT_EQ(ATTN_OK, readBytes(npy(header, 16, version)).status);
  EXPECT_EQ(ATTN_BAD_INPUT, readBytes(npy(header, 16, 4)).status);
}

TEST(NpyTest, HostileHeaders) {
  struct {
    const char *header;
    size_t body;
    const char *message;
  } const cases[] = {
      {"", 0, "to be a dict"},
      {"{", 0, "expected a string"},
      {"{}", 0, "missing"},
      {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2)}", 16, "Fortran order"},
      {"{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", 4, "type `>f4`"},
      {"{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", 8, "type `<c8`"},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", 4, "expected a string"},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", 8, "type `|O`"},
      {"{'descr': '<f4', 'fortran_order': 1, 'shape': (1,)}", 4, "True or False"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", 4, "expected a size"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': 1}", 4, "a tuple"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", 4,
       "too large"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", 4,
       "overflows"},
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693952,)}", 0, "overflows"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296)}", 0,
       "overflows"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}", 4, "8 axes"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 4, "its shape needs 8"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", 5, "its shape needs 4"},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", 4, "once"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}", 4, "no other key"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", 4, "text after"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1 1)}", 4, "expected `,` or `)`"},
      {"{'descr': '<f4\x1b', 'fortran_order': False, 'shape': (1,)}", 4, "NumPy would not write"},
      {"{'descr': '<f4444444444444444444444444444444444444444444', ", 4, "NumPy would not write"},
  };
  for (const auto &hostile : cases) {
    Read result = readBytes(npy(hostile.header, hostile.body));
    EXPECT_EQ(ATTN_BAD_INPUT, result.status) << hostile.header;
    EXPECT_NE(std::string::npos, result.text.find("error[R0301]")) << result.text;
    EXPECT_NE(std::string::npos, result.text.find(hostile.message)) << result.text;
  }
  EXPECT_EQ(ATTN_BAD_INPUT, readBytes("").status);
  EXPECT_EQ(ATTN_BAD_INPUT, readBytes("\x93NUMPY\x01").status);
  EXPECT_EQ(ATTN_BAD_INPUT, readBytes(std::string("\x93NUMPY\x02\0\xff\xff\xff\xff{", 13)).status);
}

TEST(NpyTest, EmptyArray) {
  Read result = readBytes(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3)}", 0));
  EXPECT_EQ(ATTN_OK, result.status);
  EXPECT_EQ(0, result.tensor.shape[0]);
}

TEST(NpyTest, FailedWritesLeaveNothing) {
  float value = 1;
  attn_tensor tensor = {&value, ATTN_F32, 1, {1}, nullptr, 0, 0};
  attn::Error error;
  EXPECT_EQ(ATTN_IO, attn::writeNpy("/dev/full", tensor, error));
  EXPECT_NE(nullptr, strstr(error.text.c_str(), "No space left")) << error.text.c_str();
  std::string missing = scratchPath("no/such/folder/x.npy");
  EXPECT_EQ(ATTN_IO, attn::writeNpy(missing.c_str(), tensor, error));
  // What stood there before stays where the new file does not come to be.
  std::string path = scratchPath("kept.npy");
  writeText(path, "before");
  {
    attn::OutputFile file;
    ASSERT_EQ(ATTN_OK, file.open(path.c_str(), error));
    ASSERT_EQ(ATTN_OK, file.write("half", 4, error));
  }
  EXPECT_EQ("before", readText(path));
  EXPECT_EQ(0, shell("ls " + path + ".* 2>/dev/null | wc -l | grep -qx 0").code);
}

TEST(NpyTest, FullDiskLeavesNothing) {
  // A file system of 64 KB, in a mount namespace of its own where the system lets us make one.
  std::string folder = scratchPath("disk");
  std::string mount =
      "unshare -rm sh -c 'mkdir -p " + folder + " && mount -t tmpfs -o size=64k none " + folder;
  if (shell(mount + "'").code != 0)
    GTEST_SKIP() << "no mount namespaces here";
  std::string fill = " && head -c 61440 /dev/zero > " + folder + "/filler";
  std::string run = " && " ATTN_TEST_TINY
                    " --entry run --weights random --input x=random --output logits=" +
                    folder + "/y.npy; echo code $?; ls " + folder + "'";
  Finished room = shell(mount + run);
  EXPECT_EQ("code 0\ny.npy\n", room.text);
  Finished full =
      shell(mount + fill + " && cat /dev/zero > " + folder + "/rest 2>/dev/null; true" + run);
  EXPECT_NE(std::string::npos, full.text.find("No space left")) << full.text;
  EXPECT_NE(std::string::npos, full.text.find("code 4\nfiller\nrest\n")) << full.text;
}

TEST(NpyTest, WidensBrainFloats) {
  uint16_t values[3] = {0x3f80, 0xc000, 0x3e80};
  attn_tensor tensor = {values, ATTN_BF16, 1, {3}, nullptr, 0, 0};
  std::string path = scratchPath("brain.npy");
  attn::Error error;
  ASSERT_EQ(ATTN_OK, attn::writeNpy(path.c_str(), tensor, error));
  Read back = readBytes(readText(path));
  ASSERT_EQ(ATTN_F32, back.tensor.dtype);
  float got[3];
  memcpy(got, back.tensor.data, sizeof got);
  EXPECT_EQ(1, got[0]);
  EXPECT_EQ(-2, got[1]);
  EXPECT_EQ(0.25, got[2]);
}
