// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What moves elements without changing them: pack, first, last, relabel, repeat.
#include "compiler/frontend/sema/functions/Rearrange.h"
#include "compiler/frontend/sema/expressions/Apply.h"
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/functions/Pick.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Dims.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "compiler/frontend/sema/sizes/Types.h"

#include "llvm/ADT/StringSet.h"

namespace attn::frontend {

using namespace ast;

int namedAxis(Sema &sema, const Expr &expr, mlir::Value value, const Expr &place,
              llvm::StringRef function) {
  std::optional<Axis> axis = axisOf(sema, expr);
  if (!axis || !value)
    return -1;
  Axes axes = axesOfValue(value);
  int at = findAxis(axes, axis->name);
  bool isVerb = function != "first" && function != "last" && function != "mean";
  if (at < 0)
    sema.report
        .error(DiagCode::MissingAxis, expr.range,
               "there is no axis `" + axis->name + "` to " +
                   (isVerb ? function + " along" : "take the " + function + " of"))
        .at(place.range, "this is " + showAxes(axes));
  return at;
}

/// `axes` without the one at `at`.
static Axes without(Axes axes, int at) {
  axes.erase(axes.begin() + at);
  return axes;
}

/// Whether an expression is the name of such a declaration.
static bool isOfKind(Sema &sema, const Expr &expr, Decl::Kind kind) {
  auto *path = llvm::dyn_cast<PathExpr>(&expr);
  Decl *decl = path ? sema.names.scope->find(path->path.str()) : nullptr;
  return decl && decl->kind == kind;
}

bool isSwapped(Sema &sema, const CallExpr &call, llvm::StringRef name) {
  const Argument &axis = call.arguments[0], &tensor = call.arguments[1];
  auto isOf = [&](Decl::Kind kind) { return isOfKind(sema, *axis.value, kind); };
  bool isTensor = isOf(Decl::Kind::Value) || isOf(Decl::Kind::Param) || isOf(Decl::Kind::Table) ||
                  llvm::isa<CallExpr>(*axis.value);
  if (!isTensor || !isOfKind(sema, *tensor.value, Decl::Kind::Dim))
    return false;
  std::string mend = (name + "(" + sema.source.text(tensor.value->range) + ", " +
                      sema.source.text(axis.value->range))
                         .str();
  for (const Argument &further : llvm::ArrayRef(call.arguments).drop_front(2))
    mend += (", " + sema.source.text(further.value->range)).str();
  sema.report
      .error(DiagCode::WrongArguments, call.range,
             "`" + name + "` takes an axis, then a tensor, but gets them the other way round")
      .write(call.range, mend + ")");
  return true;
}

SemaValue callEnd(Sema &sema, const CallExpr &call, llvm::StringRef name) {
  if (!plainArguments(sema.report, call, name, 2, 2, (name + "(N, x)").str()) ||
      isSwapped(sema, call, name))
    return SemaValue::wrong();
  mlir::Value value = evalTensor(sema, *call.arguments[1].value, "what `" + name + "` is taken of",
                                 /*anyElement=*/true);
  int at = namedAxis(sema, *call.arguments[0].value, value, *call.arguments[1].value, name);
  if (at < 0)
    return SemaValue::wrong();
  return takeEnd(sema, value, at, name == "last", call.range);
}

SemaValue takeEnd(Sema &sema, mlir::Value value, int at, bool isLast, SourceRange place) {
  Axes axes = axesOfValue(value);
  bool isDynamic = axes[at].isDynamic();
  int64_t offset = isLast && !isDynamic ? axes[at].size - 1 : 0;
  auto op = SliceOp::create(sema.builder, locate(sema, place),
                            tensorType(sema, without(axes, at), place, elementOf(value)), value,
                            static_cast<uint64_t>(at), static_cast<uint64_t>(offset),
                            isLast && isDynamic, /*drop=*/true);
  return SemaValue::of(op.getResult());
}

/// `T = S` or `Y*P as S`: an axis and its new name.
static bool isNaming(const Argument &argument) {
  return argument.name ? argument.clauses().empty() : argument.as && argument.clauses().size() == 1;
}

/// The position of the axis that an argument of `relabel` is about; -1 and reported where there is
/// none.
static int relabelledAxis(Sema &sema, const Argument &argument, mlir::Value value,
                          const Expr &tensor) {
  if (!argument.name)
    return namedAxis(sema, *argument.value, value, tensor, "relabel");
  if (Decl *dim = sema.names.scope->find(argument.name->text))
    dim->used = true;
  Axes axes = axesOfValue(value);
  int at = findNamedAxis(sema, axes, *argument.name);
  if (at < 0)
    sema.report
        .error(DiagCode::MissingAxis, argument.name->range,
               "there is no axis `" + argument.name->text + "` to relabel")
        .at(tensor.range, "this is " + showAxes(axes));
  return at;
}

SemaValue callRelabel(Sema &sema, const CallExpr &call) {
  llvm::StringRef usage = "relabel(x, T = S)";
  if (call.arguments.size() < 2 || !call.arguments[0].isPlain() ||
      !llvm::all_of(llvm::drop_begin(call.arguments), isNaming)) {
    sema.report
        .error(DiagCode::WrongArguments, call.range,
               "`relabel` takes a tensor, then axes and their new names")
        .help("write `" + usage + "`");
    return SemaValue::wrong();
  }
  const Expr &tensor = *call.arguments[0].value;
  mlir::Value value = evalTensor(sema, tensor, "what is relabelled", /*anyElement=*/true);
  if (!value)
    return SemaValue::wrong();
  Axes axes = axesOfValue(value), result = axes;
  for (const Argument &argument : llvm::drop_begin(call.arguments)) {
    int at = relabelledAxis(sema, argument, value, tensor);
    const Expr &name = argument.name ? *argument.value : *argument.as;
    std::optional<Axis> axis = at < 0 ? std::nullopt : axisOf(sema, name);
    if (!axis)
      return SemaValue::wrong();
    auto sizeText = [](const Axis &of) { return llvm::StringRef(of.name).rsplit(':'); };
    auto dynamicSize = [&](const Axis &of) {
      return sizeText(of).second.empty() ? sizeText(of).first : sizeText(of).second;
    };
    if (axis->size != axes[at].size ||
        (axis->isDynamic() && dynamicSize(*axis) != dynamicSize(axes[at]))) {
      sema.report
          .error(DiagCode::RelabelSize, name.range,
                 "`" + axes[at].name + "` cannot become `" + axis->name +
                     "`, which has another size")
          .at(tensor.range, "this is " + showAxes(axes))
          .note(whereSizes(sema, {axes[at], *axis}));
      return SemaValue::wrong();
    }
    result[at] = *axis;
  }
  for (size_t i = 0; i < result.size(); ++i)
    if (findAxis(result, result[i].name) != static_cast<int>(i)) {
      sema.report
          .error(DiagCode::DuplicateAxis, call.range,
                 "the axis `" + result[i].name + "` would appear twice")
          .at(tensor.range, "this is " + showAxes(axes));
      return SemaValue::wrong();
    }
  return SemaValue::of(relabel(sema, value, result, locate(sema, call.range)));
}

mlir::Value spread(Sema &sema, mlir::Value value, llvm::ArrayRef<Axis> axes, mlir::Location loc) {
  if (llvm::ArrayRef<Axis>(axesOfValue(value)) == axes)
    return value;
  return makeMap(
      sema, {value}, axes, loc,
      [](mlir::OpBuilder &, mlir::Location, mlir::ValueRange x) { return x[0]; }, elementOf(value));
}

SemaValue callRepeat(Sema &sema, const CallExpr &call) {
  if (!plainArguments(sema.report, call, "repeat", 2, 32, "repeat(x, Y, X)"))
    return SemaValue::wrong();
  const Expr &tensor = *call.arguments[0].value, &end = *call.arguments.back().value;
  if (isOfKind(sema, tensor, Decl::Kind::Dim) && !isOfKind(sema, end, Decl::Kind::Dim)) {
    sema.report
        .error(DiagCode::WrongArguments, call.range,
               "`repeat` takes a tensor, then axes, but gets them the other way round")
        .write(call.range, "repeat(" + sema.source.text(end.range) + ", " +
                               sema.source.text(tensor.range) + ")");
    return SemaValue::wrong();
  }
  mlir::Value value = evalTensor(sema, tensor, "what is repeated", /*anyElement=*/true);
  if (!value)
    return SemaValue::wrong();
  Axes result = axesOfValue(value);
  for (const Argument &argument : llvm::drop_begin(call.arguments)) {
    std::optional<Axis> axis = axisOf(sema, *argument.value);
    if (!axis)
      return SemaValue::wrong();
    if (findAxis(result, axis->name) >= 0) {
      sema.report
          .error(DiagCode::DuplicateAxis, argument.value->range,
                 "the axis `" + axis->name + "` would appear twice")
          .at(tensor.range, "this is " + showAxes(axesOfValue(value)))
          .note("`repeat` adds axes behind those that are there");
      return SemaValue::wrong();
    }
    result.push_back(*axis);
  }
  if (!tensorType(sema, result, call.range))
    return SemaValue::wrong();
  return SemaValue::of(spread(sema, value, result, locate(sema, call.range)));
}

//===------------------------------------------------------------------------------------------===//
// pack
//===------------------------------------------------------------------------------------------===//

namespace {
/// Which axis of each part is the packed one. There may be several: the right choice is the one
/// whose lengths add up, and which leaves axes that all parts can have.
struct PackSearch {
  llvm::ArrayRef<Axes> parts;
  LinearSize total; ///< Without a dim, where it is known when compiling.
  std::string packed;
  std::vector<int> choice, found;
  unsigned solutions = 0, steps = 0;
  bool fits = false; ///< All of what was found: the other axes are those of one part.

