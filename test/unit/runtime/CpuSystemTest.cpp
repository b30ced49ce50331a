// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/CpuSystem.h"
#include <climits>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace attn;

namespace {

/// A folder with files of /proc and /sys.
class CpuSystemTest : public ::testing::Test {
protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "cpu-system-XXXXXX";
    ASSERT_TRUE(mkdtemp(pattern.data()));
    root = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(root); }

  void write(const std::string &path, const std::string &text) {
    std::filesystem::create_directories((root + path).substr(0, (root + path).rfind('/')));
    std::ofstream(root + path) << text;
  }
  int32_t quota() const { return cpusOfQuota(root.c_str()); }
  std::vector<int32_t> order(std::initializer_list<int32_t> cpus) const {
    CpuMask mask;
    for (int32_t cpu : cpus)
      mask.add(cpu);
    Vector<int32_t> ordered;
    EXPECT_TRUE(fastestFirst(mask, ordered, root.c_str()));
    return {ordered.begin(), ordered.end()};
  }

  std::string root;
};

TEST_F(CpuSystemTest, NoGroupLimitsNothing) {
  EXPECT_EQ(INT32_MAX, quota());
  write("/proc/self/cgroup", "0::/\n");
  EXPECT_EQ(INT32_MAX, quota());
  write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(INT32_MAX, quota());
}

TEST_F(CpuSystemTest, TheNarrowestGroupLimits) {
  write("/proc/self/cgroup", "0::/pods/one/main\n");
  write("/sys/fs/cgroup/pods/one/main/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/pods/one/cpu.max", "350000 100000\n");
  write("/sys/fs/cgroup/pods/cpu.max", "1600000 100000\n");
  EXPECT_EQ(4, quota());
  write("/sys/fs/cgroup/pods/one/main/cpu.max", "10000 50000\n");
  EXPECT_EQ(1, quota());
}

TEST_F(CpuSystemTest, OfAContainerThatSeesItsOwnGroupAsTheRoot) {
  write("/proc/self/cgroup", "0::/../../elsewhere\n");
  write("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(2, quota());
}

TEST_F(CpuSystemTest, FirstVersionOfGroups) {
  write("/proc/self/cgroup", "5:cpuset:/\n4:cpuacct,cpu:/docker/abc\n1:name=cpu:/x\n0::/\n");
  write("/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us", "150000\n");
  write("/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us", "100000\n");
  write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(2, quota());
}

TEST_F(CpuSystemTest, FilesWithOtherTextLimitNothing) {
  for (const char *text : {"", "100000", "-5 100000", "100000 0", "what\n", "9999999999999 1",
                           "99999999999999999999 100000", "9223372036854775807 3"}) {
    write("/proc/self/cgroup", "0::/\n\n:\nx:y\n");
    write("/sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(INT32_MAX, quota()) << text;
  }
}

TEST_F(CpuSystemTest, OrderByCapacity) {
  EXPECT_EQ(order({0, 2, 5}), (std::vector<int32_t>{0, 2, 5}));
  int capacities[] = {446, 1024, 446, 900, 1024};
  for (size_t cpu = 0; cpu < std::size(capacities); ++cpu)
    write("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpu_capacity",
          std::to_string(capacities[cpu]) + "\n");
  EXPECT_EQ(order({0, 1, 2, 3, 4}), (std::vector<int32_t>{1, 4, 3, 0, 2}));
  EXPECT_EQ(order({2, 3}), (std::vector<int32_t>{3, 2}));
}

TEST_F(CpuSystemTest, OrderByIntelsKindsOfCores) {
  write("/sys/devices/cpu_core/cpus", "4-7\n");
  write("/sys/devices/cpu_atom/cpus", "0-2,3,8-9\n");
  EXPECT_EQ(order({0, 2, 3, 4, 5, 8, 10}), (std::vector<int32_t>{4, 5, 10, 0, 2, 3, 8}));
}

TEST(CpuSystemOfThisMachineTest, OrderHoldsEachCpuOnce) {
  Vector<int32_t> cpus;
  CpuMask own = CpuMask::ofCaller(), seen;
  ASSERT_TRUE(fastestFirst(own, cpus));
  for (int32_t cpu : cpus)
    seen.add(cpu);
  EXPECT_EQ(own, seen);
  EXPECT_EQ(own.count(), int32_t(cpus.size()));
  EXPECT_GT(cpusOfQuota(), 0);
}

} // namespace
