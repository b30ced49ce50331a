// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The axis of all positions in a cache is as long as the dim of its name, `S:kv`; the last of them
// are the running entry's own.
#include "compiler/frontend/sema/entries/CacheAxes.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "compiler/frontend/sema/sizes/Types.h"

namespace attn::frontend {

using namespace ast;

bool isNewAxis(Sema &sema, const Axis &axis) {
  if (!sema.entry.counter)
    return false;
  if (sema.report.unapplied)
    return true;
  if (axis.isDynamic()) {
    auto size = parseLinearSize(axis.name);
    return size && size->scale == 1 && size->offset == 0 && sema.sizes.entryDims.count(size->dim);
  }
  Decl *decl = sema.names.scope->find(axis.name);
  return decl && decl->kind == Decl::Kind::Dim && decl->isNew;
}

Axis cacheAxis(EntryState &entry) { return {entry.counter->name, mlir::ShapedType::kDynamic}; }

/// The cache whose positions an axis counts; null where it counts others.
static const Decl *cacheOf(const EntryState &entry, const Axis &axis) {
  auto size = axis.isDynamic() ? parseLinearSize(axis.name) : std::nullopt;
  for (const Decl *cache : entry.caches)
    if (size && size->dim == cache->name)
      return cache;
  return nullptr;
}

bool isCacheAxis(EntryState &entry, const Axis &axis) { return cacheOf(entry, axis); }

bool isPushedAxis(EntryState &entry, const Axis &axis) {
  const Decl *cache = cacheOf(entry, axis);
  return cache && !cache->isOnce;
}

std::string keyOfEntry(const EntryState &entry) {
  std::string key = entry.counter ? "|" + entry.counter->name : "";
  if (entry.isPart()) {
    key += "|part";
    for (const Name &cache : entry.entry->only)
      key += "|" + cache.text;
  }
  return key;
}

mlir::Value newRows(Sema &sema, mlir::Value table, const Axis &axis, SourceRange range) {
  Axes axes = axesOfValue(table);
  int at = findAxis(axes, sema.entry.counter->name);
  axes[at] = axis;
  return SliceOp::create(sema.builder, locate(sema, range),
                         tensorType(sema, axes, range, elementOf(table)), table,
                         static_cast<uint64_t>(at), 0, /*end=*/true, /*drop=*/false);
}

} // namespace attn::frontend
