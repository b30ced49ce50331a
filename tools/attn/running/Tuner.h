// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The search for tiles at one CPU level. The whole model is compiled with other values of one knob
// of each kernel, one variant a value, and the variants run in turns, in this process; a kernel
// keeps the value that is clearly fastest, then comes the next knob. At the end the choices are
// held against the defaults once more, and those that do not hold are dropped.
#pragma once

#include "KernelTimer.h"
#include "compiler/cpu/TunableKernels.h"
#include "tools/attn/build/Build.h"

namespace attn::tool {

/// How the tuner measures.
struct TunerOptions {
  int32_t threads = 0;
  int64_t turns = 0; ///< of each comparison; 0: as many as take a few seconds
  std::vector<std::pair<std::string, int64_t>> sizes; ///< of dynamic dims, 1 otherwise
};

/// Looks for faster tiles for the kernels of one spec. It is used once.
class Tuner {
public:
  /// `options` name one level, which this machine can run.
  Tuner(Spec &spec, CompileOptions options, TunerOptions how);

  /// Adds what was found. 0, or an exit code after an error has been printed.
  int run(Tuning &tuning);

private:
  /// A choice for each kernel.
  using Choices = std::vector<KernelChoice>;
  /// Nanoseconds, turn by turn.
  using Turns = std::vector<double>;

  /// Finds the kernels that have something to choose. 0, or an exit code after an error.
  int findKernels();
  /// The options of a compilation in which the kernels have these choices.
  CompileOptions optionsFor(const Choices &choices) const;
  /// Compiles variants and hands them to the timer.
  int add(const std::vector<Choices> &variants);
  void keep(size_t count);
  /// times[variant][kernel]
  int measure(int64_t turnsAtLeast, std::vector<std::vector<Turns>> &times);
  int32_t chooseTurns(double seconds, int64_t atLeast) const;
  int tryKnobs(size_t number);
  int confirm();

  Spec &spec;
  CompileOptions options;
  TunerOptions how;
  std::vector<TunableKernel> kernels;
  Choices best;
  std::vector<double> defaultTimes, times; ///< of each kernel, at the end
  std::vector<std::unique_ptr<LoadedModel>> models;
  KernelTimer timer; // destroyed before the code that it runs
};

} // namespace attn::tool
