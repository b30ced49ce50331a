// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration of the dialect, and the helpers for named axes.
#include "dialect/AttnDialect.h"
#include "dialect/Aliases.h"
#include "dialect/Caches.h"
#include "dialect/Choices.h"
#include "dialect/Scans.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

/// Quoted names; none for a scalar.
static ParseResult parseNames(AsmParser &parser, SmallVectorImpl<StringAttr> &names) {
  std::string name;
  if (failed(parser.parseOptionalString(&name)))
    return success();
  names.push_back(parser.getBuilder().getStringAttr(name));
  while (succeeded(parser.parseOptionalComma())) {
    if (failed(parser.parseString(&name)))
      return failure();
    names.push_back(parser.getBuilder().getStringAttr(name));
  }
  return success();
}
static void printNames(AsmPrinter &printer, ArrayRef<StringAttr> names) {
  llvm::interleaveComma(names, printer);
}

/// Whole numbers between square brackets; none for a scalar.
static ParseResult parseSizes(AsmParser &parser, SmallVectorImpl<int64_t> &sizes) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                        [&] { return parser.parseInteger(sizes.emplace_back()); });
}
static void printSizes(AsmPrinter &printer, ArrayRef<int64_t> sizes) {
  printer << '[';
  llvm::interleaveComma(sizes, printer);
  printer << ']';
}

/// What a table consists of, with its type.
template <typename T> static ParseResult parseElements(OpAsmParser &parser, T &elements) {
  return parser.parseAttribute(elements);
}
static void printElements(OpAsmPrinter &printer, Operation *, Attribute elements) {
  printer.printAttribute(elements);
}

#include "dialect/AttnDialect.cpp.inc"
#include "dialect/AttnEnums.cpp.inc"
#include "dialect/ComputeInterfaces.cpp.inc"
#include "dialect/KernelInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/AttnAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialect/AttnOps.cpp.inc"
#define GET_OP_CLASSES
#include "dialect/ChoiceOps.cpp.inc"
#define GET_OP_CLASSES
#include "dialect/CacheOps.cpp.inc"
#define GET_OP_CLASSES
#include "dialect/ScanOps.cpp.inc"

void AttnDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/AttnAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/AttnOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/ChoiceOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/CacheOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/ScanOps.cpp.inc"
      >();
  addInterface(createAliases(this));
}

std::optional<int64_t> attn::countElements(ArrayRef<int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes) {
    if (size < 0 || size > maxElements)
      return std::nullopt;
    // Two counts multiply to 96 bits: compare before.
    if (size > 0 && count > maxElements / size)
      return std::nullopt;
    count *= size;
  }
  return count;
}

std::optional<Precision> attn::saidPrecision(Value weight) {
  auto get = weight.getDefiningOp<GetOp>();
  auto param =
      get ? SymbolTable::lookupNearestSymbolFrom<ParamOp>(get, get.getParamAttr()) : ParamOp();
  return param ? param.getPrecision() : std::nullopt;
}

/// Whether a model may have tensors of `element`.
static bool isModelElement(Type element) {
  return element.isF32() || element.isF16() || element.isBF16() || element.isInteger(1) ||
         element.isInteger(32) || element.isInteger(64);
}

bool attn::isAxesTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto axes = tensor ? dyn_cast_or_null<AxesAttr>(tensor.getEncoding()) : nullptr;
  if (!axes || axes.getNames().size() != static_cast<size_t>(tensor.getRank()) ||
      !isModelElement(tensor.getElementType()))
    return false;
  SmallVector<int64_t> sizes;
  for (auto [name, size] : llvm::zip(axes.getNames(), tensor.getShape())) {
    if (ShapedType::isDynamic(size) && !parseLinearSize(name.getValue()))
      return false;
    if (!ShapedType::isDynamic(size))
      sizes.push_back(size);
  }
  return countElements(sizes).has_value();
}

bool attn::hasDistinctAxes(Type type) {
  SmallPtrSet<Attribute, 8> seen;
  return llvm::all_of(axesOf(type), [&](StringAttr name) { return seen.insert(name).second; });
}

ArrayRef<StringAttr> attn::axesOf(Type type) {
  return cast<AxesAttr>(cast<RankedTensorType>(type).getEncoding()).getNames();
}

int64_t attn::axisIndex(Type type, StringRef name) {
  auto axes = axesOf(type);
  for (size_t d = 0; d < axes.size(); ++d)
    if (axes[d].getValue() == name)
      return d;
  return -1;
}

RankedTensorType attn::axesTensor(Type element, ArrayRef<int64_t> shape,
                                  ArrayRef<StringAttr> names) {
  return RankedTensorType::get(shape, element, AxesAttr::get(element.getContext(), names));
}

RankedTensorType attn::withoutAxis(RankedTensorType type, int64_t axis) {
  SmallVector<int64_t> shape(type.getShape());
  SmallVector<StringAttr> names(axesOf(type));
  shape.erase(shape.begin() + axis);
  names.erase(names.begin() + axis);
  return axesTensor(type.getElementType(), shape, names);
}

RankedTensorType attn::withAxisOf(RankedTensorType step, RankedTensorType whole, int64_t axis,
                                  int64_t at) {
  SmallVector<int64_t> shape(step.getShape());
  SmallVector<StringAttr> names(axesOf(step));
  at = std::min(at, step.getRank());
  shape.insert(shape.begin() + at, whole.getDimSize(axis));
  names.insert(names.begin() + at, axesOf(whole)[axis]);
  return axesTensor(step.getElementType(), shape, names);
}

StringRef attn::axisLabel(StringRef name) { return name.split(':').first; }

std::optional<LinearSize> attn::parseLinearSize(StringRef name) {
  LinearSize size;
  if (size_t colon = name.find(':'); colon != StringRef::npos)
    name = name.drop_front(colon + 1);
  auto [term, offset] = name.split('+');
  if (!offset.empty() && offset.trim().getAsInteger(10, size.offset))
    return std::nullopt;
  term = term.trim();
  if (auto [scale, dim] = term.split('*'); !dim.empty()) {
    if (scale.trim().getAsInteger(10, size.scale))
      return std::nullopt;
    term = dim.trim();
  }
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  if (term.empty() || llvm::isDigit(term.front()) || !llvm::all_of(term, isWord))
    return std::nullopt;
  size.dim = term;
  return size;
}

Value attn::createAxisSize(OpBuilder &builder, Location loc, RankedTensorType type, int64_t axis) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  if (!type.isDynamicDim(axis))
    return constant(type.getDimSize(axis));
  LinearSize size = *parseLinearSize(axesOf(type)[axis].getValue());
  Value value = SizeOp::create(builder, loc, builder.getIndexType(), size.dim);
  if (size.scale != 1)
    value = arith::MulIOp::create(builder, loc, value, constant(size.scale));
  if (size.offset)
    value = arith::AddIOp::create(builder, loc, value, constant(size.offset));
  return value;
}
