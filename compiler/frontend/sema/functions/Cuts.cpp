// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// slice and unpack -> attn.slice, which are views; roll -> an attn.concat of slices, for several
// axes one inside of the other, so that every element is copied once.
#include "compiler/frontend/sema/functions/Cuts.h"
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/functions/Rearrange.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Dims.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "compiler/frontend/sema/sizes/Types.h"

namespace attn::frontend {

using namespace ast;
using mlir::Location;

/// The position of an axis whose size is known when compiling; -1 and reported where there is none.
static int staticAxis(Sema &sema, const Expr &along, mlir::Value value, const Expr &place,
                      llvm::StringRef function) {
  int at = namedAxis(sema, along, value, place, function);
  if (at < 0)
    return -1;
  Axes axes = axesOfValue(value);
  if (!axes[at].isDynamic())
    return at;
  sema.report
      .error(DiagCode::DynamicAxis, along.range,
             "the axis `" + axes[at].name + "` is known only when running, and `" + function +
                 "` needs one that is known when compiling")
      .at(place.range, "this is " + showAxes(axes));
  return -1;
}

/// A size that is known when compiling; nothing where it was reported.
static std::optional<int64_t> staticSize(Sema &sema, const Expr &expr, llvm::StringRef what) {
  Size size = evalSize(sema, expr);
  if (size.error)
    return std::nullopt;
  if (size.isStatic())
    return size.offset;
  sema.report.error(DiagCode::DynamicAxis, expr.range,
                    what + " is known when compiling, but `" + size.dim +
                        "` is known only when running");
  return std::nullopt;
}

/// The elements [offset, offset + result.size) along axis `at`, which is called like `result` then.
static mlir::Value cut(Sema &sema, mlir::Value value, int at, int64_t offset, const Axis &result,
                       Location loc) {
  Axes axes = axesOfValue(value);
  if (axes[at] == result)
    return value;
  axes[at] = result;
  mlir::RankedTensorType type = tensorType(sema, axes, {}, elementOf(value));
  return SliceOp::create(sema.builder, loc, type, value, static_cast<uint64_t>(at),
                         static_cast<uint64_t>(offset), /*end=*/false, /*drop=*/false);
}

/// Whether an axis of a part has a name that no other axis of `value` has; says so.
static bool isFreeAxis(Sema &sema, mlir::Value value, int at, const Axis &part, const Expr &name,
                       const Expr &place) {
  Axes axes = axesOfValue(value);
  int other = findAxis(axes, part.name);
  if (other < 0 || other == at)
    return true;
  sema.report
      .error(DiagCode::DuplicateAxis, name.range, "the axis `" + part.name + "` would appear twice")
      .at(place.range, "this is " + showAxes(axes))
      .help("give the part a dim of its own: `dim " + part.name + "2 = " + part.name + "`");
  return false;
}

/// Whether `part` is an axis of `size` elements; says so.
static bool hasSize(Sema &sema, const Axis &part, int64_t size, const Expr &name) {
  if (part.size == size)
    return true;
  Diagnostic &diagnostic = sema.report.error(
      DiagCode::CutBounds, name.range,
      "the slice has " + llvm::Twine(size) + (size == 1 ? " element" : " elements") + ", but `" +
          part.name + "` is " +
          (part.isDynamic() ? "known only when running" : std::to_string(part.size)));
  if (std::string where = whereSizes(sema, {part}); !where.empty())
    diagnostic.note(where);
  return false;
}

/// What the axis of a slice is called: as it says, or by its size where it begins at 0.
static std::optional<Axis> slicedAxis(Sema &sema, const Argument &slice, int64_t from, int64_t to) {
  if (!slice.as && from != 0) {
    sema.report
        .error(DiagCode::WrongArguments, slice.value->range.to(slice.to->range),
               "the axis of this slice has no name")
        .note("a slice that begins at 0 is called like its end, any other by `as`")
        .help("write `" + sema.source.text(slice.value->range.to(slice.to->range)) +
              " as S`, with `dim S = " + llvm::Twine(to - from) + "`");
    return std::nullopt;
  }
  const Expr &name = slice.as ? *slice.as : *slice.to;
  std::optional<Axis> axis = axisOf(sema, name);
  return axis && hasSize(sema, *axis, to - from, name) ? axis : std::nullopt;
}

SemaValue callSlice(Sema &sema, const CallExpr &call) {
  bool fits = call.arguments.size() == 2 && call.arguments[0].isPlain() &&
              !call.arguments[1].name && call.arguments[1].to;
  if (!fits) {
    sema.report
        .error(DiagCode::WrongArguments, call.range,
               "`slice` takes a tensor, then an axis with the elements to take")
        .help("write `slice(x, T from 1 to 5 as S)`: the elements 1 to 4");
    return SemaValue::wrong();
  }
  const Argument &slice = call.arguments[1];
  const Expr &place = *call.arguments[0].value;
  mlir::Value value = evalTensor(sema, place, "what is sliced", /*anyElement=*/true);
  int at = staticAxis(sema, *slice.value, value, place, "slice");
  std::optional<int64_t> from = staticSize(sema, *slice.from, "where a slice begins"),
                         to = staticSize(sema, *slice.to, "where a slice ends");
  if (at < 0 || !from || !to)
    return SemaValue::wrong();
  Axes axes = axesOfValue(value);
  if (*from < 0 || *from >= *to || *to > axes[at].size) {
    Diagnostic &diagnostic = sema.report.error(
        DiagCode::CutBounds, slice.from->range.to(slice.to->range),
        *from >= *to
            ? "a slice has at least one element, but this goes from " + llvm::Twine(*from) +
                  " to before " + llvm::Twine(*to)
            : "the slice goes from " + llvm::Twine(*from) + " to before " + llvm::Twine(*to) +
                  ", but `" + axes[at].name + "` has " + llvm::Twine(axes[at].size) + " elements");
    diagnostic.at(place.range, "this is " + showAxes(axes));
    if (std::string where = whereSizes(sema, {axes[at]}); !where.empty())
      diagnostic.note(where);
    return SemaValue::wrong();
  }
  std::optional<Axis> axis = slicedAxis(sema, slice, *from, *to);
  const Expr &name = slice.as ? *slice.as : *slice.to;
  if (!axis || !isFreeAxis(sema, value, at, *axis, name, place))
    return SemaValue::wrong();
  return SemaValue::of(cut(sema, value, at, *from, *axis, locate(sema, call.range)));
}

//===------------------------------------------------------------------------------------------===//
// unpack
//===------------------------------------------------------------------------------------------===//

/// The names of the parts: what stands behind `as`, and all arguments after it.
static std::optional<std::vector<const Expr *>> partsOf(Sema &sema, const CallExpr &call) {
  bool fits = call.arguments.size() >= 3 && call.arguments[0].isPlain() &&
              !call.arguments[1].name && call.arguments[1].clauses().size() == 1 &&
              call.arguments[1].as;
  std::vector<const Expr *> parts;
  for (const Argument &argument : llvm::drop_begin(call.arguments, fits ? 2 : 0)) {
    fits &= argument.isPlain();
    parts.push_back(argument.value.get());
  }
  if (!fits) {
    sema.report
        .error(DiagCode::WrongArguments, call.range,
               "`unpack` takes a tensor, then an axis and its parts, two at least")
        .help("write `let a, b = unpack(x, D as A, B)`");
    return std::nullopt;
  }
  parts.insert(parts.begin(), call.arguments[1].as.get());
  return parts;
}

/// Whether the parts make up the axis; says what they add up to.
static bool addUp(Sema &sema, const Axis &whole, llvm::ArrayRef<Axis> parts, const Expr &place) {
  int64_t sum = 0;
  std::string names, sizes;
  for (const Axis &part : parts) {
    sum += part.size;
    names += (names.empty() ? "" : " + ") + part.name;
    sizes += (sizes.empty() ? "" : " + ") + std::to_string(part.size);
  }
  if (sum == whole.size)
    return true;
  sema.report
      .error(DiagCode::CutBounds, place.range,
             "the parts " + names + " add up to " + sizes + " = " + llvm::Twine(sum) + ", but `" +
                 whole.name + "` is " + llvm::Twine(whole.size))
      .note(whereSizes(sema, {whole}));
  return false;
}

std::vector<SemaValue> callUnpack(Sema &sema, const CallExpr &call) {
  std::optional<std::vector<const Expr *>> names = partsOf(sema, call);
  if (!names)
    return {SemaValue::wrong()};
  const Expr &place = *call.arguments[0].value, &along = *call.arguments[1].value;
  mlir::Value value = evalTensor(sema, place, "what is unpacked", /*anyElement=*/true);
  int at = staticAxis(sema, along, value, place, "unpack");
  if (at < 0)
    return {SemaValue::wrong()};
  Axes parts;
  for (const Expr *name : *names) {
    std::optional<Axis> part = axisOf(sema, *name);
    if (!part || !isFreeAxis(sema, value, at, *part, *name, place))
      return {SemaValue::wrong()};
    if (part->isDynamic()) {
      sema.report.error(DiagCode::DynamicAxis, name->range,
                        "the part `" + part->name + "` is known only when running");
      return {SemaValue::wrong()};
    }
    parts.push_back(*part);
  }
  SourceRange written = along.range.to(names->back()->range);
  if (!addUp(sema, axesOfValue(value)[at], parts, along))
    return {SemaValue::wrong()};
  std::vector<SemaValue> values;
  int64_t offset = 0;
  for (const Axis &part : parts) {
    values.push_back(SemaValue::of(cut(sema, value, at, offset, part, locate(sema, written))));
    offset += part.size;
  }
  return values;
}

//===------------------------------------------------------------------------------------------===//
// roll
//===------------------------------------------------------------------------------------------===//

namespace {
/// How far an axis is rolled: by 1 to its size - 1 elements.
struct Shift {
  int at;
  int64_t by;
};
} // namespace

/// `value` rolled along the axes of `shifts`: along the first, the last elements before the others.
static mlir::Value rolled(Sema &sema, mlir::Value value, llvm::ArrayRef<Shift> shifts,
                          Location loc) {
  if (shifts.empty())
    return value;
  int at = shifts.front().at;
  int64_t by = shifts.front().by;
  Axis axis = axesOfValue(value)[at];
  auto part = [&](int64_t from, int64_t to) {
    return rolled(sema, cut(sema, value, at, from, {axis.name + "'", to - from}, loc),
                  shifts.drop_front(), loc);
  };
  mlir::Value parts[] = {part(axis.size - by, axis.size), part(0, axis.size - by)};
  return ConcatOp::create(sema.builder, loc, value.getType(), parts,
                          sema.builder.getI64IntegerAttr(at),
                          sema.builder.getDenseI64ArrayAttr({at, at}));
}

/// So many axes are rolled in one copy, of 2 parts each.
static constexpr size_t mostAtOnce = 4;

SemaValue callRoll(Sema &sema, const CallExpr &call) {
  bool fits = call.arguments.size() >= 2 && call.arguments[0].isPlain();
  for (size_t i = 1; i < call.arguments.size(); ++i)
    fits &= !call.arguments[i].name && call.arguments[i].by && !call.arguments[i].as;
  if (!fits) {
    sema.report
        .error(DiagCode::WrongArguments, call.range,
               "`roll` takes a tensor, then axes with how far each is rolled")
        .help("write `roll(x, Y by -shift, X by -shift)`");
    return SemaValue::wrong();
  }
  const Expr &place = *call.arguments[0].value;
  mlir::Value value = evalTensor(sema, place, "what is rolled", /*anyElement=*/true);
  llvm::SmallVector<Shift> shifts;
  std::set<int> seen;
  bool isWrong = false;
  for (const Argument &argument : llvm::drop_begin(call.arguments)) {
    int at = staticAxis(sema, *argument.value, value, place, "roll");
    std::optional<int64_t> by = staticSize(sema, *argument.by, "how far an axis is rolled");
    isWrong |= at < 0 || !by;
    if (at >= 0 && !seen.insert(at).second) {
      sema.report.error(DiagCode::WrongArguments, argument.value->range,
                        "this axis is rolled already");
      isWrong = true;
    }
    if (isWrong)
      continue;
    int64_t size = axesOfValue(value)[at].size;
    if (int64_t rest = ((*by % size) + size) % size)
      shifts.push_back({at, rest});
  }
  if (isWrong)
    return SemaValue::wrong();
  for (llvm::ArrayRef<Shift> left = shifts; !left.empty();) {
    llvm::ArrayRef<Shift> now = left.take_front(mostAtOnce);
    value = rolled(sema, value, now, locate(sema, call.range));
    left = left.drop_front(now.size());
  }
  return SemaValue::of(value);
}

} // namespace attn::frontend
