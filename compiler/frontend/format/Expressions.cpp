// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expressions and lists to layouts: operators with as few parentheses as the source has, lists that
// fill lines, `attend` with its lines.
#include "compiler/frontend/format/FormatterImpl.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

namespace attn::frontend {

using namespace ast;

/// Elements fill lines; where comments stand between two, the line ends there.
Layout Formatter::commas(std::vector<Element> elements) {
  Layout layout;
  for (size_t i = 0; i < elements.size(); ++i) {
    bool last = i + 1 == elements.size();
    layout.add(elements.size() == 1 ? std::move(elements[i].layout)
                                    : nest(std::move(elements[i].layout)));
    if (last)
      break;
    layout.add(",");
    std::optional<std::string> trailing = claimTrailing(elements[i].range.end);
    std::vector<size_t> between = claimIn(elements[i].range.end, elements[i + 1].range.begin);
    if (trailing)
      layout.add(comment(*trailing));
    for (size_t index : between)
      layout.add(nest(lineEnd())).add(commentText(index));
    layout.add(trailing || !between.empty() ? nest(lineEnd()) : group(nest(breakOr())));
  }
  return layout;
}

Layout Formatter::expressions(llvm::ArrayRef<ExprPtr> exprs, bool tight) {
  std::vector<Element> elements;
  for (const ExprPtr &e : exprs)
    elements.push_back({expr(*e, tight), e->range});
  return commas(std::move(elements));
}

Layout Formatter::argument(const Argument &argument) {
  Layout layout;
  if (argument.name)
    layout.add(argument.name->text + " = ");
  layout.add(expr(*argument.value));
  for (auto [word, clause] : argument.clauses())
    layout.add(" " + word.str() + " ").add(expr(*clause));
  return layout;
}

Layout Formatter::arguments(llvm::ArrayRef<Argument> arguments) {
  // One argument stays with its brackets, so that `f(g(attend … {` breaks only inside the
  // innermost.
  if (arguments.size() == 1)
    return concat({"(", argument(arguments.front()), ")"});
  Layout inner;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Argument &current = arguments[i];
    inner.add(argument(current));
    if (i + 1 == arguments.size())
      break;
    inner.add(",");
    auto clauses = current.clauses();
    uint32_t end = (clauses.empty() ? current.value.get() : clauses.back().second)->range.end;
    const Argument &following = arguments[i + 1];
    uint32_t begin = following.name ? following.name->range.begin : following.value->range.begin;
    if (std::optional<std::string> trailing = claimTrailing(end))
      inner.add(comment(*trailing));
    for (size_t index : claimIn(end, begin))
      inner.add(lineEnd()).add(commentText(index));
    inner.add(breakOr());
  }
  if (arguments.empty())
    return "()";
  return group(concat({"(", nest(concat({breakOr(""), std::move(inner)})), breakOr(""), ")"}));
}

Layout Formatter::binary(const BinaryExpr &e, bool tight) {
  bool closeUp = tight && (e.op == BinaryOp::Multiply || e.op == BinaryOp::Divide);
  if (closeUp)
    return concat({expr(*e.left, tight), spelling(e.op), expr(*e.right, tight)});
  return concat({expr(*e.left, tight), group(nest(breakOr())), spelling(e.op).str() + " ",
                 expr(*e.right, tight)});
}

/// One or two lines without comments may share a line.
Layout Formatter::attendBody(const AttendExpr &e) {
  if (e.body.empty())
    return "{}";
  Layout lines;
  bool several = e.body.size() > 2;
  uint32_t at = e.along.empty() ? e.key->range.end : e.along.back().axis.range.end;
  for (size_t i = 0; i < e.body.size(); ++i) {
    const AttendItem &item = e.body[i];
    std::vector<Element> values;
    for (const ExprPtr &value : item.values)
      values.push_back({expr(*value), value->range});
    for (size_t index : claimIn(at, item.range.begin))
      lines.add(lineEnd()).add(commentText(index));
    lines.add(several ? lineEnd() : breakOr(i ? "  " : " "));
    lines.add(spelling(item.kind).str() + " ").add(nest(commas(std::move(values))));
    at = item.range.end;
    if (std::optional<std::string> trailing = claimTrailing(at))
      lines.add(comment(*trailing));
  }
  for (size_t index : claimIn(at, e.range.end))
    lines.add(lineEnd()).add(commentText(index));
  return group(concat({"{", nest(std::move(lines)), breakOr(), "}"}));
}

