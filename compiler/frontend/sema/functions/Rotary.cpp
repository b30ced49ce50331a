// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// rotary(x, T, half): pairs of features turned by angles that grow with the position (Su et al.
// 2021), whose frequencies are computed here. rotary(x, half, angles = a): by angles of any tensor.
#include "compiler/frontend/sema/functions/Rotary.h"
#include "compiler/frontend/sema/entries/CacheAxes.h"
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/parameters/Tables.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Dims.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "compiler/frontend/sema/sizes/Types.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/bit.h"
#include <cmath>

namespace attn::frontend {

using namespace ast;

namespace {
/// Which angle belongs to which pair.
struct Frequencies {
  double base = 10000;
  std::optional<double> factor, lowFactor, highFactor, originalLength;

  /// What tells these from others.
  std::string key() const {
    std::string text = "rotary";
    for (double number : {base, factor.value_or(0), lowFactor.value_or(0), highFactor.value_or(0),
                          originalLength.value_or(0)})
      text += " " + std::to_string(llvm::bit_cast<uint64_t>(number));
    return text;
  }

  /// The angle by which pair `p` of `pairs` turns from one position to the next.
  double at(int64_t p, int64_t pairs) const {
    double plain = std::pow(base, -static_cast<double>(p) / static_cast<double>(pairs));
    if (!factor)
      return plain;
    if (!lowFactor) // positions closer together (Chen et al. 2023)
      return plain / *factor;
    // As Llama 3.1: long waves are stretched, short ones are not, between them in proportion.
    double turns = *originalLength * plain / (2 * M_PI);
    if (turns > *highFactor)
      return plain;
    if (turns < *lowFactor)
      return plain / *factor;
    double share = (turns - *lowFactor) / (*highFactor - *lowFactor);
    return (1 - share) * plain / *factor + share * plain;
  }
};
} // namespace

static constexpr llvm::StringLiteral rotaryUsage =
    "rotary(x, T, half)`, `rotary(x, T, interleaved, base = 500000)` or `rotary(x, half, angles = "
    "a)";

namespace {
/// The arguments of a rotary behind its tensor and axis.
struct RotaryReader {
  using Error = llvm::function_ref<Diagnostic &(DiagCode, SourceRange, const llvm::Twine &)>;
  using Number = llvm::function_ref<std::optional<double>(const Expr &, const llvm::Twine &)>;

  const CallExpr &call;
  Error error;
  Number number;
  bool isInterleaved = false;
  Frequencies frequencies = {};
  const Expr *angles = nullptr;   ///< Given by name, in the place of an axis and of frequencies.
  const Expr *features = nullptr; ///< How many of the last axis are turned; null: all.
  double attentionFactor = 1;     ///< What cosines and sines are multiplied by.

