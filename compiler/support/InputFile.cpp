// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kind and size first, then bytes, as many as there may be.
#include "compiler/support/InputFile.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;

namespace attn {

static InputFileObserver observer = nullptr;

void observeInputFiles(InputFileObserver given) { observer = given; }

static thread_local const GivenFiles *givenFiles = nullptr;

void giveInputFiles(const GivenFiles *files) { givenFiles = files; }

static std::string withoutDots(StringRef path) {
  SmallString<128> plain(path);
  sys::path::remove_dots(plain, /*remove_dot_dot=*/true);
  return plain.str().str();
}

std::optional<StringRef> givenFile(StringRef path) {
  if (givenFiles)
    for (const auto &file : *givenFiles)
      if (file.first() == path || withoutDots(file.first()) == withoutDots(path))
        return file.second;
  return std::nullopt;
}

static Error systemError(int number) {
  return createStringError(std::error_code(number, std::generic_category()).message());
}

static Error tooLarge(size_t most) {
  constexpr size_t mega = size_t(1) << 20;
  return createStringError(formatv("it is larger than {0} {1}", most < mega ? most : most / mega,
                                   most < mega ? "bytes" : "MiB")
                               .str());
}

/// Some bytes; waits for those of a pipe. Below 0 where that fails.
static ssize_t readSome(int descriptor, char *to, size_t size) {
  while (true) {
    ssize_t got = ::read(descriptor, to, size);
    if (got >= 0 || (errno != EINTR && errno != EAGAIN))
      return got;
    pollfd waited = {descriptor, POLLIN, 0};
    if (errno == EAGAIN && ::poll(&waited, 1, -1) < 0 && errno != EINTR)
      return -1;
  }
}

static Expected<std::string> readToEnd(int descriptor, size_t expected, size_t most) {
  std::string text;
  size_t size = 0;
  while (true) {
    if (size == text.size())
      text.resize(std::max({2 * size, expected + 1, size_t(1) << 16}));
    ssize_t got = readSome(descriptor, text.data() + size, text.size() - size);
    if (got < 0)
      return systemError(errno);
    if (got == 0)
      break;
    size += static_cast<size_t>(got);
    if (size > most)
      return tooLarge(most);
  }
  text.resize(size);
  return text;
}

Expected<std::string> readStandardInput(size_t most) { return readToEnd(STDIN_FILENO, 0, most); }

Expected<std::string> readInputFile(StringRef path, size_t most) {
  if (std::optional<StringRef> given = givenFile(path)) {
    if (given->size() > most)
      return tooLarge(most);
    return given->str();
  }
  // O_NONBLOCK: opening a pipe that nobody writes to would wait for ever.
  int descriptor = ::open(path.str().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0)
    return systemError(errno);
  scope_exit close([&] { ::close(descriptor); });
  struct stat info;
  if (::fstat(descriptor, &info) != 0)
    return systemError(errno);
  if (observer)
    observer(path.str().c_str(), &info);
  if (S_ISDIR(info.st_mode))
    return systemError(EISDIR);
  if (!S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode) && !S_ISCHR(info.st_mode))
    return createStringError("it is neither a regular file nor a pipe");
  if (S_ISCHR(info.st_mode)) // /dev/null and terminals end; others may not
    most = std::min(most, size_t(1) << 26);
  auto size = static_cast<uint64_t>(info.st_size);
  if (S_ISREG(info.st_mode) && size > most)
    return tooLarge(most);
  auto text = readToEnd(descriptor, S_ISREG(info.st_mode) ? size : 0, most);
  if (text && StringRef(*text).starts_with("version https://git-lfs.github.com/spec/"))
    return createStringError("it is a pointer of Git LFS; `git lfs pull` in its folder downloads "
                             "the file itself");
  return text;
}

} // namespace attn
