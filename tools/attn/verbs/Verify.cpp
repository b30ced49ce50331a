// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `attn verify`: compiled code against the reference interpreter in double precision, entry by
// entry, or against an output that something else computed.
#include "Verbs.h"
#include "Verifier.h"
#include "compiler/emit/ModelInfo.h"
#include "dialect/WeightFormat.h"
#include "tools/attn/support/Report.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <fmt/format.h>

using namespace llvm;

namespace attn::tool {

/// Against another f32 computation, whose roundings come on top.
static constexpr double againstBound = 1e-4;

int Verifier::run(const CompileOptions &options) {
  if (int code = readOptions())
    return code;
  ownOutputs = spec.ownOutputs();
  tapPlaces = spec.tapPlaces();
  if (int code = compile(options))
    return code;
  bound = std::max(formatOf(options.precision).bound, boundOfCaches());
  runner = std::make_unique<Runner>(model.tables());
  if (emulator)
    runner->emulate(*emulator);
  Runner::Sizes sizes;
  if (int code = runner->readSizes(args.getAllArgValues(OPT_set_size), sizes))
    return code;
  choice = std::make_unique<SizeChoice>(spec.module(), *model.tables(), sizes);
  if (int code = runner->bind(weights, seed, threads))
    return code;
  StringRef against = args.getLastArgValue(OPT_against);
  int code = against.empty() ? verifyEntries() : verifyAgainst(against);
  return code ? code : conclude();
}

int Verifier::compile(const CompileOptions &options) {
  StringRef command = args.getLastArgValue(OPT_emulator);
  if (command.empty())
    return model.compile(spec, args, options);
  // The model's tables, and how much there is to do, are asked of code for this machine.
  CompileOptions own = options, emulated = options;
  const CpuTarget *host = CpuTarget::ofHost();
  own.targets = TargetSet();
  if (!host || !own.targets.add(host->usefulFor(options.precision).name))
    return fail(Environment, "`--emulator` needs a machine that there is code for");
  emulated.targets = options.targets.onlyLevels();
  if (int code = model.compile(spec, args, own))
    return code;
  emulator = std::make_unique<Emulator>(command.str());
  std::vector<std::string> arguments{"--weights",
                                     weights.empty() ? "random:" + std::to_string(seed) : weights};
  if (threads)
    arguments.insert(arguments.end(), {"--threads", std::to_string(threads)});
  emulator->setArguments(arguments);
  return emulator->build(spec, emulated);
}

int Verifier::readOptions() {
  weights = spec.weights(args);
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

/// Every entry with all sizes that are known only when running at 1, then at 3, then longer ones.
int Verifier::verifyEntries() {
  SmallVector<int32_t> entries, plain;
  if (int code = chooseEntries(entries))
    return code;
  say(fmt::format("seed {}, bound {:.0e} (relative L2), weights {}", seed, bound,
                  weights.empty() ? "random" : weights));
  for (int32_t entry : entries)
    if (entryAt(entry).unfold)
      say(fmt::format("{}: its entries are verified by themselves", entryAt(entry).name));
  copy_if(entries, std::back_inserter(plain),
          [&](int32_t entry) { return !continues(entry) && !entryAt(entry).unfold; });
  for (int64_t size : {1, 3})
    if (int code = verifyRound(plain, size))
      return code;
  for (int32_t entry : plain)
    if (int code = inputs.empty() ? verifyLonger(entry) : Ok)
      return code;
  for (int32_t cache = 0; cache < model.tables()->cacheCount; ++cache) {
    SmallVector<int32_t> own;
    copy_if(entries, std::back_inserter(own), [&](int32_t entry) {
      const attn_abi_cache_use *push = pushOf(entryAt(entry));
      return push && push->cache == cache;
    });
    if (emulator && !own.empty())
      say(fmt::format("{}: first calls, for a program begins with an empty cache",
                      model.tables()->caches[cache].name));
    if (int code = own.empty() ? Ok : verifyCache(cache, own))
      return code;
  }
  for (int32_t entry : entries)
    for (int64_t batch : {1, 3})
      if (continues(entry) && !pushOf(entryAt(entry)))
        if (int code = verifySteps(entry, batch))
          return code;
  return Ok;
}

int Verifier::verifyRound(ArrayRef<int32_t> entries, int64_t size) {
  for (int32_t entry : entries)
    if (size == 1 || inputs.empty())
      if (int code = verifyEntry(entry, choice->uniform(entryAt(entry), size)))
        return code;
  return Ok;
}

int Verifier::verifyLonger(int32_t entry) {
  auto operations = [&](const Runner::Sizes &sizes) {
    return runner->operations(entry, sizes, /*cached=*/0);
  };
  for (const Runner::Sizes &sizes : choice->longer(entryAt(entry), operations))
    if (int code = verifyEntry(entry, sizes))
      return code;
  return Ok;
}

int Verifier::interpret(int32_t entry, ArrayRef<Numbers> given, reference::Caches &caches,
                        Tensors &results) {
  Tensors tensors;
  for (const Numbers &input : given)
    tensors.push_back({SmallVector<int64_t>(input.shape.begin(), input.shape.end()), input.values});
  StringRef name = entryAt(entry).name;
  progress.show("verifying " + name +
                (given.empty() ? "" : " of " + shapeText(given.front().shape)));
  std::string unreadable;
  auto load = [&](StringRef name, ArrayRef<int64_t> shape) -> Expected<std::vector<double>> {
    std::vector<double> values;
    if (runner->readWeights(name.str(), shape.vec(), values, unreadable))
      return values;
    return createStringError("tensor `" + name + "` cannot be read");
  };
  auto computed = reference::interpret(spec.module(), name, tensors, load, caches);
  if (computed) {
    results = std::move(*computed);
    return Ok;
  }
  std::string problem = toString(computed.takeError());
  return unreadable.empty() ? fail(Internal, "the reference interpreter: " + problem)
                            : failWithMessage(Environment, unreadable);
}

double Verifier::boundOfCaches() const {
  double most = 0;
  for (const attn_abi_cache &cache :
       ArrayRef(model.tables()->caches, size_t(model.tables()->cacheCount))) {
    int32_t dtype = cache.stateCount ? cache.states[0].tensor.dtype : ATTN_F32;
    if (dtype == ATTN_BF16 || dtype == ATTN_F16)
      most = std::max(most, formatOf(dtype == ATTN_BF16 ? Precision::BF16 : Precision::F16).bound);
  }
  return most;
}

int Verifier::verifyEntry(int32_t entry, const Runner::Sizes &sizes) {
  std::string what = entryAt(entry).name + (inputs.empty() ? sizesText(sizes) : "");
  if (!done.insert(what).second)
    return Ok;
  Runner::Request request;
  request.entry = entry;
  request.inputs = inputs;
  request.sizes = sizes;
  request.seed = seed;
  std::vector<Numbers> given, made;
  if (int code = runner->read(request, given))
    return code;
  if (int code = runner->run(entry, given, made))
    return code;
  reference::Caches none;
  Tensors expected;
  if (int code = interpret(entry, given, none, expected))
    return code;
  bool isSmallest = all_of(sizes, [](const auto &size) { return size.second == 1; });
  for (auto [got, wanted] : zip_equal(made, expected))
    if (int code = checkShape(entryAt(entry).name, got, wanted.shape))
      return code;
  forOutputs(entry, [&](size_t output) {
    const Numbers &got = made[output];
    Difference difference;
    difference.add(got.values, expected[output].data, got.shape);
    report(entry, what, got, difference, isSmallest && !sizes.empty());
  });
  return Ok;
}

int checkShape(StringRef entry, const Numbers &got, ArrayRef<int64_t> expected) {
  if (equal(got.shape, expected))
    return Ok;
  return fail(Internal, "`" + entry + "` gives " + shapeText(got.shape) +
                            ", the reference interpreter " + shapeText(expected));
}

/// JSON has no infinities and no NaN.
static json::Value finite(double number) {
  return std::isfinite(number) ? json::Value(number) : json::Value(nullptr);
}

void Verifier::say(const std::string &line) const {
  if (args.hasArg(OPT_json))
    return;
  Progress::erase();
  outs() << line << '\n';
  outs().flush();
}

void Verifier::report(int32_t entry, StringRef what, const Numbers &got,
                      const Difference &difference, bool isSmallest) {
  double error = difference.relativeL2();
  bool isPast = !(error <= bound + got.rounding);
  // Where every size is 1, softmax has one key and its weights are 1: nothing to wonder about. So
  // is the log-sum-exp of the one row of a mask that does not see itself.
  std::string remark = difference.remark();
  if (isSmallest && StringRef(remark).ends_with("little"))
    remark.clear();
  bool isEmpty = difference.isEmpty() && !(isSmallest && difference.isInfinite());
  std::string bad = difference.notNumbers(), line = what.trim().str();
  results.push_back(json::Object{{"call", line},
                                 {"entry", entryAt(entry).name},
                                 {"output", got.name},
                                 {"at", tapPlaces[size_t(entry)].lookup(got.name)},
                                 {"shape", json::Array(got.shape)},
                                 {"least", difference.least()},
                                 {"greatest", difference.greatest()},
                                 {"max_abs", finite(difference.maxAbsolute())},
                                 {"relative_l2", finite(error)},
                                 {"past_bound", isPast},
                                 {"not_numbers", bad},
                                 {"remark", remark}});
  say(fmt::format("{:<24} {:<16} {:<16} max abs {:.2e}, relative L2 {:.2e}{}{}{}", what.str(),
                  got.name, shapeText(got.shape), difference.maxAbsolute(), error,
                  isPast ? "  past the bound" : "", bad.empty() ? "" : "  (" + bad + ")",
                  remark.empty() ? "" : "  (" + remark + ")"));
  if (difference.hasBad() && firstBad.empty())
    firstBad = fmt::format("`{}` of {} ({})", got.name, line, bad);
  if (isEmpty && firstEmpty.empty())
    firstEmpty = fmt::format("`{}` of {}", got.name, line);
  if (isPast && firstPast.empty())
    firstPast = fmt::format("`{}` of {}", got.name, line);
  if (isPast)
    worst = std::max(worst, error);
}

void Verifier::forOutputs(int32_t entry, function_ref<void(size_t)> body) const {
  int32_t all = entryAt(entry).outputCount, own = ownOutputs[size_t(entry)];
  for (int32_t tap = own; tap < all; ++tap)
    body(size_t(tap));
  for (int32_t output = 0; output < own; ++output)
    body(size_t(output));
}

int Verifier::conclude() const {
  if (args.hasArg(OPT_json))
    outs() << json::Value(json::Object{{"schema", "attn.verify"},
                                       {"schema_version", 1},
                                       {"model", model.tables()->name},
                                       {"seed", seed},
                                       {"bound", bound},
                                       {"weights", weights.empty() ? "random" : weights},
                                       {"results", json::Array(results)},
                                       {"first_not_numbers", firstBad},
                                       {"first_past_bound", firstPast},
                                       {"first_empty", firstEmpty}})
           << '\n';
  if (!firstBad.empty())
    say("the first with NaN, or with infinities on one side only, in the order of computing: " +
        firstBad);
  if (!firstPast.empty())
    return fail(Differs,
                fmt::format("the largest relative L2 error, {:.2e}, is past the bound {:.0e}",
                            worst, bound),
                "the first past it, in the order of computing, is " + firstPast);
  if (!firstEmpty.empty())
    return fail(Differs, "nothing is left to compare of " + firstEmpty +
                             ": all of it is NaN or infinite on both sides");
  return Ok;
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
  request.sizes = choice->uniform(entry, 1);
  request.seed = seed;
  std::vector<Numbers> given, made;
  if (int code = runner->read(request, given))
    return code;
  if (int code = runner->run(request.entry, given, made))
    return code;
  bound = std::max(bound, againstBound);
  say(fmt::format("against {}, bound {:.0e} (relative L2), weights {}", file.str(), bound,
                  weights.empty() ? fmt::format("random, seed {}", seed) : weights));
  for (const Numbers &got : made) {
    if (got.name != outputName)
      continue;
    if (got.shape != expected.shape)
      return fail(BadInput, "`" + file + "` is " + shapeText(expected.shape) + ", but output `" +
                                got.name + "` is " + shapeText(got.shape));
    Difference difference;
    difference.add(got.values, expected.values, got.shape);
    report(request.entry, entry.name, got, difference);
    return Ok;
  }
  return fail(Usage, "entry `" + Twine(entry.name) + "` has no output `" + outputName + "`");
}

int runVerify(const opt::InputArgList &args) {
  CompileOptions options;
  Spec spec;
  if (int code = loadForCompiling(args, options, spec))
    return code;
  return Verifier(spec, args).run(options);
}

} // namespace attn::tool
