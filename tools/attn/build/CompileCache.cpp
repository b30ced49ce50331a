// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The keys of compiled objects, their files, and the folder that these lie in. LLVM's pruneCache
// bounds the folder; it takes files of its own prefix alone.
#include "CompileCache.h"

#include "BuildId.h"
#include "compiler/emit/ModelInfo.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "tools/attn/support/Report.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;

namespace attn::tool {
namespace {

using Digest = BLAKE3Result<>;

/// What a file begins with; the object follows.
struct Header {
  char magic[8];
  uint64_t bytes;
  Digest key, hash;
};
constexpr char fileMagic[8] = {'a', 't', 't', 'n', 'o', 'b', '0', '1'};

/// Names of the files of a kind: a prefix, hexadecimal digits, and a suffix, behind which a
/// temporary name goes on.
struct FileKind {
  StringRef what, prefix;
  size_t digits;
  StringRef suffix;
  bool matches(StringRef name) const {
    return name.consume_front(prefix) && name.size() >= digits &&
           all_of(name.take_front(digits), isHexDigit) &&
           name.drop_front(digits).starts_with(suffix);
  }
};
constexpr FileKind fileKinds[] = {
    {"compiled specs", "llvmcache-", 2 * sizeof(Digest), ""},
    {"packed weights", "", 16, ".pack"},
};

/// The descriptor of an open file.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0)
      ::close(number);
  }
};

} // namespace

std::string cacheFolder() {
  if (auto named = sys::Process::GetEnv("ATTN_CACHE_DIR"); named && !named->empty())
    return *named;
  SmallString<128> folder;
  auto base = sys::Process::GetEnv("XDG_CACHE_HOME");
  if (base && sys::path::is_absolute(*base)) // others are to be ignored (XDG Base Directory)
    folder = *base;
  else if (sys::path::home_directory(folder) && sys::path::is_absolute(folder))
    sys::path::append(folder, ".cache");
  else
    return "";
  sys::path::append(folder, "attn");
  return folder.str().str();
}

std::optional<uint64_t> cacheBound() {
  std::string text = sys::Process::GetEnv("ATTN_CACHE_SIZE").value_or("");
  if (text.empty())
    text = "1g";
  if (StringRef(text).trim('0').empty())
    return 0;
  auto policy = parseCachePruningPolicy("cache_size_bytes=" + text);
  if (policy && !StringRef(text).contains(':'))
    return policy->MaxSizeBytes;
  consumeError(policy.takeError());
  fail(Usage, "`ATTN_CACHE_SIZE=" + text + "`: expected a number of bytes, or one with k, m or g",
       "such as 500m; 0 keeps nothing");
  return std::nullopt;
}

/// Calls `body` for each of Attn's files in a folder.
static void forFiles(StringRef folder,
                     function_ref<void(size_t kind, const sys::fs::directory_entry &file)> body) {
  std::error_code error;
  for (sys::fs::directory_iterator file(folder, error), end; !error && file != end;
       file.increment(error))
    for (auto [kind, names] : enumerate(fileKinds))
      if (names.matches(sys::path::filename(file->path())))
        body(kind, *file);
}

std::vector<CacheUsage> cacheUsage(StringRef folder) {
  std::vector<CacheUsage> usage;
  for (const FileKind &kind : fileKinds)
    usage.push_back({kind.what.str()});
  forFiles(folder, [&](size_t kind, const sys::fs::directory_entry &file) {
    auto status = file.status();
    usage[kind].files += 1;
    usage[kind].bytes += status ? status->getSize() : 0;
  });
  return usage;
}

llvm::Error clearCache(StringRef folder) {
  std::vector<std::string> paths;
  forFiles(folder,
           [&](size_t, const sys::fs::directory_entry &file) { paths.push_back(file.path()); });
  for (const std::string &path : paths)
    if (auto error = sys::fs::remove(path)) // another process may have been faster
      return createStringError(error, "cannot remove `" + path + "`: " + error.message());
  return llvm::Error::success();
}

static Digest keyOf(mlir::ModuleOp module, const CompileOptions &options) {
  StrongHash hash;
  hash.add(compilerVersion(), buildId(), options);
  std::string bytecode;
  raw_string_ostream stream(bytecode);
  (void)mlir::writeBytecodeToFile(module, stream); // fails for other versions of it alone
  hash.add(StringRef(bytecode));
  return hash.final();
}

CompileCache::CompileCache(mlir::ModuleOp module, const CompileOptions &options, uint64_t bound)
    : bound(bound) {
  folder = bound && !buildId().empty() ? cacheFolder() : "";
  if (folder.empty())
    return;
  key = keyOf(module, options);
  SmallString<256> name(folder);
  sys::path::append(name, fileKinds[0].prefix + toHex(key, /*LowerCase=*/true));
  path = name.str().str();
}

std::unique_ptr<MemoryBuffer> CompileCache::read() const {
  Descriptor file{path.empty() ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat info;
  Header header;
  // Code of others is not run.
  if (file.number < 0 || fstat(file.number, &info) != 0 || !S_ISREG(info.st_mode) ||
      info.st_uid != ::geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) ||
      ::pread(file.number, &header, sizeof header, 0) != ssize_t(sizeof header))
    return nullptr;
  if (memcmp(header.magic, fileMagic, sizeof fileMagic) != 0 || header.key != key ||
      uint64_t(info.st_size) - sizeof header != header.bytes)
    return nullptr;
  // Read, not mapped, since another process may truncate it.
  auto object = MemoryBuffer::getOpenFileSlice(file.number, path, header.bytes, sizeof header,
                                               /*IsVolatile=*/true);
  if (!object || BLAKE3::hash(arrayRefFromStringRef((*object)->getBuffer())) != header.hash)
    return nullptr;
  struct timespec times[2] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
  (void)!::futimens(file.number, times); // pruning goes by the time of access
  return std::move(*object);
}

/// Drops what was not used for longest. LLVM's function ends the process where it cannot ask for
/// the room on the disk.
static void prune(StringRef folder, uint64_t bound) {
  if (!sys::fs::disk_space(folder))
    return;
  CachePruningPolicy policy;
  policy.Interval = policy.Expiration = std::chrono::seconds(0);
  policy.MaxSizePercentageOfAvailableSpace = 10;
  policy.MaxSizeBytes = bound;
  pruneCache(folder, policy);
}

void CompileCache::write(MemoryBufferRef object) const {
  constexpr auto ownerOnly = sys::fs::owner_all;
  if (path.empty() || sys::fs::create_directories(folder, /*IgnoreExisting=*/true, ownerOnly))
    return;
  auto file = sys::fs::TempFile::create(path + ".%%%%%%%%.part",
                                        sys::fs::owner_read | sys::fs::owner_write);
  if (!file)
    return consumeError(file.takeError());
  Header header{{}, object.getBufferSize(), key, {}};
  memcpy(header.magic, fileMagic, sizeof fileMagic);
  header.hash = BLAKE3::hash(arrayRefFromStringRef(object.getBuffer()));
  raw_fd_ostream stream(file->FD, /*shouldClose=*/false);
  stream.write(reinterpret_cast<const char *>(&header), sizeof header);
  stream << object.getBuffer();
  stream.flush();
  bool isWhole = !stream.has_error();
  stream.clear_error();
  consumeError(isWhole ? file->keep(path) : file->discard());
  prune(folder, bound);
}

} // namespace attn::tool
