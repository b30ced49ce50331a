// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scores: which one an attention names, and what it ends as: a number for each pair, made of one
// inner product.
#include "compiler/frontend/sema/attention/Scores.h"
#include "compiler/frontend/sema/attention/AttentionRegions.h"
#include "compiler/frontend/sema/attention/Formula.h"
#include "compiler/frontend/sema/attention/Hooks.h"
#include "compiler/frontend/sema/attention/OneSided.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Dims.h"
#include "compiler/frontend/sema/sizes/Statics.h"
#include "compiler/frontend/sema/sizes/Tensors.h"

#include <cmath>

namespace attn::frontend {

using namespace ast;
using mlir::Location;
using Kind = FormulaValue::Kind;
using Side = FormulaValue::Side;

/// What `value` is instead of a number for each pair.
static std::string notAScore(const FormulaValue &value) {
  if (value.kind == Kind::Vector)
    return "a score is one number for each pair, but this is a vector";
  if (value.kind == Kind::Truth)
    return "a score is a number, but this is a truth value";
  if (value.isHoisted() && value.side != Side::Constant)
    return value.side == Side::Query ? "this score does not depend on the key"
                                     : "this score does not depend on the query";
  return "this score does not depend on the query and the key";
}

static bool finishScore(Formula &pair, FormulaValue value, SourceRange place) {
  if (value.kind == Kind::Error)
    return false;
  if (value.kind != Kind::Dot && (value.kind != Kind::Scalar || value.isHoisted())) {
    pair.sema.report.error(DiagCode::ScoreExpression, place, notAScore(value))
        .help("write `dot(q, k)`");
    return false;
  }
  if (!intoRegion(pair, value, place))
    return false;
  unsigned dots = 0;
  for (mlir::Operation &op : *pair.builder.getInsertionBlock())
    dots += llvm::isa<DotOp>(op) && !op.use_empty();
  if (auto last = value.value.getDefiningOp<DotOp>(); last && last->use_empty())
    ++dots;
  if (dots != 1 || !pair.regions->queryVector || !pair.regions->keyVector) {
    pair.sema.report
        .error(DiagCode::ScoreExpression, place,
               dots > 1    ? "this score needs " + std::to_string(dots) +
                                 " inner products of each query and key"
               : dots == 0 ? "this score needs no inner product of a query and a key"
                           : "this score does not depend on the query and the key")
        .note("a score is a function of one `dot` or `sum` of what depends on both")
        .help("write `dot(q, k)`");
    return false;
  }
  YieldOp::create(pair.builder, pair.spoken(), value.value);
  return true;
}

static std::optional<FormulaValue> knownScore(Formula &pair, llvm::StringRef name,
                                              const FormulaValue &q, const FormulaValue &k) {
  FormulaValue dot{Kind::Dot, 0, q.value};
  dot.key = k.value;
  if (name == "dot")
    return dot;
  if (name == "scaled_dot") {
    dot.then = {{BinaryOp::Multiply, 1 / std::sqrt(static_cast<double>(q.axis.size))}};
    return dot;
  }
  if (name != "cosine")
    return std::nullopt;
  dot.value = unitOutside(pair, q).value;
  dot.key = unitOutside(pair, k).value;
  return dot;
}

/// The side of an `if` that its condition chooses; null after an error.
static const Expr *chosenBy(Sema &sema, const IfExpr &choice) {
  std::optional<bool> condition = evalCondition(sema, *choice.condition);
  if (!condition)
    return nullptr;
  return *condition ? choice.thenValue.get() : choice.elseValue.get();
}

bool isDeclaredScore(Sema &sema, const Expr *score) {
  if (auto *choice = llvm::dyn_cast_or_null<IfExpr>(score)) {
    const Expr *chosen = chosenBy(sema, *choice);
    return chosen && isDeclaredScore(sema, chosen);
  }
  if (const Decl *fixed = staticOf(sema.names, score)) {
    ScopedHome home(sema, *fixed);
    return isDeclaredScore(sema, fixed->expr);
  }
  auto *call = llvm::dyn_cast_or_null<CallExpr>(score);
  auto *path = llvm::dyn_cast_or_null<PathExpr>(call ? call->callee.get() : score);
  return path && hookOf(sema.names.scope->find(path->path.str()), HookDecl::Hook::Score);
}

const Decl *staticOf(Names &names, const Expr *expr) {
  auto *path = llvm::dyn_cast_or_null<PathExpr>(expr);
  const Decl *decl = path ? names.scope->find(path->path.str()) : nullptr;
  return decl && decl->kind == Decl::Kind::Static ? decl : nullptr;
}

bool buildScore(Sema &sema, const Expr *score, AttentionRegions &regions, mlir::Value q,
                mlir::Value k) {
  if (auto *choice = llvm::dyn_cast_or_null<IfExpr>(score)) {
    const Expr *chosen = chosenBy(sema, *choice);
    return chosen && buildScore(sema, chosen, regions, q, k);
  }
  if (const Decl *fixed = staticOf(sema.names, score)) {
    ScopedHome home(sema, *fixed);
    return buildScore(sema, fixed->expr, regions, q, k);
  }
  mlir::OpBuilder inner(&sema.mlirContext);
  inner.setInsertionPointToEnd(&regions.add(AttentionRegions::Score));
  Location loc = score ? locate(sema, score->range, "score") : regions.loc;
  Formula pair{sema, HookDecl::Hook::Score, inner, loc, {}, &regions};
  pair.words = score ? wordsOf(sema, *score) : "scaled_dot";
  FormulaValue query{Kind::Vector, 0, q, Side::Query, {}, axesOfValue(q).back()},
      key{Kind::Vector, 0, k, Side::Key, {}, axesOfValue(k).back()};
  auto *call = llvm::dyn_cast_or_null<CallExpr>(score);
  auto *path = llvm::dyn_cast_or_null<PathExpr>(call ? call->callee.get() : score);
  if (score && !path) {
    std::string text = sema.source.text(score->range).str();
    bool isFormula = text.find("(q, k)") != std::string::npos;
    sema.report.error(DiagCode::UnknownScore, score->range, "expected the name of a score")
        .note("declare it: `score mine(q, k) = " + (isFormula ? text : "dot(q, k) * 0.5") + "`");
    return false;
  }
  std::string name = path ? path->path.str() : "scaled_dot";
  Decl *decl = path ? sema.names.scope->find(name) : nullptr;
  if (decl)
    decl->used = true;
  if (const HookDecl *hook = hookOf(decl, HookDecl::Hook::Score)) {
    Formula line = pair;
    line.names = positionsOf(sema, regions, inner);
    line.names["q"] = query;
    line.names["k"] = key;
    return finishScore(pair, applyDeclared(line, *decl, *hook, *path, call), hook->body->range);
  }
  std::optional<FormulaValue> value = decl ? std::nullopt : knownScore(pair, name, query, key);
  if (!value) {
    unknownHook(sema, *path, HookDecl::Hook::Score, decl);
    return false;
  }
  if (call) {
    sema.report.error(DiagCode::WrongArguments, call->range, "`" + name + "` takes nothing")
        .help("declare a score of your own: `score mine(q, k; c) = dot(q, k) * c`");
    return false;
  }
  return finishScore(pair, *value, score ? score->range : SourceRange());
}

} // namespace attn::frontend
