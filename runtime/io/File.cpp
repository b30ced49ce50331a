// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files by the system calls; whatever is written appears under its name at the end.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "io/File.h"
#include <cerrno>
#include <climits>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

using namespace attn;

// In libattn_main: a command knows what it has read.
extern "C" void attn_main_note_file(const char *path, const struct stat *info);
#pragma weak attn_main_note_file

static constexpr uint64_t second = 1000000000;
/// /dev/null and terminals end; others may not.
static constexpr size_t mostOfDevice = size_t(1) << 26;

static attn_status cannotRead(const char *path, int number, Error &error) {
  error.set(ATTN_IO, "R0501", "cannot read `%s`: %s", path, strerror(number));
  return error.status;
}

/// Opens a file for reading, without waiting for those who would write to a pipe.
static int openToRead(const char *path, struct stat &info) {
  int descriptor = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0)
    return -1;
  if (fstat(descriptor, &info) != 0) {
    close(descriptor);
    return -1;
  }
  if (attn_main_note_file)
    attn_main_note_file(path, &info);
  return descriptor;
}

/// Nanoseconds since 1970.
static uint64_t timeOf(const timespec &time) {
  return uint64_t(time.tv_sec) * second + uint64_t(time.tv_nsec);
}

bool FileIdentity::isOlderThan(uint64_t now) const {
  // Kernels count times of files in steps of up to 10 ms, some file systems in seconds.
  uint64_t step = changed % second == 0 ? 2 * second : second / 20;
  return changed + step < now;
}

SourceFile::~SourceFile() {
  if (descriptor >= 0)
    close(descriptor);
  free(name);
}

static FileIdentity identityOf(const struct stat &info) {
  return {uint64_t(info.st_dev), uint64_t(info.st_ino), uint64_t(info.st_size),
          timeOf(info.st_ctim), timeOf(info.st_mtim)};
}

/// The error of a pointer of Git LFS, which stands where a file has not been downloaded: its first
/// bytes are of the specification, and it has less than 1024 of them.
static attn_status checkPointer(const char *path, const char *bytes, size_t size, Error &error) {
  constexpr const char *begin = "version https://git-lfs.github.com/spec/";
  if (size < strlen(begin) || size >= 1024 || memcmp(bytes, begin, strlen(begin)) != 0)
    return ATTN_OK;
  error.set(ATTN_BAD_INPUT, "R0503", "`%s` is a pointer of Git LFS, expected the file itself",
            path);
  error.help("`git lfs pull` in its folder downloads it");
  return error.status;
}

attn_status SourceFile::open(const char *path, Error &error) {
  if (!(name = strdup(path)))
    return error.outOfMemory("a file name");
  struct stat info;
  if ((descriptor = openToRead(path, info)) < 0)
    return ::cannotRead(path, errno, error);
  if (!S_ISREG(info.st_mode))
    return error.set(ATTN_IO, "R0501", "cannot read `%s`: not a regular file", path);
  whose = identityOf(info);
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  isSettled = whose.isOlderThan(timeOf(now));
  char bytes[64];
  bool isRead = whose.size >= sizeof bytes && read(0, sizeof bytes, bytes);
  return isRead ? checkPointer(path, bytes, size_t(whose.size), error) : ATTN_OK;
}

bool SourceFile::read(uint64_t offset, size_t size, void *to) const {
  char *at = static_cast<char *>(to);
  while (size > 0) {
    ssize_t got = pread(descriptor, at, size, off_t(offset));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    at += got, offset += uint64_t(got), size -= size_t(got);
  }
  return true;
}

void SourceFile::readAhead(uint64_t offset, uint64_t size) const {
  // Linux takes no more of one call than of a read ahead of its own, 128 KB or more.
  constexpr uint64_t most = 1 << 17;
  for (uint64_t done = 0; done < size; done += most)
    (void)posix_fadvise(descriptor, off_t(offset + done),
                        off_t(size - done < most ? size - done : most), POSIX_FADV_WILLNEED);
}

