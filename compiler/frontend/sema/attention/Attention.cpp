// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attend -> attn.attention: which axis holds the keys, which are shared, what is returned.
#include "compiler/frontend/sema/attention/Attention.h"
#include "compiler/frontend/sema/Names.h"
#include "compiler/frontend/sema/Output.h"
#include "compiler/frontend/sema/attention/AlongAxes.h"
#include "compiler/frontend/sema/attention/AttendLines.h"
#include "compiler/frontend/sema/attention/AttentionRegions.h"
#include "compiler/frontend/sema/attention/Formula.h"
#include "compiler/frontend/sema/attention/Groups.h"
#include "compiler/frontend/sema/attention/Hooks.h"
#include "compiler/frontend/sema/attention/Scores.h"
#include "compiler/frontend/sema/entries/CacheAxes.h"
#include "compiler/frontend/sema/entries/Caches.h"
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Dims.h"
#include "compiler/frontend/sema/sizes/Statics.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "dialect/Locations.h"

namespace attn::frontend {

using namespace ast;

static Axes dropFeatures(Axes axes) {
  axes.pop_back();
  return axes;
}

/// With the key axis under the name it has in the attention, `key`; `made`: its name before.
static mlir::Value relabelKey(Sema &sema, mlir::Value value, const AlongAxis &along,
                              const Expr &expr, llvm::StringRef what, Axis &key,
                              std::string &made) {
  Axes axes = axesOfValue(value);
  int at = findNamedAxis(sema, axes, along.axis);
  if (at < 0 || at + 1 == static_cast<int>(axes.size())) {
    sema.report
        .error(DiagCode::KeyAxisMissing, along.axis.range,
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
    recordType(sema, along.alias->range, "axis of the keys, as long as " + along.axis.text);
    if (findAxis(axes, alias) >= 0 && findAxis(axes, alias) != at) {
      sema.report
          .error(DiagCode::KeyAxisTaken, along.alias->range,
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
  return relabel(sema, value, axes, locate(sema, along.axis.range));
}

/// The new name of the key axis may be a dim's, if that is as large.
static bool checkAlias(Sema &sema, const AlongAxis &along, const Axis &key) {
  Decl *decl = sema.names.scope->find(along.alias->text);
  if (!decl || decl->kind != Decl::Kind::Dim)
    return true;
  decl->used = true;
  const Size &size = sizeOf(sema, *decl);
  if (size.error)
    return false;
  if (!decl->dynamic && axisOfSize(decl->name, size) == key)
    return true;
  sema.report
      .error(DiagCode::KeyAxisTaken, along.alias->range,
             "`" + decl->name + "` is a dim already, and cannot name the axis of the keys")
      .at(decl->range, "declared here")
      .help("choose a name that is not declared, or that of a dim which is declared for it: `dim S "
            "= " +
            along.axis.text + "`");
  return false;
}

/// The place of an axis after `along`, with its new name.
static SourceRange endOf(const AlongAxis &along) {
  return along.alias ? along.alias->range : along.axis.range;
}

/// `group H by G` behind the one axis of an attention; none where it has several.
static std::optional<Edit> withGroup(const AttendExpr &attend, llvm::StringRef heads,
                                     llvm::StringRef axis) {
  uint32_t end = endOf(attend.along.back()).end;
  if (attend.along.size() > 1 || attend.groupAxis)
    return std::nullopt;
  return Edit{{end, end}, (" group " + heads + " by " + axis).str()};
}

/// Keys and values that one expression gives: those of a cache.
static bool readPushed(Sema &sema, const AttendExpr &attend, AttendOperands &operands) {
  if (!pushedTo(sema.names, *attend.key)) {
    sema.report
        .error(DiagCode::CachePush, attend.key->range,
               "one expression gives keys and values only where it pushes to a cache")
        .help("write keys and values with a comma between them: `attend q over k, v along T as S`");
    return false;
  }
  if (attend.along.size() > 1) {
    sema.report
        .error(DiagCode::CachePush, attend.along[0].axis.range.to(attend.along.back().axis.range),
               "a cache grows along one axis")
        .help("write `along " + attend.along[0].axis.text + " as S`",
              Edit{attend.along[0].axis.range.to(endOf(attend.along.back())),
                   attend.along[0].axis.text + " as S"});
    return false;
  }
  std::vector<SemaValue> pair =
      evalPush(sema, llvm::cast<CallExpr>(*attend.key), attend.along.front());
  if (!operands.query || pair.front().isError())
    return false;
  operands.key = pair[0].tensor;
  operands.value = pair[1].tensor;
  Axes axes = axesOfValue(operands.key);
  operands.keyAxes = {axes[axes.size() - 2]};
  operands.sources = {""};
  return true;
}

/// Gives one axis of keys and values the name that it has in the attention.
static bool readAlong(Sema &sema, const AttendExpr &attend, const AlongAxis &along,
                      AttendOperands &operands) {
  if (Decl *decl = sema.names.scope->find(along.axis.text))
    decl->used = true;
  std::string source, sourceOfValues;
  Axis axis, ofValues;
  operands.key = relabelKey(sema, operands.key, along, *attend.key, "keys", axis, source);
  if (!operands.key || (along.alias && !checkAlias(sema, along, axis)))
    return false;
  operands.value =
      relabelKey(sema, operands.value, along, *attend.value, "values", ofValues, sourceOfValues);
  if (!operands.value)
    return false;
  operands.keyAxes.push_back(axis);
  operands.sources.push_back(source);
  if (ofValues == axis)
    return true;
  auto count = [](const Axis &axis) {
    llvm::StringRef size = llvm::StringRef(axis.name).rsplit(':').second;
    return !axis.isDynamic() ? std::to_string(axis.size) : size.empty() ? axis.name : size.str();
  };
  operands.show(
      sema.report.error(DiagCode::KeyAxisMissing, along.axis.range,
                        "there are " + count(axis) + " keys, but " + count(ofValues) + " values"),
      attend);
  return false;
}

static bool readOperands(Sema &sema, const AttendExpr &attend, AttendOperands &operands) {
  operands.query = evalTensor(sema, *attend.query, "the query");
  if (!attend.value)
    return readPushed(sema, attend, operands);
  operands.key = evalTensor(sema, *attend.key, "the keys");
  operands.value = evalTensor(sema, *attend.value, "the values");
  if (!operands.query || !operands.key || !operands.value || !checkAlong(sema, attend))
    return false;
  return llvm::all_of(attend.along, [&](const AlongAxis &along) {
    return readAlong(sema, attend, along, operands);
  });
}

/// Gives a query that all batches share, such as learnt ones, the axes in front of the keys and
/// values that it lacks: it is repeated along them.
static void repeatQuery(Sema &sema, const AttendExpr &attend, AttendOperands &operands) {
  Axes query = axesOfValue(operands.query), missing;
  for (mlir::Value operand : {operands.key, operands.value})
    for (const Axis &axis : dropFeatures(axesOfValue(operand))) {
      bool isGroup = attend.groupBy && axisLabel(axis.name) == attend.groupBy->text;
      if (operands.isKeyAxis(axis) || isGroup || findAxis(query, axis.name) >= 0)
        break;
      if (findAxis(missing, axis.name) < 0)
        missing.push_back(axis);
    }
  if (missing.empty())
    return;
  llvm::append_range(missing, query);
  operands.query = makeMap(
      sema, {operands.query}, missing, locate(sema, attend.query->range),
      [](mlir::OpBuilder &, mlir::Location, mlir::ValueRange element) { return element[0]; });
}

static bool checkFeatures(Sema &sema, const AttendExpr &attend, const AttendOperands &operands,
                          bool comparesRaw) {
  Axes query = axesOfValue(operands.query), keys = axesOfValue(operands.key);
  bool isDynamic = query.back().isDynamic() || keys.back().isDynamic();
  if (query.size() > 1 && !isDynamic && (!comparesRaw || query.back() == keys.back()))
    return true;
  Diagnostic &diagnostic = operands.show(
      sema.report.error(DiagCode::FeatureAxis, attend.query->range.to(attend.key->range),
                        query.size() < 2 ? "the query has no axis beside its features"
                        : isDynamic && query.back() == keys.back()
                            ? "the features `" + query.back().name + "` are known only when running"
                            : "query and keys end in different axes, `" + query.back().name +
                                  "` and `" + keys.back().name + "`"),
      attend);
  diagnostic.note("the last axis of query and keys holds the features that the score compares");
  if (std::string where = whereSizes(sema, {query.back(), keys.back()}); !where.empty())
    diagnostic.note(where);
  return false;
}

static bool checkBatch(Sema &sema, const AttendExpr &attend, const AttendOperands &operands) {
  Axes query = axesOfValue(operands.query), values = axesOfValue(operands.value);
  for (mlir::Value operand : {operands.key, operands.value})
    for (const Axis &axis : dropFeatures(axesOfValue(operand))) {
      int at = findAxis(query, axis.name);
      bool batch = at >= 0 && at + 1 < static_cast<int>(query.size()) && query[at] == axis;
      if (operands.isKeyAxis(axis) || batch)
        continue;
      bool isKey = operand == operands.key;
      Diagnostic &diagnostic =
          operands
              .show(sema.report.error(
                        DiagCode::BatchAxis,
                        isKey ? attend.key->range : operands.valuesOf(attend).range,
                        (isKey ? llvm::Twine("the keys") : llvm::Twine("the values")) +
                            " have the axis `" + axisLabel(axis.name) + "`, which the query lacks"),
                    attend)
              .note("beside `" + listAxes(operands.keyAxes) +
                    "` and the features, keys and values have axes of the query");
      // Several heads of the query may share one of the keys.
      for (const Axis &heads : dropFeatures(query))
        if (!axis.isDynamic() && !heads.isDynamic() && heads.size % axis.size == 0 &&
            findAxis(axesOfValue(operand), heads.name) < 0 &&
            !llvm::is_contained(operands.sources, heads.name))
          diagnostic.help("where `" + heads.name + "` are heads that share those of `" + axis.name +
                              "`, write `group " + heads.name + " by " + axis.name +
                              "` behind `along " +
                              sema.source.text(attend.along.back().axis.range) + "`",
                          withGroup(attend, heads.name, axis.name));
      return false;
    }
  if (findAxis(query, values.back().name) >= 0 && values.back().name != query.back().name) {
    operands.show(
        sema.report.error(DiagCode::DuplicateAxis, operands.valuesOf(attend).range,
                          "the result would have the axis `" + values.back().name + "` twice"),
        attend);
    return false;
  }
  return true;
}

/// `mask causal` before the first line of an attention.
static Edit withMask(const AttendExpr &attend) {
  if (!attend.body.empty())
    return {{attend.body.front().range.begin, attend.body.front().range.begin}, "mask causal "};
  if (attend.hasBody)
    return {{attend.range.end - 1, attend.range.end - 1}, "mask causal "};
  return {{attend.range.end, attend.range.end}, " { mask causal }"};
}

/// No axis that is attended along is one of the query.
static bool checkKeyAxes(Sema &sema, const AttendExpr &attend, const AttendOperands &operands) {
  for (auto [axis, along] : llvm::zip(operands.keyAxes, attend.along)) {
    if (findAxis(axesOfValue(operands.query), axis.name) < 0)
      continue;
    std::string keys = unusedAxis(sema);
    operands
        .show(sema.report.error(DiagCode::KeyAxisInQuery, along.axis.range,
                                "the query has the axis `" + axisLabel(axis.name) + "` too"),
              attend)
        .help("name the axis of the keys: `along " + along.axis.text + " as " + keys + "`",
              Edit{{along.axis.range.end, along.axis.range.end}, " as " + keys});
    return false;
  }
  return true;
}

static std::string rowAxisOf(Sema &sema, const AttendOperands &operands, const AlongAxes &along) {
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
    if (isPushedAxis(sema.entry, along.key) && isNewAxis(sema, axis))
      return axis.name;
  if (!along.rows.empty())
    return along.row.name;
  int named = along.areSeveral() ? -1 : findAxis(query, along.sources.front());
  return own <= 1 ? rowAxis : named < 0 ? "" : query[named].name;
}

static bool buildLines(Sema &sema, const AttendHooks &hooks, AttentionRegions &regions) {
  bool fine = true;
  mlir::OpBuilder inner(&sema.mlirContext);
  auto line = [&](AttentionRegions::Part part, HookDecl::Hook hook, const Expr &expr,
                  llvm::StringRef name) {
    inner.setInsertionPointToEnd(&regions.add(part));
    Formula formula{sema, hook, inner, locate(sema, expr.range, name), {}, &regions};
    formula.names = positionsOf(sema, regions, inner);
    formula.isLine = true;
    formula.words = wordsOf(sema, expr);
    formula.isSink = part == AttentionRegions::Sink;
    return formula;
  };
  auto score = [&] { return inner.getInsertionBlock()->getArgument(0); };
  if (hooks.bias) {
    Formula bias = line(AttentionRegions::Bias, HookDecl::Hook::Bias, *hooks.bias, "bias");
    fine &= buildBias(bias, *hooks.bias, score());
  }
  if (hooks.cap) {
    inner.setInsertionPointToEnd(&regions.add(AttentionRegions::Cap));
    fine &= buildCap(sema, *hooks.cap, inner, locate(sema, hooks.cap->range, "cap"), score());
  }
  if (hooks.mask && !knownTruth(sema, *hooks.mask).value_or(false)) {
    Formula mask = line(AttentionRegions::Mask, HookDecl::Hook::Mask, *hooks.mask, "mask");
    fine &= buildMask(mask, *hooks.mask);
  }
  if (hooks.sink) {
    Formula sink = line(AttentionRegions::Sink, HookDecl::Hook::Bias, *hooks.sink, "sink");
    fine &= buildSink(sink, *hooks.sink);
  }
  return fine;
}

static mlir::RankedTensorType returnedType(Sema &sema, Returned kind,
                                           const AttentionRegions &regions, SourceRange range) {
  Axes axes = regions.queryAxes;
  if (kind != Returned::LogSumExp)
    axes.push_back(regions.key);
  return tensorType(sema, axes, range);
}

std::vector<SemaValue> evalAttend(Sema &sema, const AttendExpr &attend) {
  AttendHooks hooks;
  AttendOperands operands;
  bool fine = readHooks(sema, attend, hooks);
  std::vector<SemaValue> wrong(std::max<size_t>(hooks.returned.size(), 1), SemaValue::wrong());
  if (!readOperands(sema, attend, operands) || !fine)
    return wrong;
  repeatQuery(sema, attend, operands);
  if (!groupHeads(sema, attend, operands))
    return wrong;
  if (isPushedAxis(sema.entry, operands.keyAxes.front()) && !hooks.saysMask) {
    sema.report.error(DiagCode::CacheMask, attend.range, "an attention over a cache says its mask")
        .note("its keys are all positions, also those behind a query")
        .help("write `mask causal` in its braces, or `mask none` where every query sees all keys",
              withMask(attend));
    return wrong;
  }
  if (!checkKeyAxes(sema, attend, operands) ||
      !checkFeatures(sema, attend, operands, !isDeclaredScore(sema, hooks.score)) ||
      !checkBatch(sema, attend, operands))
    return wrong;
  Axes given = dropFeatures(axesOfValue(operands.query));
  std::optional<AlongAxes> along = mergeAlong(sema, attend, operands);
  if (!along)
    return wrong;
  Axes query = axesOfValue(operands.query), keys = axesOfValue(operands.key), result = query;
  result.back() = axesOfValue(operands.value).back();
  query.pop_back();
  keys.pop_back();
  AttentionRegions regions(locate(sema, attend.range), query, keys, *along);
  regions.rowAxis = rowAxisOf(sema, operands, *along);
  regions.heads = operands.heads;
  regions.group = operands.group;
  regions.rest = operands.rest;
  fine = buildScore(sema, hooks.score, regions, operands.query, operands.key);
  fine &= buildLines(sema, hooks, regions);
  mlir::RankedTensorType type = tensorType(sema, result, attend.range);
  if (!fine || !type)
    return wrong;
  llvm::SmallVector<mlir::Type> further;
  llvm::SmallVector<mlir::Attribute> kinds;
  for (std::optional<Returned> kind : hooks.returned)
    if (kind) {
      further.push_back(returnedType(sema, *kind, regions, attend.range));
      kinds.push_back(ReturnedAttr::get(&sema.mlirContext, *kind));
      if (!further.back())
        return wrong;
    }
  regions.finish();
  mlir::Location loc = regions.loc;
  if (hooks.score)
    loc = withTerm(loc, AttentionTerm::Score, locate(sema, hooks.score->range));
  if (hooks.weight)
    loc = withTerm(loc, AttentionTerm::Weight, locate(sema, *hooks.weight));
  auto op = AttentionOp::create(
      sema.builder, loc, type, further, regions.queryVector, regions.keyVector, operands.value,
      regions.captures, sema.builder.getStringAttr(regions.key.name), hooks.normaliser,
      kinds.empty() ? mlir::ArrayAttr() : sema.builder.getArrayAttr(kinds));
  regions.moveTo(op);
  std::vector<SemaValue> values;
  auto next = op.getFurther().begin();
  for (std::optional<Returned> kind : hooks.returned) {
    mlir::Value value =
        splitAlong(sema, kind ? mlir::Value(*next++) : op.getResult(), *along, given, attend.range);
    if (!value)
      return wrong;
    values.push_back(SemaValue::of(mergeHeads(sema, value, operands, attend.range)));
  }
  return values;
}

void dropUnreturned(Output &output) {
  llvm::SmallVector<AttentionOp> ops;
  output.module->walk([&](AttentionOp op) {
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