  bool consistent() const {
    llvm::StringSet<> chosen;
    chosen.insert(packed);
    for (size_t i = 0; i < parts.size(); ++i)
      chosen.insert(parts[i][choice[i]].name);
    for (size_t i = 0; i < parts.size(); ++i)
      for (size_t d = 0; d < parts[i].size(); ++d)
        if (static_cast<int>(d) != choice[i] && chosen.contains(parts[i][d].name))
          return false;
    return true;
  }

  bool fitting() const {
    size_t most = 0;
    for (size_t i = 0; i < parts.size(); ++i)
      if (parts[i].size() > parts[most].size())
        most = i;
    for (size_t i = 0; i < parts.size(); ++i)
      for (size_t d = 0; d < parts[i].size(); ++d)
        if (int at = findAxis(parts[most], parts[i][d].name);
            static_cast<int>(d) != choice[i] && (at < 0 || at == choice[most]))
          return false;
    return true;
  }

  /// The length of an axis, where it could be packed.
  std::optional<LinearSize> lengthOf(const Axis &axis) const {
    if (!axis.isDynamic())
      return LinearSize{total.dim, 0, axis.size};
    std::optional<LinearSize> size = parseLinearSize(axis.name);
    return size && size->dim == total.dim ? size : std::nullopt;
  }

