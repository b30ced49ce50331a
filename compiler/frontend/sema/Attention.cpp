// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attend -> attn.attention: which axis holds the keys, which are shared, what is returned.
#include "compiler/frontend/sema/Formulas.h"

namespace attn::frontend {

using namespace ast;

static Axes dropFeatures(Axes axes) {
  axes.pop_back();
  return axes;
}

/// The position of the axis that `along` names; a block's dim may stand for an axis that is known
/// only when running, under the name of that.
int Sema::findAlong(llvm::ArrayRef<Axis> axes, const Name &name) {
  if (int at = findAxis(axes, name.text); at >= 0)
    return at;
  Decl *decl = scope->find(name.text);
  if (!decl || decl->kind != Decl::Kind::Dim)
    return -1;
  Size size = sizeOf(*decl);
  if (size.error || size.isStatic())
    return -1;
  return findAxis(axes, axisOfSize("", decl->dynamic ? Size{decl->name, 1, 0} : size).name);
}

mlir::Value Sema::relabelKey(mlir::Value value, const AlongAxis &along, const Expr &expr,
                             llvm::StringRef what, Axis &key, std::string &made) {
  Axes axes = axesOfValue(value);
  int at = findAlong(axes, along.axis);
  if (at < 0 || at + 1 == static_cast<int>(axes.size())) {
    error(DiagCode::KeyAxisMissing, along.axis.range,
          at < 0 ? "the " + what + " have no axis `" + along.axis.text + "`"
                 : "`" + along.axis.text + "` is the last axis of the " + what +
                       ", which holds their features")
        .at(expr.range, "this is " + showAxes(axes));
    return nullptr;
  }
  key = axes[at];
  made = key.name;
  if (along.alias) {
    llvm::StringRef alias = along.alias->text;
    if (findAxis(axes, alias) >= 0 && findAxis(axes, alias) != at) {
      error(DiagCode::KeyAxisTaken, along.alias->range,
            "the " + what + " have an axis `" + alias + "` already")
          .at(expr.range, "this is " + showAxes(axes));
      return nullptr;
    }
    // What is known only when running says its size behind its name.
    llvm::StringRef size = llvm::StringRef(key.name).rsplit(':').second;
    key.name = alias.str() +
               (key.isDynamic() ? ":" + (size.empty() ? key.name : size.str()) : std::string());
  }
  axes[at] = key;
  return relabel(value, axes, locate(along.axis.range));
}

/// The new name of the key axis may be a dim's, if that is as large.
bool Sema::checkAlias(const AlongAxis &along, const Axis &key) {
  Decl *decl = scope->find(along.alias->text);
  if (!decl || decl->kind != Decl::Kind::Dim)
    return true;
  decl->used = true;
  const Size &size = sizeOf(*decl);
  if (size.error)
    return false;
  if (!decl->dynamic && axisOfSize(decl->name, size) == key)
    return true;
  error(DiagCode::KeyAxisTaken, along.alias->range,
        "`" + decl->name + "` is a dim already, and cannot name the axis of the keys")
      .at(decl->range, "declared here")
      .help("choose a name that is not declared, or that of a dim which is declared for it: `dim S "
            "= " +
            along.axis.text + "`");
  return false;
}

/// Whether the keys lie along one axis.
bool Sema::checkAlong(const AttendExpr &attend) {
  if (attend.along.size() > 1)
    unsupported(
        attend.along[0].axis.range.to(attend.along.back().axis.range),
        "an attention along several axes",
        "merge them first, as in `split(x, \"b y x e -> b (y x) e\")`; in a mask, `floor(j / "
        "X)` and `j % X` are the positions on each");
  return attend.along.size() == 1;
}

/// Keys and values that one expression gives: those of a cache.
bool Sema::readPushed(const AttendExpr &attend, AttendOperands &operands) {
  if (!pushedTo(*attend.key)) {
    error(DiagCode::CachePush, attend.key->range,
          "one expression gives keys and values only where it pushes to a cache")
        .help("write keys and values with a comma between them: `attend q over k, v along T as S`");
    return false;
  }
  if (!checkAlong(attend))
    return false;
  std::vector<SemaValue> pair = evalPush(llvm::cast<CallExpr>(*attend.key), attend.along.front());
  if (!operands.query || pair.front().isError())
    return false;
  operands.key = pair[0].tensor;
  operands.value = pair[1].tensor;
  Axes axes = axesOfValue(operands.key);
  operands.keyAxis = axes[axes.size() - 2];
  return true;
}

bool Sema::readOperands(const AttendExpr &attend, AttendOperands &operands) {
  operands.query = evalTensor(*attend.query, "the query");
  if (!attend.value)
    return readPushed(attend, operands);
  operands.key = evalTensor(*attend.key, "the keys");
  operands.value = evalTensor(*attend.value, "the values");
  if (!checkAlong(attend))
    return false;
  if (!operands.query || !operands.key || !operands.value)
    return false;
  const AlongAxis &along = attend.along.front();
  if (Decl *decl = scope->find(along.axis.text))
    decl->used = true;
  std::string source;
  Axis ofValues;
  operands.key =
      relabelKey(operands.key, along, *attend.key, "keys", operands.keyAxis, operands.source);
  if (!operands.key || (along.alias && !checkAlias(along, operands.keyAxis)))
    return false;
  operands.value = relabelKey(operands.value, along, *attend.value, "values", ofValues, source);
  if (!operands.value)
    return false;
  if (ofValues == operands.keyAxis)
    return true;
  auto count = [](const Axis &axis) {
    llvm::StringRef size = llvm::StringRef(axis.name).rsplit(':').second;
    return !axis.isDynamic() ? std::to_string(axis.size) : size.empty() ? axis.name : size.str();
  };
  operands.show(
      error(DiagCode::KeyAxisMissing, along.axis.range,
            "there are " + count(operands.keyAxis) + " keys, but " + count(ofValues) + " values"),
      attend);
  return false;
}

void Sema::repeatQuery(const AttendExpr &attend, AttendOperands &operands) {
  Axes query = axesOfValue(operands.query), missing;
  for (mlir::Value operand : {operands.key, operands.value})
    for (const Axis &axis : dropFeatures(axesOfValue(operand))) {
      bool isGroup = attend.groupBy && axisLabel(axis.name) == attend.groupBy->text;
      if (axis == operands.keyAxis || isGroup || findAxis(query, axis.name) >= 0)
        break;
      if (findAxis(missing, axis.name) < 0)
        missing.push_back(axis);
    }
  if (missing.empty())
    return;
  llvm::append_range(missing, query);
  operands.query = makeMap(
      {operands.query}, missing, locate(attend.query->range),
      [](mlir::OpBuilder &, mlir::Location, mlir::ValueRange element) { return element[0]; });
}

bool Sema::checkFeatures(const AttendExpr &attend, const AttendOperands &operands,
                         bool comparesRaw) {
  Axes query = axesOfValue(operands.query), keys = axesOfValue(operands.key);
  bool isDynamic = query.back().isDynamic() || keys.back().isDynamic();
  if (query.size() > 1 && !isDynamic && (!comparesRaw || query.back() == keys.back()))
    return true;
  Diagnostic &diagnostic = operands.show(
      error(DiagCode::FeatureAxis, attend.query->range.to(attend.key->range),
            query.size() < 2 ? "the query has no axis beside its features"
            : isDynamic && query.back() == keys.back()
                ? "the features `" + query.back().name + "` are known only when running"
                : "query and keys end in different axes, `" + query.back().name + "` and `" +
                      keys.back().name + "`"),
      attend);
  diagnostic.note("the last axis of query and keys holds the features that the score compares");
  if (std::string where = whereSizes({query.back(), keys.back()}); !where.empty())
    diagnostic.note(where);
  return false;
}

bool Sema::checkBatch(const AttendExpr &attend, const AttendOperands &operands) {
  Axes query = axesOfValue(operands.query), values = axesOfValue(operands.value);
  const Axis &key = operands.keyAxis;
  for (mlir::Value operand : {operands.key, operands.value})
    for (const Axis &axis : dropFeatures(axesOfValue(operand))) {
      int at = findAxis(query, axis.name);
      bool batch = at >= 0 && at + 1 < static_cast<int>(query.size()) && query[at] == axis;
      if (axis == key || batch)
        continue;
      bool isKey = operand == operands.key;
      Diagnostic &diagnostic =
          operands
              .show(error(DiagCode::BatchAxis,
                          isKey ? attend.key->range : operands.valuesOf(attend).range,
                          (isKey ? llvm::Twine("the keys") : llvm::Twine("the values")) +
                              " have the axis `" + axisLabel(axis.name) +
                              "`, which the query lacks"),
                    attend)
              .note("beside `" + axisLabel(key.name) +
                    "` and the features, keys and values have axes of the query");
      // Several heads of the query may share one of the keys.
      for (const Axis &heads : dropFeatures(query))
        if (!axis.isDynamic() && !heads.isDynamic() && heads.size % axis.size == 0 &&
            findAxis(axesOfValue(operand), heads.name) < 0 && heads.name != operands.source)
          diagnostic.help("where `" + heads.name + "` are heads that share those of `" + axis.name +
                          "`, write `group " + heads.name + " by " + axis.name +
                          "` behind `along " + source.text(attend.along.front().axis.range) + "`");
      return false;
    }
  if (findAxis(query, values.back().name) >= 0 && values.back().name != query.back().name) {
    operands.show(error(DiagCode::DuplicateAxis, operands.valuesOf(attend).range,
                        "the result would have the axis `" + values.back().name + "` twice"),
                  attend);
    return false;
  }
  return true;
}

std::string Sema::rowAxisOf(const AttendOperands &operands) {
  // The axis that the keys' was named after, or the only one that the query has alone.
  std::string rowAxis;
  size_t own = 0;
  Axes query = axesOfValue(operands.query), keys = axesOfValue(operands.key),
       values = axesOfValue(operands.value);
  for (const Axis &axis : llvm::ArrayRef<Axis>(query).drop_back())
    if (findAxis(keys, axis.name) < 0 && findAxis(values, axis.name) < 0 &&
        axis.name != operands.rest.name && ++own == 1)
      rowAxis = axis.name;
  for (const Axis &axis : query)
    if (isCacheAxis(operands.keyAxis) && isNewAxis(axis))
      return axis.name;
  int named = findAxis(query, operands.source);
  return own <= 1 ? rowAxis : named < 0 ? "" : query[named].name;
}

bool Sema::buildLines(const AttendHooks &hooks, AttentionRegions &regions) {
  bool fine = true;
  mlir::OpBuilder inner(&mlirContext);
  auto line = [&](AttentionRegions::Part part, HookDecl::Hook hook, const Expr &expr,
                  llvm::StringRef name) {
    inner.setInsertionPointToEnd(&regions.add(part));
    Formula formula{hook, inner, locate(expr.range, name), {}, &regions};
    formula.names = positionsOf(regions, inner);
    formula.isLine = true;
    formula.words = wordsOf(expr);
    formula.isSink = part == AttentionRegions::Sink;
    return formula;
  };
  auto score = [&] { return inner.getInsertionBlock()->getArgument(0); };
  if (hooks.bias) {
    Formula bias = line(AttentionRegions::Bias, HookDecl::Hook::Bias, *hooks.bias, "bias");
    fine &= buildBias(*hooks.bias, bias, score());
  }
  if (hooks.cap) {
    inner.setInsertionPointToEnd(&regions.add(AttentionRegions::Cap));
    fine &= buildCap(*hooks.cap, inner, locate(hooks.cap->range, "cap"), score());
  }
  if (hooks.mask && !knownTruth(*hooks.mask).value_or(false)) {
    Formula mask = line(AttentionRegions::Mask, HookDecl::Hook::Mask, *hooks.mask, "mask");
    fine &= buildMask(*hooks.mask, mask);
  }
  if (hooks.sink) {
    Formula sink = line(AttentionRegions::Sink, HookDecl::Hook::Bias, *hooks.sink, "sink");
    fine &= buildSink(*hooks.sink, sink);
  }
  return fine;
}

mlir::RankedTensorType Sema::returnedType(Returned kind, const AttentionRegions &regions,
                                          SourceRange range) {
  Axes axes = regions.queryAxes;
  if (kind != Returned::LogSumExp)
    axes.push_back(regions.key);
  return tensorType(axes, range);
}

std::vector<SemaValue> Sema::evalAttend(const AttendExpr &attend) {
  AttendHooks hooks;
  AttendOperands operands;
  bool fine = readHooks(attend, hooks);
  std::vector<SemaValue> wrong(std::max<size_t>(hooks.returned.size(), 1), SemaValue::wrong());
  if (!readOperands(attend, operands) || !fine)
    return wrong;
  repeatQuery(attend, operands);
  if (!groupHeads(attend, operands))
    return wrong;
  if (isCacheAxis(operands.keyAxis) && !hooks.saysMask) {
    error(DiagCode::CacheMask, attend.range, "an attention over a cache says its mask")
        .note("its keys are all positions, also those behind a query")
        .help("write `mask causal` in its braces, or `mask none` where every query sees all keys");
    return wrong;
  }
  if (findAxis(axesOfValue(operands.query), operands.keyAxis.name) >= 0) {
    operands
        .show(error(DiagCode::KeyAxisInQuery, attend.along[0].axis.range,
                    "the query has the axis `" + axisLabel(operands.keyAxis.name) + "` too"),
              attend)
        .help("name the axis of the keys: `along " + attend.along[0].axis.text + " as S`");
    return wrong;
  }
  if (!checkFeatures(attend, operands, !isDeclaredScore(hooks.score)) ||
      !checkBatch(attend, operands))
    return wrong;
  Axes query = axesOfValue(operands.query), keys = axesOfValue(operands.key), result = query;
  result.back() = axesOfValue(operands.value).back();
  query.pop_back();
  keys.pop_back();
  AttentionRegions regions(locate(attend.range), query, keys, operands.keyAxis);
  regions.rowAxis = rowAxisOf(operands);
  regions.heads = operands.heads;
  regions.group = operands.group;
  regions.rest = operands.rest;
  fine = buildScore(hooks.score, regions, operands.query, operands.key);
  fine &= buildLines(hooks, regions);
  mlir::RankedTensorType type = tensorType(result, attend.range);
  if (!fine || !type)
    return wrong;
  llvm::SmallVector<mlir::Type> further;
  llvm::SmallVector<mlir::Attribute> kinds;
  for (std::optional<Returned> kind : hooks.returned)
    if (kind) {
      further.push_back(returnedType(*kind, regions, attend.range));
      kinds.push_back(ReturnedAttr::get(&mlirContext, *kind));
      if (!further.back())
        return wrong;
    }
  regions.finish();
  auto op = AttentionOp::create(builder, regions.loc, type, further, regions.queryVector,
                                regions.keyVector, operands.value, regions.captures,
                                builder.getStringAttr(operands.keyAxis.name), hooks.normaliser,
                                kinds.empty() ? mlir::ArrayAttr() : builder.getArrayAttr(kinds));
  regions.moveTo(op);
  std::vector<SemaValue> values;
  auto next = op.getFurther().begin();
  for (std::optional<Returned> kind : hooks.returned)
    values.push_back(SemaValue::of(
        mergeHeads(kind ? mlir::Value(*next++) : op.getResult(), operands, attend.range)));
  return values;
}

void Sema::dropUnreturned() {
  llvm::SmallVector<AttentionOp> ops;
  module->walk([&](AttentionOp op) {
    if (llvm::any_of(op.getFurther(), [](mlir::Value value) { return value.use_empty(); }))
      ops.push_back(op);
  });
  for (AttentionOp op : ops) {
    llvm::SmallVector<mlir::Type> types;
    llvm::SmallVector<mlir::Attribute> kinds;
    llvm::SmallVector<mlir::Value> kept{op.getResult()};
    for (auto [value, kind] : llvm::zip_equal(op.getFurther(), op.getReturnedAttr()))
      if (!value.use_empty()) {
        types.push_back(value.getType());
        kinds.push_back(kind);
        kept.push_back(value);
      }
    mlir::OpBuilder before(op);
    auto fewer = AttentionOp::create(
        before, op.getLoc(), op.getResult().getType(), types, op.getQuery(), op.getKey(),
        op.getValue(), op.getCaptures(), op.getKeyAxisAttr(), op.getNormaliser(),
        kinds.empty() ? mlir::ArrayAttr() : before.getArrayAttr(kinds));
    for (auto [region, old] : llvm::zip_equal(fewer->getRegions(), op->getRegions()))
      region.takeBody(old);
    for (auto [value, replacement] : llvm::zip_equal(kept, fewer->getResults()))
      value.replaceAllUsesWith(replacement);
    op.erase();
  }
}

} // namespace attn::frontend
