// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The index of a checkpoint in shards, beside two of them.
#include "Targets.h"
#include "io/Checkpoint.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

static void writeFile(const std::string &path, const void *bytes, size_t size) {
  FILE *file = fopen(path.c_str(), "wb");
  attn::fuzz::require(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0,
                      path.c_str());
}

/// A shard of one tensor of two bytes.
static void writeShard(const std::string &path, const std::string &tensor) {
  std::string header = "{\"" + tensor + R"(":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
              file(8, '\0');
  file[0] = static_cast<char>(header.size());
  file += header + "ab";
  writeFile(path, file.data(), file.size());
}

namespace {
/// A folder that is there as long as the process.
struct Folder {
  std::string path = "shards.XXXXXX";
  static constexpr const char *names[] = {"/a.safetensors", "/b.safetensors",
                                          "/model.safetensors.index.json"};
  Folder() {
    attn::fuzz::require(mkdtemp(path.data()) != nullptr, "cannot make a folder");
    writeShard(path + names[0], "a");
    writeShard(path + names[1], "b");
  }
  ~Folder() {
    for (const char *name : names)
      unlink((path + name).c_str());
    rmdir(path.c_str());
  }
};
} // namespace

void attn::fuzz::shards(const uint8_t *data, size_t size) {
  static Folder folder;
  writeFile(folder.path + Folder::names[2], data, size);
  Error error;
  Checkpoint checkpoint;
  if (checkpoint.open(folder.path.c_str(), error))
    require(error.text.size() > 0, "an error without words");
}
