// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of a model to the tiles that are fastest on this machine, knob by knob.
#include "Tuner.h"
#include "compiler/emit/ModelInfo.h"
#include "dialect/AttnDialect.h"
#include "tools/attn/build/TuningFile.h"
#include "tools/attn/support/Report.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Parallel.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <fmt/format.h>
#include <limits>

using namespace llvm;

namespace attn::tool {

/// A choice is taken where it takes this part of the time or less, and kept where it takes that in
/// a second comparison: on a calm machine the same code differs by two percent from one comparison
/// to the next.
static constexpr double takenBelow = 0.97, keptBelow = 0.98;

/// Runs of a variant in a turn, of which the fastest counts.
static constexpr int runsOfTurn = 3;

/// The length of a comparison whose number of turns is not given.
static constexpr double secondsOfComparison = 2.5;

static double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static double quantile(std::vector<double> values, double part) {
  auto place = values.begin() + ptrdiff_t(double(values.size() - 1) * part);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

/// Turn by turn what part of the other time a variant took: speeds change within seconds, so only
/// times of one turn are compared.
static std::vector<double> ratiosOf(ArrayRef<double> own, ArrayRef<double> other) {
  std::vector<double> ratios;
  for (auto [a, b] : zip_equal(own, other))
    ratios.push_back(a / b);
  return ratios;
}

/// Whether a variant took less than `part` of the other time, by minima as by the median turn, and
/// less time at all in three turns of four.
static bool isFaster(ArrayRef<double> own, ArrayRef<double> other, double part) {
  std::vector<double> ratios = ratiosOf(own, other);
  double minima = *llvm::min_element(own) / *llvm::min_element(other);
  return std::max(minima, quantile(ratios, 0.5)) <= part && quantile(ratios, 0.75) < 1;
}

Tuner::Tuner(Spec &spec, CompileOptions given, TunerOptions how)
    : spec(spec), options(std::move(given)), how(std::move(how)),
      timer(this->how.threads, this->how.sizes) {
  options.dumpStages.clear();
  options.embedWeights = false;
}

int Tuner::findKernels() {
  SmallVector<int64_t> dims;
  for (DimOp dim : spec.module().getOps<DimOp>()) {
    if (!dim.getDynamic())
      continue;
    dims.push_back(1);
    for (const auto &[name, size] : how.sizes)
      if (dim.getSymName() == StringRef(name))
        dims.back() = size;
  }
  DiagnosticPrinter printer(spec.context());
  auto memory = lowerTo(spec.module(), Stage::Memory, options);
  if (memory.empty())
    return printer.failure();
  const CpuTarget *target = options.targets.levels.front();
  kernels = tunableKernels(*memory.front().module, *target, dims);
  best.resize(kernels.size());
  return Ok;
}

CompileOptions Tuner::optionsFor(const Choices &choices) const {
  CompileOptions own = options;
  own.tuning.clear();
  auto &ofLevel = own.tuning[options.targets.levels.front()->name.str()];
  for (auto [kernel, choice] : zip_equal(kernels, choices))
    if (!choice.empty())
      ofLevel[kernel.name] = choice;
  return own;
}

int Tuner::add(const std::vector<Choices> &variants) {
  std::vector<std::unique_ptr<MemoryBuffer>> objects(variants.size());
  DiagnosticPrinter printer(spec.context());
  parallelFor(0, variants.size(), [&](size_t i) {
    objects[i] = compileToObject(spec.module(), optionsFor(variants[i]));
  });
  for (std::unique_ptr<MemoryBuffer> &object : objects) {
    if (!object)
      return printer.failure();
    models.push_back(std::make_unique<LoadedModel>());
    if (int code = models.back()->load(std::move(object), modelSymbol(spec.module())))
      return code;
    if (int code = timer.add(models.back()->tables()))
      return code;
  }
  return Ok;
}

void Tuner::keep(size_t count) {
  timer.keep(count);
  models.resize(count);
}

int32_t Tuner::chooseTurns(double seconds, int64_t atLeast) const {
  constexpr double most = 100;
  if (how.turns)
    return int32_t(how.turns);
  return int32_t(std::clamp(secondsOfComparison / seconds, double(atLeast), most));
}

int Tuner::measure(int64_t turnsAtLeast, std::vector<std::vector<Turns>> &times) {
  size_t count = models.size();
  times.assign(count, std::vector<Turns>(kernels.size()));
  size_t numbers = size_t(models.front()->tables()->kernelCount);
  double begin = 0;
  for (int pass = 0; pass < 2; ++pass) { // the first one touches pages and is not timed
    begin = seconds();
    for (size_t variant = 0; variant < count; ++variant) {
      std::vector<double> unused(numbers, 0);
      if (int code = timer.run(variant, unused))
        return code;
    }
  }
  int32_t turns = chooseTurns((seconds() - begin) * runsOfTurn, turnsAtLeast);
  for (int32_t turn = 0; turn < turns; ++turn)
    for (size_t i = 0; i < count; ++i) {
      size_t variant = (i + size_t(turn)) % count; // nobody always comes first
      std::vector<double> own(numbers, std::numeric_limits<double>::infinity());
      for (int run = 0; run < runsOfTurn; ++run)
        if (int code = timer.run(variant, own))
          return code;
      for (auto [kernel, turnsOfKernel] : zip_equal(kernels, times[variant])) {
        double sum = 0;
        for (int32_t number : kernel.numbers)
          sum += own[size_t(number)];
        turnsOfKernel.push_back(sum);
      }
    }
  return Ok;
}

/// The `number`th knob of each kernel.
int Tuner::tryKnobs(size_t number) {
  struct Trial {
    Knob knob;
    SmallVector<int64_t> values;
  };
  std::vector<std::optional<Trial>> trials(kernels.size());
  size_t variants = 0;
  for (auto [kernel, choice, trial] : zip_equal(kernels, best, trials)) {
    if (number >= kernel.knobs().size())
      continue;
    Knob knob = kernel.knobs()[number];
    if (knob == Knob::Lowering && options.attention)
      continue; // another one was asked for
    trial = Trial{knob, kernel.alternatives(knob, choice)};
    variants = std::max(variants, trial->values.size());
  }
  if (variants == 0)
    return Ok;
  double begin = seconds();
  keep(1); // the defaults, whose weights all share
  std::vector<Choices> added;
  if (any_of(best, [](const KernelChoice &choice) { return !choice.empty(); }))
    added.push_back(best);
  size_t current = added.size();
  for (size_t i = 0; i < variants; ++i) {
    added.push_back(best);
    for (auto [choice, trial] : zip_equal(added.back(), trials))
      if (trial && i < trial->values.size())
        choice[trial->knob] = trial->values[i];
  }
  if (int code = add(added))
    return code;
  std::vector<std::vector<Turns>> times;
  if (int code = measure(5, times))
    return code;
  SmallVector<StringRef> names;
  for (const auto &trial : trials)
    if (trial && !is_contained(names, knobName(trial->knob)))
      names.push_back(knobName(trial->knob));
  say(fmt::format("  {}: {} variants, {:.1f} s\n", join(names, ", "), models.size(),
                  seconds() - begin));
  for (size_t k = 0; k < kernels.size(); ++k) {
    double least = 1;
    for (size_t i = 0; trials[k] && i < trials[k]->values.size(); ++i) {
      const Turns &own = times[current + 1 + i][k], &other = times[current][k];
      double ratio = quantile(ratiosOf(own, other), 0.5);
      if (ratio >= least || !isFaster(own, other, takenBelow))
        continue;
      least = ratio;
      best[k][trials[k]->knob] = trials[k]->values[i];
    }
  }
  return Ok;
}

/// What is chosen, once more: of many comparisons, some come out well by chance, or because buffers
/// and code of a variant happened to lie well. Two of each are compared, all with all.
int Tuner::confirm() {
  keep(1);
  const Choices defaults(kernels.size());
  if (any_of(best, [](const KernelChoice &choice) { return !choice.empty(); }))
    if (int code = add({defaults, best, best}))
      return code;
  size_t firstTuned = models.size() / 2;
  std::vector<std::vector<Turns>> measured;
  if (int code = measure(10, measured))
    return code;
  for (auto [k, choice] : enumerate(best)) {
    auto least = [&, k = k](size_t from, size_t to) {
      double time = std::numeric_limits<double>::infinity();
      for (size_t variant = from; variant < to; ++variant)
        time = std::min(time, *llvm::min_element(measured[variant][k]));
      return time;
    };
    for (size_t own = firstTuned; own < models.size(); ++own)
      for (size_t other = 0; other < firstTuned; ++other)
        if (!isFaster(measured[own][k], measured[other][k], keptBelow))
          choice.clear();
    defaultTimes.push_back(least(0, std::max<size_t>(firstTuned, 1)));
    times.push_back(choice.empty() ? defaultTimes.back() : least(firstTuned, models.size()));
  }
  return Ok;
}

int Tuner::run(Tuning &tuning) {
  if (int code = findKernels())
    return code;
  std::string level = options.targets.levels.front()->name.str();
  if (kernels.empty()) {
    note("at these sizes no kernel has tiles to choose for " + level +
         "; `--set DIM=N` gives dynamic dims others");
    return Ok;
  }
  if (int code = add({best}))
    return code;
  say(fmt::format("tuning {} kinds of kernels for {}, {} threads\n", kernels.size(), level,
                  timer.threads()));
  constexpr size_t mostKnobs = 4;
  for (size_t number = 0; number < mostKnobs; ++number) {
    if (int code = tryKnobs(number))
      return code;
  }
  if (int code = confirm())
    return code;
  say(fmt::format("  {:<56} {:>10} {:>10}\n", "a run's time in", "default", "tuned"));
  for (auto [k, kernel] : enumerate(kernels)) {
    say(fmt::format("  {:<56} {:>7.1f} us {:>7.1f} us  {}\n", kernel.name, 1e-3 * defaultTimes[k],
                    1e-3 * times[k], choiceText(best[k])));
    tuning.set({hostCpuName(), level, kernel.name, timer.threads(), best[k],
                int64_t(defaultTimes[k]), int64_t(times[k])});
  }
  return Ok;
}

} // namespace attn::tool