Layout Formatter::attend(const AttendExpr &e) {
  Layout over = concat({breakOr(), "over ", expr(*e.key)});
  if (e.value)
    over.add(", ").add(expr(*e.value));
  std::string along;
  for (const AlongAxis &axis : e.along)
    along += (along.empty() ? "" : ", ") + axis.str();
  over.add(breakOr()).add("along " + (e.along.size() > 1 ? "(" + along + ")" : along));
  if (e.groupAxis && e.groupBy)
    over.add(" group " + e.groupAxis->text + " by " + e.groupBy->text);
  Layout layout = concat({group(concat({"attend ", expr(*e.query), nest(std::move(over))}))});
  if (e.hasBody)
    layout.add(" ").add(attendBody(e));
  return layout;
}

Layout Formatter::choice(const IfExpr &e) {
  const IfExpr *last = &e;
  Layout links; // of a chain, whose conditions stand below each other
  auto then = [&](const IfExpr &one) { return concat({breakOr(), "then ", expr(*one.thenValue)}); };
  while (auto *next = llvm::dyn_cast<IfExpr>(last->elseValue.get())) {
    if (next->parenthesised)
      break;
    links.add(breakOr()).add(
        group(concat({"else if ", expr(*next->condition), nest(then(*next))})));
    last = next;
  }
  links.add(breakOr()).add("else ").add(expr(*last->elseValue));
  Layout first = then(e);
  if (last == &e)
    return group(
        concat({"if ", expr(*e.condition), nest(concat({std::move(first), std::move(links)}))}));
  return group(concat({group(concat({"if ", expr(*e.condition), nest(std::move(first))})),
                       nest(std::move(links))}));
}

Layout Formatter::bare(const Expr &e, bool tight) {
  switch (e.kind) {
  case Expr::Kind::Error:
    return source.text(e.range);
  case Expr::Kind::Integer:
    return source.text(llvm::cast<IntegerExpr>(e).literal);
  case Expr::Kind::Float:
    return source.text(llvm::cast<FloatExpr>(e).literal);
  case Expr::Kind::String:
    return source.text(llvm::cast<StringExpr>(e).literal);
  case Expr::Kind::Path:
    return llvm::cast<PathExpr>(e).path.str();
  case Expr::Kind::Call: {
    auto &call = llvm::cast<CallExpr>(e);
    return concat({expr(*call.callee, tight), arguments(call.arguments)});
  }
  case Expr::Kind::Index: {
    auto &index = llvm::cast<IndexExpr>(e);
    return concat({expr(*index.base, tight), "[", expressions(index.indices), "]"});
  }
  case Expr::Kind::Unary: {
    auto &unary = llvm::cast<UnaryExpr>(e);
    return concat({unary.op == UnaryOp::Not ? "not " : "-", expr(*unary.operand, tight)});
  }
  case Expr::Kind::Binary:
    return binary(llvm::cast<BinaryExpr>(e), tight);
  case Expr::Kind::If:
    return choice(llvm::cast<IfExpr>(e));
  case Expr::Kind::Tuple:
    // One list of several lists is not the list that is in it: `((1, 2))`.
    return concat({e.parenthesised ? "((" : "(", expressions(llvm::cast<TupleExpr>(e).elements),
                   e.parenthesised ? "))" : ")"});
  case Expr::Kind::Attend:
    return attend(llvm::cast<AttendExpr>(e));
  case Expr::Kind::Scan: {
    auto &scan = llvm::cast<ScanExpr>(e);
    Layout layout = concat(
        {"scan ", expr(*scan.cell), " over ", expr(*scan.over), " along " + scan.along.text});
    if (scan.isReverse)
      layout.add(" reverse");
    if (scan.from)
      layout.add(" from ").add(expr(*scan.from));
    return scan.lengths ? layout.add(" lengths ").add(expr(*scan.lengths)) : layout;
  }
  }
  llvm_unreachable("covered");
}

Layout Formatter::expr(const Expr &e, bool tight) {
  bool brackets = e.parenthesised && e.kind != Expr::Kind::Tuple;
  return brackets ? concat({"(", bare(e, tight), ")"}) : bare(e, tight);
}

} // namespace attn::frontend
