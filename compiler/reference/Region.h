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

  /// Sets a scalar argument, or a vector, which outlives the run.
  void setScalar(unsigned argument, double value) { cells[argument].scalar = value; }
  void setRow(unsigned argument, llvm::ArrayRef<double> row) { cells[argument].row = row; }
  /// A captured tensor, which outlives the runs.
  void setTensor(unsigned argument, const Tensor &tensor) { cells[argument].tensor = &tensor; }
  /// The yielded scalar for the arguments set before.
  double runScalar();

private:
  /// What an argument or an op of the region is: a scalar, a vector or a tensor.
  struct Cell {
    double scalar = 0;
    llvm::ArrayRef<double> row;
    const Tensor *tensor = nullptr;
    std::vector<double> computed; ///< What `row` refers to, where the region computes it.
  };
  /// An op of the region, with the cells of its operands and of its result.
  struct Instruction {
    /// How it is run.
    enum Kind { Scalar, Vector, Dot, Element, Row } kind = Scalar;
    ScalarFunction function = nullptr;
    llvm::SmallVector<unsigned, 3> operands;
    unsigned result = 0;
  };
  /// Cells of the values seen so far, while a region is translated.
  using Numbering = llvm::DenseMap<mlir::Value, unsigned>;

  /// The cell of a new value.
  unsigned define(mlir::Value value, Numbering &numbering);
  /// The cell of a value that was seen before, or comes from outside of the region.
  unsigned cellOf(mlir::Value value, Numbering &numbering, const Scope &scope);
  /// Appends the instruction of an op; an error for ops that regions cannot have.
  llvm::Error append(mlir::Operation *op, Numbering &numbering, const Scope &scope);
  /// Runs all instructions, one, one whose result is a vector.
  void run();
  void run(const Instruction &instruction);
  void runVector(const Instruction &instruction, Cell &result);
  /// The place of the element that attn.element reads.
  int64_t offsetOf(const Instruction &instruction) const;

  std::vector<Cell> cells;
  std::vector<Instruction> instructions;
  unsigned yielded = 0;
};

} // namespace attn::reference
