// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels on rows: verification, and which tile computes a row.
#include "dialect/Choices.h"
#include "dialect/ops/Buffers.h"
#include "dialect/ops/Reduce.h"

using namespace mlir;
using namespace attn;

/// Whether rows become bytes (quantize_kernel_c1, _c2; norm_bytes_kernel_c3).
static LogicalResult verifyBytes(Operation *op, Value input, Value out, Value range) {
  int64_t columns = columnsOf(input), sums = columnsOf(range) - 2;
  if (ShapedType::isDynamic(columns) || columnsOf(out) < columns || columnsOf(out) % 16 != 0 ||
      (sums != 0 && (sums != (columns + 31) / 32 || columnsOf(out) < 32 * sums)))
    return op->emitOpError(
        "expected static columns, as many of output in whole vectors, and a range");
  if (!agree(rowsOf(input), rowsOf(out)) || !agree(rowsOf(input), rowsOf(range)))
    return op->emitOpError("expected as many rows of input, output and range");
  return success();
}

LogicalResult QuantizeKernelOp::verify() {
  return verifyBytes(*this, getInput(), getOut(), getRange());
}

LogicalResult RoundKernelOp::verify() {
  if (ShapedType::isDynamic(columnsOf(getInput())) || columnsOf(getOut()) < columnsOf(getInput()) ||
      columnsOf(getOut()) % 32 != 0) // round_kernel_c1
    return emitOpError("expected static columns, padded to a multiple of 32");
  if (!agree(rowsOf(getInput()), rowsOf(getOut()))) // round_kernel_c2
    return emitOpError("expected as many rows of input and output");
  return success();
}

/// Whether weight and bias are rows as those of `input` (norm_kernel_c2, norm_bytes_kernel_c2).
static LogicalResult verifyAffine(Operation *op, Value input, Value weight, Value bias) {
  for (Value row : {weight, bias})
    if (row && (typeOf(row).getRank() != 1 || columnsOf(row) != columnsOf(input)))
      return op->emitOpError("expected weight and bias of ") << columnsOf(input) << " elements";
  return success();
}

LogicalResult NormKernelOp::verify() {
  MemRefType input = typeOf(getInput()), out = typeOf(getOut());
  if (input.getRank() < 2 || out.getRank() < 2 || columnsOf(getInput()) != columnsOf(getOut()) ||
      !agree(rowsOf(getInput()), rowsOf(getOut()))) // norm_kernel_c1
    return emitOpError("expected input and output with the same rows and columns");
  return verifyAffine(*this, getInput(), getWeight(), getBias());
}

LogicalResult NormBytesKernelOp::verify() {
  if (typeOf(getInput()).getRank() < 2 || typeOf(getScratch()).getRank() != 2 ||
      columnsOf(getScratch()) < columnsOf(getInput())) // norm_bytes_kernel_c1
    return emitOpError("expected rows, and scratch with at least as many columns");
  if (failed(verifyAffine(*this, getInput(), getWeight(), getBias())))
    return failure();
  return verifyBytes(*this, getInput(), getOut(), getRange());
}

LogicalResult MapKernelOp::verify() {
  if (typeOf(getOut()).getRank() < 1) // map_kernel_c1
    return emitOpError("expected an output with columns");
  for (Value input : getInputs())
    if (typeOf(input).getRank() < 1 || columnsOf(input) != columnsOf(getOut()) ||
        !agree(rowsOf(input), rowsOf(getOut()))) // map_kernel_c2
      return emitOpError("expected inputs with the output's rows and columns");
  Block &body = getBody().front();
  auto yield = dyn_cast<YieldOp>(body.back());
  bool fits = body.getNumArguments() == getInputs().size() && yield &&
              yield.getValue().getType() == typeOf(getOut()).getElementType();
  for (size_t i = 0; fits && i < getInputs().size(); ++i)
    fits = body.getArgument(i).getType() == typeOf(getInputs()[i]).getElementType();
  if (!fits) // map_kernel_c3
    return emitOpError("expected a body (elements of the inputs...) -> element of the output");
  return success();
}

LogicalResult LookupKernelOp::verify() {
  MemRefType table = typeOf(getTable()), out = typeOf(getOut());
  bool isShared = table.getRank() == 2;
  bool fits = isShared || (table.getRank() > 2 && agree(rowsOf(getTable(), 2), rowsOf(getOut())));
  Type read = table.getElementType(), written = out.getElementType();
  fits &=
      read == written || (written.isF32() && (read.isF16() || read.isBF16() || read.isInteger(16)));
  if (!fits || (isShared && ShapedType::isDynamic(columnsOf(getTable())))) // lookup_kernel_c1
    return emitOpError("expected a table [rows, static columns], or one for each row");
  if (out.getRank() < 1 || columnsOf(getOut()) != columnsOf(getTable()) ||
      !agree(rowsOf(getIndices(), 0), rowsOf(getOut()))) // lookup_kernel_c2
    return emitOpError("expected an output with a row of the table for each index");
  return success();
}

