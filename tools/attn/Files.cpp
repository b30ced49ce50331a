// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Paths to bytes and back: results appear whole or not at all, and errors say what the system said.
#include "Files.h"

#include "Report.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;

namespace attn::tool {

std::unique_ptr<MemoryBuffer> readInput(StringRef path) {
  // Volatile: read, not mapped, since another process may truncate it.
  auto buffer = path == "-" ? MemoryBuffer::getSTDIN()
                            : MemoryBuffer::getFile(path, /*IsText=*/false,
                                                    /*RequiresNullTerminator=*/true,
                                                    /*IsVolatile=*/true);
  if (buffer)
    return std::move(*buffer);
  fail(Environment, "cannot read `" + path + "`: " + buffer.getError().message());
  return nullptr;
}

/// Writes all bytes to a descriptor; the errno of a failure, else 0.
static int writeAll(int descriptor, StringRef bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return errno;
    bytes = bytes.drop_front(written);
  }
  return 0;
}

static int cannotWrite(StringRef path, const Twine &reason) {
  return fail(Environment,
              "cannot write `" + (path == "-" ? Twine("standard output") : path) + "`: " + reason);
}

static std::string reasonOf(int number) {
  return std::error_code(number, std::generic_category()).message();
}

/// Devices and pipes are written as they are: a rename would replace them.
static int writeDirectly(StringRef path, StringRef bytes) {
  if (path == "-") {
    outs().flush();
    int problem = writeAll(STDOUT_FILENO, bytes);
    return problem ? cannotWrite(path, reasonOf(problem)) : Ok;
  }
  int descriptor;
  if (auto error = sys::fs::openFileForWrite(path, descriptor, sys::fs::CD_OpenExisting))
    return cannotWrite(path, error.message());
  int problem = writeAll(descriptor, bytes);
  if (::close(descriptor) != 0 && !problem)
    problem = errno;
  return problem ? cannotWrite(path, reasonOf(problem)) : Ok;
}

/// 0666 or 0777 without the bits of the umask, as the linker and `cat >` make files.
static mode_t fileMode(bool isExecutable) {
  mode_t mask = ::umask(0);
  ::umask(mask);
  return (isExecutable ? 0777 : 0666) & ~mask;
}

int writeOutput(StringRef path, StringRef bytes, bool isExecutable) {
  sys::fs::file_status status;
  bool exists = path != "-" && !sys::fs::status(path, status) && sys::fs::exists(status);
  if (path == "-" ||
      (exists && !sys::fs::is_regular_file(status) && !sys::fs::is_directory(status)))
    return writeDirectly(path, bytes);
  if (exists && sys::fs::is_directory(status))
    return cannotWrite(path, "it is a directory");
  auto temporary = sys::fs::TempFile::create(path + ".%%%%%%%%.part");
  if (!temporary)
    return cannotWrite(path, toString(temporary.takeError()));
  int problem = writeAll(temporary->FD, bytes);
  if (!problem && ::fchmod(temporary->FD, fileMode(isExecutable)) != 0)
    problem = errno;
  if (problem) {
    consumeError(temporary->discard());
    return cannotWrite(path, reasonOf(problem));
  }
  if (llvm::Error error = temporary->keep(path))
    return cannotWrite(path, toString(std::move(error)));
  return Ok;
}

} // namespace attn::tool
