// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Caches: what an entry pushes stays for the next call. The axis of all positions in a cache is as
// long as the dim of its name, `S:kv`; the last of them are the entry's own. What it fills in by
// `once` is all that the cache holds then; an entry that lacks what is filled in reads it, and what
// would compute it is dropped (PartialEntries.cpp).
#include "compiler/frontend/sema/entries/Caches.h"
#include "compiler/frontend/sema/Names.h"
#include "compiler/frontend/sema/Output.h"
#include "compiler/frontend/sema/attention/Attention.h"
#include "compiler/frontend/sema/entries/CacheAxes.h"
#include "compiler/frontend/sema/expressions/Apply.h"
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Dims.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "compiler/frontend/sema/sizes/Types.h"
#include "dialect/Caches.h"

#include <limits>

namespace attn::frontend {

using namespace ast;

void declareCache(Sema &sema, Decl &cache) {
  cache.size = Size::wrong();
  cache.element = sema.builder.getF32Type();
  if (cache.dtype) {
    cache.element = elementType(cache.dtype->text, &sema.mlirContext);
    if (!llvm::isa_and_present<mlir::FloatType>(cache.element)) {
      sema.report.error(cache.element ? DiagCode::DtypePlace : DiagCode::UnknownDtype,
                        cache.dtype->range,
                        "a cache holds f32, f16 or bf16, but this is `" + cache.dtype->text + "`");
      return;
    }
  }
  Size size = evalSize(sema, *cache.expr);
  if (size.error)
    return;
  if (!size.isStatic() || size.offset < 1) {
    sema.report.error(DiagCode::SizeNotPositive, cache.expr->range,
                      "the capacity of a cache must be known when compiling, and at least 1");
    return;
  }
  if (size.offset > std::numeric_limits<int32_t>::max()) {
    sema.report.error(DiagCode::SizeOverflow, cache.expr->range,
                      "a cache holds at most 2147483647 positions, but this is " +
                          llvm::Twine(size.offset));
    return;
  }
  cache.size = size;
  cache.state = Decl::State::Done;
  emitDim(sema, cache, size.offset, /*isDynamic=*/true);
}

bool findEntryCaches(Sema &sema, const Signature &signature) {
  sema.entry.caches.clear();
  sema.entry.counter = nullptr;
  for (const Parameter &parameter : signature.parameters) {
    if (!parameter.type.isCache())
      continue;
    Decl *decl = sema.names.modelScope.find(parameter.name.text);
    if (!decl || decl->kind != Decl::Kind::Cache) {
      Diagnostic &diagnostic =
          sema.report.error(DiagCode::CacheExpected, parameter.name.range,
                            "the model has no cache `" + parameter.name.text + "`");
      diagnostic.help("declare it: `cache " + parameter.name.text + " capacity 1024`");
      return false;
    }
    decl->used = true;
    if (decl->size.error)
      return false;
    if (!llvm::is_contained(sema.entry.caches, decl)) // said where its parameters are declared
      sema.entry.caches.push_back(decl);
  }
  if (!signature.dims.empty() && !sema.entry.caches.empty())
    sema.entry.counter = sema.entry.caches.front();
  return true;
}

//===-- pushing -----------------------------------------------------------------------------===//

Decl *cacheNamed(Names &names, const Expr &expr) {
  auto *path = llvm::dyn_cast<PathExpr>(&expr);
  Decl *decl = path ? names.scope->find(path->path.str()) : nullptr;
  if (!decl || decl->kind != Decl::Kind::Value || !decl->value.isCache())
    return nullptr;
  decl->used = true;
  return decl->value.cache;
}

/// Of `kv.push`, the cache and the word behind it; nothing where `expr` calls something else.
static std::optional<std::pair<llvm::StringRef, llvm::StringRef>> calledOf(const Expr &expr,
                                                                           std::string &path) {
  auto *call = llvm::dyn_cast<CallExpr>(&expr);
  auto *callee = call ? llvm::dyn_cast<PathExpr>(call->callee.get()) : nullptr;
  if (!callee)
    return std::nullopt;
  path = callee->path.str();
  return llvm::StringRef(path).rsplit('.');
}

static bool isOnce(const CallExpr &call) {
  std::string path;
  return calledOf(call, path)->second == "once";
}

Decl *pushedTo(Names &names, const Expr &expr) {
  std::string path;
  auto called = calledOf(expr, path);
  bool isFilling = called && (called->second == "push" || called->second == "once");
  Decl *decl = isFilling ? names.scope->find(called->first) : nullptr;
  if (!decl || decl->kind != Decl::Kind::Value || !decl->value.isCache())
    return nullptr;
  decl->used = true;
  return decl->value.cache;
}

/// Whether the running entry reads a cache instead of what it would push or fill in.
static bool isRead(const EntryState &entry, const Decl &cache) {
  if (!entry.isPart())
    return false;
  if (entry.entry->only.empty())
    return cache.isOnce;
  return llvm::none_of(entry.entry->only,
                       [&](const Name &name) { return name.text == cache.name; });
}

namespace {
/// A call that pushes keys and values to a cache or fills it with them.
struct Filling {
  Decl &cache;
  const CallExpr &call;
  const AlongAxis &along;
  bool isOnce;
};
} // namespace

/// The position of the axis that the cache holds, or -1 after an error.
static int keptAxis(Sema &sema, const Filling &filling, const Axes &axes, const Expr &expr) {
  const Name &name = filling.along.axis;
  int at = findNamedAxis(sema, axes, name);
  bool isThere = at >= 0 && at + 1 < static_cast<int>(axes.size()),
       isNew = isThere && isNewAxis(sema, axes[at]);
  if (!filling.isOnce && !sema.entry.counter && isThere) {
    sema.report
        .error(DiagCode::EntryDim, sema.entry.name->range,
               "an entry with a cache has one dim of its own: the positions that it adds")
        .help("write `" + sema.entry.name->text + "[T](…)`, where T is their axis");
    return -1;
  }
  if (!isThere || (isNew == filling.isOnce && !sema.report.unapplied)) {
    sema.report
        .error(DiagCode::CachePush, name.range,
               at < 0     ? "there is no axis `" + name.text + "` to " +
                                (filling.isOnce ? "fill the cache along" : "push along")
               : !isThere ? "`" + name.text + "` is the last axis, which holds features"
               : isNew    ? "`" + name.text + "` counts the positions that the entry adds"
                          : "`" + name.text + "` does not count the positions that the entry adds")
        .at(expr.range, "this is " + showAxes(axes))
        .note(
            filling.isOnce
                ? "what a cache is filled with at once lies along an axis that does not grow with "
                  "calls, and ends in features"
                : "what is pushed lies along the dim in the brackets of the entry, and ends in "
                  "features");
    return -1;
  }
  if (!axes[at].isDynamic() && axes[at].size > filling.cache.size.offset &&
      !sema.report.unapplied) {
    sema.report
        .error(DiagCode::EntryDim, name.range,
               "a call adds " + llvm::Twine(axes[at].size) + " positions to `" +
                   filling.cache.name + "`, which holds " + llvm::Twine(filling.cache.size.offset))
        .at(filling.cache.range, "declared here");
    return -1;
  }
  return at;
}

/// How many other pushes to tensors called `symbol` are written in front of this one in a body.
static size_t pushesBefore(Sema &sema, llvm::StringRef symbol, SourceRange push) {
  llvm::SmallVector<size_t> places;
  for (mlir::Operation &op : *sema.builder.getInsertionBlock()) {
    llvm::StringRef state;
    if (auto pushed = llvm::dyn_cast<PushOp>(op))
      state = pushed.getState();
    else if (auto kept = llvm::dyn_cast<KeptOp>(op))
      state = kept.getState();
    size_t place = sema.entry.pushes.lookup(&op).begin;
    bool isOther = state.consume_front(symbol) && (state.empty() || state.starts_with(".")) &&
                   place != push.begin;
    if (isOther && !llvm::is_contained(places, place))
      places.push_back(place);
  }
  return places.size();
}

/// The tensor that stays; null and reported where it is another one by another entry.
static StateOp stateOf(Sema &sema, const Filling &filling, llvm::StringRef part,
                       mlir::RankedTensorType type, const Expr &expr, mlir::Location loc) {
  const Owner *owner = sema.function.owner;
  std::string symbol =
      filling.cache.name + "." + (owner ? owner->symbolPrefix : std::string()) + part.str();
  if (size_t before = pushesBefore(sema, symbol, filling.call.range))
    symbol += "." + std::to_string(before);
  auto state = sema.output.module->lookupSymbol<StateOp>(symbol);
  if (state && llvm::cast<mlir::RankedTensorType>(state.getType()).getShape() != type.getShape()) {
    sema.report
        .error(DiagCode::CachePush, expr.range,
               "the cache holds other " + part +
                   "s by another entry: " + showAxes(axesOfType(state.getType())))
        .says("this is " + showAxes(axesOfType(type)));
    return nullptr;
  }
  if (!state) {
    headerHere(sema.output);
    state = StateOp::create(sema.output.header, loc, symbol, type, filling.cache.name,
                            owner ? owner->layerCount : 1);
    sema.output.symbols.insert(symbol);
    sema.output.lastHeader = state;
  }
  return state;
}

static mlir::Value fill(Sema &sema, const Filling &filling, mlir::Value rows, llvm::StringRef part,
                        const Expr &expr) {
  Axes axes = axesOfValue(rows);
  int at = keptAxis(sema, filling, axes, expr);
  if (at < 0)
    return nullptr;
  // [..., positions, features]: the keys of a head lie one after the other.
  llvm::SmallVector<int64_t> order;
  for (int64_t d = 0; d < static_cast<int64_t>(axes.size()); ++d)
    if (d != at && d + 1 != static_cast<int64_t>(axes.size()))
      order.push_back(d);
  order.append({at, static_cast<int64_t>(axes.size()) - 1});
  const Decl &cache = filling.cache;
  mlir::Location loc = locate(sema, filling.call.range, cache.name);
  rows = convert(sema, permute(sema, rows, order, loc), cache.element, loc);
  Axes kept = axesOfValue(rows), named;
  kept[kept.size() - 2] = {cache.name, mlir::ShapedType::kDynamic};
  named = kept;
  if (filling.along.alias->text != cache.name)
    named[named.size() - 2].name = filling.along.alias->text + ":" + cache.name;
  mlir::RankedTensorType type = tensorType(sema, kept, filling.call.range, cache.element),
                         result = tensorType(sema, named, filling.call.range, cache.element);
  StateOp state = type && result ? stateOf(sema, filling, part, type, expr, loc) : StateOp();
  if (!state)
    return nullptr;
  llvm::StringRef symbol = state.getSymName();
  mlir::Value all;
  if (isRead(sema.entry, cache))
    all = KeptOp::create(sema.builder, loc, result, symbol, sema.function.layer);
  else
    all = PushOp::create(sema.builder, loc, result, rows, symbol, sema.function.layer);
  sema.entry.pushes[all.getDefiningOp()] = filling.call.range;
  return convert(sema, all, sema.builder.getF32Type(), loc);
}

/// A cache is pushed to or filled at once, in all entries alike; and what is filled at once does
/// not count the positions that an entry adds.
static bool checkKind(Sema &sema, const Filling &filling) {
  if (sema.report.unapplied)
    return true;
  Decl &cache = filling.cache;
  if (cache.firstFilled.empty()) {
    cache.firstFilled = filling.call.range;
    cache.isOnce = filling.isOnce;
  }
  if (cache.isOnce != filling.isOnce) {
    sema.report
        .error(DiagCode::CacheOnce, filling.call.range,
               "`" + cache.name + "` is filled at once, and pushed to")
        .at(cache.firstFilled, cache.isOnce ? "filled here" : "pushed to here")
        .help("declare a cache for each: `cache " + cache.name + " capacity " +
              llvm::Twine(cache.size.offset) + ", other capacity " +
              llvm::Twine(cache.size.offset) + "`");
    return false;
  }
  if (!filling.isOnce || sema.entry.counter != &cache)
    return true;
  sema.report
      .error(DiagCode::CacheOnce, filling.call.range,
             "`" + cache.name +
                 "` counts the positions that the entry adds, and cannot be filled at once")
      .at(sema.entry.name->range, "the entry has a dim of its own")
      .note("that dim counts the positions in the first cache which the entry takes")
      .help("take a cache that is pushed to first, or leave out the brackets: `dyn T <= 64` in the "
            "model");
  return false;
}

std::vector<SemaValue> evalPush(Sema &sema, const CallExpr &call, const AlongAxis &along) {
  std::vector<SemaValue> wrong(2, SemaValue::wrong());
  Filling filling{*pushedTo(sema.names, call), call, along, isOnce(call)};
  std::string word = filling.isOnce ? "once" : "push", axis = filling.isOnce ? "M" : "T";
  std::string usage =
      "let k, v = " + filling.cache.name + "." + word + "(k, v) along " + axis + " as S";
  if (!plainArguments(sema.report, call, word, 2, 2, usage) || !checkKind(sema, filling))
    return wrong;
  mlir::Value key = evalTensor(sema, *call.arguments[0].value,
                               filling.isOnce ? "what is filled in" : "what is pushed"),
              value = evalTensor(sema, *call.arguments[1].value,
                                 filling.isOnce ? "what is filled in" : "what is pushed");
  if (!key || !value)
    return wrong;
  if (!along.alias) {
    std::string all = unusedAxis(sema);
    sema.report
        .error(DiagCode::CachePush, along.axis.range,
               "the axis of all positions in the cache has no name here")
        .help("write `along " + along.axis.text + " as " + all + "`",
              Edit{{along.axis.range.end, along.axis.range.end}, " as " + all});
    return wrong;
  }
  key = fill(sema, filling, key, "key", *call.arguments[0].value);
  value = key ? fill(sema, filling, value, "value", *call.arguments[1].value) : mlir::Value();
  return value ? std::vector{SemaValue::of(key), SemaValue::of(value)} : wrong;
}

} // namespace attn::frontend
