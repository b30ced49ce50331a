// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a `scan` is given: its cell, what is scanned, the first states, lengths.
#pragma once

#include "compiler/frontend/sema/blocks/BlockParts.h"
#include "compiler/frontend/sema/blocks/Instances.h"

namespace attn::frontend {

/// A scan on its way from the tree to an op.
struct Scan {
  explicit Scan(const ast::ScanExpr &expr) : expr(expr) {}

  const ast::ScanExpr &expr;
  Decl *block = nullptr; ///< The cell's.
  Owner owner;
  Given given;
  const ast::BlockDecl *cell = nullptr;
  std::vector<std::pair<std::string, const ast::Expr *>>
      named;                                  ///< What stays the same in all steps.
  llvm::SmallVector<unsigned> inputs, states; ///< Parameters, in their order.
  std::vector<SemaValue> arguments;           ///< One for each parameter.
  std::vector<mlir::Value> scanned;           ///< With the axis of the steps.
  Axis along;
  mlir::Value lengths;

  /// What the cell takes and gives.
  const ast::Signature &signature() const { return cell->signature; }
};

/// Finds the cell of a scan, and evaluates what it is given; reports what does not fit.
bool readScan(Sema &sema, Scan &scan);

} // namespace attn::frontend
