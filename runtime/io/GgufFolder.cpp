// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the parts of a model that is split into several GGUF files, as llama.cpp names them.
#include "io/GgufFolder.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <unistd.h>

using namespace attn;

attn_status attn::failPart(const char *path, const GgufParts &parts, Error &error) {
  error.set(ATTN_BAD_WEIGHTS, "W0205", "`%s` is part %u of %u of a model", path, parts.number + 1,
            parts.count);
  error.help("name the first part, whose name ends in -00001-of-%05u.gguf, beside which the others "
             "lie",
             parts.count);
  return error.status;
}

attn_status attn::findPart(const char *first, const GgufParts &parts, const GgufParts &part,
                           Text &path, Error &error) {
  char suffix[64];
  snprintf(suffix, sizeof suffix, "-00001-of-%05u.gguf", parts.count);
  size_t length = strlen(first), wanted = strlen(suffix);
  if (parts.number != 0 || length < wanted || strcmp(first + length - wanted, suffix) != 0)
    return failPart(first, parts, error);
  path.append("%.*s-%05u-of-%05u.gguf", int(length - wanted), first, part.number + 1, part.count);
  if (path.failed())
    return error.outOfMemory(first);
  if (access(path.c_str(), F_OK) == 0)
    return ATTN_OK;
  error.set(ATTN_IO, "R0501", "part %u of %u of the model is missing: `%s`", part.number + 1,
            part.count, path.c_str());
  error.help("all parts have to lie in one folder, under the names that they were published with");
  return error.status;
}

/// Whether a name is that of a part behind the first.
static bool isLaterPart(const char *name) {
  for (const char *at = strchr(name, '-'); at; at = strchr(at + 1, '-')) {
    char *end = nullptr, *last = nullptr;
    unsigned long number = strtoul(at + 1, &end, 10);
    if (end != at + 6 || strncmp(end, "-of-", 4) != 0)
      continue;
    strtoul(end + 4, &last, 10);
    if (last == end + 9 && strcmp(last, ".gguf") == 0)
      return number > 1;
  }
  return false;
}

bool attn::findGgufIn(const char *folder, Text &path) {
  DIR *directory = opendir(folder);
  if (!directory)
    return false;
  int found = 0;
  while (dirent *item = readdir(directory)) {
    const char *name = item->d_name, *ending = strrchr(name, '.');
    if (!ending || strcmp(ending, ".gguf") != 0 || strncmp(name, "mmproj", 6) == 0 ||
        isLaterPart(name))
      continue;
    if (++found == 1)
      path.append("%s/%s", folder, name);
  }
  closedir(directory);
  return found == 1;
}
