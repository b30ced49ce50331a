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

/// The elements [offset, offset + result.size) along axis `at`, which is called like `result` then;
/// or the last ones, where it is `isLast`.
static mlir::Value cutOut(Sema &sema, mlir::Value value, int at, int64_t offset, const Axis &result,
                          Location loc, bool isLast = false) {
  Axes axes = axesOfValue(value);
  if (axes[at] == result)
    return value;
  axes[at] = result;
  mlir::RankedTensorType type = tensorType(sema, axes, {}, elementOf(value));
  return SliceOp::create(sema.builder, loc, type, value, static_cast<uint64_t>(at),
                         static_cast<uint64_t>(offset), isLast, /*drop=*/false);
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

namespace {
/// The elements of a slice: [from, to) along an axis.
struct Cut {
  Size from, to;

  Size length() const {
    Size size = to;
    size.scale -= from.scale, size.offset -= from.offset;
    if (size.scale == 0)
      size.dim.clear();
    return size;
  }
};
} // namespace

/// The least that a size may be.
static int64_t leastOf(const Size &size) {
  return size.isStatic() ? size.offset : size.scale + size.offset;
}

/// Whether a slice is of an axis: it begins at a number, or ends where the axis does; says so.
static bool isInside(Sema &sema, const Cut &cut, const Argument &slice, const Axis &axis,
                     const Expr &place, const Axes &axes) {
  Size whole = sizeOfAxis(axis), length = cut.length();
  bool areAlike = cut.from.isStatic() || cut.from.dim == cut.to.dim;
  bool isAtEnd = isSameSize(cut.to, whole);
  if (!areAlike || (!cut.from.isStatic() && !isAtEnd) ||
      (!cut.to.isStatic() && (cut.to.dim != whole.dim || cut.to.scale != whole.scale))) {
    sema.report
        .error(DiagCode::DynamicAxis, slice.from->range.to(slice.to->range),
               "a slice of an axis that is known only when running begins at a number, or ends "
               "where the axis does")
        .at(place.range, "this is " + showAxes(axes));
    return false;
  }
  if (leastOf(cut.from) >= 0 && leastOf(length) > 0 && leastOf(cut.to) <= leastOf(whole))
    return true;
  Diagnostic &diagnostic = sema.report.error(
      DiagCode::CutBounds, slice.from->range.to(slice.to->range),
      leastOf(length) <= 0
          ? "a slice has at least one element, but this goes from " + sizeText(cut.from) +
                " to before " + sizeText(cut.to)
          : "the slice goes from " + sizeText(cut.from) + " to before " + sizeText(cut.to) +
                ", but `" + axis.name + "` has " + (whole.isStatic() ? "" : "at least ") +
                llvm::Twine(leastOf(whole)) + " elements");
  diagnostic.at(place.range, "this is " + showAxes(axes));
  if (std::string where = whereSizes(sema, {axis}); !where.empty())
    diagnostic.note(where);
  return false;
}

/// What the axis of a slice is called: as it says, or by its size where it begins at 0.
static std::optional<Axis> slicedAxis(Sema &sema, const Argument &slice, const Cut &cut) {
  Size length = cut.length();
  SourceRange written = slice.value->range.to(slice.to->range);
  if (!slice.as && leastOf(cut.from) != 0) {
    sema.report.error(DiagCode::WrongArguments, written, "the axis of this slice has no name")
        .note("a slice that begins at 0 is called like its end, any other by `as`")
        .help("write `" + sema.source.text(written) + " as S`, with `dim S = " + sizeText(length) +
              "`");
    return std::nullopt;
  }
  const Expr &name = slice.as ? *slice.as : *slice.to;
  std::optional<Axis> axis = axisOf(sema, name);
  if (!axis || isSameSize(sizeOfAxis(*axis), length))
    return axis;
  bool isOne = length.isStatic() && length.offset == 1;
  Diagnostic &diagnostic = sema.report.error(
      DiagCode::CutBounds, name.range,
      "the slice has " + sizeText(length) + (isOne ? " element" : " elements") + ", but `" +
          axis->name + "` is " +
          (axis->isDynamic() ? "known only when running" : std::to_string(axis->size)));
  if (std::string where = whereSizes(sema, {*axis}); !where.empty())
    diagnostic.note(where);
  return std::nullopt;
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
  int at = namedAxis(sema, *slice.value, value, place, "slice");
  Cut cut{evalSize(sema, *slice.from), evalSize(sema, *slice.to)};
  if (at < 0 || cut.from.error || cut.to.error)
    return SemaValue::wrong();
  Axes axes = axesOfValue(value);
  if (!isInside(sema, cut, slice, axes[at], place, axes))
    return SemaValue::wrong();
  std::optional<Axis> axis = slicedAxis(sema, slice, cut);
  const Expr &name = slice.as ? *slice.as : *slice.to;
  if (!axis || !isFreeAxis(sema, value, at, *axis, name, place))
    return SemaValue::wrong();
  return SemaValue::of(cutOut(sema, value, at, cut.from.isStatic() ? cut.from.offset : 0, *axis,
                              locate(sema, call.range), !cut.from.isStatic()));
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
    values.push_back(SemaValue::of(cutOut(sema, value, at, offset, part, locate(sema, written))));
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

/// `value` rolled along the axes of `shifts`: along the first, the last elements before the others.
static mlir::Value rolled(Sema &sema, mlir::Value value, llvm::ArrayRef<Shift> shifts,
                          Location loc) {
  if (shifts.empty())
    return value;
  int at = shifts.front().at;
  int64_t by = shifts.front().by;
  Axis axis = axesOfValue(value)[at];
  auto part = [&](int64_t from, int64_t to) {
    return rolled(sema, cutOut(sema, value, at, from, {axis.name + "'", to - from}, loc),
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
