// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How parts of the tree are spelt in the language.
#include "compiler/frontend/syntax/Ast.h"

#include "llvm/Support/ErrorHandling.h"

namespace attn::frontend::ast {

Expr::~Expr() = default;
Item::~Item() = default;

std::string Path::str() const {
  std::string text;
  for (const Name &part : parts) {
    if (&part != &parts.front())
      text += '.';
    text += part.text;
  }
  return text;
}

llvm::SmallVector<std::pair<llvm::StringRef, const Expr *>, 3> Argument::clauses() const {
  llvm::SmallVector<std::pair<llvm::StringRef, const Expr *>, 3> written;
  std::pair<llvm::StringRef, const ExprPtr *> all[] = {
      {"by", &by}, {"at", &at}, {"where", &where}, {"from", &from}, {"to", &to}, {"as", &as}};
  for (auto [word, clause] : all)
    if (*clause)
      written.push_back({word, clause->get()});
  return written;
}

llvm::StringRef spelling(UnaryOp op) { return op == UnaryOp::Negate ? "-" : "not"; }

llvm::StringRef spelling(BinaryOp op) {
  switch (op) {
  case BinaryOp::Coalesce:
    return "??";
  case BinaryOp::Or:
    return "or";
  case BinaryOp::And:
    return "and";
  case BinaryOp::Equal:
    return "==";
  case BinaryOp::NotEqual:
    return "!=";
  case BinaryOp::Less:
    return "<";
  case BinaryOp::LessEqual:
    return "<=";
  case BinaryOp::Greater:
    return ">";
  case BinaryOp::GreaterEqual:
    return ">=";
  case BinaryOp::Add:
    return "+";
  case BinaryOp::Subtract:
    return "-";
  case BinaryOp::Multiply:
    return "*";
  case BinaryOp::Divide:
    return "/";
  case BinaryOp::Remainder:
    return "%";
  case BinaryOp::Power:
    return "**";
  }
  llvm_unreachable("covered");
}

std::vector<llvm::StringRef> attendWords() {
  using Kind = AttendItem::Kind;
  std::vector<llvm::StringRef> words;
  for (Kind kind : {Kind::Score, Kind::Bias, Kind::Cap, Kind::Mask, Kind::Weight, Kind::Return})
    words.push_back(spelling(kind));
  return words;
}

llvm::StringRef spelling(AttendItem::Kind kind) {
  switch (kind) {
  case AttendItem::Kind::Score:
    return "score";
  case AttendItem::Kind::Bias:
    return "bias";
  case AttendItem::Kind::Cap:
    return "cap";
  case AttendItem::Kind::Mask:
    return "mask";
  case AttendItem::Kind::Weight:
    return "weight";
  case AttendItem::Kind::Return:
    return "return";
  }
  llvm_unreachable("covered");
}

} // namespace attn::frontend::ast
