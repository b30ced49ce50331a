// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Index arithmetic on the dims of a model to numbers.
#include "compiler/kernels/AssumedSizes.h"
#include "compiler/kernels/Loops.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

/// What stands for a block's argument.
using Arguments = llvm::function_ref<std::optional<int64_t>(BlockArgument)>;

static std::optional<int64_t> evaluate(Value value, Arguments arguments) {
  if (std::optional<int64_t> known = constantIndex(value))
    return known;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return arguments(argument);
  Operation *op = value.getDefiningOp();
  auto number = [&](unsigned i) { return evaluate(op->getOperand(i), arguments); };
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    auto view = dim.getSource().getDefiningOp<memref::ReinterpretCastOp>();
    std::optional<int64_t> axis = dim.getConstantIndex();
    if (!view || !axis)
      return std::nullopt;
    OpFoldResult size = view.getMixedSizes()[size_t(*axis)];
    if (std::optional<int64_t> known = getConstantIntValue(size))
      return known;
    return evaluate(cast<Value>(size), arguments);
  }
  if (op->getNumOperands() == 1 && isa<arith::IndexCastOp>(op))
    return number(0);
  if (op->getNumOperands() != 2)
    return std::nullopt;
  std::optional<int64_t> a = number(0), b = number(1);
  if (!a || !b)
    return std::nullopt;
  bool isDivided = *b != 0;
  return llvm::TypeSwitch<Operation *, std::optional<int64_t>>(op)
      .Case([&](arith::AddIOp) { return *a + *b; })
      .Case([&](arith::SubIOp) { return *a - *b; })
      .Case([&](arith::MulIOp) { return *a * *b; })
      .Case<arith::MinUIOp, arith::MinSIOp>([&](auto) { return std::min(*a, *b); })
      .Case<arith::MaxUIOp, arith::MaxSIOp>([&](auto) { return std::max(*a, *b); })
      .Case<arith::DivUIOp, arith::DivSIOp>(
          [&](auto) { return isDivided ? std::optional(*a / *b) : std::nullopt; })
      .Case<arith::CeilDivUIOp, arith::CeilDivSIOp>(
          [&](auto) { return isDivided ? std::optional((*a + *b - 1) / *b) : std::nullopt; })
      .Case<arith::RemUIOp, arith::RemSIOp>(
          [&](auto) { return isDivided ? std::optional(*a % *b) : std::nullopt; })
      .Default([](Operation *) { return std::nullopt; });
}

int64_t AssumedSizes::ofDim(DimOp dim) {
  auto asked = dim->getParentOfType<ModuleOp>()->getAttrOfType<DictionaryAttr>(attributes::sizes);
  auto size = asked ? asked.getAs<IntegerAttr>(dim.getSymName()) : IntegerAttr();
  return size ? size.getInt() : int64_t(dim.getSize());
}

/// The dim that an argument of a function on pointers is the size of; null where it is none.
static DimOp dimOf(BlockArgument argument) {
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  unsigned number = argument.getArgNumber();
  if (!function || number < firstDimArgument || !argument.getType().isIndex())
    return {};
  SmallVector<DimOp> dims = dynamicDims(function->getParentOfType<ModuleOp>());
  return number - firstDimArgument < dims.size() ? dims[number - firstDimArgument] : DimOp();
}

std::optional<int64_t> AssumedSizes::inCaller(Value index) {
  return evaluate(index, [](BlockArgument argument) -> std::optional<int64_t> {
    DimOp dim = dimOf(argument);
    return dim ? std::optional(ofDim(dim)) : std::nullopt;
  });
}

AssumedSizes::AssumedSizes(const OutlinedKernel &kernel) : function(kernel.function) {
  Builder builder(function.getContext());
  for (auto [i, operand] : llvm::enumerate(kernel.call->getOperands())) {
    if (!operand.getType().isIndex())
      continue;
    std::optional<int64_t> size = inCaller(operand);
    if (!size)
      continue;
    function.setArgAttr(unsigned(i), attributes::size, builder.getI64IntegerAttr(*size));
    auto argument = dyn_cast<BlockArgument>(operand);
    if (DimOp dim = argument ? dimOf(argument) : DimOp())
      function.setArgAttr(unsigned(i), attributes::dim, dim.getSymNameAttr());
  }
}

AssumedSizes::~AssumedSizes() {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    for (llvm::StringLiteral name : {attributes::size, attributes::dim})
      function.removeArgAttr(i, name);
}

std::optional<int64_t> AssumedSizes::of(Value index) {
  return evaluate(index, [](BlockArgument argument) -> std::optional<int64_t> {
    auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    auto size =
        function ? function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), attributes::size)
                 : IntegerAttr();
    return size ? std::optional(size.getInt()) : std::nullopt;
  });
}

std::optional<SizePolynomial> AssumedSizes::polynomialOf(Value index) {
  if (std::optional<int64_t> known = constantIndex(index))
    return SizePolynomial(*known);
  if (auto argument = dyn_cast<BlockArgument>(index)) {
    auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    auto dim = function
                   ? function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), attributes::dim)
                   : StringAttr();
    return dim ? std::optional(SizePolynomial::dim(dim)) : std::nullopt;
  }
  Operation *op = index.getDefiningOp();
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return std::nullopt;
  auto a = polynomialOf(op->getOperand(0)), b = polynomialOf(op->getOperand(1));
  if (!a || !b)
    return std::nullopt;
  return isa<arith::AddIOp>(op) ? *a + *b : isa<arith::SubIOp>(op) ? *a - *b : *a * *b;
}

std::optional<int64_t> AssumedSizes::product(Value buffer, int64_t begin, int64_t end) {
  ArrayRef<int64_t> sizes = cast<MemRefType>(buffer.getType()).getShape();
  auto view = buffer.getDefiningOp<memref::ReinterpretCastOp>();
  int64_t product = 1;
  for (int64_t axis = begin; axis < end; ++axis) {
    std::optional<int64_t> size = sizes[size_t(axis)];
    if (ShapedType::isDynamic(*size)) {
      auto dynamic = view ? dyn_cast<Value>(view.getMixedSizes()[size_t(axis)]) : Value();
      size = dynamic ? of(dynamic) : std::nullopt;
    }
    if (!size)
      return std::nullopt;
    product *= *size;
  }
  return product;
}

std::string AssumedSizes::text(Operation *op) {
  auto function = op->getParentOfType<func::FuncOp>();
  std::string text;
  for (unsigned i = 0; function && i < function.getNumArguments(); ++i)
    if (auto name = function.getArgAttrOfType<StringAttr>(i, attributes::dim))
      text += (text.empty() ? " at " : ", ") + name.str() + " = " +
              std::to_string(function.getArgAttrOfType<IntegerAttr>(i, attributes::size).getInt());
  return text;
}
