// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors: their types and places, and the ops that only move or rename axes.
#include "compiler/frontend/sema/SemaImpl.h"

#include "llvm/ADT/StringExtras.h"

namespace attn::frontend {

using namespace ast;
using mlir::Location;

Location Sema::locate(SourceRange range, llvm::StringRef name) {
  LineColumn place = source.lineAndColumn(range.begin);
  auto file =
      mlir::FileLineColLoc::get(&mlirContext, source.nameAt(range.begin), place.line, place.column);
  if (name.empty())
    return file;
  return mlir::NameLoc::get(mlir::StringAttr::get(&mlirContext, name), file);
}

std::string Sema::wordsOf(const Expr &expr) {
  constexpr size_t mostLetters = 72;
  if (const Decl *fixed = staticOf(&expr))
    return atHome(*fixed, [&](const Expr &own) { return wordsOf(own); });
  llvm::SmallVector<llvm::StringRef> lines, words;
  source.text(expr.range).split(lines, '\n');
  for (llvm::StringRef line : lines)
    llvm::SplitString(line.split("//").first, words);
  std::string text = llvm::join(words, " ");
  return text.size() <= mostLetters ? text : text.substr(0, mostLetters - 4) + " ...";
}

std::string Sema::sideWords(const Expr &side) {
  switch (side.kind) {
  case Expr::Kind::Path:
  case Expr::Kind::Integer:
  case Expr::Kind::Float:
    return wordsOf(side);
  default:
    return "...";
  }
}

std::optional<int64_t> Sema::boundOfDim(llvm::StringRef name) const {
  if (auto it = modelScope.names.find(name); it != modelScope.names.end())
    return it->second->size.offset;
  if (auto it = entryDims.find(name); it != entryDims.end())
    return it->second;
  return std::nullopt;
}

int64_t Sema::boundOf(const Axis &axis) const {
  if (!axis.isDynamic())
    return axis.size;
  auto size = parseLinearSize(axis.name);
  auto bound = size ? boundOfDim(size->dim) : std::nullopt;
  if (!bound)
    return 1;
  std::optional<int64_t> most = productOf({size->scale, *bound});
  return most ? std::max<int64_t>(1, *most + size->offset) : INT64_MAX / 2;
}

mlir::RankedTensorType Sema::tensorType(llvm::ArrayRef<Axis> axes, SourceRange range,
                                        mlir::Type element) {
  if (!checkRank(axes.size(), range))
    return nullptr;
  llvm::SmallVector<int64_t> shape, bounds;
  llvm::SmallVector<mlir::StringAttr> names;
  for (const Axis &axis : axes) {
    shape.push_back(axis.size);
    names.push_back(mlir::StringAttr::get(&mlirContext, axis.name));
    bounds.push_back(boundOf(axis));
  }
  if (!productOf(bounds)) {
    Diagnostic &diagnostic = error(DiagCode::SizeOverflow, range,
                                   "a tensor of " + showAxes(axes) + " has too many elements");
    diagnostic.note("the most are 2^48");
    if (std::string where = whereSizes(axes); !where.empty())
      diagnostic.note(where);
    return nullptr;
  }
  return axesTensor(element ? element : mlir::Float32Type::get(&mlirContext), shape, names);
}

//===------------------------------------------------------------------------------------------===//
// Shapes
//===------------------------------------------------------------------------------------------===//

mlir::Value Sema::permute(mlir::Value value, llvm::ArrayRef<int64_t> order, Location loc) {
  if (llvm::is_sorted(order))
    return value;
  Axes axes = axesOfValue(value), result;
  llvm::SmallVector<int64_t> ones(axes.size(), 1), atoms;
  for (const Axis &axis : axes)
    atoms.push_back(axis.isDynamic() ? -1 : axis.size);
  for (int64_t from : order)
    result.push_back(axes[from]);
  return RearrangeOp::create(builder, loc, tensorType(result, {}, elementOf(value)), value, ones,
                             atoms, order, ones);
}

mlir::Value Sema::relabel(mlir::Value value, llvm::ArrayRef<Axis> axes, Location loc) {
  mlir::RankedTensorType type = tensorType(axes, {}, elementOf(value));
  if (!type || type == value.getType())
    return value;
  return RelabelOp::create(builder, loc, type, value);
}

mlir::Value Sema::withLast(mlir::Value value, llvm::ArrayRef<Axis> taken, Location loc) {
  Axes axes = axesOfValue(value);
  llvm::SmallVector<int64_t> order;
  for (size_t i = 0; i < axes.size(); ++i)
    if (findAxis(taken, axes[i].name) < 0)
      order.push_back(i);
  for (const Axis &axis : taken) {
    int at = findAxis(axes, axis.name);
    if (at < 0 || axes[at].size != axis.size)
      return nullptr;
    order.push_back(at);
  }
  return permute(value, order, loc);
}

mlir::Value Sema::makeMap(llvm::ArrayRef<mlir::Value> inputs, llvm::ArrayRef<Axis> axes,
                          Location loc, ScalarBody body) {
  mlir::RankedTensorType type = tensorType(axes, {});
  auto op = MapOp::create(builder, loc, type, inputs);
  mlir::Block &block = op.getBody().emplaceBlock();
  for (mlir::Value input : inputs)
    block.addArgument(llvm::cast<mlir::RankedTensorType>(input.getType()).getElementType(), loc);
  mlir::OpBuilder inner(&mlirContext);
  inner.setInsertionPointToEnd(&block);
  YieldOp::create(inner, loc, body(inner, loc, block.getArguments()));
  return op;
}

} // namespace attn::frontend
