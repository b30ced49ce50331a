// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `group H by G`: the query's axis of heads is split into groups, what the attention returns has it
// in one again.
#include "compiler/frontend/sema/attention/Groups.h"
#include "compiler/frontend/sema/attention/Attention.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Tensors.h"

namespace attn::frontend {

using namespace ast;
using mlir::Location;

/// Reshapes by splitting axis `at` in two, or by merging two.
static mlir::Value regroup(mlir::OpBuilder &builder, Location loc, mlir::Value value, int at,
                           llvm::ArrayRef<Axis> split, mlir::RankedTensorType type) {
  bool merges = split.size() == 1;
  llvm::SmallVector<int64_t> taken, atoms, order, given;
  for (auto [d, axis] : llvm::enumerate(axesOfValue(value))) {
    bool isSplit = !merges && static_cast<int>(d) == at;
    taken.push_back(isSplit ? 2 : 1);
    if (isSplit)
      atoms.append({split[0].size, split[1].size});
    else
      atoms.push_back(axis.isDynamic() ? -1 : axis.size);
    bool isSecond = merges && static_cast<int>(d) == at + 1;
    if (isSecond)
      given.back() = 2;
    else
      given.append(isSplit ? 2 : 1, 1);
  }
  for (size_t i = 0; i < atoms.size(); ++i)
    order.push_back(static_cast<int64_t>(i));
  return RearrangeOp::create(builder, loc, type, value, taken, atoms, order, given);
}

/// The axis of known size in front of the features that `axes` has and `others` lacks; empty where
/// there is none or more than one.
static std::string onlyOf(const Axes &axes, const Axes &others, const AttendOperands &operands) {
  std::string only;
  for (const Axis &axis : llvm::ArrayRef<Axis>(axes).drop_back()) {
    bool isOfKeys = llvm::is_contained(operands.sources, axis.name) || operands.isKeyAxis(axis);
    if (axis.isDynamic() || isOfKeys || findAxis(others, axis.name) >= 0)
      continue;
    if (!only.empty())
      return "";
    only = axisLabel(axis.name).str();
  }
  return only;
}

bool groupHeads(Sema &sema, const AttendExpr &attend, AttendOperands &operands) {
  if (!attend.groupAxis || !attend.groupBy)
    return !attend.groupAxis && !attend.groupBy;
  const Name &heads = *attend.groupAxis, &by = *attend.groupBy;
  for (const Name *name : {&heads, &by})
    if (Decl *decl = sema.names.scope->find(name->text))
      decl->used = true;
  Axes query = axesOfValue(operands.query), keys = axesOfValue(operands.key);
  int at = findAxis(query, heads.text), group = findAxis(keys, by.text);
  auto wrong = [&](SourceRange range, const llvm::Twine &message) -> Diagnostic & {
    return operands.show(sema.report.error(DiagCode::Groups, range, message), attend);
  };
  auto help = [&](Diagnostic &diagnostic) {
    // What the query has alone and what the keys have alone, where each is one.
    std::string own = onlyOf(query, keys, operands), ofKeys = onlyOf(keys, query, operands);
    if (!own.empty() && !ofKeys.empty())
      diagnostic.help("write `group " + own + " by " + ofKeys + "`",
                      Edit{heads.range.to(by.range), own + " by " + ofKeys});
    return false;
  };
  if (at < 0 || at + 1 == static_cast<int>(query.size()) || query[at].isDynamic())
    return help(wrong(heads.range, "the query has no axis `" + heads.text + "` of heads"));
  if (group < 0 || group + 1 == static_cast<int>(keys.size()) || keys[group].isDynamic() ||
      operands.isKeyAxis(keys[group])) {
    return help(wrong(by.range, "the keys have no axis `" + by.text + "` of heads"));
  }
  if (findAxis(query, by.text) >= 0) {
    wrong(by.range, "the query has the axis `" + by.text + "` too");
    return false;
  }
  int64_t size = query[at].size, groups = keys[group].size;
  if (size % groups != 0) {
    Diagnostic &diagnostic =
        wrong(heads.range.to(by.range), llvm::Twine(size) + " heads, `" + heads.text +
                                            "`, cannot be divided by " + llvm::Twine(groups) +
                                            ", `" + by.text + "`");
    if (std::string where = whereSizes(sema, {query[at], keys[group]}); !where.empty())
      diagnostic.note(where);
    return false;
  }
  operands.heads = query[at];
  operands.group = keys[group];
  operands.rest = {heads.text + "/" + by.text, size / groups};
  query[at] = operands.group;
  query.insert(query.begin() + at + 1, operands.rest);
  operands.query = regroup(sema.builder, locate(sema, heads.range), operands.query, at,
                           {operands.group, operands.rest}, tensorType(sema, query, heads.range));
  return true;
}

mlir::Value mergeHeads(Sema &sema, mlir::Value value, const AttendOperands &operands,
                       SourceRange range) {
  if (!operands.heads.size)
    return value;
  Axes axes = axesOfValue(value);
  int at = findAxis(axes, operands.group.name);
  axes.erase(axes.begin() + at + 1);
  axes[at] = operands.heads;
  return regroup(sema.builder, locate(sema, range), value, at, operands.heads,
                 tensorType(sema, axes, range));
}

} // namespace attn::frontend
