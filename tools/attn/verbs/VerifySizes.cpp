// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dims of an entry to the sizes that are tried, by what the interpreter's time allows.
#include "VerifySizes.h"

#include "compiler/emit/ModelInfo.h"
#include "dialect/AttnDialect.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace attn::tool {

/// Primes, and one past tiles and strips of 16, 64, 128 and 512.
static constexpr int64_t lengths[] = {7, 17, 37, 65, 131, 257, 523, 1031};
/// Floating-point operations of one set of sizes: some tenths of a second of the interpreter.
static constexpr double budget = 1e8;

const attn_abi_cache_use *pushOf(const attn_abi_entry &entry) {
  for (const attn_abi_cache_use &use : ArrayRef(entry.caches, size_t(entry.cacheCount)))
    if (use.use == ATTN_CACHE_PUSH)
      return &use;
  return nullptr;
}

bool usesCache(const attn_abi_entry &entry, int32_t use, int32_t cache) {
  return any_of(ArrayRef(entry.caches, size_t(entry.cacheCount)),
                [&](const attn_abi_cache_use &own) {
                  return own.use == use && (cache < 0 || own.cache == cache);
                });
}

SizeChoice::SizeChoice(mlir::ModuleOp module, const attn_abi_model &tables, Runner::Sizes fixed)
    : tables(tables), fixed(std::move(fixed)) {
  module.walk([&](AttentionOp op) {
    auto key = axesOf(module, op.getKey().getType()),
         query = axesOf(module, op.getQuery().getType());
    StringRef along = op.getKeyAxis();
    for (auto [axis, name] : zip_equal(key, attn::axesOf(op.getKey().getType())))
      if (name.getValue() == along && axis.isDynamic())
        sequences.insert(axis.dim);
    for (const AxisInfo &axis : query)
      if (axis.isDynamic() && none_of(key, [&](const AxisInfo &k) { return k.name == axis.name; }))
        sequences.insert(axis.dim);
  });
}

std::optional<int64_t> SizeChoice::fixedSize(StringRef dim) const {
  std::optional<int64_t> found;
  for (const auto &[name, size] : fixed)
    if (name == dim)
      found = size;
  return found;
}

std::vector<int32_t> SizeChoice::dimsOf(const attn_abi_entry &entry) const {
  std::vector<int32_t> found;
  for (int32_t d = 0; d < tables.dimCount; ++d) {
    bool isUsed = false;
    bool isHeld = any_of(ArrayRef(entry.caches, size_t(entry.cacheCount)), [&](const auto &use) {
      return d == tables.caches[use.cache].dim || (use.use == ATTN_CACHE_PUSH && d == use.rows.dim);
    });
    for (const attn_abi_tensor &input : ArrayRef(entry.inputs, size_t(entry.inputCount)))
      for (const attn_abi_axis &axis : ArrayRef(input.axes, size_t(input.rank)))
        isUsed |= axis.dim == d;
    if (tables.dims[d].isDynamic && isUsed && !isHeld)
      found.push_back(d);
  }
  return found;
}

Runner::Sizes SizeChoice::uniform(const attn_abi_entry &entry, int64_t size) const {
  Runner::Sizes sizes;
  for (int32_t d : dimsOf(entry))
    sizes.push_back(
        {tables.dims[d].name,
         fixedSize(tables.dims[d].name).value_or(std::min(size, tables.dims[d].value))});
  return sizes;
}

Runner::Sizes SizeChoice::staggered(const attn_abi_entry &entry, size_t first,
                                    int64_t other) const {
  Runner::Sizes sizes;
  std::vector<int32_t> dims = dimsOf(entry);
  // Without a sequence, rows of a batch make the tiles.
  bool hasSequence =
      any_of(dims, [&](int32_t d) { return sequences.contains(tables.dims[d].name); });
  for (int32_t d : dims) {
    const attn_abi_dim &dim = tables.dims[d];
    int64_t size = other;
    if (!hasSequence || sequences.contains(dim.name)) {
      size = lengths[first];
      first -= first > 0;
    }
    sizes.push_back({dim.name, fixedSize(dim.name).value_or(std::min(size, dim.value))});
  }
  return sizes;
}

std::vector<Runner::Sizes>
SizeChoice::longer(const attn_abi_entry &entry,
                   function_ref<double(const Runner::Sizes &)> operations) const {
  std::vector<Runner::Sizes> chosen;
  constexpr size_t tile = 3, count = std::size(lengths);
  for (auto [most, least, other] :
       {std::tuple(tile, size_t(0), int64_t(3)), std::tuple(count - 1, tile + 1, int64_t(1))})
    for (size_t first = most + 1; first-- > least;) {
      Runner::Sizes sizes = staggered(entry, first, other);
      // Bounds may make the second set no longer than the first.
      bool isNew = chosen.empty() || sizes != staggered(entry, tile, other);
      if (!isNew || operations(sizes) > budget)
        continue;
      chosen.push_back(std::move(sizes));
      break;
    }
  return chosen;
}

int64_t SizeChoice::longest(int64_t most, function_ref<double(int64_t)> operations) const {
  int64_t found = 1;
  for (int64_t length : lengths)
    if (length <= most && operations(length) <= budget)
      found = length;
  return found;
}

std::string sizesText(const Runner::Sizes &sizes) {
  std::string text;
  for (const auto &[name, size] : sizes)
    text += " " + name + " = " + std::to_string(size);
  return text;
}

} // namespace attn::tool
