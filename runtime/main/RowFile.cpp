// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Appending, and finding what of the end is whole.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "main/RowFile.h"
#include "io/File.h"
#include "main/ReadFiles.h"
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace attn;

RowFile::~RowFile() {
  if (descriptor >= 0) {
    close(descriptor);
    if (count == 0)
      unlink(part());
  }
  free(path);
}

attn_status RowFile::fail(const char *what, Error &error) const {
  return error.set(ATTN_IO, "R0502", "cannot %s `%s`: %s", what, part(), strerror(errno));
}

attn_status RowFile::open(const char *newPath, const Text &newHead, size_t newWidth, bool resumes,
                          Error &error) {
  head = newHead.size(), width = newWidth;
  if (!(path = finalName(newPath)))
    return error.outOfMemory("a file name");
  partPath.append("%s.part", path);
  if (partPath.failed())
    return error.outOfMemory("a file name");
  NamedOutput output{"--output", part()};
  if (attn_status status = checkOutputs(&output, 1, error))
    return status;
  struct stat info;
  if (stat(part(), &info) == 0 && !S_ISREG(info.st_mode))
    return error.set(ATTN_IO, "R0501", "cannot read `%s`: not a regular file", part());
  descriptor = ::open(part(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return fail("write", error);
  if (lock(info, error))
    return error.status;
  if (resumes && info.st_size >= off_t(head)) {
    end = info.st_size;
    count = 1; // what is there stays where it is not ours
    if (checkHead(newHead, error))
      return error.status;
    return cut(INT64_MAX, error);
  }
  if (ftruncate(descriptor, 0) != 0)
    return fail("write", error);
  return append(newHead.c_str(), head, 0, error);
}

/// Keeps other runs off the file for as long as it is open. File systems without locks do without.
attn_status RowFile::lock(struct stat &info, Error &error) {
  struct stat named;
  bool isOurs = (flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
                fstat(descriptor, &info) == 0 && stat(part(), &named) == 0 &&
                info.st_dev == named.st_dev && info.st_ino == named.st_ino; // still called so
  if (isOurs)
    return ATTN_OK;
  close(descriptor);
  descriptor = -1;
  error.set(ATTN_IO, "R0502", "cannot write `%s`: another run writes it", part());
  error.help("wait for its end, or name another output");
  return error.status;
}

attn_status RowFile::cut(int64_t rows, Error &error) {
  if (attn_status status = findRows(rows, error))
    return status;
  return ftruncate(descriptor, end) == 0 ? ATTN_OK : fail("write", error);
}

attn_status RowFile::checkHead(const Text &wanted, Error &error) const {
  Vector<char> there;
  if (!there.resize(wanted.size()))
    return error.outOfMemory("a header");
  if (wanted.size() == 0 ||
      (pread(descriptor, there.data(), wanted.size(), 0) == ssize_t(wanted.size()) &&
       memcmp(there.data(), wanted.c_str(), wanted.size()) == 0))
    return ATTN_OK;
  error.set(ATTN_BAD_INPUT, "R0304",
            "`%s` was begun for another number of texts, or by another model", part());
  error.help("remove it, or leave out `--resume`, to begin anew");
  return error.status;
}

/// Finds the whole rows of `end` bytes.
attn_status RowFile::findRows(int64_t most, Error &error) {
  int64_t begin = int64_t(head), size = end; // of a line
  if (width > 0) {
    count = (size - begin) / int64_t(width);
    count = count < most ? count : most;
    end = begin + count * int64_t(width);
    lastBegin = end - int64_t(width);
    return ATTN_OK;
  }
  count = 0, lastBegin = end = begin;
  char bytes[1 << 14];
  for (int64_t at = begin; at < size && count < most;) {
    ssize_t got = pread(descriptor, bytes, sizeof bytes, at);
    if (got <= 0)
      return fail("read", error);
    for (ssize_t i = 0; i < got && count < most; ++i)
      if (bytes[i] == '\n') {
        lastBegin = begin;
        begin = end = at + i + 1;
        ++count;
      }
    at += got;
  }
  return ATTN_OK;
}

attn_status RowFile::readLast(Vector<char> &row, Error &error) const {
  auto size = size_t(end - lastBegin);
  if (!row.resize(size))
    return error.outOfMemory("a row");
  return pread(descriptor, row.data(), size, lastBegin) == ssize_t(size) ? ATTN_OK
                                                                         : fail("read", error);
}

attn_status RowFile::append(const char *bytes, size_t size, int64_t rows, Error &error) {
  for (size_t done = 0; done < size;) {
    ssize_t got = pwrite(descriptor, bytes + done, size - done, end + int64_t(done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return fail("write", error);
    done += size_t(got);
  }
  end += int64_t(size);
  count += rows;
  return ATTN_OK;
}

attn_status RowFile::commit(Error &error) {
  struct stat info;
  if (stat(path, &info) == 0 && fchmod(descriptor, info.st_mode & 0777) != 0)
    return fail("write", error);
  if (fsync(descriptor) != 0 && errno != EINVAL)
    return fail("write", error);
  if (rename(part(), path) != 0)
    return fail("rename", error);
  close(descriptor);
  descriptor = -1;
  return ATTN_OK;
}
