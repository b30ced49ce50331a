// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One run of `attn verify`: entries that need no call before them at several sizes (Verify.cpp),
// others in calls that continue each other (VerifyCaches.cpp).
#pragma once

#include "VerifySizes.h"
#include "compiler/reference/Interpreter.h"
#include "tools/attn/build/Build.h"
#include "tools/attn/running/Emulator.h"
#include "tools/attn/support/Difference.h"
#include "tools/attn/support/Progress.h"
#include "llvm/Support/JSON.h"

namespace attn::tool {

/// One run of `attn verify`. It is used once.
class Verifier {
public:
  Verifier(Spec &spec, const llvm::opt::InputArgList &args) : spec(spec), args(args) {}
  /// Compiles, runs and compares what the arguments ask for, and prints the report. The exit code.
  int run(const CompileOptions &options);

private:
  /// What the interpreter computes: the outputs of a call.
  using Tensors = std::vector<reference::Tensor>;
  /// A call among those that fill a cache: an entry and the positions that it adds.
  struct Cut {
    int32_t entry;
    int64_t rows;
  };
  /// A sequence of calls that begins with an empty cache. With `whole`, what `entry` would be given
  /// for all positions in one call, calls are given parts of that; else each has inputs of its own.
  struct Sequence {
    int32_t entry;
    std::vector<Cut> cuts;
    std::vector<Numbers> whole;
    Runner::Sizes sizes;
  };
  /// The outputs of each call of a sequence, by the compiled code and by the interpreter.
  struct Results {
    std::vector<std::vector<Numbers>> made;
    std::vector<Tensors> expected;
  };

  /// Reads the options of the verb, and what weights and inputs there are.
  int readOptions();
  /// Compiles for this machine; for another, whose code an emulator runs, too.
  int compile(const CompileOptions &options);
  /// The entries that are asked for, or all.
  int chooseEntries(llvm::SmallVectorImpl<int32_t> &entries) const;
  /// Compares entries with the interpreter. These functions give 0, or an exit code after an error
  /// that is no difference; differences are only noted.
  int verifyEntries();
  /// Compares one run of an entry without a cache, at these sizes.
  int verifyEntry(int32_t entry, const Runner::Sizes &sizes);
  /// Compares all entries at one size of all dims.
  int verifyRound(llvm::ArrayRef<int32_t> entries, int64_t size);
  /// Compares an entry at the longer sizes of SizeChoice.
  int verifyLonger(int32_t entry);
  /// Compares an entry's outputs with those of a file.
  int verifyAgainst(llvm::StringRef path);

  /// Whether an entry goes on where other calls have ended: it adds to a cache, or reads one.
  bool continues(int32_t entry) const {
    return pushOf(entryAt(entry)) || usesCache(entryAt(entry), ATTN_CACHE_READ);
  }
  /// The dim of the cache whose positions an entry adds to; -1 where there is none.
  int32_t cacheDim(const attn_abi_entry &entry) const {
    const attn_abi_cache_use *push = pushOf(entry);
    return push ? model.tables()->caches[push->cache].dim : -1;
  }
  /// Lets calls that fill what others read come before them.
  void fillFirst(Sequence &sequence) const;
  /// Compares the entries that add to a cache.
  int verifyCache(int32_t cache, llvm::ArrayRef<int32_t> entries);
  /// Compares a sequence of an entry that takes any number of positions, cut in two ways.
  int verifyPositions(int32_t entry, llvm::ArrayRef<int32_t> steps, int64_t batch,
                      int64_t positions);
  /// Compares entries of a fixed number of positions, in turns.
  int verifySteps(llvm::ArrayRef<int32_t> entries, int64_t batch);
  /// Compares the calls of one sequence, and the sequence with one call where it has a whole.
  int verifySequence(Sequence sequence);
  /// The inputs of a call whose positions begin at `begin`.
  int givenTo(const Sequence &sequence, const Cut &cut, int64_t begin, std::vector<Numbers> &given);
  /// Runs the calls of a sequence, by compiled code and by the interpreter.
  int runCuts(const Sequence &sequence, Results &results);
  /// Prints a line for each entry and output, of all its calls.
  void reportCuts(const Sequence &sequence, const Results &results);
  /// Compares the calls' outputs with those of one call for all positions, and prints the lines.
  int reportWhole(const Sequence &sequence, const Results &results);
  /// The calls of a sequence in words: "prefill 9, decode 1+1+1 B = 3".
  std::string cutsText(const Sequence &sequence) const;
  /// Cuts of `positions`: one long one and steps; or any, by the seed.
  std::vector<Cut> longThenSteps(int32_t entry, llvm::ArrayRef<int32_t> steps, int64_t positions);
  std::vector<Cut> randomCuts(int32_t entry, llvm::ArrayRef<int32_t> steps, int64_t positions);
  bool isStepOf(const attn_abi_entry &step, const attn_abi_entry &sequence) const;
  bool canBeCut(const attn_abi_entry &entry) const;

  /// 0 and what the interpreter computes, or an exit code after an error.
  int interpret(int32_t entry, llvm::ArrayRef<Numbers> inputs, reference::Caches &caches,
                Tensors &results);
  const attn_abi_entry &entryAt(int32_t entry) const { return model.tables()->entries[entry]; }
  /// What rounding what caches keep explains.
  double boundOfCaches() const;
  /// Calls `body` for each output of an entry in the order of computing: intermediates first.
  void forOutputs(int32_t entry, llvm::function_ref<void(size_t)> body) const;
  /// What is said at the end, and the exit code of what was compared.
  int conclude() const;
  /// A line for people; nothing with `--json`.
  void say(const std::string &line) const;
  /// A line of the report, of an output of `entry`; remarks on numbers that prove nothing.
  void report(int32_t entry, llvm::StringRef what, const Numbers &got, const Difference &difference,
              bool isSmallest = false);

  Spec &spec;
  const llvm::opt::InputArgList &args;
  LoadedModel model;
  std::unique_ptr<Emulator> emulator; ///< null: this machine runs the code
  std::unique_ptr<Runner> runner;
  Progress progress;
  std::unique_ptr<SizeChoice> choice;
  std::string weights; // empty: random
  uint64_t seed = 0;
  int32_t threads = 0;
  std::vector<std::pair<std::string, std::string>> inputs;
  double bound = 0, worst = 0;
  llvm::json::Array results; ///< the lines of the report
  /// Lines of the report: the first whose numbers are bad, past the bound, none to be compared.
  std::string firstBad, firstPast, firstEmpty;
  std::vector<int32_t> ownOutputs; ///< of each entry; behind them are named intermediates
  std::vector<llvm::StringMap<std::string>> tapPlaces; ///< of each entry's intermediates
  llvm::StringSet<> done;                              ///< entries at sizes
};

/// 0 where the shapes are the same, else an internal error.
int checkShape(llvm::StringRef entry, const Numbers &got, llvm::ArrayRef<int64_t> expected);

} // namespace attn::tool
