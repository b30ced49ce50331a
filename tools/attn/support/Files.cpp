// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Paths to bytes and back: results appear whole or not at all, and errors say what the system said.
#include "Files.h"

#include "Report.h"
#include "compiler/support/InputFile.h"
#include "io/File.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;

namespace attn::tool {

namespace {
/// A buffer of bytes that were read.
class ReadBytes : public MemoryBuffer {
public:
  explicit ReadBytes(std::string read) : bytes(std::move(read)) {
    init(bytes.data(), bytes.data() + bytes.size(), /*RequiresNullTerminator=*/true);
  }
  BufferKind getBufferKind() const override { return MemoryBuffer_Malloc; }

private:
  std::string bytes;
};
} // namespace

size_t mostOfMemory() {
  return static_cast<size_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<size_t>(::sysconf(_SC_PAGE_SIZE));
}

std::unique_ptr<MemoryBuffer> readInput(StringRef path, size_t most) {
  if (path == "-" && listener() && !givenFile(path))
    return fail(Environment, "`-` is the standard input of a program, which a library has not",
                "give the text as a file of that name"),
           nullptr;
  // Read, not mapped, since another process may truncate it.
  auto bytes =
      path == "-" && !givenFile(path) ? readStandardInput(most) : readInputFile(path, most);
  if (bytes)
    return std::make_unique<ReadBytes>(std::move(*bytes));
  fail(Environment, "cannot read `" + path + "`: " + toString(bytes.takeError()));
  return nullptr;
}

void noteInput(StringRef path) {
  struct stat info;
  if (!path.empty() && ::stat(path.str().c_str(), &info) == 0)
    attn_main_note_file(path.str().c_str(), &info);
}

int checkOutputs(ArrayRef<attn::NamedOutput> outputs) {
  attn::Error error;
  if (attn::checkOutputs(outputs.data(), outputs.size(), error))
    return failWithMessage(Usage, error.text.c_str());
  return Ok;
}

/// A path as make and ninja read it in a rule.
static std::string escapeForMake(StringRef path) {
  std::string text;
  for (char c : path) {
    if (c == ' ' || c == '#')
      text += '\\';
    if (c == '$')
      text += '$';
    text += c;
  }
  return text;
}

int writeDepfile(StringRef path, StringRef output) {
  SetVector<StringRef> files;
  visitReadFiles(
      [](const char *file, void *user) { static_cast<SetVector<StringRef> *>(user)->insert(file); },
      &files);
  std::string text = escapeForMake(output) + ":";
  for (StringRef file : files)
    text += " \\\n  " + escapeForMake(file);
  return writeOutput(path, text + "\n");
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
  if (path == "-" && listener())
    return listener()->write(bytes), Ok;
  if (path == "-") {
    outs().flush();
    int problem = writeAll(STDOUT_FILENO, bytes);
    return problem ? cannotWrite(path, reasonOf(problem)) : Ok;
  }
  int descriptor;
  if (auto error =
          sys::fs::openFileForWrite(path, descriptor, sys::fs::CD_OpenExisting, sys::fs::OF_Append))
    return cannotWrite(path, error.message());
  int problem = writeAll(descriptor, bytes);
  if (::close(descriptor) != 0 && !problem)
    problem = errno;
  return problem ? cannotWrite(path, reasonOf(problem)) : Ok;
}

/// Beside the file that the path leads to, whose permissions it gets.
static int writeWhole(StringRef path, StringRef bytes, bool isExecutable) {
  sys::fs::file_status status;
  bool exists = !sys::fs::status(path, status) && sys::fs::exists(status);
  if (exists && sys::fs::is_directory(status))
    return cannotWrite(path, "it is a directory");
  char *found = attn::finalName(path.str().c_str());
  std::string name = found ? found : path.str();
  free(found);
  // The system takes the bits of the umask off, as it does of what the linker and `cat >` make.
  auto temporary = sys::fs::TempFile::create(name + ".%%%%%%%%.part",
                                             isExecutable ? sys::fs::all_all
                                                          : sys::fs::all_read | sys::fs::all_write);
  if (!temporary)
    return cannotWrite(path, toString(temporary.takeError()));
  // As root: to the one whose file it was.
  bool isGiven = !exists || ::fchown(temporary->FD, status.getUser(), status.getGroup()) == 0;
  int problem = writeAll(temporary->FD, bytes);
  struct stat made;
  if (!problem && exists && ::fstat(temporary->FD, &made) != 0)
    problem = errno;
  if (!problem && exists) {
    mode_t mode = (mode_t(status.permissions()) & 0777) | (made.st_mode & 0111);
    if (::fchmod(temporary->FD, mode) != 0 && isGiven)
      problem = errno;
  }
  if (problem) {
    consumeError(temporary->discard());
    return cannotWrite(path, reasonOf(problem));
  }
  if (llvm::Error error = temporary->keep(name))
    return cannotWrite(path, toString(std::move(error)));
  return Ok;
}

int rewriteInput(StringRef path, StringRef bytes) {
  if (path == "-" || attn::isWrittenInPlace(path.str().c_str()))
    return writeDirectly(path, bytes);
  return writeWhole(path, bytes, /*isExecutable=*/false);
}

int writeOutput(StringRef path, StringRef bytes, bool isExecutable) {
  std::string name = path.str();
  if (int code = checkOutputs(attn::NamedOutput{"-o", name.c_str()}))
    return code;
  if (path == "-" || attn::isWrittenInPlace(name.c_str()))
    return writeDirectly(path, bytes);
  return writeWhole(path, bytes, isExecutable);
}

std::string sizeText(uint64_t bytes) {
  return bytes < 10000      ? fmt::format("{} B", bytes)
         : bytes < 10000000 ? fmt::format("{:.1f} kB", double(bytes) / 1e3)
                            : fmt::format("{:.1f} MB", double(bytes) / 1e6);
}

} // namespace attn::tool
