// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The syntax tree of a spec (Ast.h): names, paths and expressions, a hierarchy with tags for
// llvm::isa/dyn_cast. Where the text could not be parsed the tree holds an `ErrorExpr`, already
// reported: later stages stay silent about it.
#pragma once

#include "compiler/frontend/syntax/SourceFile.h"
#include "llvm/Support/Casting.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn::frontend::ast {

/// One word, with its place. Empty text: it was missing, and that has been reported.
struct Name {
  std::string text;
  SourceRange range;
};

/// `attn.q`, `out_layer.1`: words joined by dots; never empty. Components after the first may be
/// integers.
struct Path {
  std::vector<Name> parts;
  SourceRange range;

  /// Whether the path is one word.
  bool isName() const { return parts.size() == 1; }
  /// The path as written, joined by dots.
  std::string str() const;
};

/// An expression of any kind.
struct Expr {
  /// The kinds of expressions, one for each struct below.
  enum class Kind {
    Error,
    Integer,
    Float,
    String,
    Path,
    Call,
    Index,
    Unary,
    Binary,
    If,
    Tuple,
    Attend,
    Scan
  };

  const Kind kind;
  SourceRange range;          ///< With the parentheses around it, if any.
  bool parenthesised = false; ///< Written in parentheses; kept for the formatter, without meaning.
  unsigned depth =
      1; ///< Height of this subtree; the parser bounds it, so recursion over a tree is safe.

  virtual ~Expr();

protected:
  Expr(Kind kind, SourceRange range) : kind(kind), range(range) {}
};
/// An expression, owned by what it is part of.
using ExprPtr = std::unique_ptr<Expr>;

/// Text that did not parse; reported already.
struct ErrorExpr : Expr {
  explicit ErrorExpr(SourceRange range) : Expr(Kind::Error, range) {}
  static bool classof(const Expr *e) { return e->kind == Kind::Error; }
};

/// `768`
struct IntegerExpr : Expr {
  int64_t value;
  SourceRange literal; ///< Without parentheses around it.
  IntegerExpr(SourceRange range, int64_t value)
      : Expr(Kind::Integer, range), value(value), literal(range) {}
  static bool classof(const Expr *e) { return e->kind == Kind::Integer; }
};

/// `1e-6`, `0.5`
struct FloatExpr : Expr {
  double value;
  SourceRange literal; ///< Without parentheses around it.
  FloatExpr(SourceRange range, double value)
      : Expr(Kind::Float, range), value(value), literal(range) {}
  static bool classof(const Expr *e) { return e->kind == Kind::Float; }
};

/// `"b c (y p) -> b y c p"`; `value` is without quotes, escapes resolved.
struct StringExpr : Expr {
  std::string value;
  SourceRange literal; ///< Without parentheses around it.
  StringExpr(SourceRange range, std::string value)
      : Expr(Kind::String, range), value(std::move(value)), literal(range) {}
  static bool classof(const Expr *e) { return e->kind == Kind::String; }
};

/// A use of a name: `x`, `attn.q`, `i.row`, `config.hidden_size`.
struct PathExpr : Expr {
  Path path;
  explicit PathExpr(Path path) : Expr(Kind::Path, path.range), path(std::move(path)) {}
  static bool classof(const Expr *e) { return e->kind == Kind::Path; }
};

/// `value`, `name = value`, `axis by value` or `axis as name`: an argument of a call.
struct Argument {
  std::optional<Name> name; ///< `shift = 1`
  ExprPtr value;
  // What stands behind the value, null where nothing does.
  ExprPtr by;       ///< `Y by -shift`: value is `Y`, this is `-shift`.
  ExprPtr at;       ///< `T at index`
  ExprPtr from, to; ///< `T from 1 to 5`
  ExprPtr as;       ///< `T from 1 to 5 as S`, `D as A`
  ExprPtr where;    ///< `x where keep`

  /// What stands behind the value, in the order in which it was written.
  llvm::SmallVector<std::pair<llvm::StringRef, const Expr *>, 3> clauses() const;
  /// Whether the argument is a value alone.
  bool isPlain() const { return !name && clauses().empty(); }
};

/// `attn.q(n)`, `split(image, "…")`, `softmax(sink = s[h])`
struct CallExpr : Expr {
  ExprPtr callee;
  std::vector<Argument> arguments;
  CallExpr(SourceRange range, ExprPtr callee)
      : Expr(Kind::Call, range), callee(std::move(callee)) {}
  static bool classof(const Expr *e) { return e->kind == Kind::Call; }
};

