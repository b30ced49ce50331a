// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A list of files that grows with each one that is read, and what outputs are held against it.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "main/ReadFiles.h"
#include "io/File.h"
#include <sys/stat.h>

using namespace attn;

struct ReadFiles::Place {
  dev_t device;
  ino_t inode;
  char *path; ///< null without memory for it
};

// A command is a process, and this its list; but where a process compiles several specs.
static ReadFiles ofProgram;
// A place that is known at the start: programs need not ask the loader for it.
__attribute__((tls_model("initial-exec"))) static thread_local ReadFiles *ofThread = nullptr;

static ReadFiles &currentFiles() { return ofThread ? *ofThread : ofProgram; }

void ReadFiles::use(ReadFiles *files) { ofThread = files; }

void ReadFiles::clear() {
  for (size_t i = 0; i < count; ++i)
    free(places[i].path);
  free(places);
  places = nullptr, count = capacity = 0;
}

void ReadFiles::add(const char *path, const struct stat &info) {
  pthread_mutex_lock(&lock);
  if (count == capacity) {
    size_t wanted = capacity ? 2 * capacity : 64;
    if (void *grown = realloc(places, wanted * sizeof *places))
      places = static_cast<Place *>(grown), capacity = wanted;
  }
  if (count < capacity)
    places[count++] = {info.st_dev, info.st_ino, strdup(path)};
  pthread_mutex_unlock(&lock);
}

bool ReadFiles::has(const struct stat &info) {
  bool isFound = false;
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < count && !isFound; ++i)
    isFound = places[i].device == info.st_dev && places[i].inode == info.st_ino;
  pthread_mutex_unlock(&lock);
  return isFound;
}

void ReadFiles::visit(void (*visit)(const char *path, void *user), void *user) const {
  for (size_t i = 0; i < count; ++i)
    if (places[i].path)
      visit(places[i].path, user);
}

extern "C" void attn_main_note_file(const char *path, const struct stat *info) {
  if (S_ISREG(info->st_mode))
    currentFiles().add(path, *info);
}

void attn::visitReadFiles(void (*visit)(const char *path, void *user), void *user) {
  currentFiles().visit(visit, user);
}

bool attn::isReadFile(const char *path) {
  struct stat info;
  return strcmp(path, "-") != 0 && stat(path, &info) == 0 && S_ISREG(info.st_mode) &&
         currentFiles().has(info);
}

/// The folder of a file that is about to be made.
static bool folderOf(const char *path, struct stat &info) {
  const char *slash = strrchr(path, '/');
  if (!slash)
    return stat(".", &info) == 0;
  Text folder;
  folder.append("%.*s", int(slash - path) + 1, path);
  return !folder.failed() && stat(folder.c_str(), &info) == 0;
}

/// Whether two outputs are one file, which need not be there yet.
static bool areSame(const char *one, const char *other) {
  if (strcmp(one, "-") == 0 || strcmp(other, "-") == 0)
    return false;
  struct stat a, b;
  bool isThere = stat(one, &a) == 0, isOtherThere = stat(other, &b) == 0;
  if (isThere != isOtherThere)
    return false;
  if (isThere)
    return S_ISREG(a.st_mode) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
  char *first = finalName(one), *second = finalName(other);
  bool isSame = false;
  if (first && second && folderOf(first, a) && folderOf(second, b)) {
    const char *name = strrchr(first, '/'), *otherName = strrchr(second, '/');
    isSame = a.st_dev == b.st_dev && a.st_ino == b.st_ino &&
             strcmp(name ? name + 1 : first, otherName ? otherName + 1 : second) == 0;
  }
  free(first);
  free(second);
  return isSame;
}

attn_status attn::checkOutputs(const NamedOutput *outputs, size_t number, Error &error) {
  for (size_t i = 0; i < number; ++i) {
    const NamedOutput &output = outputs[i];
    if (isReadFile(output.path)) {
      error.set(ATTN_INVALID_ARGUMENT, "U0005",
                "`%s`: `%s` is a file that this command reads, and would be replaced",
                output.option, output.path);
      error.help("name another file");
      return error.status;
    }
    for (size_t other = 0; other < i; ++other)
      if (areSame(outputs[other].path, output.path)) {
        error.set(ATTN_INVALID_ARGUMENT, "U0005",
                  "`%s`: `%s` is the file of another output, of `%s`", output.option, output.path,
                  outputs[other].option);
        error.help("name another file");
        return error.status;
      }
  }
  return ATTN_OK;
}
