// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pad(x, T = S by 1, 2) -> attn.pad, and windows(x, Y = Y2 by 2 as P, pad = 1) -> attn.windows of
// that. `Y = Y2` says what the axis becomes; its size has to agree.
#include "compiler/frontend/sema/functions/Windows.h"
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Dims.h"
#include "compiler/frontend/sema/sizes/Tensors.h"

#include "llvm/ADT/StringExtras.h"
#include <limits>

namespace attn::frontend {

using namespace ast;

constexpr llvm::StringLiteral padUsage = "pad(x, T by 1, 2)";
constexpr llvm::StringLiteral windowsUsage = "windows(x, T = T2 by 2 as K, pad = 1)";

/// The most that an axis is padded by, or windows and their elements are apart.
constexpr int64_t largestStep = int64_t(1) << 31;

namespace {
/// What is done with one axis of a tensor.
struct AxisChange {
  int at = 0;
  SourceRange range;      ///< Of the axis.
  std::optional<Axis> to; ///< The name that is asked for.
  SourceRange toRange;    ///< And where.
  int64_t low = 0, high = 0;
  int64_t stride = 1;
  Axis places; ///< Of a window.
};
} // namespace

static bool wrongArguments(Sema &sema, SourceRange range, const llvm::Twine &message,
                           llvm::StringRef usage) {
  sema.report.error(DiagCode::WrongArguments, range, message).help("write `" + usage + "`");
  return false;
}

/// A whole number that is known when compiling, `least` or more; nothing where it was reported.
static std::optional<int64_t> wholeNumber(Sema &sema, const Expr &expr, const llvm::Twine &what,
                                          int64_t least) {
  Size size = evalSize(sema, expr);
  if (size.error)
    return std::nullopt;
  if (size.isStatic() && size.offset >= least && size.offset < largestStep)
    return size.offset;
  sema.report.error(DiagCode::WrongArguments, expr.range,
                    what + " is a whole number, known when compiling, and at least " +
                        llvm::Twine(least));
  return std::nullopt;
}

/// What a border consists of: a number, or `inf` or `-inf`.
static std::optional<double> borderValue(Sema &sema, const Expr &expr) {
  auto isInfinity = [&](const Expr &of) {
    auto *path = llvm::dyn_cast<PathExpr>(&of);
    return path && path->path.str() == "inf" && !sema.names.scope->find("inf");
  };
  auto *unary = llvm::dyn_cast<UnaryExpr>(&expr);
  if (isInfinity(expr))
    return std::numeric_limits<double>::infinity();
  if (unary && unary->op == UnaryOp::Negate && isInfinity(*unary->operand))
    return -std::numeric_limits<double>::infinity();
  return evalNumber(sema, expr, "what a border consists of");
}

/// The axis of `value` that an argument is about, and what it becomes; false where it was reported.
static bool readAxis(Sema &sema, const Argument &argument, mlir::Value value, const Expr &tensor,
                     llvm::StringRef function, AxisChange &change) {
  Axes axes = axesOfValue(value);
  std::string name;
  if (argument.name) {
    name = argument.name->text;
    change.at = findNamedAxis(sema, axes, *argument.name);
    change.range = argument.name->range;
    change.toRange = argument.value->range;
    if (Decl *dim = sema.names.scope->find(name))
      dim->used = true;
    change.to = axisOf(sema, *argument.value);
    if (!change.to)
      return false;
  } else {
    std::optional<Axis> axis = axisOf(sema, *argument.value);
    if (!axis)
      return false;
    name = axis->name;
    change.at = findAxis(axes, name);
    change.range = argument.value->range;
  }
  if (change.at < 0)
    sema.report
        .error(DiagCode::MissingAxis, change.range,
               "there is no axis `" + axisLabel(name) + "` to " + function)
        .at(tensor.range, "this is " + showAxes(axes));
  return change.at >= 0;
}

/// The axis that has become `size` long: the one asked for, whose size has to agree. Nothing where
/// it was reported.
static std::optional<Axis> changedAxis(Sema &sema, const AxisChange &change, const Axis &from,
                                       const Size &size, const Expr &tensor, mlir::Value value,
                                       std::string &&otherwise) {
  if (!change.to)
    return axisOfSize(otherwise, size);
  if (isSameSize(sizeOfAxis(*change.to), size))
    return change.to;
  std::string own = size.isStatic() ? std::to_string(size.offset) : sizeText(size);
  Diagnostic &diagnostic =
      sema.report.error(DiagCode::ChangedSize, change.toRange,
                        "`" + axisLabel(from.name) + "` becomes " + own + " long, which `" +
                            axisLabel(change.to->name) + "` is not");
  diagnostic.at(tensor.range, "this is " + showAxes(axesOfValue(value)));
  if (std::string where = whereSizes(sema, {from, *change.to}); !where.empty())
    diagnostic.note(where);
  return std::nullopt;
}

/// Refuses a result in which an axis appears twice.
static bool areDistinct(Sema &sema, const Axes &axes, const CallExpr &call) {
  for (size_t i = 0; i < axes.size(); ++i)
    if (findAxis(axes, axes[i].name) != static_cast<int>(i)) {
      sema.report.error(DiagCode::DuplicateAxis, call.range,
                        "the axis `" + axisLabel(axes[i].name) + "` would appear twice");
      return false;
    }
  return true;
}

/// `axis` with `more` elements, `axis + more` where it is not called otherwise.
static Size longer(const Axis &axis, int64_t more) {
  Size size = sizeOfAxis(axis);
  size.offset += more;
  return size;
}

static std::string longerName(const Axis &axis, int64_t more) {
  return more ? axis.name + " + " + std::to_string(more) : axis.name;
}

static mlir::Value createPad(Sema &sema, mlir::Value value, llvm::ArrayRef<AxisChange> changes,
                             const Axes &result, double border, const CallExpr &call) {
  llvm::SmallVector<int64_t> low(result.size()), high(result.size());
  for (const AxisChange &change : changes)
    low[change.at] = change.low, high[change.at] = change.high;
  mlir::RankedTensorType type = tensorType(sema, result, call.range);
  if (!type)
    return {};
  return PadOp::create(sema.builder, locate(sema, call.range), type, value,
                       sema.builder.getDenseI64ArrayAttr(low),
                       sema.builder.getDenseI64ArrayAttr(high),
                       sema.builder.getF32FloatAttr(static_cast<float>(border)));
}

SemaValue callPad(Sema &sema, const CallExpr &call) {
  auto wrong = [&](SourceRange range, const llvm::Twine &message) {
    wrongArguments(sema, range, message, padUsage);
    return SemaValue::wrong();
  };
  if (call.arguments.size() < 2 || !call.arguments[0].isPlain())
    return wrong(call.range, "`pad` takes a tensor, then axes with the elements before and behind");
  const Expr &tensor = *call.arguments[0].value;
  mlir::Value value = evalTensor(sema, tensor, "what is padded");
  if (!value)
    return SemaValue::wrong();
  Axes axes = axesOfValue(value), result = axes;
  llvm::SmallVector<AxisChange> changes;
  double border = 0;
  bool mayBeHigh = false; // the elements behind the axis before
  for (const Argument &argument : llvm::drop_begin(call.arguments)) {
    bool isHigh = argument.isPlain() && mayBeHigh;
    mayBeHigh = argument.by && !argument.as;
    if (isHigh) {
      std::optional<int64_t> high = wholeNumber(sema, *argument.value, "a border", 0);
      if (!high)
        return SemaValue::wrong();
      changes.back().high = *high;
    } else if (mayBeHigh) {
      AxisChange change;
      if (!readAxis(sema, argument, value, tensor, "pad", change))
        return SemaValue::wrong();
      if (llvm::any_of(changes, [&](const AxisChange &other) { return other.at == change.at; }))
        return wrong(change.range, "an axis is padded once");
      std::optional<int64_t> low = wholeNumber(sema, *argument.by, "a border", 0);
      if (!low)
        return SemaValue::wrong();
      change.low = change.high = *low;
      changes.push_back(change);
    } else if (argument.name && argument.name->text == "value" && !argument.as) {
      std::optional<double> number = borderValue(sema, *argument.value);
      if (!number)
        return SemaValue::wrong();
      border = *number;
    } else {
      return wrong(argument.value->range, "this says of no axis by how much it is padded");
    }
  }
  for (const AxisChange &change : changes) {
    int64_t more = change.low + change.high;
    auto axis = changedAxis(sema, change, axes[change.at], longer(axes[change.at], more), tensor,
                            value, longerName(axes[change.at], more));
    if (!axis)
      return SemaValue::wrong();
    result[change.at] = *axis;
  }
  if (!areDistinct(sema, result, call))
    return SemaValue::wrong();
  mlir::Value padded = createPad(sema, value, changes, result, border, call);
  return padded ? SemaValue::of(padded) : SemaValue::wrong();
}

namespace {
/// What a call of `windows` says of all axes.
struct WindowOptions {
  int64_t low = 0, high = 0; ///< Elements in front of an axis, and behind it.
  int64_t dilation = 1;
  double border = 0;

