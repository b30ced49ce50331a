// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How often the ops of a kernel run: its index arithmetic is computed at the sizes that are
// assumed, on one thread, and loops are taken turn by turn where what is inside depends on the
// turn.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <map>
#include <optional>
#include <vector>

namespace attn {

/// The least and the greatest number that something was.
struct Extent {
  std::optional<int64_t> least, most;

  /// Takes one more number in.
  void add(int64_t number);
  /// The number, where it was always the same.
  std::optional<int64_t> constant() const { return least == most ? least : std::nullopt; }
};

/// What is counted of a loop, of a branch or of an op without regions.
struct RunCount {
  double runs = 0;        ///< of the op, or of a loop's body
  Extent trips, from, to; ///< of loops: turns each time, and bounds
  bool isKnown = true;    ///< whether `runs` is
  bool isAsIf = false;    ///< behind a condition that a run decides: as if it held each time
};

/// Counts the ops of a kernel.
class LoopCounts {
public:
  /// An op without regions, with the numbers that it is of: their values and how often.
  using Visitor = llvm::function_ref<void(
      mlir::Operation *op, llvm::ArrayRef<std::optional<int64_t>> numbers, double runs)>;
  /// The numbers of an op that matter; none where it does not.
  using Numbers = llvm::function_ref<llvm::ArrayRef<mlir::Value>(mlir::Operation *op)>;

  /// Counts a kernel's function of the tiled stage, at the sizes of its arguments
  /// (attributes::size). `numbers` says for each op whether it is to be visited, and with what.
  LoopCounts(mlir::func::FuncOp function, Numbers numbers, Visitor visit);

  /// Of a block of an op with regions, or of another op by its block.
  const RunCount &of(mlir::Block *block) { return counts[block]; }
  /// Whether an op's condition was known each time.
  bool isDecided(mlir::Operation *choice) const { return !undecided.contains(choice); }

private:
  /// A number, where it is known; those of `outside`; those of values.
  using Number = std::optional<int64_t>;
  using Key = std::vector<Number>;
  using Environment = llvm::DenseMap<mlir::Value, Number>;

  /// Finds what bounds, conditions and numbers are computed of: all, and of one value.
  void findRelevant(mlir::Operation *root);
  void markRelevant(mlir::Value value);
  /// What of that an op with regions takes from around it.
  llvm::ArrayRef<mlir::Value> outside(mlir::Operation *op);
  /// The number of a value, and of the result of an op.
  Number valueOf(mlir::Value value, const Environment &environment) const;
  Number compute(mlir::Operation *op, const Environment &environment) const;
  /// The ops of a block that are of use here.
  llvm::ArrayRef<mlir::Operation *> relevantOf(mlir::Block &block);
  /// Runs a block so often, up to the ops with regions in it, which wait with their numbers; then
  /// these, an op at a time with all that it was reached with.
  void run(mlir::Block &block, Environment &environment, double weight);
  void process(mlir::Operation *op);
  /// After how many turns a loop does the same again; 0 where that is not seen.
  int64_t periodOf(mlir::scf::ForOp loop) const;
  void processLoop(mlir::Operation *op, const Environment &outer, double weight);
  void processChoice(mlir::Operation *op, const Environment &outer, double weight);
  /// Notes that nothing is known of what is inside.
  void markUnknown(mlir::Operation *op);

  Numbers numbers;
  Visitor visit;
  llvm::DenseSet<mlir::Value> relevant; ///< bounds, conditions and numbers, and what they are of
  llvm::DenseMap<mlir::Operation *, std::vector<mlir::Value>> externals;
  llvm::DenseMap<mlir::Block *, std::vector<mlir::Operation *>> relevantOps;
  llvm::DenseMap<mlir::Operation *, std::map<Key, double>> pending; ///< how often with which values
  llvm::DenseMap<mlir::Block *, RunCount> counts;
  llvm::DenseSet<mlir::Operation *> undecided;
  int64_t budget; ///< of turns, then nothing more is known
};

} // namespace attn
