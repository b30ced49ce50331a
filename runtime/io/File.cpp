// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files by the system calls; whatever is written appears under its name at the end.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "io/File.h"
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace attn;

static attn_status cannotRead(const char *path, int number, Error &error) {
  error.set(ATTN_IO, "R0501", "cannot read `%s`: %s", path, strerror(number));
  return error.status;
}

SourceFile::~SourceFile() {
  if (descriptor >= 0)
    close(descriptor);
  free(name);
}

static FileIdentity identityOf(const struct stat &info) {
  return {uint64_t(info.st_dev), uint64_t(info.st_ino), uint64_t(info.st_size),
          uint64_t(info.st_mtim.tv_sec), uint64_t(info.st_mtim.tv_nsec)};
}

attn_status SourceFile::open(const char *path, Error &error) {
  if (!(name = strdup(path)))
    return error.outOfMemory("a file name");
  // O_NONBLOCK: opening a pipe that nobody writes to would wait for ever.
  descriptor = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info;
  if (descriptor < 0 || fstat(descriptor, &info) != 0)
    return ::cannotRead(path, errno, error);
  if (!S_ISREG(info.st_mode))
    return error.set(ATTN_IO, "R0501", "cannot read `%s`: not a regular file", path);
  whose = identityOf(info);
  return ATTN_OK;
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
  if (now.size == whose.size && now.seconds == whose.seconds &&
      now.nanoseconds == whose.nanoseconds)
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

attn_status attn::readFile(const char *path, size_t limit, Vector<char> &bytes, Error &error) {
  bool isInput = strcmp(path, "-") == 0;
  int descriptor = isInput ? 0 : ::open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return cannotRead(path, errno, error);
  attn_status status = ATTN_OK;
  struct stat info;
  if (fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) && uint64_t(info.st_size) <= limit)
    if (!bytes.reserve(size_t(info.st_size) + 1))
      status = error.outOfMemory(path);
  while (status == ATTN_OK) {
    constexpr size_t step = 1 << 16;
    size_t used = bytes.size();
    if (!bytes.reserve(used + 1 > step ? used + 1 + used / 2 : step)) {
      status = error.outOfMemory(path);
      break;
    }
    char chunk[step];
    ssize_t got = read(descriptor, chunk, step);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      status = cannotRead(path, errno, error);
    if (got <= 0)
      break;
    if (used + size_t(got) > limit)
      status = error.set(ATTN_IO, "R0501", "`%s` is larger than %zu bytes", path, limit);
    else if (!bytes.resize(used + size_t(got)))
      status = error.outOfMemory(path);
    else
      memcpy(bytes.data() + used, chunk, size_t(got));
  }
  if (!isInput)
    close(descriptor);
  return status;
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
  // A device or a pipe (/dev/stdout, /dev/full) is written in place: renaming would replace it.
  struct stat info;
  if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
    descriptor = ::open(path, O_WRONLY | O_CLOEXEC);
    return descriptor < 0 ? fail("write", error) : ATTN_OK;
  }
  size_t size = strlen(path) + 32;
  if (!(temporary = static_cast<char *>(malloc(size))))
    return error.outOfMemory("a file name");
  for (int attempt = 0; attempt < 100; ++attempt) {
    snprintf(temporary, size, "%s.%ld.%d.tmp", path, long(getpid()), attempt);
    descriptor = ::open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0)
      return ATTN_OK;
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