  int64_t padding() const { return low + high; }
};
} // namespace

/// Reads `1`, or `(2, 0)`: elements in front and behind; false where it was reported.
static bool readPadding(Sema &sema, const Expr &expr, WindowOptions &options) {
  auto *tuple = llvm::dyn_cast<TupleExpr>(&expr);
  if (tuple && tuple->elements.size() != 2) {
    sema.report
        .error(DiagCode::WrongArguments, expr.range,
               "`pad` takes one number, or two: of elements in front and behind")
        .help("write `pad = (2, 0)`");
    return false;
  }
  auto low = wholeNumber(sema, tuple ? *tuple->elements[0] : expr, "`pad`", 0);
  auto high = tuple ? wholeNumber(sema, *tuple->elements[1], "`pad`", 0) : low;
  options.low = low.value_or(0), options.high = high.value_or(0);
  return low && high;
}

/// Reads `pad`, `dilation` or `value`; false where it was reported.
static bool readOption(Sema &sema, const Argument &argument, WindowOptions &options) {
  llvm::StringRef name = argument.name ? llvm::StringRef(argument.name->text) : "";
  if (argument.by || (name != "pad" && name != "dilation" && name != "value")) {
    sema.report
        .error(DiagCode::WrongArguments, argument.value->range,
               "this does not say how long a window is, by `as` and a dim")
        .help("write `" + windowsUsage + "`");
    return false;
  }
  if (name == "value") {
    std::optional<double> border = borderValue(sema, *argument.value);
    options.border = border.value_or(0);
    return border.has_value();
  }
  if (name == "pad")
    return readPadding(sema, *argument.value, options);
  std::optional<int64_t> number = wholeNumber(sema, *argument.value, "`" + name + "`", 1);
  options.dilation = number.value_or(1);
  return number.has_value();
}

/// How many windows there are of an axis; wrong where it was reported.
static Size countOfWindows(Sema &sema, const AxisChange &change, const Axis &axis,
                           const WindowOptions &options, const Expr &tensor, mlir::Value value) {
  Size size = longer(axis, options.padding());
  int64_t span = (change.places.size - 1) * options.dilation + 1, rest = size.offset - span;
  if (size.scale % change.stride != 0) {
    sema.report
        .error(DiagCode::NonlinearDynamicSize, change.range,
               "`" + axisLabel(axis.name) + "` is known only when running, and how many windows " +
                   llvm::Twine(change.stride) + " apart it has is no linear expression of it")
        .at(tensor.range, "this is " + showAxes(axesOfValue(value)))
        .help("declare the axis as `" + llvm::Twine(change.stride) + "*" + size.dim +
              "`, a whole number of strides");
    return Size::wrong();
  }
  int64_t whole = rest >= 0 ? rest / change.stride : -((-rest + change.stride - 1) / change.stride);
  Size count{size.dim, size.scale / change.stride, whole + 1};
  if (count.isStatic() ? count.offset >= 1 : count.offset >= 0)
    return count;
  Diagnostic &diagnostic = sema.report.error(
      DiagCode::ChangedSize, change.range,
      "a window of " + llvm::Twine(span) + " elements may be longer than `" + axisLabel(axis.name) +
          "`" + (options.padding() ? " with its borders" : ""));
  diagnostic.at(tensor.range, "this is " + showAxes(axesOfValue(value)));
  if (std::string where = whereSizes(sema, {axis, change.places}); !where.empty())
    diagnostic.note(where);
  return Size::wrong();
}

/// Reads all that is said of axes; false where it was reported.
static bool readWindows(Sema &sema, const CallExpr &call, mlir::Value value,
                        llvm::SmallVectorImpl<AxisChange> &changes, WindowOptions &options) {
  const Expr &tensor = *call.arguments[0].value;
  for (const Argument &argument : llvm::drop_begin(call.arguments)) {
    if (!argument.as) {
      if (!readOption(sema, argument, options))
        return false;
      continue;
    }
    AxisChange change;
    if (!readAxis(sema, argument, value, tensor, "divide into windows", change))
      return false;
    if (llvm::any_of(changes, [&](const AxisChange &other) { return other.at == change.at; }))
      return wrongArguments(sema, change.range, "an axis is divided into windows once",
                            windowsUsage);
    std::optional<int64_t> stride =
        argument.by ? wholeNumber(sema, *argument.by, "how far windows are apart", 1)
                    : std::optional<int64_t>(1);
    std::optional<Axis> places = axisOf(sema, *argument.as);
    if (!stride || !places)
      return false;
    if (places->isDynamic()) {
      sema.report.error(DiagCode::DynamicAxis, argument.as->range,
                        "the length of a window is known when compiling, and `" +
                            sema.source.text(argument.as->range) + "` is not");
      return false;
    }
    change.stride = *stride;
    change.places = *places;
    changes.push_back(change);
  }
  if (changes.empty())
    return wrongArguments(sema, call.range, "`windows` takes axes, and how long a window is",
                          windowsUsage);
  return true;
}

SemaValue callWindows(Sema &sema, const CallExpr &call) {
  if (call.arguments.size() < 2 || !call.arguments[0].isPlain()) {
    wrongArguments(sema, call.range, "`windows` takes a tensor, then axes and how long a window is",
                   windowsUsage);
    return SemaValue::wrong();
  }
  const Expr &tensor = *call.arguments[0].value;
  mlir::Value value = evalTensor(sema, tensor, "what is divided into windows");
  llvm::SmallVector<AxisChange> changes;
  WindowOptions options;
  if (!value || !readWindows(sema, call, value, changes, options))
    return SemaValue::wrong();
  Axes axes = axesOfValue(value), padded = axes, result = axes;
  llvm::SmallVector<int64_t> at, strides, dilations(changes.size(), options.dilation);
  for (AxisChange &change : changes) {
    const Axis &axis = axes[change.at];
    Size count = countOfWindows(sema, change, axis, options, tensor, value);
    if (count.error)
      return SemaValue::wrong();
    if (!change.to && !isSameSize(count, sizeOfAxis(axis))) {
      llvm::StringRef name = axisLabel(axis.name);
      sema.report
          .error(DiagCode::ChangedSize, change.range,
                 "there are " + sizeText(count) + " windows, so that `" + name +
                     "` becomes another axis")
          .at(tensor.range, "this is " + showAxes(axes))
          .help("name it: `dim " + name + "2 = " + sizeText(count) + "`, and `" + name + " = " +
                name + "2` here");
      return SemaValue::wrong();
    }
    auto changed = changedAxis(sema, change, axis, count, tensor, value, std::string(axis.name));
    if (!changed)
      return SemaValue::wrong();
    result[change.at] = change.to ? *changed : axis;
    result.push_back(change.places);
    change.low = options.low, change.high = options.high;
    padded[change.at] =
        axisOfSize(longerName(axis, options.padding()), longer(axis, options.padding()));
    at.push_back(change.at);
    strides.push_back(change.stride);
  }
  if (!areDistinct(sema, result, call))
    return SemaValue::wrong();
  if (options.padding())
    value = createPad(sema, value, changes, padded, options.border, call);
  mlir::RankedTensorType type = value ? tensorType(sema, result, call.range) : nullptr;
  if (!type)
    return SemaValue::wrong();
  auto op = WindowsOp::create(sema.builder, locate(sema, call.range), type, value, at, strides,
                              dilations);
  return SemaValue::of(op.getResult());
}

/// Whether a linear takes places in windows.
static bool isConvolution(LinearOp linear) {
  mlir::Operation *op = linear.getInput().getDefiningOp();
  while (op && llvm::isa<RelabelOp, RearrangeOp>(op))
    op = op->getOperand(0).getDefiningOp();
  auto windows = llvm::dyn_cast_or_null<WindowsOp>(op);
  if (!windows)
    return false;
  auto taken = attn::axesOf(linear.getInput().getType()).take_back(linear.getContract());
  auto places = attn::axesOf(windows.getResult().getType()).take_back(windows.getAxes().size());
  return llvm::any_of(places,
                      [&](mlir::StringAttr axis) { return llvm::is_contained(taken, axis); });
}

void bindConvolutions(mlir::ModuleOp module) {
  module.walk([&](LinearOp linear) {
    if (!isConvolution(linear))
      return;
    for (mlir::Value weight : linear.getWeights()) {
      auto get = weight.getDefiningOp<GetOp>();
      auto param = get ? module.lookupSymbol<ParamOp>(get.getParam()) : ParamOp();
      if (!param || param.getSource().getShape().size() != 2)
        continue;
      SourceAttr source = param.getSource();
      auto taken = llvm::cast<mlir::RankedTensorType>(param.getType())
                       .getShape()
                       .take_back(linear.getContract());
      if (source.getShape()[1] != mlir::ShapedType::getNumElements(taken))
        continue;
      llvm::SmallVector<int64_t> shape{source.getShape()[0]};
      llvm::append_range(shape, taken);
      param.setSourceAttr(SourceAttr::get(param.getContext(), source.getPattern(), shape,
                                          source.getOffset(), source.getStrides()));
    }
  });
}

} // namespace attn::frontend
