// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scores: which one an attention names, and what it ends as: a number for each pair, made of one
// inner product.
#include "compiler/frontend/sema/Formulas.h"

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

bool Sema::finishScore(FormulaValue value, Formula &pair, SourceRange place) {
  if (value.kind == Kind::Error)
    return false;
  if (value.kind != Kind::Dot && (value.kind != Kind::Scalar || value.isHoisted())) {
    error(DiagCode::ScoreExpression, place, notAScore(value)).help("write `dot(q, k)`");
    return false;
  }
  if (!intoRegion(value, pair, place))
    return false;
  unsigned dots = 0;
  for (mlir::Operation &op : *pair.builder.getInsertionBlock())
    dots += llvm::isa<DotOp>(op) && !op.use_empty();
  if (auto last = value.value.getDefiningOp<DotOp>(); last && last->use_empty())
    ++dots;
  if (dots != 1 || !pair.regions->queryVector || !pair.regions->keyVector) {
    error(DiagCode::ScoreExpression, place,
          dots > 1
              ? "this score needs " + std::to_string(dots) + " inner products of each query and key"
          : dots == 0 ? "this score needs no inner product of a query and a key"
                      : "this score does not depend on the query and the key")
        .note("a score is a function of one `dot` or `sum` of what depends on both")
        .help("write `dot(q, k)`");
    return false;
  }
  YieldOp::create(pair.builder, pair.spoken(), value.value);
  return true;
}

std::optional<FormulaValue> Sema::knownScore(llvm::StringRef name, const FormulaValue &q,
                                             const FormulaValue &k, Formula &pair) {
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
  dot.value = unitOutside(q, pair).value;
  dot.key = unitOutside(k, pair).value;
  return dot;
}

bool Sema::isDeclaredScore(const Expr *score) {
  if (const Decl *fixed = staticOf(score))
    return atHome(*fixed, [&](const Expr &own) { return isDeclaredScore(&own); });
  auto *call = llvm::dyn_cast_or_null<CallExpr>(score);
  auto *path = llvm::dyn_cast_or_null<PathExpr>(call ? call->callee.get() : score);
  return path && hookOf(scope->find(path->path.str()), HookDecl::Hook::Score);
}

const Decl *Sema::staticOf(const Expr *expr) {
  auto *path = llvm::dyn_cast_or_null<PathExpr>(expr);
  const Decl *decl = path ? scope->find(path->path.str()) : nullptr;
  return decl && decl->kind == Decl::Kind::Static ? decl : nullptr;
}

bool Sema::buildScore(const Expr *score, AttentionRegions &regions, mlir::Value q, mlir::Value k) {
  if (const Decl *fixed = staticOf(score))
    return atHome(*fixed, [&](const Expr &own) { return buildScore(&own, regions, q, k); });
  mlir::OpBuilder inner(&mlirContext);
  inner.setInsertionPointToEnd(&regions.add(AttentionRegions::Score));
  Location loc = score ? locate(score->range, "score") : regions.loc;
  Formula pair{HookDecl::Hook::Score, inner, loc, {}, &regions};
  pair.words = score ? wordsOf(*score) : "scaled_dot";
  FormulaValue query{Kind::Vector, 0, q, Side::Query, {}, axesOfValue(q).back()},
      key{Kind::Vector, 0, k, Side::Key, {}, axesOfValue(k).back()};
  auto *call = llvm::dyn_cast_or_null<CallExpr>(score);
  auto *path = llvm::dyn_cast_or_null<PathExpr>(call ? call->callee.get() : score);
  if (score && !path) {
    error(DiagCode::UnknownScore, score->range, "expected the name of a score")
        .note("declare it: `score mine(q, k) = dot(q, k) * 0.5`");
    return false;
  }
  std::string name = path ? path->path.str() : "scaled_dot";
  Decl *decl = path ? scope->find(name) : nullptr;
  if (decl)
    decl->used = true;
  if (const HookDecl *hook = hookOf(decl, HookDecl::Hook::Score)) {
    Formula line = pair;
    line.names = positionsOf(regions, inner);
    line.names["q"] = query;
    line.names["k"] = key;
    return finishScore(applyDeclared(*decl, *hook, *path, call, line), pair, hook->body->range);
  }
  std::optional<FormulaValue> value = decl ? std::nullopt : knownScore(name, query, key, pair);
  if (!value) {
    unknownHook(*path, HookDecl::Hook::Score, decl, {"dot", "scaled_dot", "cosine"});
    return false;
  }
  if (call) {
    error(DiagCode::WrongArguments, call->range, "`" + name + "` takes nothing")
        .help("declare a score of your own: `score mine(q, k; c) = dot(q, k) * c`");
    return false;
  }
  return finishScore(*value, pair, score ? score->range : SourceRange());
}

} // namespace attn::frontend
