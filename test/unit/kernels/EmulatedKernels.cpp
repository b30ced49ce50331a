// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/unit/kernels/EmulatedKernels.h"

#include "compiler/emit/LinkTools.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace attn::test {

/// The emulator's CPU, which has what a level needs and little else.
static const char *cpuFor(const CpuTarget &target) {
  return target.squareBytes.empty() ? "cortex-a76" : "max";
}

bool EmulatedKernels::supports(const CpuTarget &target) {
#ifdef ATTN_TEST_KERNEL_HOST
  return target.architecture == &armArchitecture && llvm::sys::findProgramByName("qemu-aarch64") &&
         llvm::sys::findProgramByName(target.architecture->linkers().front());
#else
  return false;
#endif
}

std::unique_ptr<EmulatedKernels> EmulatedKernels::create(const CpuTarget &target,
                                                         const llvm::MemoryBuffer &object) {
#ifdef ATTN_TEST_KERNEL_HOST
  auto linked = runLinker(*target.architecture, {{"kernel.o", object.getBuffer()}},
                          {"-shared", "-nostdlib", "kernel.o"});
  if (!linked) {
    ADD_FAILURE() << llvm::toString(linked.takeError());
    return nullptr;
  }
  std::unique_ptr<EmulatedKernels> kernels(new EmulatedKernels());
  llvm::SmallString<128> path;
  int file;
  if (llvm::sys::fs::createTemporaryFile("kernel", "so", file, path)) {
    ADD_FAILURE() << "no room for a kernel";
    return nullptr;
  }
  llvm::raw_fd_ostream(file, /*shouldClose=*/true) << (*linked)->getBuffer();
  kernels->library = path.str().str();
  kernels->cpu = cpuFor(target);
  kernels->start();
  return kernels;
#else
  return nullptr;
#endif
}

EmulatedKernels::~EmulatedKernels() {
  stop();
  (void)llvm::sys::fs::remove(library);
}

void EmulatedKernels::start() {
#ifdef ATTN_TEST_KERNEL_HOST
  int requests[2], replies[2];
  if (pipe(requests) != 0 || pipe(replies) != 0) {
    ADD_FAILURE() << "no pipe to an emulator";
    return;
  }
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); // it reads and writes our memory
  std::string self = std::to_string(getpid());
  process = fork();
  if (process == 0) {
    dup2(requests[0], STDIN_FILENO), dup2(replies[1], STDOUT_FILENO);
    for (int end : {requests[0], requests[1], replies[0], replies[1]})
      close(end);
    execlp("qemu-aarch64", "qemu-aarch64", "-cpu", cpu, "-L", "/usr/aarch64-linux-gnu",
           ATTN_TEST_KERNEL_HOST, self.c_str(), library.c_str(), nullptr);
    _exit(127);
  }
  close(requests[0]), close(replies[1]);
  toProcess = requests[1], fromProcess = replies[0];
#endif
}

int EmulatedKernels::stop() {
  int status = 0;
  close(toProcess), close(fromProcess);
  if (process > 0)
    waitpid(process, &status, 0);
  process = -1;
  return status;
}

void EmulatedKernels::run(const KernelCall &call) {
  constexpr int mostStarts = 8;
  for (int starts = 1;; ++starts) {
    char done;
    if (write(toProcess, &call, sizeof call) == ssize_t(sizeof call) &&
        read(fromProcess, &done, 1) == 1)
      return;
    // Nothing of the call has been written to this process's memory yet.
    int status = stop();
    bool noRoom = WIFEXITED(status) && WEXITSTATUS(status) == kernelHostHasNoRoom;
    if (!noRoom || starts == mostStarts) {
      ADD_FAILURE() << call.name << " did not return";
      return;
    }
    start();
  }
}

} // namespace attn::test
