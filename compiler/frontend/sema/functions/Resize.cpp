// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// resize(x, bicubic, Y0 = Y, X0 = X): a grid's values at the places of another grid, as PyTorch's
// `interpolate` without aligned corners. Along one axis, each new place is a weighted sum of a few
// old ones, which are looked up.
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

static Interpolation tapsOf(bool isCubic, int64_t from, int64_t to) {
  Interpolation taps(isCubic ? 4 : 2, to);
  for (int64_t i = 0; i < to; ++i) {
    // The middle of the new element, where old ones have theirs at whole numbers.
    double place = (i + 0.5) * static_cast<double>(from) / static_cast<double>(to) - 0.5;
    if (!isCubic)
      place = std::max(place, 0.0);
    double first = std::floor(place), rest = place - first;
    if (!isCubic) {
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
static mlir::Value resizeAxis(Sema &sema, mlir::Value value, int at, const Axis &to, bool isCubic,
                              SourceRange range) {
  Location loc = locate(sema, range, sema.statement.context);
  Axes axes = axesOfValue(value);
  auto compute = [&](llvm::ArrayRef<int64_t> shape) {
    Interpolation taps = tapsOf(isCubic, axes[at].size, to.size);
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
  std::string key = (isCubic ? "bicubic " : "bilinear ") + std::to_string(axes[at].size);
  auto tables = constantsOf(sema, {to}, isCubic ? 8 : 4, key, range, compute);
  if (tables.empty())
    return nullptr;
  llvm::SmallVector<int64_t> order{at}, back;
  for (int d = 0; d < static_cast<int>(axes.size()); ++d) {
    if (d != at)
      order.push_back(d);
    back.push_back(d == at ? 0 : d < at ? d + 1 : d);
  }
  mlir::Value rows = permute(sema, value, order, loc);
  Axes result = axesOfValue(rows);
  result[0] = to;
  mlir::RankedTensorType type = tensorType(sema, result, range);
  if (!type)
    return nullptr;
  llvm::SmallVector<mlir::Value> inputs;
  for (mlir::Attribute elements : tables) {
    mlir::Value table = makeTable(sema, {to}, elements, loc);
    bool isIndex = TableOp::typeOfElements(elements).getElementType().isInteger();
    inputs.push_back(isIndex ? LookupOp::create(sema.builder, loc, type, rows, table) : table);
  }
  return permute(sema, makeMap(sema, inputs, result, loc, weightedSum), back, loc);
}

SemaValue callResize(Sema &sema, const CallExpr &call) {
  static constexpr llvm::StringLiteral usage = "resize(x, bicubic, Y0 = Y, X0 = X)";
  auto wrongArguments = [&](SourceRange range, const llvm::Twine &message) {
    sema.report.error(DiagCode::WrongArguments, range, message).help("write `" + usage + "`");
    return SemaValue::wrong();
  };
  if (call.arguments.size() < 3)
    return wrongArguments(call.range, "`resize` takes a tensor, `bilinear` or `bicubic`, and axes "
                                      "with those that they become");
  for (size_t i = 0; i < call.arguments.size(); ++i)
    if (!call.arguments[i].clauses().empty() || (i < 2) == call.arguments[i].name.has_value())
      return wrongArguments(
          call.arguments[i].value->range,
          "the first two arguments of `resize` have no name, the others are axes");
  auto *style = llvm::dyn_cast<PathExpr>(call.arguments[1].value.get());
  std::string word = style ? style->path.str() : "";
  if (word != "bilinear" && word != "bicubic")
    return wrongArguments(call.arguments[1].value->range,
                          "grids are resized `bilinear` or `bicubic`");
  const Expr &tensor = *call.arguments[0].value;
  mlir::Value value = evalTensor(sema, tensor, "what is resized");
  if (!value)
    return SemaValue::wrong();
  for (const Argument &argument : llvm::drop_begin(call.arguments, 2)) {
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
    for (const Axis &axis : axes)
      if (axis.isDynamic()) {
        sema.report
            .error(DiagCode::DynamicAxis, tensor.range,
                   "what is resized has sizes that are known when compiling, but `" + axis.name +
                       "` is known only when running")
            .says("this is " + showAxes(axes))
            .help("resize before what has that axis joins: `x + resize(pos, …)`");
        return SemaValue::wrong();
      }
    value = resizeAxis(sema, value, at, *to, word == "bicubic", call.range);
    if (!value)
      return SemaValue::wrong();
  }
  return SemaValue::of(value);
}

} // namespace attn::frontend