LogicalResult RotaryKernelOp::verify() {
  int64_t columns = columnsOf(getInput());
  if (ShapedType::isDynamic(columns) || columnsOf(getOut()) != columns ||
      !agree(rowsOf(getInput()), rowsOf(getOut()))) // rotary_kernel_c1
    return emitOpError("expected input and output with the same rows and columns");
  int64_t pairs = columnsOf(getCos());
  for (Value angles : {getCos(), getSin()})
    if (ShapedType::isDynamic(pairs) || columnsOf(angles) != pairs || 2 * pairs > columns ||
        !agree(rowsOf(angles), rowsOf(getOut()))) // c2
      return emitOpError("expected a cosine and a sine for each of at most ")
             << columns / 2 << " pairs of a row";
  return success();
}

LogicalResult ReduceKernelOp::verify() {
  int64_t reduced = getReduced(), kept = reduced + (getAcross() ? 0 : 1);
  MemRefType out = typeOf(getOut());
  if (getInputs().empty() || reduced < 1 || out.getRank() < 2 ||
      (getAcross() && columnsOf(getOut()) != 1)) // reduce_kernel_c1
    return emitOpError("expected inputs [rows..., s..., columns] and an output [rows..., columns]");
  for (Value input : getInputs())
    if (typeOf(input).getRank() <= kept ||
        (!getAcross() && columnsOf(input) != columnsOf(getOut())) ||
        !agree(rowsOf(input, kept), rowsOf(getOut()))) // reduce_kernel_c1
      return emitOpError("expected inputs [rows..., s..., columns] of the output's ")
             << out << ", but got " << typeOf(input);
  bool isPlace = getKind() == Reduction::ArgMax;
  if (out.getElementType().isInteger(32) != isPlace) // reduce_kernel_c2
    return emitOpError("expected an output of ") << (isPlace ? "i32" : "f32");
  return verifyReduced(*this, getInputs(), getBody()); // reduce_kernel_c3
}

LogicalResult SoftmaxKernelOp::verify() {
  if (typeOf(getInput()).getRank() < 2 || columnsOf(getInput()) != columnsOf(getOut()) ||
      !agree(rowsOf(getInput()), rowsOf(getOut()))) // softmax_kernel_c1
    return emitOpError("expected input and output with the same rows and columns");
  return success();
}

LogicalResult TopkKernelOp::verify() {
  int64_t columns = columnsOf(getInput()), chosen = columnsOf(getOut());
  if (typeOf(getInput()).getRank() < 2 || ShapedType::isDynamic(columns) ||
      ShapedType::isDynamic(chosen) || chosen > columns ||
      !agree(rowsOf(getInput()), rowsOf(getOut()))) // topk_kernel_c1
    return emitOpError("expected rows of static columns, and as many rows of no more places");
  return success();
}

//===-- rows --------------------------------------------------------------------------------===//

std::string QuantizeKernelOp::title() { return "quantization"; }

Value QuantizeKernelOp::getRows() { return getInput(); }

void QuantizeKernelOp::createRow(OpBuilder &builder, const RowOperands &rows) {
  QuantizeRowOp::create(builder, getLoc(), rows.of(getInput()), rows.of(getOut()),
                        rows.of(getRange()), /*alone=*/false);
}

std::string RoundKernelOp::title() { return "rounding to bf16"; }

Value RoundKernelOp::getRows() { return getInput(); }

void RoundKernelOp::createRow(OpBuilder &builder, const RowOperands &rows) {
  RoundRowOp::create(builder, getLoc(), rows.of(getInput()), rows.of(getOut()));
}

std::string NormKernelOp::title() { return getNorm().title().str(); }

void NormKernelOp::createRow(OpBuilder &builder, const RowOperands &rows) {
  NormRowOp::create(builder, getLoc(), rows.of(getInput()), getWeight(), getBias(),
                    rows.of(getOut()), getNorm());
}

std::string NormBytesKernelOp::title() { return (getNorm().title() + " and quantization").str(); }

Value NormBytesKernelOp::getRows() { return getInput(); }

void NormBytesKernelOp::createRow(OpBuilder &builder, const RowOperands &rows) {
  Value normed = rows.own(getScratch());
  NormRowOp::create(builder, getLoc(), rows.of(getInput()), getWeight(), getBias(), normed,
                    getNorm());
  QuantizeRowOp::create(builder, getLoc(), normed, rows.of(getOut()), rows.of(getRange()),
                        /*alone=*/true);
}

std::string RotaryKernelOp::title() { return "rotary"; }

std::string RotaryKernelOp::detail() { return getInterleaved() ? ", neighbours" : ", halves"; }

void RotaryKernelOp::createRow(OpBuilder &builder, const RowOperands &rows) {
  RotaryRowOp::create(builder, getLoc(), rows.of(getInput()), rows.of(getCos()), rows.of(getSin()),
                      rows.of(getOut()), getInterleaved());
}

std::string SoftmaxKernelOp::title() { return "softmax"; }

void SoftmaxKernelOp::createRow(OpBuilder &builder, const RowOperands &rows) {
  SoftmaxRowOp::create(builder, getLoc(), rows.of(getInput()), rows.of(getOut()));
}

std::string TopkKernelOp::title() { return "topk"; }

void TopkKernelOp::createRow(OpBuilder &builder, const RowOperands &rows) {
  TopkRowOp::create(builder, getLoc(), rows.of(getInput()), rows.of(getOut()));
}
