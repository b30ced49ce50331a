// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes that `attn verify` tries where they are known only when running: 1, 3, and lengths of
// sequences over several tiles and a tail, as far as the reference interpreter gets in a second or
// so.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "tools/attn/running/Runner.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringSet.h"

namespace attn::tool {

/// Of the caches that an entry adds positions to, the first; null where it adds to none.
const attn_abi_cache_use *pushOf(const attn_abi_entry &entry);

/// Whether an entry does this with a cache, or with any where `cache` is -1.
bool usesCache(const attn_abi_entry &entry, int32_t use, int32_t cache = -1);

/// Chooses the sizes of dynamic dims for one model.
class SizeChoice {
public:
  /// `fixed` are sizes that the command line gives.
  SizeChoice(mlir::ModuleOp module, const attn_abi_model &tables, Runner::Sizes fixed);

  /// Sizes of an entry's inputs, all `size`, or their bounds where those are less. The positions
  /// that an entry adds to a cache are left out.
  Runner::Sizes uniform(const attn_abi_entry &entry, int64_t size) const;

  /// Two sets of longer sizes, the first of about a tile, the second the longest within the budget;
  /// `operations` estimates a run. Dims of sequences differ from each other.
  std::vector<Runner::Sizes>
  longer(const attn_abi_entry &entry,
         llvm::function_ref<double(const Runner::Sizes &)> operations) const;

  /// The most positions up to `most` within the budget, if `operations` says what they cost.
  int64_t longest(int64_t most, llvm::function_ref<double(int64_t)> operations) const;

  /// Whether the command line says it; its size.
  std::optional<int64_t> fixedSize(llvm::StringRef dim) const;

private:
  /// The entry's dims with `first` for the first dim of a sequence, smaller ones for others,
  /// `other` for dims of none.
  Runner::Sizes staggered(const attn_abi_entry &entry, size_t first, int64_t other) const;
  std::vector<int32_t> dimsOf(const attn_abi_entry &entry) const;

  const attn_abi_model &tables;
  Runner::Sizes fixed;
  llvm::StringSet<> sequences; ///< dims along which attention goes
};

/// " B = 3 T = 67"
std::string sizesText(const Runner::Sizes &sizes);

} // namespace attn::tool
