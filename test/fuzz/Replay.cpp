// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// replay READER [--changed N] FILE|FOLDER...: gives files to a reader, as its fuzzer does, and each
// N times more, changed by chance, always in the same way. It ends well where each was read or
// refused.
#include "Targets.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
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

namespace {
using Bytes = std::vector<uint8_t>;

/// Changes inputs at a few places: bytes, numbers, and spans that are cut, repeated, or taken from
/// another input.
class Changer {
public:
  explicit Changer(const std::vector<Bytes> &all) : all(all) {}
  void change(Bytes &bytes);

private:
  /// A number below `bound`, or 0.
  size_t below(size_t bound) { return bound ? numbers() % bound : 0; }

  const std::vector<Bytes> &all;
  std::mt19937_64 numbers{1}; // NOLINT(bugprone-random-generator-seed): the same in every run
};
} // namespace

void Changer::change(Bytes &bytes) {
  static constexpr uint64_t extremes[] = {0,      1,          0x7f,       0x80,        0xff,
                                          0xffff, 0x7fffffff, 0x80000000, ~uint64_t(0)};
  for (size_t changes = 1 + below(4); changes; --changes) {
    size_t at = below(bytes.size()), count = std::min(bytes.size() - at, 1 + below(16));
    switch (below(6)) {
    case 0: // a byte
      if (!bytes.empty())
        bytes[at] = static_cast<uint8_t>(numbers());
      break;
    case 1: { // an extreme number of 1 to 8 bytes
      size_t size = std::min(bytes.size() - at, size_t(1) << below(4));
      if (size)
        memcpy(&bytes[at], &extremes[below(std::size(extremes))], size);
      break;
    }
    case 2: // fewer bytes
      bytes.erase(bytes.begin() + at, bytes.begin() + at + count);
      break;
    case 3: { // bytes twice
      Bytes span(bytes.begin() + at, bytes.begin() + at + count);
      bytes.insert(bytes.begin() + at, span.begin(), span.end());
      break;
    }
    case 4: { // bytes of another input
      const Bytes &other = all[below(all.size())];
      size_t from = below(other.size()), size = std::min(other.size() - from, 1 + below(64));
      bytes.insert(bytes.begin() + at, other.begin() + from, other.begin() + from + size);
      break;
    }
    default: // no end
      bytes.resize(at);
    }
  }
}

static Bytes readFile(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  Bytes bytes{std::istreambuf_iterator<char>(file), {}};
  attn::fuzz::require(file.good() || file.eof(), path.c_str());
  return bytes;
}

int main(int argc, char **argv) {
  Reader reader = argc > 2 ? readerOf(argv[1]) : nullptr;
  bool changes = argc > 4 && strcmp(argv[2], "--changed") == 0;
  if (!reader) {
    fprintf(stderr, "usage: replay READER [--changed N] FILE|FOLDER...\n");
    return 2;
  }
  std::vector<std::filesystem::path> paths;
  for (int i = changes ? 4 : 2; i < argc; ++i) {
    if (std::filesystem::is_directory(argv[i]))
      for (const auto &entry : std::filesystem::directory_iterator(argv[i]))
        paths.push_back(entry.path());
    else
      paths.emplace_back(argv[i]);
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> all;
  for (const std::filesystem::path &path : paths)
    all.push_back(readFile(path));
  Changer changer(all);
  unsigned count = 0, variants = changes ? unsigned(strtoul(argv[3], nullptr, 10)) : 0;
  for (size_t i = 0; i < all.size(); ++i)
    for (unsigned variant = 0; variant <= variants; ++variant) {
      Bytes bytes = all[i];
      if (variant)
        changer.change(bytes);
      fprintf(stderr, "%s %u\n", paths[i].c_str(), variant); // before: it may be the last
      reader(bytes.data(), bytes.size());
      ++count;
    }
  printf("%u inputs of %s\n", count, argv[1]);
  return 0;
}
