// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors: their types and places, and the ops that only move or rename axes.
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "compiler/frontend/sema/Limits.h"
#include "compiler/frontend/sema/attention/Scores.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Statics.h"
#include "compiler/frontend/sema/sizes/Types.h"

#include "llvm/ADT/StringExtras.h"

namespace attn::frontend {

using namespace ast;
using mlir::Location;

Location locate(Sema &sema, SourceRange range, llvm::StringRef name) {
  LineColumn place = sema.source.lineAndColumn(range.begin);
  auto file = mlir::FileLineColLoc::get(&sema.mlirContext, sema.source.nameAt(range.begin),
                                        place.line, place.column);
  if (name.empty())
    return file;
  return mlir::NameLoc::get(mlir::StringAttr::get(&sema.mlirContext, name), file);
}

Location locate(Sema &sema, SourceRange range) {
  return locate(sema, range, sema.statement.context);
}

std::string wordsOf(Sema &sema, const Expr &expr) {
  constexpr size_t mostLetters = 72;
  if (const Decl *fixed = staticOf(sema.names, &expr)) {
    ScopedHome home(sema, *fixed);
    return wordsOf(sema, *fixed->expr);
  }
  llvm::SmallVector<llvm::StringRef> lines, words;
  sema.source.text(expr.range).split(lines, '\n');
  for (llvm::StringRef line : lines)
    llvm::SplitString(line.split("//").first, words);
  std::string text = llvm::join(words, " ");
  return text.size() <= mostLetters ? text : text.substr(0, mostLetters - 4) + " ...";
}

std::string sideWords(Sema &sema, const Expr &side) {
  switch (side.kind) {
  case Expr::Kind::Path:
  case Expr::Kind::Integer:
  case Expr::Kind::Float:
    return wordsOf(sema, side);
  default:
    return "...";
  }
}

std::optional<int64_t> boundOfDim(Sema &sema, llvm::StringRef name) {
  if (auto it = sema.names.modelScope.names.find(name); it != sema.names.modelScope.names.end())
    return it->second->size.offset;
  if (auto it = sema.sizes.entryDims.find(name); it != sema.sizes.entryDims.end())
    return it->second;
  return std::nullopt;
}

int64_t boundOf(Sema &sema, const Axis &axis) {
  if (!axis.isDynamic())
    return axis.size;
  auto size = parseLinearSize(axis.name);
  auto bound = size ? boundOfDim(sema, size->dim) : std::nullopt;
  if (!bound)
    return 1;
  std::optional<int64_t> most = productOf({size->scale, *bound});
  return most ? std::max<int64_t>(1, *most + size->offset) : INT64_MAX / 2;
}

mlir::RankedTensorType tensorType(Sema &sema, llvm::ArrayRef<Axis> axes, SourceRange range,
                                  mlir::Type element) {
  if (!checkRank(sema.report, axes.size(), range))
    return nullptr;
  llvm::SmallVector<int64_t> shape, bounds;
  llvm::SmallVector<mlir::StringAttr> names;
  for (const Axis &axis : axes) {
    shape.push_back(axis.size);
    names.push_back(mlir::StringAttr::get(&sema.mlirContext, axis.name));
    bounds.push_back(boundOf(sema, axis));
  }
  if (!productOf(bounds)) {
    Diagnostic &diagnostic = sema.report.error(
        DiagCode::SizeOverflow, range, "a tensor of " + showAxes(axes) + " has too many elements");
    diagnostic.note("the most are 2^48");
    if (std::string where = whereSizes(sema, axes); !where.empty())
      diagnostic.note(where);
    return nullptr;
  }
  return axesTensor(element ? element : mlir::Float32Type::get(&sema.mlirContext), shape, names);
}

//===------------------------------------------------------------------------------------------===//
// Shapes
//===------------------------------------------------------------------------------------------===//

mlir::Value permute(Sema &sema, mlir::Value value, llvm::ArrayRef<int64_t> order, Location loc) {
  if (llvm::is_sorted(order))
    return value;
  Axes axes = axesOfValue(value), result;
  llvm::SmallVector<int64_t> ones(axes.size(), 1), atoms;
  for (const Axis &axis : axes)
    atoms.push_back(axis.isDynamic() ? -1 : axis.size);
  for (int64_t from : order)
    result.push_back(axes[from]);
  return RearrangeOp::create(sema.builder, loc, tensorType(sema, result, {}, elementOf(value)),
                             value, ones, atoms, order, ones);
}

mlir::Value relabel(Sema &sema, mlir::Value value, llvm::ArrayRef<Axis> axes, Location loc) {
  mlir::RankedTensorType type = tensorType(sema, axes, {}, elementOf(value));
  if (!type || type == value.getType())
    return value;
  return RelabelOp::create(sema.builder, loc, type, value);
}

mlir::Value withUnitInFront(Sema &sema, mlir::Value value, llvm::StringRef name, Location loc) {
  Axes axes = axesOfValue(value);
  if (axes.empty()) { // an axis is inserted as a part of another
    axes = {Axis{name.str(), 1}};
    return makeMap(
        sema, {value}, axes, loc,
        [](mlir::OpBuilder &, Location, mlir::ValueRange x) { return x.front(); },
        elementOf(value));
  }
  llvm::SmallVector<int64_t> split(axes.size(), 1), atoms{1}, order{0};
  split.front() = 2;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    atoms.push_back(axis.isDynamic() ? -1 : axis.size);
    order.push_back(static_cast<int64_t>(i + 1));
  }
  axes.insert(axes.begin(), Axis{name.str(), 1});
  return RearrangeOp::create(sema.builder, loc, tensorType(sema, axes, {}, elementOf(value)), value,
                             split, atoms, order, llvm::SmallVector<int64_t>(axes.size(), 1));
}

mlir::Value withLast(Sema &sema, mlir::Value value, llvm::ArrayRef<Axis> taken, Location loc) {
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
  return permute(sema, value, order, loc);
}

mlir::Value makeMap(Sema &sema, llvm::ArrayRef<mlir::Value> inputs, llvm::ArrayRef<Axis> axes,
                    Location loc, ScalarBody body, mlir::Type element) {
  mlir::RankedTensorType type = tensorType(sema, axes, {}, element);
  auto op = MapOp::create(sema.builder, loc, type, inputs);
  mlir::Block &block = op.getBody().emplaceBlock();
  for (mlir::Value input : inputs)
    block.addArgument(llvm::cast<mlir::RankedTensorType>(input.getType()).getElementType(), loc);
  mlir::OpBuilder inner(&sema.mlirContext);
  inner.setInsertionPointToEnd(&block);
  YieldOp::create(inner, loc, body(inner, loc, block.getArguments()));
  return op;
}

} // namespace attn::frontend
