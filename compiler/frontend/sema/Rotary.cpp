// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// rotary(x, T, half): pairs of features turned by angles that grow with the position (Su et al.
// 2021), computed here in double precision.
#include "compiler/frontend/sema/Rotary.h"
#include "compiler/frontend/sema/Axes.h"
#include "compiler/frontend/sema/Caches.h"
#include "compiler/frontend/sema/Exprs.h"
#include "compiler/frontend/sema/Tables.h"
#include "compiler/frontend/sema/Tensors.h"

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
    "rotary(x, T, half)` or `rotary(x, T, interleaved, base = 500000)";

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

  /// Each is false after an error.
  bool read() { return readPlaces() && readPairs() && readSettings() && checkScaling(); }

private:
  bool wrong(SourceRange range, const llvm::Twine &message) {
    error(DiagCode::WrongArguments, range, message).help("write `" + rotaryUsage + "`");
    return false;
  }
  bool readPlaces();
  bool readPairs();
  bool readSettings();
  bool checkScaling();
  double *settingOf(llvm::StringRef name);
};
} // namespace

bool RotaryReader::readPlaces() {
  if (call.arguments.size() < 3)
    return wrong(call.range, "`rotary` takes a tensor, the axis of its positions, and which "
                             "features are a pair: `half` or `interleaved`");
  for (size_t i = 0; i < call.arguments.size(); ++i)
    if (call.arguments[i].by || call.arguments[i].as ||
        (i < 3) == call.arguments[i].name.has_value())
      return wrong(call.arguments[i].value->range,
                   "the first three arguments of `rotary` have no name, the others do");
  return true;
}

bool RotaryReader::readPairs() {
  auto *pairs = llvm::dyn_cast<PathExpr>(call.arguments[2].value.get());
  std::string word = pairs ? pairs->path.str() : "";
  isInterleaved = word == "interleaved";
  return isInterleaved || word == "half" ||
         wrong(call.arguments[2].value->range,
               "pairs are `half` (the first half of the features with the second) or "
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
  return name == "original_length" ? optional(frequencies.originalLength) : nullptr;
}

bool RotaryReader::readSettings() {
  for (const Argument &argument : llvm::drop_begin(call.arguments, 3)) {
    double *setting = settingOf(argument.name->text);
    if (!setting) {
      error(DiagCode::WrongArguments, argument.name->range,
            "`rotary` has no `" + argument.name->text + "`")
          .note("it has base, factor, low_freq_factor, high_freq_factor, original_length");
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

/// `function` of the angle of every position and pair.
static std::vector<float> anglesOf(llvm::ArrayRef<int64_t> shape, const Frequencies &frequencies,
                                   double (*function)(double)) {
  std::vector<float> values;
  values.reserve(shape[0] * shape[1]);
  std::vector<double> steps;
  for (int64_t p = 0; p < shape[1]; ++p)
    steps.push_back(frequencies.at(p, shape[1]));
  for (int64_t t = 0; t < shape[0]; ++t)
    for (double step : steps)
      values.push_back(static_cast<float>(function(static_cast<double>(t) * step)));
  return values;
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
  std::optional<Axis> axis = axisOf(sema, *call.arguments[1].value);
  if (!value || !axis)
    return SemaValue::wrong();
  Axes axes = axesOfValue(value);
  const Axis &features = axes.back();
  int at = findAxis(axes, axis->name);
  if (at < 0 || at + 1 == static_cast<int>(axes.size())) {
    sema.report
        .error(DiagCode::MissingAxis, call.arguments[1].value->range,
               at < 0 ? "there is no axis `" + axis->name + "` to take the positions along"
                      : "`" + axis->name + "` holds the features that are turned")
        .at(tensor.range, "this is " + showAxes(axes));
    return SemaValue::wrong();
  }
  if (features.isDynamic() || features.size % 2 != 0) {
    sema.report
        .error(DiagCode::RotaryArguments, tensor.range,
               "the last axis, `" + features.name + "`, holds no pairs of features")
        .says("this is " + showAxes(axes))
        .note(features.isDynamic() ? std::string("its size is known only when running")
                                   : "its size is " + std::to_string(features.size));
    return SemaValue::wrong();
  }
  bool isNew = isNewAxis(sema, axes[at]);
  Axes angles = {isNew ? cacheAxis(sema.entry) : axes[at],
                 {features.name + "/2", features.size / 2}};
  auto compute = [&](llvm::ArrayRef<int64_t> shape) {
    Constants both;
    for (double (*function)(double) :
         {static_cast<double (*)(double)>(std::cos), static_cast<double (*)(double)>(std::sin)})
      both.push_back(mlir::DenseElementsAttr::get(
          mlir::RankedTensorType::get(shape, sema.builder.getF32Type()),
          llvm::ArrayRef<float>(anglesOf(shape, reader.frequencies, function))));
    return both;
  };
  auto elements = constantsOf(sema, angles, 2, reader.frequencies.key(), call.range, compute);
  if (elements.empty())
    return SemaValue::wrong();
  auto table = [&](mlir::DenseElementsAttr values) {
    mlir::Value all = makeTable(sema, angles, values, locate(sema, call.range));
    return isNew ? newRows(sema, all, axes[at], call.range) : all;
  };
  mlir::Value cosine = table(elements[0]), sine = table(elements[1]);
  auto op = RotaryOp::create(sema.builder, locate(sema, call.range, sema.statement.context),
                             value.getType(), value, cosine, sine, reader.isInterleaved);
  return SemaValue::of(op.getResult());
}

} // namespace attn::frontend