/// `m[b, h, i.row, j.row]`
struct IndexExpr : Expr {
  ExprPtr base;
  std::vector<ExprPtr> indices;
  IndexExpr(SourceRange range, ExprPtr base) : Expr(Kind::Index, range), base(std::move(base)) {}
  static bool classof(const Expr *e) { return e->kind == Kind::Index; }
};

/// The operators in front of an operand.
enum class UnaryOp { Negate, Not };
/// How the operator is spelt.
llvm::StringRef spelling(UnaryOp op);

/// `-x`, `not m`
struct UnaryExpr : Expr {
  UnaryOp op;
  ExprPtr operand;
  UnaryExpr(SourceRange range, UnaryOp op, ExprPtr operand)
      : Expr(Kind::Unary, range), op(op), operand(std::move(operand)) {}
  static bool classof(const Expr *e) { return e->kind == Kind::Unary; }
};

/// `Coalesce` is `??`: the left side where the configuration has it, else the right one.
enum class BinaryOp {
  Coalesce,
  Or,
  And,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Add,
  Subtract,
  Multiply,
  Divide,
  Remainder,
  Power
};
/// How the operator is spelt.
llvm::StringRef spelling(BinaryOp op);

/// `a + b`, `i <= j`, `c ?? d`
struct BinaryExpr : Expr {
  BinaryOp op;
  SourceRange opRange;
  ExprPtr left, right;
  BinaryExpr(BinaryOp op, SourceRange opRange, ExprPtr l, ExprPtr r)
      : Expr(Kind::Binary, l->range.to(r->range)), op(op), opRange(opRange), left(std::move(l)),
        right(std::move(r)) {}
  static bool classof(const Expr *e) { return e->kind == Kind::Binary; }
};

/// `if c then a else b`
struct IfExpr : Expr {
  ExprPtr condition, thenValue, elseValue;
  explicit IfExpr(SourceRange range) : Expr(Kind::If, range) {}
  static bool classof(const Expr *e) { return e->kind == Kind::If; }
};

/// `(h0, c0)`: two or more values.
struct TupleExpr : Expr {
  std::vector<ExprPtr> elements;
  explicit TupleExpr(SourceRange range) : Expr(Kind::Tuple, range) {}
  static bool classof(const Expr *e) { return e->kind == Kind::Tuple; }
};

/// A line of the body of an `attend`, in the order written (any order parses; the hooks have a
/// fixed one).
struct AttendItem {
  /// What the line sets.
  enum class Kind { Score, Bias, Cap, Mask, Weight, Return };
  Kind kind;
  SourceRange keyword; ///< The word `score`, …
  SourceRange range;
  std::vector<ExprPtr>
      values; ///< One, or for `return` one or more (`out`, `lse`, `weights`, `scores(raw)`).
};
/// The word that starts such a line.
llvm::StringRef spelling(AttendItem::Kind kind);
/// All words that start one.
std::vector<llvm::StringRef> attendWords();

/// `along T as S`: `axis` is what the operands call it, `alias` (if given) the key axis' name
/// inside.
struct AlongAxis {
  Name axis;
  std::optional<Name> alias;

  /// The axis as written.
  std::string str() const { return axis.text + (alias ? " as " + alias->text : ""); }
};

/// `attend q over k, v along T as S group H by G { … }`
struct AttendExpr : Expr {
  ExprPtr query, key;
  ExprPtr value; ///< Null where `key` is one expression that gives the pair (a cache's).
  std::vector<AlongAxis> along;           ///< One, or several where written `along (Y, X)`.
  std::optional<Name> groupAxis, groupBy; ///< `group H by G`
  std::vector<AttendItem> body;
  bool hasBody = false; ///< Whether braces were written.
  explicit AttendExpr(SourceRange range) : Expr(Kind::Attend, range) {}
  static bool classof(const Expr *e) { return e->kind == Kind::Attend; }
};

/// `scan LSTM over x along T reverse from zeros lengths n`
struct ScanExpr : Expr {
  ExprPtr cell; ///< A path, or a call of one where more than inputs and states is given.
  ExprPtr over; ///< Several inputs are a tuple.
  Name along;
  bool isReverse = false;
  ExprPtr from;    ///< Null where not said.
  ExprPtr lengths; ///< Null where all rows are as long as the axis.
  explicit ScanExpr(SourceRange range) : Expr(Kind::Scan, range) {}
  static bool classof(const Expr *e) { return e->kind == Kind::Scan; }
};

} // namespace attn::frontend::ast