attn_status SourceFile::checkUnchanged(Error &error) const {
  struct stat info;
  if (fstat(descriptor, &info) != 0)
    return ::cannotRead(name, errno, error);
  FileIdentity now = identityOf(info);
  // A file that another one has replaced is no longer in a folder, which is a change, too.
  bool isReplaced = info.st_nlink == 0;
  if (now.size == whose.size && now.written == whose.written &&
      (now.changed == whose.changed || isReplaced))
    return ATTN_OK;
  error.set(ATTN_IO, "R0501", "`%s` was changed while it was read", name);
  if (now.size != whose.size)
    error.note("it had %llu bytes, now %llu", static_cast<unsigned long long>(whose.size),
               static_cast<unsigned long long>(now.size));
  return error.status;
}

attn_status SourceFile::cannotRead(Error &error) const {
  if (checkUnchanged(error))
    return error.status;
  return error.set(ATTN_IO, "R0501", "cannot read all of `%s`", name);
}

void attn::reserveStandardFiles() {
  for (int number = 0; number < 3; ++number) {
    if (fcntl(number, F_GETFD) >= 0 || errno != EBADF)
      continue;
    int opened = ::open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY);
    if (opened >= 0 && opened != number)
      close(opened); // the smallest free number is taken
  }
}

/// What keeps a file from being read as a whole, which is known before.
static attn_status checkKind(const char *path, const struct stat &info, size_t limit,
                             Error &error) {
  if (S_ISDIR(info.st_mode))
    return cannotRead(path, EISDIR, error);
  if (!S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode) && !S_ISCHR(info.st_mode))
    return error.set(ATTN_IO, "R0501", "cannot read `%s`: neither a regular file nor a pipe", path);
  if (S_ISREG(info.st_mode) && uint64_t(info.st_size) > limit)
    return error.set(ATTN_IO, "R0501", "`%s` has %llu bytes, more than the %zu that are read", path,
                     static_cast<unsigned long long>(info.st_size), limit);
  return ATTN_OK;
}

/// Reads some bytes; waits for those of a pipe. Below 0 where that fails.
static ssize_t readSome(int descriptor, char *to, size_t size) {
  while (true) {
    ssize_t got = read(descriptor, to, size);
    if (got >= 0 || (errno != EINTR && errno != EAGAIN))
      return got;
    pollfd waited = {descriptor, POLLIN, 0};
    if (errno == EAGAIN && poll(&waited, 1, -1) < 0 && errno != EINTR)
      return -1;
  }
}

static attn_status readToEnd(int descriptor, const char *path, size_t limit, Vector<char> &bytes,
                             Error &error) {
  while (true) {
    constexpr size_t step = 1 << 16;
    size_t used = bytes.size();
    if (!bytes.reserve(used + 1 > step ? used + 1 + used / 2 : step))
      return error.outOfMemory(path);
    char chunk[step];
    ssize_t got = readSome(descriptor, chunk, step);
    if (got < 0)
      return cannotRead(path, errno, error);
    if (got == 0)
      return ATTN_OK;
    if (used + size_t(got) > limit)
      return error.set(ATTN_IO, "R0501", "`%s` is larger than %zu bytes", path, limit);
    if (!bytes.resize(used + size_t(got)))
      return error.outOfMemory(path);
    memcpy(bytes.data() + used, chunk, size_t(got));
  }
}

attn_status attn::readFile(const char *path, size_t limit, Vector<char> &bytes, Error &error) {
  if (strcmp(path, "-") == 0)
    return readToEnd(0, path, limit, bytes, error);
  struct stat info;
  int descriptor = openToRead(path, info);
  if (descriptor < 0)
    return cannotRead(path, errno, error);
  attn_status status = checkKind(path, info, limit, error);
  if (status == ATTN_OK && S_ISREG(info.st_mode) && !bytes.reserve(size_t(info.st_size) + 1))
    status = error.outOfMemory(path);
  if (S_ISCHR(info.st_mode) && limit > mostOfDevice)
    limit = mostOfDevice;
  if (status == ATTN_OK)
    status = readToEnd(descriptor, path, limit, bytes, error);
  close(descriptor);
  return status ? status : checkPointer(path, bytes.data(), bytes.size(), error);
}

