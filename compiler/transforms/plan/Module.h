// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the functions of a module share while they are planned: what the memory is planned for, the
// states of caches, constants, and what is known of the functions that are planned already.
#pragma once

#include "compiler/target/TargetSet.h"
#include "compiler/transforms/ParameterLayout.h"
#include "compiler/transforms/plan/Placement.h"
#include "compiler/transforms/plan/Tensors.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <map>
#include <optional>
#include <string>

namespace attn::planning {

namespace func = mlir::func;

/// How many rows an expert of a route may get, and among how many experts they are divided.
struct RoutedRows {
  SizePolynomial most; ///< All choices of all rows.
  int64_t experts;
};

/// What a planned function reads and writes of what it is called with.
struct FlowSummary {
  /// What is done with an argument or a cache, and how many bytes of it that concerns at most.
  struct Use {
    bool isRead = false, isWritten = false;
    std::optional<SizePolynomial> bytes = {};

    /// Notes that so many bytes are read or written.
    void addRead(const std::optional<SizePolynomial> &some) { isRead = true, add(some); }
    void addWrite(const std::optional<SizePolynomial> &some) { isWritten = true, add(some); }

  private:
    /// Keeps the most bytes.
    void add(const std::optional<SizePolynomial> &some) {
      if (some && (!bytes || (*some - *bytes).isNeverNegative()))
        bytes = some;
    }
  };
  std::map<unsigned, Use> arguments; ///< By their numbers.
  std::map<std::string, Use> caches; ///< By their names.
};

/// The state of a module's plan. It lives as long as the pass runs on the module.
struct ModulePlan {
  explicit ModulePlan(ModuleOp module);

  /// The buffer of constants that holds `elements`.
  mlir::memref::GlobalOp constants(mlir::DenseElementsAttr elements, Location loc);
  /// Elements of one layer of a state, whatever its cache holds.
  SizePolynomial layerOf(StateOp state);
  /// Where a state begins in the memory of its cache, in elements of the spec.
  SizePolynomial placeOf(StateOp state);
  /// What a state's elements are in memory. Narrow ones leave the rest of their room empty, so that
  /// all states begin at the same bytes everywhere.
  Type elementOf(StateOp state);

  /// A size with the most rows that an expert may get, and with what it gets on average.
  SizePolynomial withMostRows(const SizePolynomial &size) const;
  SizePolynomial withMeanRows(const SizePolynomial &size) const;
  /// The names of rows of experts that a function's tensors have, and that no route in it gives.
  /// Functions that it calls have been asked.
  ArrayRef<StringRef> routedIn(func::FuncOp function);

  /// What the kind of machine wants that the plan is for.
  const Placement &placement() const { return targets.isGpu() ? Placement::gpus : Placement::cpus; }
  /// What attention is rounded to, and rows of linears in bf16 for such a level, or null.
  Type roundedTo() const;
  bool multipliesPairs() const { return bool(roundedTo()); }
  /// The 16 bits that tensors which are only multiplied are kept in, or null.
  Type keptHalf() const {
    return placement().keepsHalves && formatOf(precision).isHalf() ? roundedTo() : Type();
  }
  /// Whether all that reads a tensor, or a view of it, multiplies it, by pairs along its last dim,
  /// or keeps it for that.
  bool isOnlyMultiplied(Value tensor) const;
  /// What a parameter is stored in row by row: in f32, or narrower where rows are all that is read
  /// of it.
  Precision precisionOfRows(ParamOp table) const;
  /// What an element is in memory.
  Type stored(Type element) const {
    return placement().keepsHalves && element.isBF16() ? element : storedElement(element);
  }

  ModuleOp op;
  ParameterLayout layout;
  SmallVector<StringRef> dims;                              ///< Dynamic ones, in order.
  std::optional<AttentionLowering> attention;               ///< The one that was asked for.
  Precision precision = Precision::F32;                     ///< Of linears.
  TargetSet targets;                                        ///< All that the memory is planned for.
  DenseMap<mlir::Attribute, mlir::memref::GlobalOp> tables; ///< By their elements.
  /// Bytes of every planned function's frame, callees included.
  llvm::StringMap<SizePolynomial> frames;
  /// Of every planned function, (result, argument) that may be passed the same place.
  llvm::StringMap<SmallVector<std::pair<unsigned, unsigned>>> inPlace;
  /// Of every planned function, where flow is described (DataFlow.h).
  llvm::StringMap<FlowSummary> flows;
  llvm::StringSet<> readStates;       ///< Which more than products read.
  llvm::StringSet<> readTables;       ///< Parameters that are read otherwise than row by row.
  llvm::StringMap<RoutedRows> routed; ///< By the name of the size of an expert's rows.
  llvm::StringMap<SmallVector<StringRef>> routedOf; ///< By function: `routedIn`.
};

} // namespace attn::planning