  void search(size_t part, LinearSize left) {
    if (++steps > 100000 || (fits && solutions > 1))
      return;
    if (part == parts.size()) {
      steps += parts.size();
      if (left.scale == 0 && left.offset == 0 && consistent()) {
        bool isBetter = !fits && fitting();
        if (isBetter)
          solutions = 0;
        if (isBetter || fits == fitting()) {
          fits |= isBetter;
          ++solutions;
          found = choice;
        }
      }
      return;
    }
    for (size_t d = 0; d < parts[part].size(); ++d) {
      std::optional<LinearSize> length = lengthOf(parts[part][d]);
      if (!length || length->scale > left.scale || (!left.scale && length->offset > left.offset))
        continue;
      choice.push_back(d);
      search(part + 1, {left.dim, left.scale - length->scale, left.offset - length->offset});
      choice.pop_back();
    }
  }
};
} // namespace

SemaValue callPack(Sema &sema, const CallExpr &call) {
  if (!plainArguments(sema.report, call, "pack", 2, 1000, "pack(N, a, b)"))
    return SemaValue::wrong();
  std::optional<Axis> packed = axisOf(sema, *call.arguments[0].value);
  llvm::SmallVector<mlir::Value> values;
  std::vector<Axes> parts;
  bool wrong = !packed;
  for (const Argument &argument : llvm::drop_begin(call.arguments)) {
    mlir::Value value = evalTensor(sema, *argument.value, "what is packed");
    if (!value) {
      wrong = true;
      continue;
    }
    values.push_back(value);
    parts.push_back(axesOfValue(value));
  }
  if (wrong)
    return SemaValue::wrong();
  LinearSize total{"", 0, packed->size};
  if (packed->isDynamic())
    total = parseLinearSize(packed->name).value_or(LinearSize());
  PackSearch search{parts, total, packed->name, {}, {}};
  search.search(0, total);
  if (search.solutions != 1) {
    Diagnostic &diagnostic = sema.report.error(
        DiagCode::PackLengths, call.range,
        search.solutions
            ? "it is not clear along which axes to pack `" + packed->name + "`"
            : "no axes of the parts add up to `" + packed->name + "`" +
                  (packed->isDynamic() ? "" : ", which is " + std::to_string(packed->size)));
    for (size_t i = 0; i < parts.size(); ++i)
      diagnostic.at(call.arguments[i + 1].value->range, "this is " + showAxes(parts[i]));
    diagnostic.note("of each part one axis is packed; its other axes are axes of the result");
    Axes all = {*packed};
    for (const Axes &axes : parts)
      llvm::append_range(all, axes);
    if (std::string where = whereSizes(sema, all); !where.empty())
      diagnostic.note(where);
    return SemaValue::wrong();
  }
  // In the order of the part with most axes, which has those of the others.
  size_t most = 0;
  for (size_t i = 0; i < parts.size(); ++i)
    if (parts[i].size() > parts[most].size())
      most = i;
  Axes result = parts[most];
  result[search.found[most]] = *packed;
  for (size_t i = 0; i < parts.size(); ++i)
    for (size_t d = 0; d < parts[i].size(); ++d) {
      const Axis &axis = parts[i][d];
      if (static_cast<int>(d) == search.found[i])
        continue;
      if (int at = findAxis(result, axis.name); at >= 0 && result[at] == axis)
        continue;
      Diagnostic &diagnostic = sema.report.error(
          DiagCode::PackAxes, call.arguments[i + 1].value->range,
          "this part has the axis `" + axis.name + "`, which the largest part lacks");
      diagnostic.says("this is " + showAxes(parts[i]))
          .at(call.arguments[most + 1].value->range, "this is " + showAxes(parts[most]))
          .note("beside the packed one, a part's axes are axes of the part with most of them");
      if (std::string where = whereSizes(sema, {axis}); !where.empty())
        diagnostic.note(where);
      return SemaValue::wrong();
    }
  mlir::RankedTensorType type = tensorType(sema, result, call.range);
  if (!type)
    return SemaValue::wrong();
  llvm::SmallVector<int64_t> along(search.found.begin(), search.found.end());
  auto op = ConcatOp::create(sema.builder, locate(sema, call.range), type, values,
                             sema.builder.getI64IntegerAttr(findAxis(result, packed->name)),
                             sema.builder.getDenseI64ArrayAttr(along));
  return SemaValue::of(op.getResult());
}

} // namespace attn::frontend