char *attn::finalName(const char *path) {
  char *name = strdup(path);
  for (int links = 0; name && links < 40; ++links) {
    char target[PATH_MAX];
    ssize_t size = readlink(name, target, sizeof target - 1);
    if (size < 0)
      break;
    target[size] = 0;
    const char *slash = target[0] == '/' ? nullptr : strrchr(name, '/');
    Text next;
    if (slash)
      next.append("%.*s", int(slash - name) + 1, name);
    next.append("%s", target);
    free(name);
    name = next.release();
  }
  return name;
}

/// Whether a name lies in /proc.
static bool isOfProcess(const char *name) {
  Text folder;
  const char *slash = strrchr(name, '/');
  if (slash)
    folder.append("%.*s", int(slash - name) + 1, name);
  struct statfs info;
  return statfs(slash ? folder.c_str() : ".", &info) == 0 && info.f_type == PROC_SUPER_MAGIC;
}

bool attn::isWrittenInPlace(const char *path) {
  struct stat info;
  if (stat(path, &info) != 0)
    return false;
  if (!S_ISREG(info.st_mode))
    return true;
  // /dev/stdout and /dev/fd/1 are links to /proc/self/fd/1, a link to the file.
  char target[PATH_MAX];
  ssize_t size = readlink(path, target, sizeof target - 1);
  if (size < 0)
    return false;
  target[size] = 0;
  return isOfProcess(path) || (target[0] == '/' && isOfProcess(target));
}

OutputFile::~OutputFile() {
  if (descriptor > 2)
    close(descriptor);
  if (temporary)
    unlink(temporary);
  free(temporary);
  free(path);
}

attn_status OutputFile::fail(const char *what, Error &error) {
  int number = errno;
  error.set(ATTN_IO, "R0502", "cannot %s `%s`: %s", what, path, strerror(number));
  if (number == ENOSPC)
    error.help("free space there, or write somewhere else; nothing was left behind");
  return error.status;
}

attn_status OutputFile::open(const char *newPath, Error &error) {
  if (!(path = strdup(newPath)))
    return error.outOfMemory("a file name");
  if (strcmp(path, "-") == 0) {
    descriptor = 1;
    return ATTN_OK;
  }
  struct stat info;
  bool exists = stat(path, &info) == 0;
  if (isWrittenInPlace(path)) {
    descriptor = ::open(path, O_WRONLY | O_CLOEXEC | O_APPEND);
    return descriptor < 0 ? fail("write", error) : ATTN_OK;
  }
  char *name = finalName(path);
  free(path);
  if (!(path = name))
    return error.outOfMemory("a file name");
  size_t size = strlen(path) + 32;
  if (!(temporary = static_cast<char *>(malloc(size))))
    return error.outOfMemory("a file name");
  for (int attempt = 0; attempt < 100; ++attempt) {
    snprintf(temporary, size, "%s.%ld.%d.tmp", path, long(getpid()), attempt);
    descriptor = ::open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0) {
      // Where these fail (another's file, a file system without them) it is as a new one.
      if (exists && fchown(descriptor, info.st_uid, info.st_gid) == 0)
        (void)!fchmod(descriptor, info.st_mode & 0777);
      return ATTN_OK;
    }
    if (errno != EEXIST)
      break;
  }
  fail("write", error);
  free(temporary); // another's file, or none: not ours to remove
  temporary = nullptr;
  return error.status;
}

attn_status OutputFile::write(const void *data, size_t size, Error &error) {
  const char *at = static_cast<const char *>(data);
  while (size > 0) {
    ssize_t done = ::write(descriptor, at, size);
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0)
      return fail("write", error);
    at += done;
    size -= size_t(done);
  }
  return ATTN_OK;
}

attn_status OutputFile::commit(Error &error) {
  int closing = descriptor;
  descriptor = -1;
  if (closing > 2) {
    // Some file systems report a full disk only when data is flushed.
    bool isFlushed = !temporary || fsync(closing) == 0 || errno == EINVAL;
    int number = errno;
    bool isClosed = close(closing) == 0;
    if (!isFlushed)
      errno = number;
    if (!isFlushed || !isClosed)
      return fail("write", error);
  }
  if (temporary) {
    if (rename(temporary, path) != 0)
      return fail("write", error);
    free(temporary);
    temporary = nullptr;
  }
  return ATTN_OK;
}
