// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A region of scalar ops (an epilogue, a score, a mask, ...) as a flat list of instructions, so
// that evaluating it for every element stays cheap.
#pragma once

#include "compiler/reference/Scope.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace attn::reference {

/// A scalar function of up to three operands.
using ScalarFunction = double (*)(double, double, double);

/// What a scalar op of arith or math computes; null for an op that is none.
ScalarFunction scalarFunction(mlir::Operation *op);

/// The value of a scalar constant.
double constantValue(mlir::arith::ConstantOp op);

/// exp(x - max x) / sum of it; zeros where every element is -inf.
std::vector<double> softmax(llvm::ArrayRef<double> row);

/// A region, ready to run many times.
class RegionProgram {
public:
  /// Translates a region of one block that ends in attn.yield; values from outside are read from
  /// `scope` now.
  static llvm::Expected<RegionProgram> create(mlir::Region &region, const Scope &scope);

  void setScalar(unsigned argument, double value) { cells[argument].scalar = value; }
  void setRow(unsigned argument, llvm::ArrayRef<double> row) { cells[argument].row = row; }
  /// A captured tensor, which outlives the runs.
  void setTensor(unsigned argument, const Tensor &tensor) { cells[argument].tensor = &tensor; }
  /// The yielded scalar for the arguments set before.
  double runScalar();

private:
  struct Cell {
    double scalar = 0;
    llvm::ArrayRef<double> row;
    const Tensor *tensor = nullptr;
    std::vector<double> computed; ///< What `row` refers to, where the region computes it.
  };
  struct Instruction {
    enum Kind { Scalar, Vector, Dot, Element, Row } kind = Scalar;
    ScalarFunction function = nullptr;
    llvm::SmallVector<unsigned, 3> operands;
    unsigned result = 0;
  };
  /// Cells of the values seen so far, while a region is translated.
  using Numbering = llvm::DenseMap<mlir::Value, unsigned>;

  unsigned define(mlir::Value value, Numbering &numbering);
  unsigned cellOf(mlir::Value value, Numbering &numbering, const Scope &scope);
  llvm::Error append(mlir::Operation *op, Numbering &numbering, const Scope &scope);
  void run();
  void run(const Instruction &instruction);
  void runVector(const Instruction &instruction, Cell &result);
  int64_t offsetOf(const Instruction &instruction) const;

  std::vector<Cell> cells;
  std::vector<Instruction> instructions;
  unsigned yielded = 0;
};

} // namespace attn::reference
