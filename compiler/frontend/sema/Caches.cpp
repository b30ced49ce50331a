// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Caches: what an entry pushes stays for the next call. The axis of all positions in a cache is as
// long as the dim of its name, `S:kv`; the last of them are the entry's own.
#include "compiler/frontend/sema/Caches.h"
#include "compiler/frontend/sema/Apply.h"
#include "compiler/frontend/sema/Attention.h"
#include "compiler/frontend/sema/Axes.h"
#include "compiler/frontend/sema/Dims.h"
#include "compiler/frontend/sema/Exprs.h"
#include "compiler/frontend/sema/Output.h"
#include "compiler/frontend/sema/Tensors.h"
#include "compiler/frontend/sema/Types.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <limits>

namespace attn::frontend {

using namespace ast;

void declareCache(Sema &sema, Decl &cache) {
  auto &item = *llvm::cast<CacheDecl>(cache.item);
  cache.size = Size::wrong();
  cache.element = sema.builder.getF32Type();
  if (item.dtype) {
    cache.element = elementType(item.dtype->text, &sema.mlirContext);
    if (!llvm::isa_and_present<mlir::FloatType>(cache.element)) {
      sema.report.error(cache.element ? DiagCode::DtypePlace : DiagCode::UnknownDtype,
                        item.dtype->range,
                        "a cache holds f32, f16 or bf16, but this is `" + item.dtype->text + "`");
      return;
    }
  }
  Size size = evalSize(sema, *item.capacity);
  if (size.error)
    return;
  if (!size.isStatic() || size.offset < 1) {
    sema.report.error(DiagCode::SizeNotPositive, item.capacity->range,
                      "the capacity of a cache must be known when compiling, and at least 1");
    return;
  }
  if (size.offset > std::numeric_limits<int32_t>::max()) {
    sema.report.error(DiagCode::SizeOverflow, item.capacity->range,
                      "a cache holds at most 2147483647 positions, but this is " +
                          llvm::Twine(size.offset));
    return;
  }
  cache.size = size;
  cache.state = Decl::State::Done;
  emitDim(sema, cache, size.offset, /*isDynamic=*/true);
}

bool findEntryCache(Sema &sema, const Signature &signature) {
  sema.entry.cache = nullptr;
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
    if (sema.entry.cache) {
      sema.report.unsupported(
          parameter.name.range, "an entry with several caches",
          "keys and values that stay the same, such as those of an encoder, can be computed "
          "in each call");
      return false;
    }
    if (decl->size.error)
      return false;
    sema.entry.cache = decl;
  }
  return true;
}

