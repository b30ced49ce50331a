// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention along several axes: they are merged in front of the op, and split again behind it; the
// positions along each are quotients and remainders of the position along all.
#include "compiler/frontend/sema/attention/AlongAxes.h"
#include "compiler/frontend/sema/attention/Attention.h"
#include "compiler/frontend/sema/attention/AttentionRegions.h"
#include "compiler/frontend/sema/attention/HookTensors.h"
#include "compiler/frontend/sema/entries/CacheAxes.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Tensors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringExtras.h"

namespace attn::frontend {

using namespace ast;
namespace arith = mlir::arith;

bool checkAlong(Sema &sema, const AttendExpr &attend) {
  for (size_t i = 0; i < attend.along.size(); ++i)
    for (size_t before = 0; before < i; ++before) {
      const Name &first = attend.along[before].axis, &again = attend.along[i].axis;
      if (first.text != again.text)
        continue;
      sema.report
          .error(DiagCode::DuplicateAxis, again.range,
                 "the axis `" + again.text + "` is named twice")
          .at(first.range, "it is here already");
      return false;
    }
  return true;
}

//===-- merging and splitting ---------------------------------------------------------------===//

/// The axis that `parts` are merged to; they have at most 2^31 - 1 places, and only the first may
/// be known only when running.
static std::optional<Axis> merged(Sema &sema, llvm::ArrayRef<Axis> parts,
                                  const AttendExpr &attend) {
  std::string name;
  llvm::SmallVector<int64_t> sizes;
  for (auto [part, along] : llvm::zip(parts, attend.along)) {
    name += (name.empty() ? "" : "*") + axisLabel(part.name).str();
    bool isFirst = &part == parts.begin();
    if (part.isDynamic() && (!isFirst || isCacheAxis(sema.entry, part))) {
      bool isCache = isCacheAxis(sema.entry, part);
      sema.report
          .error(isCache ? DiagCode::CacheExpected : DiagCode::DynamicAxis, along.axis.range,
                 "`" + along.axis.text +
                     (isCache ? "` counts the positions of a cache, which is attended along alone"
                              : "` is known only when running, and is not the first axis"))
          .note("the first of several axes may be one whose size is known only when running");
      return std::nullopt;
    }
    if (!part.isDynamic())
      sizes.push_back(part.size);
  }
  std::optional<int64_t> product = productOf(sizes);
  auto first = parts[0].isDynamic() ? parseLinearSize(parts[0].name) : std::nullopt;
  int64_t most = mostOf(sema, parts[0]);
  if (!product || *product > INT32_MAX || (first && most > INT32_MAX / *product)) {
    sema.report.error(DiagCode::SizeOverflow,
                      attend.along.front().axis.range.to(attend.along.back().axis.range),
                      "there are more than 2147483647 positions along these axes");
    return std::nullopt;
  }
  if (!first)
    return Axis{name, *product};
  return axisOfSize(
      "", {first->dim.str(), first->scale * *product, first->offset * *product, false, name});
}

/// `value` with `parts`, wherever they stand, as one axis in the place of the first of them.
static mlir::Value merge(Sema &sema, mlir::Value value, llvm::ArrayRef<Axis> parts,
                         const Axis &whole, SourceRange range) {
  Axes axes = axesOfValue(value), result;
  llvm::SmallVector<int64_t> split(axes.size(), 1), atoms, order, groups;
  bool isDone = false;
  for (auto [d, axis] : llvm::enumerate(axes)) {
    atoms.push_back(axis.isDynamic() ? -1 : axis.size);
    if (!llvm::is_contained(parts, axis)) {
      result.push_back(axis);
      groups.push_back(1);
      order.push_back(static_cast<int64_t>(d));
    } else if (!std::exchange(isDone, true)) {
      result.push_back(whole);
      groups.push_back(static_cast<int64_t>(parts.size()));
      for (const Axis &part : parts)
        order.push_back(findAxis(axes, part.name));
    }
  }
  mlir::RankedTensorType type = tensorType(sema, result, range);
  return type ? RearrangeOp::create(sema.builder, locate(sema, range), type, value, split, atoms,
                                    order, groups)
                    .getResult()
              : mlir::Value();
}

std::optional<AlongAxes> mergeAlong(Sema &sema, const AttendExpr &attend,
                                    AttendOperands &operands) {
  AlongAxes along{operands.keyAxes, operands.sources, operands.keyAxes.front()};
  if (!along.areSeveral())
    return along;
  SourceRange range = attend.along.front().axis.range.to(attend.along.back().axis.range);
  std::optional<Axis> key = merged(sema, along.keys, attend);
  if (!key)
    return std::nullopt;
  along.key = *key;
  operands.key = merge(sema, operands.key, along.keys, along.key, range);
  operands.value =
      operands.key ? merge(sema, operands.value, along.keys, along.key, range) : mlir::Value();
  if (!operands.value)
    return std::nullopt;
  Axes query = axesOfValue(operands.query);
  query.pop_back();
  for (auto [source, axis] : llvm::zip(along.sources, along.keys))
    if (int at = findAxis(query, source); at >= 0 && query[at].size == axis.size)
      along.rows.push_back(query[at]);
  if (along.rows.size() < along.keys.size()) {
    along.rows.clear();
    return along;
  }
  std::optional<Axis> row = merged(sema, along.rows, attend);
  if (row)
    operands.query = merge(sema, operands.query, along.rows, along.row = *row, range);
  return row && operands.query ? std::optional(along) : std::nullopt;
}

mlir::Value splitAlong(Sema &sema, mlir::Value value, const AlongAxes &along,
                       llvm::ArrayRef<Axis> query, SourceRange range) {
  if (!along.areSeveral())
    return value;
  llvm::SmallVector<int64_t> split, atoms, order;
  Axes parts, result;
  for (const Axis &axis : axesOfValue(value)) {
    bool isRow = !along.rows.empty() && axis == along.row, isKey = axis == along.key;
    Axes own = isRow ? along.rows : isKey ? along.keys : Axes{axis};
    split.push_back(static_cast<int64_t>(own.size()));
    llvm::append_range(parts, own);
  }
  for (const Axis &axis : query)
    if (findAxis(parts, axis.name) >= 0)
      result.push_back(axis);
  for (const Axis &axis : parts)
    if (findAxis(result, axis.name) < 0)
      result.push_back(axis);
  for (const Axis &part : parts)
    atoms.push_back(part.isDynamic() ? -1 : part.size);
  for (const Axis &axis : result)
    order.push_back(findAxis(parts, axis.name));
  mlir::RankedTensorType type = tensorType(sema, result, range);
  if (!type)
    return nullptr;
  return RearrangeOp::create(sema.builder, locate(sema, range), type, value, split, atoms, order,
                             llvm::SmallVector<int64_t>(result.size(), 1));
}

//===-- positions ---------------------------------------------------------------------------===//

/// The position along part `at` of what was merged, of the position along all.
static mlir::Value positionOf(mlir::OpBuilder &b, mlir::Location loc, llvm::ArrayRef<Axis> parts,
                              size_t at, mlir::Value all) {
  int64_t inner = 1;
  for (const Axis &part : parts.drop_front(at + 1))
    inner *= part.size;
  mlir::Value position = all;
  if (inner > 1) {
    // As `floor(i / n)` of a hook, which all kernels know.
    mlir::Value number = arith::SIToFPOp::create(
        b, loc, b.getF32Type(), arith::IndexCastOp::create(b, loc, b.getI32Type(), all));
    mlir::Value quotient =
        arith::DivFOp::create(b, loc, number, constantOf(b, loc, static_cast<double>(inner)));
    mlir::Value whole =
        arith::FPToSIOp::create(b, loc, b.getI32Type(), createFunction("floor", b, loc, quotient));
    position = arith::IndexCastOp::create(b, loc, b.getIndexType(), whole);
  }
  if (at == 0)
    return position;
  return arith::RemSIOp::create(b, loc, position,
                                arith::ConstantIndexOp::create(b, loc, parts[at].size));
}

void namePositionsAlong(Sema &sema, const AttentionRegions &regions, mlir::OpBuilder &inner,
                        std::map<std::string, FormulaValue> &names) {
  const AlongAxes &along = regions.along;
  if (!along.areSeveral())
    return;
  auto isWord = [](llvm::StringRef label) {
    return llvm::all_of(label, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  };
  auto name = [&](const std::string &letter, llvm::ArrayRef<Axis> parts, mlir::Value all) {
    for (size_t at = 0; at < parts.size(); ++at) {
      std::string label = axisLabel(along.sources[at]).lower();
      if (!isWord(label))
        continue;
      FormulaValue value = FormulaValue::position(positionOf(inner, regions.loc, parts, at, all),
                                                  {0, mostOf(sema, parts[at]) - 1}, parts[at]);
      names[letter + "." + label] = value;
      if (letter == "i")
        names[label] = value;
    }
  };
  mlir::ValueRange positions = regions.positions(inner.getInsertionBlock());
  if (positions.size() > regions.queryAxes.size())
    name("j", along.keys, positions.back());
  for (auto [axis, value] : llvm::zip(regions.queryAxes, positions)) {
    if (!along.rows.empty() && axis == along.row)
      name("i", along.rows, value);
    for (const std::string &source : along.sources) // of a query that has some of them
      if (axisLabel(axis.name) == axisLabel(source) && names.count(axisLabel(source).lower()))
        names["i." + axisLabel(source).lower()] = names[axisLabel(source).lower()];
  }
}

} // namespace attn::frontend
