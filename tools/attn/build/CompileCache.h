// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Objects of compiled specs on disk, so that a spec is compiled once and not at every start. The
// folder is that of ATTN_CACHE_DIR, where packed weights are, too (weights/PackCache.h); else
// `attn` in the user's folder of caches.
//
// The key is a hash of all that an object depends on: the module that the front end has built, with
// the values of `--set`, `--config`, `--taps` and the files that the spec uses, and its places;
// the compiler's options (emit/CompileOptions.h); the compiler, by its version and the build id
// that the linker has given the program. The front end runs at every start, in a few milliseconds:
// what it says of a spec is said always, and no input of the spec can be missing from the key.
//
// Several processes may use the folder. An object is written under another name and renamed. What
// is read has to be a file of this user that nobody else may write, and is checked against a hash;
// else it is none, and replaced. A folder that cannot be written is none, too.
#pragma once

#include "compiler/emit/CompileOptions.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn::tool {

/// Where caches are; empty where the user has no folder for them.
std::string cacheFolder();

/// How many bytes of objects are kept at most: ATTN_CACHE_SIZE ("500m"), else 1 GiB; 0: no objects
/// are kept. Nothing after an error has been printed (exit code 2).
std::optional<uint64_t> cacheBound();

/// Files of one kind in a folder of caches.
struct CacheUsage {
  std::string what; ///< "compiled specs"
  uint64_t files = 0, bytes = 0;
};
/// What of Attn's is in a folder, a row for each kind; what else lies there is not counted.
std::vector<CacheUsage> cacheUsage(llvm::StringRef folder);
/// Removes what `cacheUsage` counts. An error names the first file that could not be removed.
llvm::Error clearCache(llvm::StringRef folder);

/// The place of one object.
class CompileCache {
public:
  /// The place of what `options` make of `module`; none where `bound` is 0, there is no folder, or
  /// nothing tells this compiler from others.
  CompileCache(mlir::ModuleOp module, const CompileOptions &options, uint64_t bound);

  /// The object; null where there is none. It counts as used now.
  std::unique_ptr<llvm::MemoryBuffer> read() const;
  /// Keeps the object, and drops those that were not used for longest, as far as the bound asks.
  /// What keeps it from being written (a full disk) is no error: the next start compiles again.
  void write(llvm::MemoryBufferRef object) const;

private:
  std::string folder, path; ///< empty: none
  llvm::BLAKE3Result<> key;
  uint64_t bound;
};

} // namespace attn::tool