bool isNewAxis(Sema &sema, const Axis &axis) {
  if (!sema.entry.cache)
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

Axis cacheAxis(EntryState &entry) { return {entry.cache->name, mlir::ShapedType::kDynamic}; }

bool isCacheAxis(EntryState &entry, const Axis &axis) {
  auto size = entry.cache && axis.isDynamic() ? parseLinearSize(axis.name) : std::nullopt;
  return size && size->dim == entry.cache->name;
}

mlir::Value newRows(Sema &sema, mlir::Value table, const Axis &axis, SourceRange range) {
  Axes axes = axesOfValue(table);
  int at = findAxis(axes, sema.entry.cache->name);
  axes[at] = axis;
  return SliceOp::create(sema.builder, locate(sema, range),
                         tensorType(sema, axes, range, elementOf(table)), table,
                         static_cast<uint64_t>(at), 0, /*end=*/true, /*drop=*/false);
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

Decl *pushedTo(Names &names, const Expr &expr) {
  auto *call = llvm::dyn_cast<CallExpr>(&expr);
  auto *callee = call ? llvm::dyn_cast<PathExpr>(call->callee.get()) : nullptr;
  if (!callee)
    return nullptr;
  std::string path = callee->path.str();
  auto [cache, function] = llvm::StringRef(path).rsplit('.');
  Decl *decl = function == "push" ? names.scope->find(cache) : nullptr;
  if (!decl || decl->kind != Decl::Kind::Value || !decl->value.isCache())
    return nullptr;
  decl->used = true;
  return decl->value.cache;
}

static mlir::Value pushRows(Sema &sema, mlir::Value rows, llvm::StringRef part,
                            const CallExpr &call, const Expr &expr, const AlongAxis &along) {
  Axes axes = axesOfValue(rows);
  int at = findAlong(sema, axes, along.axis);
  if (at < 0 || at + 1 == static_cast<int>(axes.size()) || !isNewAxis(sema, axes[at])) {
    sema.report
        .error(DiagCode::CachePush, along.axis.range,
               at < 0
                   ? "there is no axis `" + along.axis.text + "` to push along"
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
  mlir::Location loc = locate(sema, call.range, sema.entry.cache->name);
  rows = convert(sema, permute(sema, rows, order, loc), sema.entry.cache->element, loc);
  Axes kept = axesOfValue(rows), named;
  kept[kept.size() - 2] = cacheAxis(sema.entry);
  named = kept;
  if (along.alias->text != sema.entry.cache->name)
    named[named.size() - 2].name = along.alias->text + ":" + sema.entry.cache->name;
  mlir::RankedTensorType type = tensorType(sema, kept, call.range, sema.entry.cache->element),
                         result = tensorType(sema, named, call.range, sema.entry.cache->element);
  if (!type || !result)
    return nullptr;

  std::string symbol = sema.entry.cache->name + "." +
                       (sema.function.owner ? sema.function.owner->symbolPrefix : std::string()) +
                       part.str();
  auto state = sema.output.module->lookupSymbol<StateOp>(symbol);
  if (state && llvm::cast<mlir::RankedTensorType>(state.getType()).getShape() != type.getShape()) {
    sema.report
        .error(DiagCode::CachePush, expr.range,
               "the cache holds other " + part +
                   "s by another entry: " + showAxes(axesOfType(state.getType())))
        .says("this is " + showAxes(kept));
    return nullptr;
  }
  if (!state) {
    headerHere(sema.output);
    state = StateOp::create(sema.output.header, loc, symbol, type, sema.entry.cache->name,
                            sema.function.owner ? sema.function.owner->layerCount : 1);
    sema.output.symbols.insert(symbol);
    sema.output.lastHeader = state;
  }
  auto push = PushOp::create(sema.builder, loc, result, rows, symbol, sema.function.layer);
  sema.entry.pushes[push] = call.range;
  return convert(sema, push, sema.builder.getF32Type(), loc);
}

std::vector<SemaValue> evalPush(Sema &sema, const CallExpr &call, const AlongAxis &along) {
  std::vector<SemaValue> wrong(2, SemaValue::wrong());
  Decl *cache = pushedTo(sema.names, call);
  std::string usage = "let k, v = " + cache->name + ".push(k, v) along T as S";
  if (!plainArguments(sema.report, call, "push", 2, 2, usage))
    return wrong;
  mlir::Value key = evalTensor(sema, *call.arguments[0].value, "what is pushed"),
              value = evalTensor(sema, *call.arguments[1].value, "what is pushed");
  if (!key || !value)
    return wrong;
  if (!along.alias) {
    sema.report
        .error(DiagCode::CachePush, along.axis.range,
               "the axis of all positions in the cache has no name here")
        .help("write `along " + along.axis.text + " as S`");
    return wrong;
  }
  key = pushRows(sema, key, "key", call, *call.arguments[0].value, along);
  value =
      key ? pushRows(sema, value, "value", call, *call.arguments[1].value, along) : mlir::Value();
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
  /// The same layers' pushes in other functions of one stack.
  void addTurn(const PushCount &other) {
    ofLayer = std::max(ofLayer, other.ofLayer);
    ofAll = std::min(2u, ofAll + other.ofAll);
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
  // By the place of the application, of which a stack has calls for layers of several kinds.
  llvm::MapVector<mlir::Location, PushCounts> applied;
  function.walk([&](mlir::Operation *op) {
    if (auto push = llvm::dyn_cast<PushOp>(op))
      counts[push.getStateAttr().getAttr()].add(
          push.getLayer() ? PushCount{1, 0, push} : PushCount{0, 1, push}, /*inStack=*/false);
    if (auto call = llvm::dyn_cast<mlir::func::CallOp>(op))
      if (auto callee = module.lookupSymbol<mlir::func::FuncOp>(call.getCallee()))
        for (const auto &[state, count] : countPushes(callee, module, known)) {
          PushCount own;
          own.add(count, op->getParentOfType<mlir::scf::ForOp>() != nullptr);
          applied[call.getLoc()][state].addTurn(own);
        }
  });
  for (const auto &[loc, own] : applied)
    for (const auto &[state, count] : own)
      counts[state].add(count, /*inStack=*/false);
  return counts;
}

void checkPushes(Sema &sema, mlir::func::FuncOp entry, SourceRange place) {
  if (!sema.entry.cache || sema.options.taps) // layers are calls one after the other then
    return;
  std::map<mlir::Operation *, PushCounts> known;
  const PushCounts &counts = countPushes(entry, *sema.output.module, known);
  for (const auto &[state, count] : counts)
    if (count.ofLayer + count.ofAll > 1)
      sema.report
          .error(DiagCode::PushedTwice, sema.entry.pushes[count.last],
                 "an entry comes here more than once, and pushes to the same keys and values")
          .note("a stack has keys and values for each of its layers; whatever else pushes to a "
                "cache does so once")
          .help("apply the block as a part: `part name: Block`");
  std::set<std::string> parts;
  for (const auto &[state, count] : counts)
    parts.insert(state.str());
  auto [first, isFirst] = sema.entry.cacheParts.insert({sema.entry.cache->name, {place, parts}});
  if (!isFirst && first->second.second != parts)
    sema.report
        .error(DiagCode::CacheParts, place,
               "this entry pushes to other keys and values of `" + sema.entry.cache->name +
                   "` than another one")
        .at(first->second.first, "this one")
        .note("what an entry does not push is missing at its positions for the next call")
        .help("declare a cache for each: `cache other capacity " +
              llvm::Twine(sema.entry.cache->size.offset) + "`");
}

} // namespace attn::frontend
