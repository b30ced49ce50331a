// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small files of /proc and /sys to numbers. What is missing or written otherwise limits nothing.
#include "base/CpuSystem.h"
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace attn;

/// The first bytes of a file, as text; empty where it cannot be read.
template <size_t size>
static void readText(char (&text)[size], const char *root, const char *path, const char *name) {
  char whole[PATH_MAX];
  text[0] = 0;
  int length = snprintf(whole, sizeof whole, "%s%s%s", root, path, name);
  FILE *file = length > 0 && size_t(length) < sizeof whole ? fopen(whole, "re") : nullptr;
  if (!file)
    return;
  text[fread(text, 1, size - 1, file)] = 0;
  fclose(file);
}

/// Takes the number that a text begins with; false where it begins with none that fits.
static bool takeNumber(const char *&text, long long &number) {
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (end == text || errno != 0)
    return false;
  text = end, number = value;
  return true;
}

/// The number in a file of a folder.
static bool readNumber(const char *root, const char *folder, const char *name, long long &number) {
  char text[64];
  readText(text, root, folder, name);
  const char *rest = text;
  return takeNumber(rest, number);
}

/// How many CPUs the group in a folder of control groups allows.
static int32_t quotaOf(const char *root, const char *folder) {
  char text[64];
  long long quota, period;
  readText(text, root, folder, "/cpu.max");
  const char *rest = text;
  bool isLimited = (takeNumber(rest, quota) && takeNumber(rest, period)) ||
                   (readNumber(root, folder, "/cpu.cfs_quota_us", quota) &&
                    readNumber(root, folder, "/cpu.cfs_period_us", period));
  if (!isLimited || quota <= 0 || period <= 0 || quota / period >= INT32_MAX)
    return INT32_MAX;
  return int32_t(quota / period + (quota % period != 0));
}

/// Whether one of the names between commas is "cpu".
static bool controlsCpu(const char *names) {
  for (; *names; names += strcspn(names, ","), names += *names == ',')
    if (strncmp(names, "cpu", 3) == 0 && (names[3] == 0 || names[3] == ','))
      return true;
  return false;
}

int32_t attn::cpusOfQuota(const char *root) {
  char groups[8192], folder[PATH_MAX];
  readText(groups, root, "/proc/self/cgroup", "");
  int32_t least = INT32_MAX;
  char *rest = groups;
  while (char *line = strsep(&rest, "\n")) { // "1:cpu,cpuacct:/a/b", or "0::/a/b"
    char *path = line;
    strsep(&path, ":");
    char *names = strsep(&path, ":");
    bool isUnified = names && *names == 0;
    if (!path || !(isUnified || controlsCpu(names)))
      continue;
    const char *base = isUnified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu";
    int length = snprintf(folder, sizeof folder, "%s%s", base, path);
    if (length < 0 || size_t(length) >= sizeof folder)
      continue;
    for (char *slash = folder + length; slash; slash = strrchr(folder, '/')) {
      *slash = 0;
      if (strlen(folder) < strlen(base))
        break;
      int32_t own = quotaOf(root, folder);
      least = own < least ? own : least;
    }
  }
  return least;
}

/// Whether a list of CPUs as "0-3,8" has one in it.
static bool holds(const char *list, int32_t cpu) {
  long long first, last;
  while (takeNumber(list, first)) {
    last = first;
    if (*list == '-') {
      ++list;
      if (!takeNumber(list, last))
        return false;
    }
    if (first <= cpu && cpu <= last)
      return true;
    list += *list == ',';
  }
  return false;
}

bool attn::fastestFirst(const CpuMask &mask, Vector<int32_t> &cpus, const char *root) {
  char atoms[4096], folder[64];
  readText(atoms, root, "/sys/devices/cpu_atom/cpus", "");
  Vector<long long> capacities; // of `cpus`
  cpus.clear();
  for (int32_t cpu = 0; cpu < CpuMask::most; ++cpu) {
    if (!mask.holds(cpu))
      continue;
    snprintf(folder, sizeof folder, "/sys/devices/system/cpu/cpu%d", int(cpu));
    long long capacity = 1024;
    readNumber(root, folder, "/cpu_capacity", capacity);
    if (holds(atoms, cpu))
      capacity = capacity < 1024 ? capacity : 512;
    size_t at = cpus.size();
    if (!cpus.push(cpu) || !capacities.push(capacity))
      return false;
    for (; at > 0 && capacities[at - 1] < capacity; --at)
      cpus[at] = cpus[at - 1], capacities[at] = capacities[at - 1];
    cpus[at] = cpu, capacities[at] = capacity;
  }
  return true;
}
