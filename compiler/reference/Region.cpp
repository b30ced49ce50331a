// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translating and running the regions of ops.
#include "compiler/reference/Region.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace attn;
using namespace attn::reference;

std::vector<double> attn::reference::softmax(ArrayRef<double> row) {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (double x : row)
    largest = std::fmax(largest, x);
  std::vector<double> result(row.size(), 0.0);
  if (largest == -std::numeric_limits<double>::infinity() && !row.empty() && !std::isnan(row[0]))
    return result; // a row without a live key
  for (size_t i = 0; i < row.size(); ++i)
    sum += result[i] = std::exp(row[i] - largest);
  for (double &x : result)
    x /= sum;
  return result;
}

unsigned RegionProgram::define(Value value, Numbering &numbering) {
  numbering[value] = cells.size();
  cells.emplace_back();
  return cells.size() - 1;
}

unsigned RegionProgram::cellOf(Value value, Numbering &numbering, const Scope &scope) {
  if (auto known = numbering.find(value); known != numbering.end())
    return known->second;
  unsigned cell = define(value, numbering);
  const RuntimeValue &outer = scope[value];
  cells[cell].scalar = outer.scalar;
  if (outer.tensor)
    cells[cell].row = outer.tensor->data;
  return cell;
}

llvm::Error RegionProgram::append(Operation *op, Numbering &numbering, const Scope &scope) {
  auto constant = dyn_cast<arith::ConstantOp>(op);
  if (constant && constant.getType().isIntOrIndexOrFloat()) {
    cells[define(constant, numbering)].scalar = constantValue(constant);
    return llvm::Error::success();
  }
  Instruction instruction = {};
  instruction.kind = isa<DotOp>(op)       ? Instruction::Dot
                     : isa<SoftmaxOp>(op) ? Instruction::Softmax
                                          : Instruction::Scalar;
  instruction.function = scalarFunction(op);
  if (instruction.kind == Instruction::Scalar && !instruction.function)
    return errorAt(op, "expected an op on scalars that the reference knows");
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    instruction.operands[i] = cellOf(operand, numbering, scope);
  instruction.result = define(op->getResult(0), numbering);
  instructions.push_back(instruction);
  return llvm::Error::success();
}

llvm::Expected<RegionProgram> RegionProgram::create(Region &region, const Scope &scope) {
  RegionProgram program;
  Numbering numbering;
  for (BlockArgument argument : region.getArguments())
    program.define(argument, numbering);
  for (Operation &op : region.front().without_terminator())
    if (llvm::Error error = program.append(&op, numbering, scope))
      return std::move(error);
  Value result = region.front().getTerminator()->getOperand(0);
  program.yielded = program.cellOf(result, numbering, scope);
  return program;
}

void RegionProgram::run(const Instruction &instruction) {
  const Cell &a = cells[instruction.operands[0]], &b = cells[instruction.operands[1]];
  Cell &result = cells[instruction.result];
  switch (instruction.kind) {
  case Instruction::Scalar:
    result.scalar = instruction.function(a.scalar, b.scalar, cells[instruction.operands[2]].scalar);
    return;
  case Instruction::Dot:
    result.scalar = dot(a.row.data(), b.row.data(), a.row.size());
    return;
  case Instruction::Softmax:
    normalised = softmax(a.row);
    result.row = normalised;
  }
}

void RegionProgram::run() {
  for (const Instruction &instruction : instructions)
    run(instruction);
}

double RegionProgram::runScalar() {
  run();
  return cells[yielded].scalar;
}

ArrayRef<double> RegionProgram::runRow() {
  run();
  return cells[yielded].row;
}
