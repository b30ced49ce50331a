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
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    unsigned cell = define(constant, numbering);
    auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
    if (!splat) {
      cells[cell].scalar = constantValue(constant);
      return llvm::Error::success();
    }
    cells[cell].computed.assign(splat.getNumElements(),
                                splat.getSplatValue<APFloat>().convertToDouble());
    cells[cell].row = cells[cell].computed;
    return llvm::Error::success();
  }
  if (auto size = dyn_cast<SizeOp>(op)) {
    unsigned cell = define(size, numbering);
    cells[cell].scalar = static_cast<double>(scope.dims.lookup(size.getDim()));
    return llvm::Error::success();
  }
  Instruction instruction;
  bool givesRow = op->getNumResults() == 1 && isa<RankedTensorType>(op->getResult(0).getType());
  instruction.function = scalarFunction(op);
  if (isa<DotOp>(op))
    instruction.kind = Instruction::Dot;
  else if (isa<ElementOp>(op))
    instruction.kind = givesRow ? Instruction::Row : Instruction::Element;
  else if (!instruction.function)
    return errorAt(op, "expected an op on scalars that the reference knows");
  else if (givesRow)
    instruction.kind = Instruction::Vector;
  for (Value operand : op->getOperands())
    instruction.operands.push_back(cellOf(operand, numbering, scope));
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

void RegionProgram::runVector(const Instruction &instruction, Cell &result) {
  ArrayRef<double> rows[3];
  for (auto [i, operand] : llvm::enumerate(instruction.operands))
    rows[i] = cells[operand].row;
  result.computed.resize(rows[0].size());
  auto element = [&](unsigned operand, size_t i) {
    return operand < instruction.operands.size() ? rows[operand][i] : 0;
  };
  for (size_t i = 0; i < result.computed.size(); ++i)
    result.computed[i] = instruction.function(element(0, i), element(1, i), element(2, i));
  result.row = result.computed;
}

/// Where in its tensor an element, or a row, begins.
int64_t RegionProgram::offsetOf(const Instruction &instruction) const {
  SmallVector<int64_t> index;
  for (unsigned position : ArrayRef(instruction.operands).drop_front())
    index.push_back(static_cast<int64_t>(cells[position].scalar));
  return offsetAt(index, denseStrides(cells[instruction.operands[0]].tensor->shape));
}

void RegionProgram::run(const Instruction &instruction) {
  Cell &result = cells[instruction.result];
  auto operand = [&](unsigned i) -> const Cell & { return cells[instruction.operands[i]]; };
  auto scalar = [&](unsigned i) { return i < instruction.operands.size() ? operand(i).scalar : 0; };
  switch (instruction.kind) {
  case Instruction::Scalar:
    result.scalar = instruction.function(scalar(0), scalar(1), scalar(2));
    return;
  case Instruction::Vector:
    return runVector(instruction, result);
  case Instruction::Dot:
    result.scalar = dot(operand(0).row.data(), operand(1).row.data(), operand(0).row.size());
    return;
  case Instruction::Element:
    result.scalar = operand(0).tensor->data[offsetOf(instruction)];
    return;
  case Instruction::Row:
    result.row = ArrayRef(operand(0).tensor->data)
                     .slice(offsetOf(instruction), operand(0).tensor->shape.back());
    return;
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
