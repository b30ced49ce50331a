// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Caches: what an entry pushes stays for the next call. The axis of all positions in a cache is as
// long as the dim of its name, `S:kv`; the last of them are the entry's own.
#include "compiler/frontend/sema/SemaImpl.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <limits>

namespace attn::frontend {

using namespace ast;

void Sema::declareCache(Decl &cache) {
  auto &item = *llvm::cast<CacheDecl>(cache.item);
  cache.size = Size::wrong();
  cache.element = builder.getF32Type();
  if (item.dtype) {
    cache.element = elementType(item.dtype->text, &mlirContext);
    if (!llvm::isa_and_present<mlir::FloatType>(cache.element)) {
      error(cache.element ? DiagCode::DtypePlace : DiagCode::UnknownDtype, item.dtype->range,
            "a cache holds f32, f16 or bf16, but this is `" + item.dtype->text + "`");
      return;
    }
  }
  Size size = evalSize(*item.capacity);
  if (size.error)
    return;
  if (!size.isStatic() || size.offset < 1) {
    error(DiagCode::SizeNotPositive, item.capacity->range,
          "the capacity of a cache must be known when compiling, and at least 1");
    return;
  }
  if (size.offset > std::numeric_limits<int32_t>::max()) {
    error(DiagCode::SizeOverflow, item.capacity->range,
          "a cache holds at most 2147483647 positions, but this is " + llvm::Twine(size.offset));
    return;
  }
  cache.size = size;
  cache.state = Decl::State::Done;
  emitDim(cache, size.offset, /*isDynamic=*/true);
}

bool Sema::findEntryCache(const Signature &signature) {
  entryCache = nullptr;
  for (const Parameter &parameter : signature.parameters) {
    if (!parameter.type.isCache())
      continue;
    Decl *decl = modelScope.find(parameter.name.text);
    if (!decl || decl->kind != Decl::Kind::Cache) {
      Diagnostic &diagnostic = error(DiagCode::CacheExpected, parameter.name.range,
                                     "the model has no cache `" + parameter.name.text + "`");
      diagnostic.help("declare it: `cache " + parameter.name.text + " capacity 1024`");
      return false;
    }
    decl->used = true;
    if (entryCache) {
      unsupported(
          parameter.name.range, "an entry with several caches",
          "keys and values that stay the same, such as those of an encoder, can be computed "
          "in each call");
      return false;
    }
    if (decl->size.error)
      return false;
    entryCache = decl;
  }
  return true;
}

bool Sema::isNewAxis(const Axis &axis) {
  if (!entryCache)
    return false;
  if (unapplied)
    return true;
  if (axis.isDynamic()) {
    auto size = parseLinearSize(axis.name);
    return size && size->scale == 1 && size->offset == 0 && entryDims.count(size->dim);
  }
  Decl *decl = scope->find(axis.name);
  return decl && decl->kind == Decl::Kind::Dim && decl->isNew;
}

Axis Sema::cacheAxis() const { return {entryCache->name, mlir::ShapedType::kDynamic}; }

bool Sema::isCacheAxis(const Axis &axis) const {
  auto size = entryCache && axis.isDynamic() ? parseLinearSize(axis.name) : std::nullopt;
  return size && size->dim == entryCache->name;
}

mlir::Value Sema::newRows(mlir::Value table, const Axis &axis, SourceRange range) {
  Axes axes = axesOfValue(table);
  int at = findAxis(axes, entryCache->name);
  axes[at] = axis;
  return SliceOp::create(builder, locate(range), tensorType(axes, range, elementOf(table)), table,
                         static_cast<uint64_t>(at), 0, /*end=*/true, /*drop=*/false);
}

//===-- pushing -----------------------------------------------------------------------------===//

Decl *Sema::cacheNamed(const Expr &expr) {
  auto *path = llvm::dyn_cast<PathExpr>(&expr);
  Decl *decl = path ? scope->find(path->path.str()) : nullptr;
  if (!decl || decl->kind != Decl::Kind::Value || !decl->value.isCache())
    return nullptr;
  decl->used = true;
  return decl->value.cache;
}

Decl *Sema::pushedTo(const Expr &expr) {
  auto *call = llvm::dyn_cast<CallExpr>(&expr);
  auto *callee = call ? llvm::dyn_cast<PathExpr>(call->callee.get()) : nullptr;
  if (!callee)
    return nullptr;
  std::string path = callee->path.str();
  auto [cache, function] = llvm::StringRef(path).rsplit('.');
  Decl *decl = function == "push" ? scope->find(cache) : nullptr;
  if (!decl || decl->kind != Decl::Kind::Value || !decl->value.isCache())
    return nullptr;
  decl->used = true;
  return decl->value.cache;
}

mlir::Value Sema::pushRows(mlir::Value rows, llvm::StringRef part, const CallExpr &call,
                           const Expr &expr, const AlongAxis &along) {
  Axes axes = axesOfValue(rows);
  int at = findAlong(axes, along.axis);
  if (at < 0 || at + 1 == static_cast<int>(axes.size()) || !isNewAxis(axes[at])) {
    error(DiagCode::CachePush, along.axis.range,
          at < 0 ? "there is no axis `" + along.axis.text + "` to push along"
                 : "`" + along.axis.text + "` does not count the positions that the entry adds")
        .at(expr.range, "this is " + showAxes(axes))
        .note("what is pushed lies along the dim in the brackets of the entry, and ends in "
              "features");
    return nullptr;
  }
  // [..., positions, features]: the keys of a head lie one after the other.
  llvm::SmallVector<int64_t> order;
  for (int64_t d = 0; d < static_cast<int64_t>(axes.size()); ++d)
    if (d != at && d + 1 != static_cast<int64_t>(axes.size()))
      order.push_back(d);
  order.append({at, static_cast<int64_t>(axes.size()) - 1});
  mlir::Location loc = locate(call.range, entryCache->name);
  rows = convert(permute(rows, order, loc), entryCache->element, loc);
  Axes kept = axesOfValue(rows), named;
  kept[kept.size() - 2] = cacheAxis();
  named = kept;
  if (along.alias->text != entryCache->name)
    named[named.size() - 2].name = along.alias->text + ":" + entryCache->name;
  mlir::RankedTensorType type = tensorType(kept, call.range, entryCache->element),
                         result = tensorType(named, call.range, entryCache->element);
  if (!type || !result)
    return nullptr;

  std::string symbol =
      entryCache->name + "." + (owner ? owner->symbolPrefix : std::string()) + part.str();
  auto state = module->lookupSymbol<StateOp>(symbol);
  if (state && llvm::cast<mlir::RankedTensorType>(state.getType()).getShape() != type.getShape()) {
    error(DiagCode::CachePush, expr.range,
          "the cache holds other " + part +
              "s by another entry: " + showAxes(axesOfType(state.getType())))
        .says("this is " + showAxes(kept));
    return nullptr;
  }
  if (!state) {
    headerHere();
    state = StateOp::create(paramBuilder, loc, symbol, type, entryCache->name,
                            owner ? owner->layerCount : 1);
    symbols.insert(symbol);
    lastHeader = state;
  }
  auto push = PushOp::create(builder, loc, result, rows, symbol, layer);
  pushes[push] = call.range;
  return convert(push, builder.getF32Type(), loc);
}

std::vector<SemaValue> Sema::evalPush(const CallExpr &call, const AlongAxis &along) {
  std::vector<SemaValue> wrong(2, SemaValue::wrong());
  Decl *cache = pushedTo(call);
  std::string usage = "let k, v = " + cache->name + ".push(k, v) along T as S";
  if (!plainArguments(call, "push", 2, 2, usage))
    return wrong;
  mlir::Value key = evalTensor(*call.arguments[0].value, "what is pushed"),
              value = evalTensor(*call.arguments[1].value, "what is pushed");
  if (!key || !value)
    return wrong;
  if (!along.alias) {
    error(DiagCode::CachePush, along.axis.range,
          "the axis of all positions in the cache has no name here")
        .help("write `along " + along.axis.text + " as S`");
    return wrong;
  }
  key = pushRows(key, "key", call, *call.arguments[0].value, along);
  value = key ? pushRows(value, "value", call, *call.arguments[1].value, along) : mlir::Value();
  return value ? std::vector{SemaValue::of(key), SemaValue::of(value)} : wrong;
}

namespace {
/// How often a function comes to the pushes of one state, 2 standing for more than once. In a
/// stack, layers have keys and values of their own, unless a push is none of the layer's.
struct PushCount {
  unsigned ofLayer = 0, ofAll = 0;
  PushOp last;

