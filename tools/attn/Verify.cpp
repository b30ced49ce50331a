// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `attn verify`: compiled code against the reference interpreter in double precision, entry by
// entry, or against an output that something else computed.
#include "Build.h"
#include "Report.h"
#include "Runner.h"
#include "Verbs.h"
#include "compiler/emit/ModelInfo.h"
#include "compiler/reference/Interpreter.h"
#include "dialect/AttnDialect.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <fmt/format.h>

using namespace llvm;

namespace attn::tool {
namespace {

/// Relative L2 error that f32 arithmetic explains: a few roundings of 6e-8 for each of some hundred
/// layers' operations, which add up as a random walk.
constexpr double referenceBound = 1e-5;
/// What rounding weights to bf16 or f16 explains, and weights and activations to int8: half a step
/// of 2^-8 or 2^-11 of each weight, and of 1/127 of a column's or 1/255 of a row's largest element.
constexpr double bf16Bound = 2e-2, f16Bound = 4e-3, int8Bound = 5e-2;
/// A step of int4 is a quarter of a normal deviate: 8 % of error for each linear.
constexpr double int4Bound = 3e-1;
/// Against another f32 computation, whose roundings come on top.
constexpr double againstBound = 1e-4;

double boundOf(Precision precision) {
  return precision == Precision::F32    ? referenceBound
         : precision == Precision::TF32 ? referenceBound // CPUs multiply f32
         : precision == Precision::BF16 ? bf16Bound
         : precision == Precision::F16  ? f16Bound
         : precision == Precision::Int8 ? int8Bound
                                        : int4Bound;
}

struct Difference {
  double maxAbsolute = 0, relativeL2 = 0;
};

/// NaN and infinities are equal to themselves; other than that they differ by infinity.
Difference compare(ArrayRef<double> got, ArrayRef<double> expected) {
  Difference difference;
  double errorSquares = 0, squares = 0;
  for (auto [a, b] : zip_equal(got, expected)) {
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    double error = std::isfinite(a) && std::isfinite(b) ? std::fabs(a - b) : INFINITY;
    difference.maxAbsolute = std::max(difference.maxAbsolute, error);
    errorSquares += error * error;
  }
  for (double b : expected)
    squares += std::isfinite(b) ? b * b : 0;
  if (errorSquares > 0)
    difference.relativeL2 = squares > 0 ? std::sqrt(errorSquares / squares) : INFINITY;
  return difference;
}

std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t size : shape)
    text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

class Verifier {
public:
  Verifier(Spec &spec, const opt::InputArgList &args) : spec(spec), args(args) {}

  int run(const CompileOptions &options) {
    if (int code = readOptions())
      return code;
    if (int code = model.compile(spec, options))
      return code;
    bound = std::max(boundOf(options.precision), boundOfCaches());
    runner = std::make_unique<Runner>(model.tables());
    if (int code = runner->bind(weights, seed, threads))
      return code;
    StringRef against = args.getLastArgValue(OPT_against);
    int code = against.empty() ? verifyEntries() : verifyAgainst(against);
    if (code != Ok || !hasDifference)
      return code;
    return fail(Differs,
                fmt::format("the largest relative L2 error, {:.2e}, is past the bound {:.0e}",
                            worst, bound));
  }

private:
  int readOptions();
  int chooseEntries(SmallVectorImpl<int32_t> &entries) const;
  int verifyEntries();
  int verifyEntry(int32_t entry, int64_t size);
  /// What rounding what caches keep explains.
  double boundOfCaches() const;
  int verifyAgainst(StringRef path);
  Expected<std::vector<reference::Tensor>> interpretEntry(StringRef entry,
                                                          ArrayRef<Numbers> inputs);
  void report(StringRef what, const Numbers &got, ArrayRef<double> expected);

