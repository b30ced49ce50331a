// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// resize(x, bicubic, Y0 = Y, X0 = X): a grid's values at the places of another grid, as PyTorch's
// `interpolate`. Along one axis, each new place is a weighted sum of a few old ones, which are
// picked.
#include "compiler/frontend/sema/functions/Resize.h"
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/parameters/Tables.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Dims.h"
#include "compiler/frontend/sema/sizes/Tensors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

namespace attn::frontend {

using namespace ast;
using mlir::Location;

namespace {
/// A way to resize: how many old places a new one is made of, and whether first and last places of
/// both grids are the same.
struct Way {
  llvm::StringRef word;
  size_t taps;
  bool isAligned = false;
};

/// For each new place, old ones and their weights: `indices[tap][place]`.
struct Interpolation {
  std::vector<std::vector<int32_t>> indices;
  std::vector<std::vector<float>> weights;

  Interpolation(size_t taps, int64_t places) : indices(taps), weights(taps) {
    for (size_t k = 0; k < taps; ++k) {
      indices[k].reserve(places);
      weights[k].reserve(places);
    }
  }
  void add(size_t tap, double index, double weight, int64_t from) {
    indices[tap].push_back(
        static_cast<int32_t>(std::clamp(index, 0.0, static_cast<double>(from - 1))));
    weights[tap].push_back(static_cast<float>(weight));
  }
};
} // namespace

/// Keys' cubic convolution (1981) with the parameter -0.75, at distance `x`.
static double cubic(double x) {
  constexpr double a = -0.75;
  x = std::fabs(x);
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? a * (((x - 5) * x + 8) * x - 4) : 0;
}

/// Where the middle of new element `i` is, where old ones have theirs at whole numbers.
static double placeOf(const Way &way, int64_t i, int64_t from, int64_t to) {
  if (way.isAligned)
    return to > 1 ? static_cast<double>(i * (from - 1)) / static_cast<double>(to - 1) : 0;
  double ratio = static_cast<double>(from) / static_cast<double>(to);
  int64_t beginning = i * from / to;
  if (way.taps == 1) // the beginning of the element counts
    return static_cast<double>(beginning);
  double place = (static_cast<double>(i) + 0.5) * ratio - 0.5;
  return way.taps == 2 ? std::max(place, 0.0) : place;
}

static Interpolation tapsOf(const Way &way, int64_t from, int64_t to) {
  Interpolation taps(way.taps, to);
  for (int64_t i = 0; i < to; ++i) {
    double place = placeOf(way, i, from, to), first = std::floor(place), rest = place - first;
    if (way.taps == 1) {
      taps.add(0, first, 1, from);
    } else if (way.taps == 2) {
      taps.add(0, first, 1 - rest, from);
      taps.add(1, first + 1, rest, from);
    } else {
      for (int k = 0; k < 4; ++k)
        taps.add(k, first + k - 1, cubic(rest - (k - 1)), from);
    }
  }
  return taps;
}

/// sum of x[k] * x[count + k]
static mlir::Value weightedSum(mlir::OpBuilder &b, Location loc, mlir::ValueRange x) {
  size_t count = x.size() / 2;
  mlir::Value sum;
  for (size_t k = 0; k < count; ++k) {
    mlir::Value term = mlir::arith::MulFOp::create(b, loc, x[k], x[count + k]);
    sum = sum ? mlir::arith::AddFOp::create(b, loc, sum, term) : term;
  }
  return sum;
}

/// Null after an error.
static mlir::Value resizeAxis(Sema &sema, mlir::Value value, int at, const Axis &to, const Way &way,
                              SourceRange range) {
  Location loc = locate(sema, range, sema.statement.context);
  Axes axes = axesOfValue(value);
  auto compute = [&](llvm::ArrayRef<int64_t> shape) {
    Interpolation taps = tapsOf(way, axes[at].size, to.size);
    Constants all;
    auto add = [&](mlir::Type element, auto values) {
      all.push_back(
          mlir::DenseElementsAttr::get(mlir::RankedTensorType::get(shape, element), values));
    };
    for (const std::vector<int32_t> &indices : taps.indices)
      add(sema.builder.getI32Type(), llvm::ArrayRef(indices));
    for (const std::vector<float> &weights : taps.weights)
      add(sema.builder.getF32Type(), llvm::ArrayRef(weights));
    return all;
  };
  std::string key =
      (way.word + (way.isAligned ? " aligned " : " ") + llvm::Twine(axes[at].size)).str();
  auto tables = constantsOf(sema, {to}, 2 * way.taps, key, range, compute);
  if (tables.empty())
    return nullptr;
  Axes result = axes;
  result[at] = to;
  mlir::RankedTensorType type = tensorType(sema, result, range);
  if (!type)
    return nullptr;
  llvm::SmallVector<mlir::Value> inputs;
  for (mlir::Attribute elements : tables) {
    mlir::Value table = makeTable(sema, {to}, elements, loc);
    bool isIndex = TableOp::typeOfElements(elements).getElementType().isInteger();
    if (isIndex)
      table = PickOp::create(sema.builder, loc, type, value, table, static_cast<uint64_t>(at));
    inputs.push_back(table);
  }
  return way.taps == 1 ? inputs.front() : makeMap(sema, inputs, result, loc, weightedSum);
}

SemaValue callResize(Sema &sema, const CallExpr &call) {
  static constexpr llvm::StringLiteral usage = "resize(x, bicubic, Y0 = Y, X0 = X)";
  auto wrongArguments = [&](SourceRange range, const llvm::Twine &message) {
    sema.report.error(DiagCode::WrongArguments, range, message).help("write `" + usage + "`");
    return SemaValue::wrong();
  };
  auto wordAt = [&](size_t i) {
    auto *word = llvm::dyn_cast<PathExpr>(call.arguments[i].value.get());
    return word && !call.arguments[i].name ? word->path.str() : std::string();
  };
  bool isAligned = call.arguments.size() > 2 && wordAt(2) == "aligned";
  size_t first = isAligned ? 3 : 2;
  if (call.arguments.size() <= first)
    return wrongArguments(call.range, "`resize` takes a tensor, `nearest`, `bilinear` or "
                                      "`bicubic`, and axes with those that they become");
  for (size_t i = 0; i < call.arguments.size(); ++i)
    if (!call.arguments[i].clauses().empty() || (i < first) == call.arguments[i].name.has_value())
      return wrongArguments(
          call.arguments[i].value->range,
          "only the axes have names among the arguments of `resize`, and they stand last");
  static constexpr Way ways[] = {{"nearest", 1}, {"bilinear", 2}, {"bicubic", 4}};
  const auto *found =
      llvm::find_if(ways, [&, word = wordAt(1)](const Way &way) { return way.word == word; });
  if (found == std::end(ways))
    return wrongArguments(call.arguments[1].value->range,
                          "grids are resized `nearest`, `bilinear` or `bicubic`");
  Way way = *found;
  way.isAligned = isAligned;
  if (isAligned && way.taps == 1)
    return wrongArguments(call.arguments[2].value->range,
                          "the nearest places are found without aligned corners");
  const Expr &tensor = *call.arguments[0].value;
  mlir::Value value = evalTensor(sema, tensor, "what is resized");
  if (!value)
    return SemaValue::wrong();
  for (const Argument &argument : llvm::drop_begin(call.arguments, first)) {
    Axes axes = axesOfValue(value);
    int at = findNamedAxis(sema, axes, *argument.name);
    if (Decl *dim = sema.names.scope->find(argument.name->text))
      dim->used = true;
    std::optional<Axis> to = axisOf(sema, *argument.value);
    if (!to)
      return SemaValue::wrong();
    if (at < 0) {
      sema.report
          .error(DiagCode::MissingAxis, argument.name->range,
                 "there is no axis `" + argument.name->text + "` to resize")
          .at(tensor.range, "this is " + showAxes(axes));
      return SemaValue::wrong();
    }
    if (axes[at].isDynamic() || to->isDynamic()) {
      sema.report
          .error(DiagCode::DynamicAxis, argument.value->range,
                 "`resize` needs sizes that are known when compiling")
          .at(tensor.range, "this is " + showAxes(axes));
      return SemaValue::wrong();
    }
    if (axes.size() < 2)
      return wrongArguments(tensor.range, "what is resized has axes beside the resized one");
    if (findAxis(axes, to->name) >= 0) {
      sema.report
          .error(DiagCode::DuplicateAxis, argument.value->range,
                 "the axis `" + to->name + "` would appear twice")
          .at(tensor.range, "this is " + showAxes(axes));
      return SemaValue::wrong();
    }
    value = resizeAxis(sema, value, at, *to, way, call.range);
    if (!value)
      return SemaValue::wrong();
  }
  return SemaValue::of(value);
}

} // namespace attn::frontend