  void add(const PushCount &other, bool inStack) {
    ofLayer = std::min(2u, ofLayer + other.ofLayer);
    ofAll = std::min(2u, ofAll + (inStack ? 2 : 1) * other.ofAll);
    last = other.last;
  }
};
using PushCounts = llvm::MapVector<mlir::StringAttr, PushCount>;
} // namespace

/// Through the blocks that it applies, each of which is looked at once.
static const PushCounts &countPushes(mlir::func::FuncOp function, mlir::ModuleOp module,
                                     std::map<mlir::Operation *, PushCounts> &known) {
  auto [place, isFirst] = known.insert({function, {}});
  if (!isFirst)
    return place->second;
  PushCounts &counts = place->second;
  function.walk([&](mlir::Operation *op) {
    if (auto push = llvm::dyn_cast<PushOp>(op))
      counts[push.getStateAttr().getAttr()].add(
          push.getLayer() ? PushCount{1, 0, push} : PushCount{0, 1, push}, /*inStack=*/false);
    if (auto call = llvm::dyn_cast<mlir::func::CallOp>(op))
      if (auto callee = module.lookupSymbol<mlir::func::FuncOp>(call.getCallee()))
        for (const auto &[state, count] : countPushes(callee, module, known))
          counts[state].add(count, op->getParentOfType<mlir::scf::ForOp>() != nullptr);
  });
  return counts;
}

void Sema::checkPushes(mlir::func::FuncOp entry, SourceRange place) {
  if (!entryCache || options.taps) // layers are calls one after the other then
    return;
  std::map<mlir::Operation *, PushCounts> known;
  const PushCounts &counts = countPushes(entry, *module, known);
  for (const auto &[state, count] : counts)
    if (count.ofLayer + count.ofAll > 1)
      error(DiagCode::PushedTwice, pushes[count.last],
            "an entry comes here more than once, and pushes to the same keys and values")
          .note("a stack has keys and values for each of its layers; whatever else pushes to a "
                "cache does so once")
          .help("apply the block as a part: `part name: Block`");
  std::set<std::string> parts;
  for (const auto &[state, count] : counts)
    parts.insert(state.str());
  auto [first, isFirst] = cacheParts.insert({entryCache->name, {place, parts}});
  if (!isFirst && first->second.second != parts)
    error(DiagCode::CacheParts, place,
          "this entry pushes to other keys and values of `" + entryCache->name +
              "` than another one")
        .at(first->second.first, "this one")
        .note("what an entry does not push is missing at its positions for the next call")
        .help("declare a cache for each: `cache other capacity " +
              llvm::Twine(entryCache->size.offset) + "`");
}

} // namespace attn::frontend