  Spec &spec;
  const opt::InputArgList &args;
  LoadedModel model;
  std::unique_ptr<Runner> runner;
  reference::Caches kept;
  std::string weights; // empty: random
  uint64_t seed = 0;
  int32_t threads = 0;
  std::vector<std::pair<std::string, std::string>> inputs;
  double bound = referenceBound, worst = 0;
  bool hasDifference = false;
};

int Verifier::readOptions() {
  weights = args.getLastArgValue(OPT_weights).str();
  StringRef rest = weights;
  if (rest.consume_front("random") && (rest.empty() || rest.starts_with(":"))) {
    if (rest.consume_front(":") && rest.getAsInteger(10, seed))
      return fail(Usage, "`--weights " + Twine(weights) + "`: expected random:SEED");
    weights.clear();
  }
  if (const opt::Arg *arg = args.getLastArg(OPT_seed))
    if (StringRef(arg->getValue()).getAsInteger(10, seed))
      return fail(Usage, "`--seed " + Twine(arg->getValue()) + "`: expected a number");
  if (const opt::Arg *arg = args.getLastArg(OPT_threads)) {
    auto number = parseNumber(arg->getValue(), 1, 1024);
    if (!number)
      return fail(Usage, "`--threads " + Twine(arg->getValue()) + "`: expected 1 to 1024");
    threads = int32_t(*number);
  }
  for (const std::string &text : args.getAllArgValues(OPT_input)) {
    auto [name, file] = StringRef(text).split('=');
    if (name.empty() || file.empty())
      return fail(Usage, "`--input " + text + "`: expected NAME=FILE");
    inputs.push_back({name.str(), file.str()});
  }
  return Ok;
}

int Verifier::chooseEntries(SmallVectorImpl<int32_t> &entries) const {
  StringRef wanted = args.getLastArgValue(OPT_entry);
  std::string names;
  for (int32_t i = 0; i < model.tables()->entryCount; ++i) {
    StringRef name = model.tables()->entries[i].name;
    names += (i ? ", `" : "`") + name.str() + "`";
    if (wanted.empty() || wanted == name)
      entries.push_back(i);
  }
  if (entries.empty())
    return fail(Usage, "the model has no entry `" + wanted + "`", "its entries are " + names);
  return Ok;
}

/// Every entry with all dynamic dims at 1, then again at 3, or their bound where that is less.
int Verifier::verifyEntries() {
  SmallVector<int32_t> entries;
  if (int code = chooseEntries(entries))
    return code;
  bool isDynamic = false;
  for (int32_t i = 0; i < model.tables()->dimCount; ++i)
    isDynamic |= model.tables()->dims[i].isDynamic && model.tables()->dims[i].value > 1;
  outs() << fmt::format("seed {}, bound {:.0e} (relative L2), weights {}\n", seed, bound,
                        weights.empty() ? "random" : weights);
  for (int64_t size : {1, 3}) {
    if (size > 1 && (!isDynamic || !inputs.empty()))
      continue;
    runner->emptyCaches();
    kept = {};
    // Twice, where the second call sees what the first has left.
    for (int round = 0; round < (model.tables()->cacheCount ? 2 : 1); ++round)
      for (int32_t entry : entries)
        if (int code = verifyEntry(entry, size))
          return code;
  }
  return Ok;
}

Expected<std::vector<reference::Tensor>> Verifier::interpretEntry(StringRef entry,
                                                                  ArrayRef<Numbers> given) {
  std::vector<reference::Tensor> tensors;
  for (const Numbers &input : given)
    tensors.push_back({SmallVector<int64_t>(input.shape.begin(), input.shape.end()), input.values});
  auto load = [&](StringRef name, ArrayRef<int64_t> shape) -> Expected<std::vector<double>> {
    std::vector<double> values;
    if (runner->readWeights(name.str(), shape.vec(), values))
      return values;
    return createStringError("tensor `" + name + "` cannot be read");
  };
  return reference::interpret(spec.module(), entry, tensors, load, kept);
}

double Verifier::boundOfCaches() const {
  double most = 0;
  for (const attn_abi_cache &cache :
       ArrayRef(model.tables()->caches, size_t(model.tables()->cacheCount))) {
    int32_t dtype = cache.stateCount ? cache.states[0].tensor.dtype : ATTN_F32;
    most = std::max(most, dtype == ATTN_BF16 ? bf16Bound : dtype == ATTN_F16 ? f16Bound : 0);
  }
  return most;
}

int Verifier::verifyEntry(int32_t entry, int64_t size) {
  Runner::Request request;
  request.entry = entry;
  request.inputs = inputs;
  request.seed = seed;
  std::string sizes;
  ArrayRef<attn_abi_cache> caches(model.tables()->caches, size_t(model.tables()->cacheCount));
  for (int32_t i = 0; i < model.tables()->dimCount; ++i) {
    const attn_abi_dim &dim = model.tables()->dims[i];
    if (!dim.isDynamic)
      continue;
    if (llvm::any_of(caches, [&](const attn_abi_cache &cache) { return cache.dim == i; }))
      continue; // its size is what it holds
    request.sizes.push_back({dim.name, std::min(size, dim.value)});
    sizes += fmt::format(" {} = {}", dim.name, std::min(size, dim.value));
  }
  std::vector<Numbers> given, made;
  if (int code = runner->run(request, given, made))
    return code;
  StringRef name = model.tables()->entries[entry].name;
  for (const attn_abi_cache &cache : caches)
    sizes += fmt::format(" {} = {}", cache.name, kept.lengths[cache.name]);
  auto expected = interpretEntry(name, given);
  if (!expected)
    return fail(Internal, "the reference interpreter: " + toString(expected.takeError()));
  for (auto [got, wanted] : zip_equal(made, *expected)) {
    if (!equal(got.shape, wanted.shape))
      return fail(Internal, "`" + name + "` gives " + shapeText(got.shape) +
                                ", the reference interpreter " + shapeText(wanted.shape));
    report((name + (inputs.empty() ? Twine(sizes) : Twine(""))).str(), got, wanted.data);
  }
  return Ok;
}

void Verifier::report(StringRef what, const Numbers &got, ArrayRef<double> expected) {
  Difference difference = compare(got.values, expected);
  bool isPast = !(difference.relativeL2 <= bound + got.rounding);
  outs() << fmt::format("{:<24} {:<16} {:<16} max abs {:.2e}, relative L2 {:.2e}{}\n", what.str(),
                        got.name, shapeText(got.shape), difference.maxAbsolute,
                        difference.relativeL2, isPast ? "  past the bound" : "");
  outs().flush();
  if (isPast)
    worst = std::max(worst, difference.relativeL2);
  hasDifference |= isPast;
}

int Verifier::verifyAgainst(StringRef path) {
  SmallVector<int32_t> entries;
  if (int code = chooseEntries(entries))
    return code;
  if (entries.size() > 1)
    return fail(Usage, "the model has several entries: say which by `--entry`");
  if (inputs.empty())
    return fail(Usage, "`--against` needs the inputs that its file was computed from",
                "pass `--input NAME=FILE`");
  const attn_abi_entry &entry = model.tables()->entries[entries.front()];
  StringRef outputName = entry.outputs[0].name, file = path;
  if (path.contains('=') && entry.outputCount > 1)
    std::tie(outputName, file) = path.split('=');
  Numbers expected;
  if (int code = readNumbers(file.str(), expected))
    return code;
  Runner::Request request;
  request.entry = entries.front();
  request.inputs = inputs;
  request.seed = seed;
  std::vector<Numbers> given, made;
  if (int code = runner->run(request, given, made))
    return code;
  bound = std::max(bound, againstBound);
  outs() << fmt::format("against {}, bound {:.0e} (relative L2), weights {}\n", file.str(), bound,
                        weights.empty() ? fmt::format("random, seed {}", seed) : weights);
  for (const Numbers &got : made) {
    if (got.name != outputName)
      continue;
    if (got.shape != expected.shape)
      return fail(BadInput, "`" + file + "` is " + shapeText(expected.shape) + ", but output `" +
                                got.name + "` is " + shapeText(got.shape));
    report(entry.name, got, expected.values);
    return Ok;
  }
  return fail(Usage, "entry `" + Twine(entry.name) + "` has no output `" + outputName + "`");
}

} // namespace

int runVerify(const opt::InputArgList &args) {
  CompileOptions options;
  Spec spec;
  if (int code = loadForCompiling(args, options, spec))
    return code;
  return Verifier(spec, args).run(options);
}

} // namespace attn::tool
