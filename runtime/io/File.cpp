// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "io/File.h"
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace attn;

static attn_status cannotRead(const char *path, int number, Error &error) {
  error.set(ATTN_IO, "R0501", "cannot read `%s`: %s", path, strerror(number));
  return error.status;
}

MappedFile::~MappedFile() {
  if (bytes)
    munmap(const_cast<char *>(bytes), length);
}

attn_status MappedFile::open(const char *path, Error &error) {
  // O_NONBLOCK: opening a pipe that nobody writes to would wait for ever.
  int descriptor = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return cannotRead(path, errno, error);
  struct stat info;
  attn_status status = ATTN_OK;
  if (fstat(descriptor, &info) != 0) {
    status = cannotRead(path, errno, error);
  } else if (!S_ISREG(info.st_mode)) {
    status = error.set(ATTN_IO, "R0501", "cannot read `%s`: not a regular file", path);
  } else if (info.st_size > 0) {
    whose = {uint64_t(info.st_dev), uint64_t(info.st_ino), uint64_t(info.st_size),
             uint64_t(info.st_mtim.tv_sec), uint64_t(info.st_mtim.tv_nsec)};
    void *map =
        mmap(nullptr, size_t(info.st_size), PROT_READ, MAP_PRIVATE | MAP_NORESERVE, descriptor, 0);
    if (map == MAP_FAILED) {
      status = cannotRead(path, errno, error);
    } else {
      bytes = static_cast<const char *>(map);
      length = size_t(info.st_size);
    }
  }
  close(descriptor);
  return status;
}

void attn::dropMappedPages(const void *begin, const void *end) {
  size_t mask = size_t(sysconf(_SC_PAGESIZE)) - 1, before = -size_t(begin) & mask,
         after = size_t(end) & mask, size = size_t(end) - size_t(begin);
  if (before + after < size)
    madvise(const_cast<char *>(static_cast<const char *>(begin)) + before, size - before - after,
            MADV_DONTNEED);
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
