// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checkpoints that others truncate or write while they are read: an error, never a signal.
#include "TestSupport.h"
#include "base/Team.h"
#include "io/Checkpoint.h"
#include "weights/Pack.h"
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace attn;
using namespace attn::test;

namespace {

constexpr int64_t rows = 512, columns = 512; // 1 MB

class ChangedFileTest : public testing::Test {
protected:
  std::string path = scratchPath("changed.safetensors");
  Checkpoint checkpoint;
  Error error;

  void SetUp() override {
    test::Tensors tensors;
    tensors["w"] = floatTensor({rows, columns}, std::vector<float>(rows * columns, 1.0f));
    writeText(path, safetensors(tensors));
    ASSERT_EQ(ATTN_OK, checkpoint.open(path.c_str(), error));
  }
  off_t size() const {
    struct stat info;
    return stat(path.c_str(), &info) == 0 ? info.st_size : -1;
  }
  attn_status pack(bool isTransposed) {
    attn_abi_part part = {0, 0, columns, 0, 1, columns, rows, 0};
    if (!isTransposed)
      part.kStride = columns, part.innerStride = 1;
    attn_abi_slot slot = {
        0, 0, rows * columns * 4, 1, ATTN_PACK_PANELS, rows, columns, columns, 64, 1, &part};
    std::vector<float> block(rows * columns);
    Vector<PackJob> jobs;
    jobs.push({&slot, &part, 0, checkpoint.find("w")});
    Team team;
    EXPECT_TRUE(team.start(2));
    return packAll(jobs, reinterpret_cast<char *>(block.data()), team, error);
  }
  void expectError(const std::string &text) {
    EXPECT_EQ(ATTN_IO, error.status);
    EXPECT_NE(std::string::npos, std::string(error.text.c_str()).find(text)) << error.text.c_str();
    error = Error();
  }
};

TEST_F(ChangedFileTest, OneThatBecameShorterIsAnError) {
  long long before = size(), after = before / 2;
  ASSERT_EQ(0, truncate(path.c_str(), after));
  std::string text = "error[R0501]: `" + path +
                     "` was changed while it was read\n   = note: it had " +
                     std::to_string(before) + " bytes, now " + std::to_string(after);
  for (bool isTransposed : {false, true}) {
    EXPECT_EQ(ATTN_IO, pack(isTransposed));
    expectError(text);
  }
  Vector<char> memory;
  EXPECT_EQ(nullptr, Checkpoint::bytesOf(*checkpoint.find("w"), memory, error));
  expectError(text);
}

TEST_F(ChangedFileTest, OneThatWasWrittenAnewIsAnErrorAfterPacking) {
  EXPECT_EQ(ATTN_OK, pack(false));
  const SourceFile &file = *checkpoint.sourceFiles()[0];
  EXPECT_EQ(ATTN_OK, file.checkUnchanged(error));
  timespec times[2] = {{1, 0}, {1, 0}}; // another time of the last change
  ASSERT_EQ(0, utimensat(AT_FDCWD, path.c_str(), times, 0));
  EXPECT_EQ(ATTN_IO, file.checkUnchanged(error));
  expectError("was changed while it was read");
}

TEST_F(ChangedFileTest, OneThatWasWrittenWithItsTimeKeptIsAnError) {
  usleep(70000);
  struct stat before = {};
  ASSERT_EQ(0, stat(path.c_str(), &before));
  writeText(path, readText(path));
  timespec times[2] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(0, utimensat(AT_FDCWD, path.c_str(), times, 0));
  EXPECT_EQ(ATTN_IO, checkpoint.sourceFiles()[0]->checkUnchanged(error));
  expectError("was changed while it was read");
}

TEST_F(ChangedFileTest, OneThatAnotherReplacesIsReadToItsEnd) {
  usleep(70000);
  std::string other = scratchPath("other.safetensors");
  writeText(other, "other");
  ASSERT_EQ(0, rename(other.c_str(), path.c_str()));
  EXPECT_EQ(ATTN_OK, pack(false)) << error.text.c_str();
  EXPECT_EQ(ATTN_OK, checkpoint.sourceFiles()[0]->checkUnchanged(error)) << error.text.c_str();
}

TEST_F(ChangedFileTest, OneThatWasReplacedIsReadAsItWas) {
  ASSERT_EQ(0, unlink(path.c_str()));
  writeText(path, "another file");
  EXPECT_EQ(ATTN_OK, pack(true));
}

} // namespace
