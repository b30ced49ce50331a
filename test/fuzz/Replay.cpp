// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// replay READER FILE|FOLDER...: gives files to a reader, as its fuzzer does. It ends well where
// each was read or refused.
#include "Targets.h"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

using Reader = void (*)(const uint8_t *data, size_t size);

static Reader readerOf(const char *name) {
#define ATTN_NAME(target)                                                                          \
  if (strcmp(name, #target) == 0)                                                                  \
    return attn::fuzz::target;
  ATTN_FUZZ_TARGETS(ATTN_NAME)
#undef ATTN_NAME
  return nullptr;
}

static void replay(Reader reader, const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  attn::fuzz::require(file.good() || file.eof(), path.c_str());
  fprintf(stderr, "%s\n", path.c_str()); // before: it may be the last
  reader(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
}

int main(int argc, char **argv) {
  Reader reader = argc > 2 ? readerOf(argv[1]) : nullptr;
  if (!reader) {
    fprintf(stderr, "usage: replay READER FILE|FOLDER...\n");
    return 2;
  }
  unsigned count = 0;
  for (int i = 2; i < argc; ++i) {
    std::vector<std::filesystem::path> paths{argv[i]};
    if (std::filesystem::is_directory(argv[i])) {
      std::filesystem::directory_iterator folder(argv[i]);
      paths.assign(begin(folder), end(folder));
    }
    for (const std::filesystem::path &path : paths)
      replay(reader, path), ++count;
  }
  printf("%u inputs of %s\n", count, argv[1]);
  return 0;
}
