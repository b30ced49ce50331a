// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measured choices of tiles, in a file that `attn compile --tune` writes and later compilations
// take:
//
//   {"version": 1,
//    "kernels": [
//      {"cpu": "AMD EPYC 9R14", "level": "x86-64-v4", "threads": 2,
//       "kernel": "linear f32, 197 rows of 768 -> 2304", "choice": {"rows": 6, "steps": 384},
//       "default_ns": 1520000, "ns": 1410000}]}
//
// A kernel's entry holds for one CPU, by the name that cpuid gives it; without "cpu" for all.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// What can be chosen: of linears, then of attentions. Each has one word in the file.
enum class Knob {
  Rows,    ///< "rows": of a register block, at most
  Steps,   ///< "steps": of a part of k, at most
  Group,   ///< "group": rows that go through all panels of a part together, at most
  Unroll,  ///< "unroll": steps of k in an iteration
  Keys,    ///< "keys": of a tile, at most
  Blocks,  ///< "blocks": of queries that go through the keys together, at most
  Lowering ///< "lowering": an AttentionLowering
};
/// The word of a knob in the file, and back.
llvm::StringRef knobName(Knob knob);
std::optional<Knob> parseKnob(llvm::StringRef name);

/// The values that code can be written for, at a CPU level; every `multiple` of them.
struct KnobRange {
  int64_t least, most, multiple;
  /// Whether there is code for a value.
  bool holds(int64_t value) const {
    return value >= least && value <= most && value % multiple == 0;
  }
};
/// The values of a knob at a CPU level.
KnobRange rangeOf(Knob knob, llvm::StringRef level);

/// Knobs that are set, with their values.
struct KernelChoice : std::map<Knob, int64_t> {
  /// The value of a knob, where it is set.
  std::optional<int64_t> get(Knob knob) const {
    auto found = find(knob);
    return found == end() ? std::nullopt : std::optional(found->second);
  }
};

/// "rows 6, lowering strip"
std::string choiceText(const KernelChoice &choice);

/// By the name of a CPU level, then by kernel.
using TunedChoices = std::map<std::string, std::map<std::string, KernelChoice>>;

/// What was measured for the kernels of one shape.
struct TunedKernel {
  std::string cpu, level, kernel;
  int64_t threads = 0;
  KernelChoice choice;               ///< empty: the defaults were fastest
  int64_t defaultTime = 0, time = 0; ///< ns of a run
};

/// The content of a tuning file.
struct Tuning {
  std::vector<TunedKernel> kernels;

  /// The text of a file. An error says what was found where and what was expected.
  static llvm::Expected<Tuning> parse(llvm::StringRef text);
  std::string print() const;

  /// Takes a kernel's entry in the place of the one there is for the same kernel, level and CPU.
  void set(TunedKernel kernel);
  /// What holds for a CPU: entries with its name before those for all.
  TunedChoices choicesFor(llvm::StringRef cpu) const;
};

} // namespace attn
