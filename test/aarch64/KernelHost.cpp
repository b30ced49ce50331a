// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs kernels of a shared library on the memory of another process, a test that waits meanwhile:
//
//   kernel_host PROCESS LIBRARY     calls (KernelHost.h) come on standard input
//
// A page of that process is copied here, to the same address, when a kernel first touches it; what
// has changed is copied back after each call. A page that the test may not read ends this program,
// so that guard pages are such here, too.
#include "test/aarch64/KernelHost.h"
#include "attn/abi.h"
#include "test/unit/kernels/PieceDealer.h"
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using attn::test::KernelCall, attn::test::kernelHostHasNoRoom;

namespace {
constexpr uint64_t pageBytes = 4096;

/// Pages of the test, and what was in them.
struct Part {
  char *here;
  std::string before;
};
} // namespace

static int memory = -1; // of the test
static std::string mapsPath;
static std::vector<Part> parts;

/// Ends the program, which the test then reports.
[[noreturn]] static void fail(const char *what, uint64_t address) {
  fprintf(stderr, "kernel_host: %s at %#lx\n", what, static_cast<unsigned long>(address));
  _exit(1);
}

/// The end of the part of the test's memory that an address lies in; 0 where it may not be read.
static uint64_t readableUntil(uint64_t address) {
  FILE *maps = fopen(mapsPath.c_str(), "r");
  uint64_t result = 0;
  char line[512];
  while (maps && result == 0 && fgets(line, sizeof line, maps)) {
    unsigned long from, to;
    char mode[8];
    if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) == 3 && from <= address && address < to &&
        mode[0] == 'r')
      result = to;
  }
  if (maps)
    fclose(maps);
  return result;
}

/// Copies `bytes` at an address of the test here; false where there is no room.
static bool fetch(uint64_t address, uint64_t bytes) {
  void *wanted = reinterpret_cast<void *>(address);
  void *here = mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (here != wanted) {
    munmap(here, bytes);
    return false;
  }
  if (pread(memory, here, bytes, off_t(address)) != ssize_t(bytes))
    fail("the test's memory cannot be read", address);
  parts.push_back({static_cast<char *>(here), std::string(static_cast<char *>(here), bytes)});
  return true;
}

static void onFault(int, siginfo_t *info, void *) {
  constexpr uint64_t ahead = 256 * pageBytes;
  uint64_t place = reinterpret_cast<uint64_t>(info->si_addr), first = place / pageBytes * pageBytes,
           end = std::min(readableUntil(first), first + ahead);
  if (end == 0)
    fail("a kernel touches what is not the test's", place);
  if (!fetch(first, end - first) && !fetch(first, pageBytes)) // some of that is here already
    _exit(kernelHostHasNoRoom);
}

/// Copies back what has changed, and forgets the rest.
static void giveBack() {
  for (const Part &part : parts) {
    for (uint64_t page = 0; page < part.before.size(); page += pageBytes) {
      const char *before = part.before.data() + page, *now = part.here + page;
      if (memcmp(now, before, pageBytes) == 0)
        continue;
      const char *end = now + pageBytes, *from = std::mismatch(now, end, before).first;
      while (end[-1] == before[end - 1 - now])
        --end;
      if (pwrite(memory, from, size_t(end - from), off_t(reinterpret_cast<uint64_t>(from))) !=
          end - from)
        fail("the test's memory cannot be written", reinterpret_cast<uint64_t>(from));
    }
    munmap(part.here, part.before.size());
  }
  parts.clear();
}

/// Kernels have fewer arguments, which lie where they would without the others.
template <size_t... i>
static void run(void *kernel, const KernelCall &call, std::index_sequence<i...>) {
  attn_abi_call team = {};
  attn::test::PieceDealer dealer(call.threads, call.anyPieces);
  team.barrier = [](void *, int64_t, int64_t) {};
  team.claim = attn::test::PieceDealer::claim;
  team.team = &dealer;
  using Kernel =
      void (*)(int64_t, int64_t, const void *, int64_t, int64_t, decltype(int64_t(i))...);
  for (int64_t thread = 0; thread < call.threads; ++thread)
    reinterpret_cast<Kernel>(kernel)(call.packed, call.workspace, &team, thread, call.threads,
                                     call.arguments[i]...);
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  mapsPath = std::string("/proc/") + argv[1] + "/maps";
  memory = open((std::string("/proc/") + argv[1] + "/mem").c_str(), O_RDWR);
  void *library = dlopen(argv[2], RTLD_NOW);
  if (memory < 0 || !library) {
    fprintf(stderr, "kernel_host: %s\n", library ? "cannot open the test's memory" : dlerror());
    return 1;
  }
  struct sigaction action = {};
  action.sa_sigaction = onFault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, nullptr);
  KernelCall call;
  while (read(STDIN_FILENO, &call, sizeof call) == ssize_t(sizeof call)) {
    void *kernel = dlsym(library, call.name);
    if (!kernel)
      return 1;
    run(kernel, call, std::make_index_sequence<KernelCall::maxArguments>());
    giveBack();
    if (write(STDOUT_FILENO, "", 1) != 1)
      return 1;
  }
  return 0;
}
