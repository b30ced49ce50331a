// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What one tile of the tiled stage is of, in words and numbers, and the operations that it takes.
#pragma once

#include "compiler/kernels/LoopCounts.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Operation.h"
#include <optional>
#include <string>
#include <vector>

namespace attn {

/// A tile: a product of numbers, "16 queries x 32 keys x 64 features", some of which a run decides.
struct TileWork {
  /// A number of the product.
  struct Factor {
    int64_t number;
    std::string unit;
  };

  /// That of an op; nothing for those that are no tiles.
  static std::optional<TileWork> of(mlir::Operation *op);

  /// The words of it, with the numbers that `values` were.
  std::string textOf(llvm::ArrayRef<Extent> numbers) const;
  /// The operations of one run, two for a multiply-add; nothing where a number is not known, and
  /// where they are not counted.
  std::optional<double> flopOf(llvm::ArrayRef<std::optional<int64_t>> numbers) const;

  std::string name, part;          ///< "score_tile"; the term of an attention that it is for
  std::vector<Factor> factors;     ///< that are known when compiling; behind them
  std::vector<mlir::Value> values; ///< those that are not; a null one counts for nothing
  std::vector<std::string> units;  ///< of these
  bool isRange = false;            ///< whether there are two values, a first one and an end
  std::string note;                ///< more words
  double scale = 1;                ///< operations for each of what the product counts
  bool isCounted = false;          ///< whether operations are counted
  bool isTail = false;             ///< whether it is what is left of others, by itself
};

/// What a loop goes over, by the tiles that its induction variable places: "rows, columns".
std::string axesOf(mlir::scf::ForOp loop);

} // namespace attn
