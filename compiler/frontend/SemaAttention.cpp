// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attend -> attn.attention: which axis holds the keys, and which are shared.
#include "compiler/frontend/SemaFormulas.h"

namespace attn::frontend {

using namespace ast;
using mlir::Location;

bool Sema::readHooks(const AttendExpr &attend, Hooks &hooks) {
  bool fine = true;
  std::map<AttendItem::Kind, SourceRange> seen;
  auto isWord = [](const Expr &expr, llvm::StringRef word) {
    auto *path = llvm::dyn_cast<PathExpr>(&expr);
    return path && path->path.str() == word;
  };
  for (const AttendItem &item : attend.body) {
    if (auto [it, first] = seen.insert({item.kind, item.keyword}); !first) {
      error(DiagCode::DuplicateHook, item.keyword,
            "this attention has a `" + spelling(item.kind) + "` already")
          .at(it->second, "here");
      fine = false;
      continue;
    }
    const Expr &value = *item.values.front();
    if (llvm::isa<ErrorExpr>(value)) {
      fine = false;
      continue;
    }
    switch (item.kind) {
    case AttendItem::Kind::Score:
      hooks.score = &value;
      continue;
    case AttendItem::Kind::Bias:
      hooks.bias = isWord(value, "none") ? nullptr : &value;
      continue;
    case AttendItem::Kind::Mask:
      hooks.mask = isWord(value, "none") ? nullptr : &value;
      continue;
    case AttendItem::Kind::Cap:
      hooks.cap = &value;
      continue;
    case AttendItem::Kind::Weight:
      if (isWord(value, "softmax"))
        continue;
      break;
    case AttendItem::Kind::Return:
      if (item.values.size() == 1 && isWord(value, "out"))
        continue;
      break;
    }
    unsupported(item.range, "`" + source.text(item.range) + "` in an attention");
    fine = false;
  }
  return fine;
}

mlir::Value Sema::relabelKey(mlir::Value value, const AlongAxis &along, const Axis &key,
                             const Expr &expr, llvm::StringRef what) {
  Axes axes = axesOfValue(value);
  int at = findAxis(axes, along.axis.text);
  if (at < 0 && !scope->find(along.axis.text))
    at = -1;
  if (at < 0) {
    // A block's dim may stand for an axis that is known only when running, under the name of that.
    if (Decl *decl = scope->find(along.axis.text); decl && decl->kind == Decl::Kind::Dim)
      if (const Size &size = sizeOf(*decl); !size.error && !size.isStatic())
        at = findAxis(axes,
                      axisOfSize("", decl->dynamic ? Size{decl->name, 1, 0, false} : size).name);
  }
  if (at < 0 || at + 1 == static_cast<int>(axes.size())) {
    error(DiagCode::KeyAxisMissing, along.axis.range,
          at < 0 ? "the " + what + " have no axis `" + along.axis.text + "`"
                 : "`" + along.axis.text + "` is the last axis of the " + what +
                       ", which holds their features")
        .at(expr.range, "this is " + showAxes(axes));
    return nullptr;
  }
  if (!along.alias)
    return value;
  if (axes[at].isDynamic()) {
    unsupported(along.alias->range,
                "another name for `" + along.axis.text + "`, which is known only when running,");
    return nullptr;
  }
  if (findAxis(axes, key.name) >= 0 && key.name != axes[at].name) {
    error(DiagCode::KeyAxisTaken, along.alias->range,
          "the " + what + " have an axis `" + key.name + "` already")
        .at(expr.range, "this is " + showAxes(axes));
    return nullptr;
  }
  axes[at].name = key.name;
  return relabel(value, axes, locate(along.axis.range));
}

SemaValue Sema::evalAttend(const AttendExpr &attend) {
  Hooks hooks;
  bool fine = readHooks(attend, hooks);
  mlir::Value q = evalTensor(*attend.query, "the query");
  mlir::Value k = evalTensor(*attend.key, "the keys");
  mlir::Value v = attend.value ? evalTensor(*attend.value, "the values") : mlir::Value();
  if (!attend.value) {
    unsupported(attend.key->range, "one expression for keys and values");
    return SemaValue::wrong();
  }
  if (attend.groupAxis || attend.groupBy) {
    unsupported(attend.groupAxis ? attend.groupAxis->range : attend.groupBy->range,
                "`group` in an attention");
    return SemaValue::wrong();
  }
  if (attend.along.empty())
    return SemaValue::wrong();
  if (attend.along.size() > 1) {
    unsupported(attend.along[0].axis.range.to(attend.along.back().axis.range),
                "an attention along several axes");
    return SemaValue::wrong();
  }
  if (!fine || !q || !k || !v)
    return SemaValue::wrong();
  const AlongAxis &along = attend.along.front();
  Axis key{along.alias ? along.alias->text : along.axis.text, 1};
  if (Decl *decl = scope->find(along.axis.text))
    decl->used = true;
  if (along.alias)
    if (Decl *decl = scope->find(key.name); decl && decl->kind == Decl::Kind::Dim) {
      decl->used = true;
      error(DiagCode::KeyAxisTaken, along.alias->range,
            "`" + key.name + "` is a dim already, and cannot name the axis of the keys")
          .at(decl->range, "declared here")
          .help("choose a name that is not declared: it is known only inside of the attention");
      return SemaValue::wrong();
    }
  k = relabelKey(k, along, key, *attend.key, "keys");
  v = relabelKey(v, along, key, *attend.value, "values");
  if (!k || !v)
    return SemaValue::wrong();
  if (!along.alias && findAxis(axesOfValue(k), key.name) < 0) // named by a dim of the caller
    for (const Axis &axis : axesOfValue(k))
      if (axis.isDynamic())
        key.name = axis.name;

  Axes query = axesOfValue(q), keys = axesOfValue(k), values = axesOfValue(v);
  auto shown = [&](Diagnostic &diagnostic) -> Diagnostic & {
    return diagnostic.at(attend.query->range, "this is " + showAxes(query))
        .at(attend.key->range, "this is " + showAxes(axesOfValue(k)))
        .at(attend.value->range, "this is " + showAxes(values));
  };
  key.size = keys[findAxis(keys, key.name)].size;
  if (findAxis(query, key.name) >= 0) {
    shown(error(DiagCode::KeyAxisInQuery, along.axis.range,
                "the query has the axis `" + key.name + "` too"))
        .help("name the axis of the keys: `along " + along.axis.text + " as S`");
    return SemaValue::wrong();
  }
  if (query.size() < 2 || query.back() != keys.back() || query.back().isDynamic()) {
    Diagnostic &diagnostic =
        shown(error(DiagCode::FeatureAxis, attend.query->range.to(attend.key->range),
                    query.size() < 2 ? "the query has no axis beside its features"
                                     : "query and keys end in different axes, `" +
                                           query.back().name + "` and `" + keys.back().name + "`"));
    diagnostic.note("the last axis of query and keys holds the features that the score compares");
    if (std::string where = whereSizes({query.back(), keys.back()}); !where.empty())
      diagnostic.note(where);
    return SemaValue::wrong();
  }
  for (const Axes *axes : {&keys, &values})
    for (const Axis &axis : llvm::ArrayRef<Axis>(*axes).drop_back()) {
      int at = findAxis(query, axis.name);
      bool batch = at >= 0 && at + 1 < static_cast<int>(query.size()) && query[at] == axis;
      if (axis.name == key.name || batch)
        continue;
      shown(error(DiagCode::BatchAxis, axes == &keys ? attend.key->range : attend.value->range,
                  (axes == &keys ? llvm::Twine("the keys") : llvm::Twine("the values")) +
                      " have the axis `" + axis.name + "`, which the query lacks"))
          .note("beside `" + key.name +
                "` and the features, keys and values have axes of the query");
      return SemaValue::wrong();
    }
  Axes result = query;
  result.back() = values.back();
  if (findAxis(query, result.back().name) >= 0 && result.back().name != query.back().name) {
    shown(error(DiagCode::DuplicateAxis, attend.value->range,
                "the result would have the axis `" + result.back().name + "` twice"));
    return SemaValue::wrong();
  }
  if (int at = findAxis(values, key.name); values[at].size != key.size) {
    shown(error(DiagCode::KeyAxisMissing, along.axis.range,
                "there are " + llvm::Twine(key.size) + " keys, but " +
                    llvm::Twine(values[at].size) + " values"));
    return SemaValue::wrong();
  }
  mlir::RankedTensorType type = tensorType(result, attend.range);
  if (!type)
    return SemaValue::wrong();

  Location loc = locate(attend.range);
  auto op = AttentionOp::create(builder, loc, type, q, k, v, builder.getStringAttr(key.name));
  // The row of the query: the axis that the keys' was named after, or the only one it has alone.
  std::string rowAxis;
  size_t own = 0;
  for (const Axis &axis : llvm::ArrayRef<Axis>(query).drop_back())
    if (findAxis(keys, axis.name) < 0 && findAxis(values, axis.name) < 0 && ++own == 1)
      rowAxis = axis.name;
  if (own > 1)
    rowAxis = findAxis(query, along.axis.text) < 0 ? "" : along.axis.text;
  return buildHooks(op, hooks, query, rowAxis) ? SemaValue::of(op.getResult()) : SemaValue::wrong();
}

bool Sema::buildHooks(AttentionOp op, const Hooks &hooks, llvm::ArrayRef<Axis> query,
                      llvm::StringRef rowAxis) {
  Location loc = op.getLoc();
  mlir::OpBuilder inner(&mlirContext);
  mlir::Type f32 = inner.getF32Type();
  auto feature = mlir::RankedTensorType::get({query.back().size}, f32);
  mlir::Block &pair = op.getScore().emplaceBlock();
  pair.addArguments({feature, feature}, {loc, loc});
  inner.setInsertionPointToEnd(&pair);
  bool fine =
      buildScore(hooks.score, inner, hooks.score ? locate(hooks.score->range, "score") : loc, pair);
  // The position of each of the query's axes but the feature, and the key's.
  llvm::SmallVector<mlir::Type> positions(query.size(), inner.getIndexType());
  llvm::SmallVector<Location> places(query.size(), loc);
  if (hooks.bias || hooks.cap) {
    const Expr &first = hooks.bias ? *hooks.bias : *hooks.cap;
    mlir::Block &block = op.getBias().emplaceBlock();
    mlir::Value score = block.addArgument(f32, loc);
    block.addArguments(positions, places);
    inner.setInsertionPointToEnd(&block);
    Formula line{HookDecl::Hook::Bias, inner, locate(first.range, "bias")};
    line.names = positionsOf(query, rowAxis, block.getArguments().drop_front());
    line.appliesHooks = true;
    fine &= buildBias(hooks.bias, hooks.cap, line, score);
  }
  if (hooks.mask) {
    mlir::Block &block = op.getMask().emplaceBlock();
    block.addArguments(positions, places);
    inner.setInsertionPointToEnd(&block);
    Formula line{HookDecl::Hook::Mask, inner, locate(hooks.mask->range, "mask")};
    line.names = positionsOf(query, rowAxis, block.getArguments());
    line.appliesHooks = true;
    fine &= buildMask(*hooks.mask, line);
  }
  auto keys = llvm::cast<mlir::RankedTensorType>(op.getKey().getType());
  auto row = mlir::RankedTensorType::get({keys.getDimSize(axisIndex(keys, op.getKeyAxis()))}, f32);
  mlir::Block &normaliser = op.getNormaliser().emplaceBlock();
  normaliser.addArgument(row, loc);
  inner.setInsertionPointToEnd(&normaliser);
  YieldOp::create(inner, loc,
                  SoftmaxOp::create(inner, loc, row, normaliser.getArgument(0)).getResult());
  return fine;
}

} // namespace attn::frontend