  /// Each is false after an error.
  bool read() { return readPlaces() && readPairs() && readSettings() && checkScaling(); }

private:
  bool wrong(SourceRange range, const llvm::Twine &message) {
    error(DiagCode::WrongArguments, range, message).help("write `" + rotaryUsage + "`");
    return false;
  }
  /// Arguments in front of those with a name.
  size_t places() const { return angles ? 2 : 3; }
  bool readPlaces();
  bool readPairs();
  bool readSettings();
  bool checkScaling();
  double *settingOf(llvm::StringRef name);
};
} // namespace

bool RotaryReader::readPlaces() {
  for (const Argument &argument : call.arguments) {
    if (!argument.clauses().empty())
      return wrong(argument.value->range, "`rotary` takes tensors, names and numbers");
    if (argument.name && argument.name->text == "angles")
      angles = argument.value.get();
    if (argument.name && argument.name->text == "features")
      features = argument.value.get();
  }
  if (call.arguments.size() < places())
    return wrong(call.range, "`rotary` takes a tensor, the axis of its positions, and which "
                             "features are a pair: `half` or `interleaved`");
  for (size_t i = 0; i < call.arguments.size(); ++i)
    if ((i < places()) == call.arguments[i].name.has_value())
      return wrong(call.arguments[i].value->range,
                   angles ? "with `angles`, `rotary` takes a tensor and `half` or `interleaved` "
                            "without a name, and no axis"
                          : "the first three arguments of `rotary` have no name, the others do");
  return true;
}

bool RotaryReader::readPairs() {
  const Expr &expr = *call.arguments[places() - 1].value;
  auto *pairs = llvm::dyn_cast<PathExpr>(&expr);
  std::string word = pairs ? pairs->path.str() : "";
  isInterleaved = word == "interleaved";
  return isInterleaved || word == "half" ||
         wrong(expr.range, "pairs are `half` (the first half of the features with the second) or "
                           "`interleaved` (neighbours)");
}

double *RotaryReader::settingOf(llvm::StringRef name) {
  auto optional = [](std::optional<double> &setting) { return &setting.emplace(0); };
  if (name == "base")
    return &frequencies.base;
  if (name == "factor")
    return optional(frequencies.factor);
  if (name == "low_freq_factor")
    return optional(frequencies.lowFactor);
  if (name == "high_freq_factor")
    return optional(frequencies.highFactor);
  if (name == "attention_factor")
    return &attentionFactor;
  return name == "original_length" ? optional(frequencies.originalLength) : nullptr;
}

bool RotaryReader::readSettings() {
  for (const Argument &argument : llvm::drop_begin(call.arguments, places())) {
    if (argument.value.get() == angles || argument.value.get() == features)
      continue;
    double *setting = settingOf(argument.name->text);
    if (!setting) {
      error(DiagCode::WrongArguments, argument.name->range,
            "`rotary` has no `" + argument.name->text + "`")
          .note("it has base, factor, low_freq_factor, high_freq_factor, original_length, "
                "attention_factor, angles and features");
      return false;
    }
    if (angles && setting != &attentionFactor) {
      error(DiagCode::RotaryArguments, argument.name->range,
            "`" + argument.name->text + "` says nothing beside `angles`")
          .note("`angles` are those of each position and pair, in radians");
      return false;
    }
    std::optional<double> value = number(*argument.value, "`" + argument.name->text + "`");
    if (!value)
      return false;
    if (!(*value > 0)) {
      error(DiagCode::RotaryArguments, argument.value->range,
            "`" + argument.name->text + "` must be more than 0");
      return false;
    }
    *setting = *value;
  }
  return true;
}

bool RotaryReader::checkScaling() {
  const Frequencies &f = frequencies;
  if (!f.lowFactor && !f.highFactor && !f.originalLength)
    return true;
  if (f.factor && f.lowFactor && f.highFactor && f.originalLength && *f.lowFactor < *f.highFactor)
    return true;
  error(DiagCode::RotaryArguments, call.range,
        "factor, low_freq_factor, high_freq_factor and original_length are given together, and "
        "the low factor is the smaller one")
      .help("`factor` alone brings all positions closer together");
  return false;
}

/// The number of features that are turned, of the last of `axes`; 0 after an error.
static int64_t turnedFeatures(Sema &sema, const RotaryReader &reader, const Axes &axes,
                              const Expr &tensor) {
  const Axis &features = axes.back();
  if (features.isDynamic() || (!reader.features && features.size % 2 != 0)) {
    sema.report
        .error(DiagCode::RotaryArguments, tensor.range,
               "the last axis, `" + features.name + "`, holds no pairs of features")
        .says("this is " + showAxes(axes))
        .note(features.isDynamic() ? std::string("its size is known only when running")
                                   : "its size is " + std::to_string(features.size));
    return 0;
  }
  if (!reader.features)
    return features.size;
  Size count = evalSize(sema, *reader.features);
  if (count.error)
    return 0;
  if (count.isStatic() && count.offset >= 2 && count.offset % 2 == 0 &&
      count.offset <= features.size)
    return count.offset;
  sema.report
      .error(DiagCode::RotaryArguments, reader.features->range,
             "`features` is an even number from 2 to " + llvm::Twine(features.size) +
                 ", the size of `" + features.name + "`")
      .at(tensor.range, "this is " + showAxes(axes));
  return 0;
}

using Angles = std::pair<mlir::Value, mlir::Value>;

/// A cosine or sine times the factor of all of them.
static mlir::Value timesFactor(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                               double factor) {
  if (factor == 1)
    return x;
  auto by = mlir::arith::ConstantOp::create(b, loc, b.getF32FloatAttr(static_cast<float>(factor)));
  return mlir::arith::MulFOp::create(b, loc, x, by);
}

/// Cosines and sines of what grows along the axis that is called `along`, for `pairs` pairs of the
/// features of a tensor of `axes`; null after an error.
static Angles anglesAlong(Sema &sema, const RotaryReader &reader, const Axes &axes, int64_t pairs) {
  const CallExpr &call = reader.call;
  std::optional<Axis> axis = axisOf(sema, *call.arguments[1].value);
  if (!axis)
    return {};
  int at = findAxis(axes, axis->name);
  if (at < 0 || at + 1 == static_cast<int>(axes.size())) {
    sema.report
        .error(DiagCode::MissingAxis, call.arguments[1].value->range,
               at < 0 ? "there is no axis `" + axis->name + "` to take the positions along"
                      : "`" + axis->name + "` holds the features that are turned")
        .at(call.arguments[0].value->range, "this is " + showAxes(axes));
    return {};
  }
  bool isNew = isNewAxis(sema, axes[at]), isWhole = 2 * pairs == axes.back().size;
  Axes angles = {isNew ? cacheAxis(sema.entry) : axes[at],
                 {isWhole ? axes.back().name + "/2" : std::to_string(pairs), pairs}};
  auto compute = [&](llvm::ArrayRef<int64_t> shape) {
    llvm::SmallVector<double> frequencies;
    for (int64_t p = 0; p < shape[1]; ++p)
      frequencies.push_back(reader.frequencies.at(p, shape[1]));
    auto tableOf = [&](AngleFunction function) -> mlir::Attribute {
      return AnglesAttr::get(sema.builder.getContext(),
                             mlir::RankedTensorType::get(shape, sema.builder.getF32Type()),
                             function, sema.builder.getDenseF64ArrayAttr(frequencies));
    };
    return Constants{tableOf(AngleFunction::Cosine), tableOf(AngleFunction::Sine)};
  };
  auto elements = constantsOf(sema, angles, 2, reader.frequencies.key(), call.range, compute);
  if (elements.empty())
    return {};
  auto table = [&](mlir::Attribute values) {
    mlir::Value all = makeTable(sema, angles, values, locate(sema, call.range));
    mlir::Value rows = isNew ? newRows(sema, all, axes[at], call.range) : all;
    if (reader.attentionFactor == 1)
      return rows;
    return makeMap(sema, {rows}, axesOfValue(rows), locate(sema, call.range),
                   [&](mlir::OpBuilder &b, mlir::Location loc, mlir::ValueRange x) {
                     return timesFactor(b, loc, x[0], reader.attentionFactor);
                   });
  };
  return {table(elements[0]), table(elements[1])};
}

/// Cosines and sines of the tensor that is given as `angles`, for `pairs` pairs of the features of
/// a tensor of `axes`; null after an error.
static Angles anglesGiven(Sema &sema, const RotaryReader &reader, const Axes &axes, int64_t pairs) {
  const Expr &expr = *reader.angles;
  mlir::Value value = evalTensor(sema, expr, "what is given as `angles`");
  if (!value || !isCalculable(sema.report, value, expr.range))
    return {};
  Axes own = axesOfValue(value);
  auto isOfInput = [&](const Axis &axis) {
    int at = findAxis(axes, axis.name);
    return at >= 0 && at + 1 < static_cast<int>(axes.size());
  };
  auto *other = llvm::find_if_not(llvm::ArrayRef(own).drop_back(), isOfInput);
  if (own.back().size != pairs || other + 1 != own.data() + own.size()) {
    sema.report
        .error(DiagCode::RotaryArguments, expr.range,
               own.back().size == pairs
                   ? "there is no axis `" + other->name + "` to take the angles along"
                   : "`angles` must end in " + llvm::Twine(pairs) + " angles, one for each pair")
        .says("this is " + showAxes(own))
        .at(reader.call.arguments[0].value->range, "this is " + showAxes(axes));
    return {};
  }
  auto map = [&](auto build) {
    return makeMap(sema, {value}, own, locate(sema, expr.range),
                   [&](mlir::OpBuilder &b, mlir::Location loc, mlir::ValueRange x) {
                     return build(b, loc, x[0]);
                   });
  };
  using Builder = mlir::OpBuilder;
  double factor = reader.attentionFactor;
  return {map([&](Builder &b, mlir::Location loc, mlir::Value x) -> mlir::Value {
            return timesFactor(b, loc, mlir::math::CosOp::create(b, loc, x), factor);
          }),
          map([&](Builder &b, mlir::Location loc, mlir::Value x) -> mlir::Value {
            return timesFactor(b, loc, mlir::math::SinOp::create(b, loc, x), factor);
          })};
}

SemaValue callRotary(Sema &sema, const CallExpr &call) {
  auto report = [&](DiagCode code, SourceRange range, const llvm::Twine &message) -> Diagnostic & {
    return sema.report.error(code, range, message);
  };
  auto number = [&](const Expr &expr, const llvm::Twine &what) {
    return evalNumber(sema, expr, what);
  };
  RotaryReader reader{call, report, number};
  if (!reader.read())
    return SemaValue::wrong();
  const Expr &tensor = *call.arguments[0].value;
  mlir::Value value = evalTensor(sema, tensor, "what `rotary` turns");
  int64_t turned = value ? turnedFeatures(sema, reader, axesOfValue(value), tensor) : 0;
  if (!turned || !isCalculable(sema.report, value, tensor.range))
    return SemaValue::wrong();
  Axes axes = axesOfValue(value);
  auto [cosine, sine] = reader.angles ? anglesGiven(sema, reader, axes, turned / 2)
                                      : anglesAlong(sema, reader, axes, turned / 2);
  if (!sine)
    return SemaValue::wrong();
  auto op = RotaryOp::create(sema.builder, locate(sema, call.range, sema.statement.context),
                             value.getType(), value, cosine, sine, reader.isInterleaved);
  return SemaValue::of(op.getResult());
}

} // namespace attn::frontend
