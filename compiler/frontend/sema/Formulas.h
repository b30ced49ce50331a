// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a formula of a score, bias, mask or sink is evaluated to, and the regions it is built into.
#pragma once

#include "compiler/frontend/sema/SemaImpl.h"
#include "dialect/Locations.h"
#include <array>

namespace attn::frontend {

/// The least and the largest that a whole number of a formula may be; both ends included.
struct Interval {
  static constexpr int64_t unbounded = int64_t(1) << 31;
  int64_t low = -unbounded, high = unbounded;

  static Interval of(int64_t number) { return {number, number}; }
  bool isBounded() const { return low > -unbounded && high < unbounded; }
  bool isWithin(int64_t from, int64_t to) const { return low >= from && high <= to; }
  Interval operator+(const Interval &other) const;
  Interval operator-() const;
  Interval operator*(const Interval &other) const;
  /// a % b, which is from 0 to b - 1.
  Interval remainder(int64_t divisor) const;
  /// floor(a / b)
  Interval quotient(int64_t divisor) const;
  Interval magnitude() const;
  static Interval hull(const Interval &a, const Interval &b);
  static Interval minimum(const Interval &a, const Interval &b);
  static Interval maximum(const Interval &a, const Interval &b);
  /// "from -3 to 12", "any whole number".
  std::string text() const;
};

/// A value of a formula. `Number` and nothing else is known when compiling.
struct FormulaValue {
  enum class Kind {
    Error,    ///< reported
    Number,   ///< `number`
    Scalar,   ///< f32
    Position, ///< index: of the query or the key along an axis, and what is calculated from it
    Truth,    ///< i1
    Vector,   ///< tensor<E>: the query or the key, and what is calculated from them
    Dot       ///< an inner product of `value`, of the query, and `key`, not built yet
  } kind = Kind::Error;
  double number = 0;
  mlir::Value value = {};

  /// Of scores: what depends on the query or the key alone (or on none, Constant) is computed
  /// outside of the region for all of them: `value` is a tensor of the model, with the axes of its
  /// side (and the features, for a Vector).
  enum class Side { Pair, Constant, Query, Key } side = Side::Pair;
  Interval range = {}; ///< Of a Position; of a quotient, of what is left of it without a fraction.
  Axis axis = {"", 0}; ///< A Position that is one along an axis and nothing else; a Vector's axis.
  mlir::Value key = {};
  std::vector<std::pair<ast::BinaryOp, double>> then = {}; ///< What a Dot is calculated with.
  bool isQuotient = false; ///< A Scalar that is a whole number divided by another one.
  bool isFloored = false;  ///< A Scalar without a fraction, or NaN; `range` is its interval.

  static FormulaValue position(mlir::Value value, Interval range, Axis axis = {"", 0}) {
    return {Kind::Position, 0, value, Side::Pair, range, std::move(axis)};
  }
  bool isHoisted() const { return side != Side::Pair; }
};

/// The tensors of an attention, as the op takes them, and what was written about them.
struct Sema::AttendOperands {
  mlir::Value query, key, value;
  Axis keyAxis;
  std::string source; ///< The axis that the keys' was made of.
  Axis heads{"", 0}, group{"", 0}, rest{"", 0};

  /// What gives the values: where it pushes to a cache, it gives the keys, too.
  static const ast::Expr &valuesOf(const ast::AttendExpr &attend) {
    return attend.value ? *attend.value : *attend.key;
  }

  /// Adds what the operands are.
  Diagnostic &show(Diagnostic &diagnostic, const ast::AttendExpr &attend) const {
    return diagnostic.at(attend.query->range, "this is " + showAxes(axesOfValue(query)))
        .at(attend.key->range, "this is " + showAxes(axesOfValue(key)))
        .at(valuesOf(attend).range, "this is " + showAxes(axesOfValue(value)));
  }
};

/// The regions of an attention while they are built: blocks on their own, since what all of them
/// capture is known only at the end.
class AttentionRegions {
public:
  enum Part { Score, Bias, Cap, Mask, Sink };

  /// `query`: the axes of the query but its features. `keys`: the axes of the keys but theirs, in
  /// their order; `key` is the one that is attended along.
  AttentionRegions(mlir::Location loc, llvm::ArrayRef<Axis> query, llvm::ArrayRef<Axis> keys,
                   const Axis &key)
      : loc(loc), queryAxes(query.begin(), query.end()), keyAxes(keys.begin(), keys.end()),
        key(key) {}

  /// Starts a region.
  mlir::Block &add(Part part);
  /// Takes a region away again.
  void drop(Part part) { blocks[part].reset(); }
  /// A tensor of the model, as an argument of the region that `block` is.
  mlir::Value capture(mlir::Block *block, mlir::Value tensor);
  /// The position along an axis in the region that `block` is; null where that has none.
  mlir::Value positionAlong(mlir::Block *block, llvm::StringRef axis) const;
  /// The positions of the query's axes, then the key's; a sink has none of the latter.
  mlir::ValueRange positions(mlir::Block *block) const;
  /// The vector that the score region takes of the query, or of the key: `tensor`'s last axis. Null
  /// where it takes another one already.
  mlir::Value vectorOf(FormulaValue::Side side, mlir::Value tensor);
  /// Takes away what nothing uses, of ops and captures.
  void finish();
  /// Moves the blocks to the regions of `op`.
  void moveTo(AttentionOp op);

  mlir::Location loc;
  Axes queryAxes, keyAxes;
  Axis key;
  std::string rowAxis;                          ///< What `i` is a position along; empty: nothing.
  Axis heads{"", 0}, group{"", 0}, rest{"", 0}; ///< Heads in groups: what the axis was split into.
  mlir::Block *scratch = nullptr;               ///< Where a hook that nothing applies is checked.
  llvm::SmallVector<mlir::Value> captures;
  mlir::Value queryVector, keyVector;                                 ///< What the score takes.
  std::map<std::pair<const void *, const void *>, mlir::Value> known; ///< By how it was made.
  std::vector<const Decl *> applying; ///< Hooks, each named by the one before.
  unsigned applications = 0;          ///< Of hooks, so far.
  Scope *place = nullptr;             ///< Of the line that is built: where inputs are looked up.

private:
  static unsigned ownArguments(Part part) { return part == Score ? 2 : part <= Cap ? 1 : 0; }
  Part partOf(mlir::Block *block) const;

  std::array<std::unique_ptr<mlir::Block>, 5> blocks;
};

/// Where a formula's ops go, and what its names stand for.
struct Formula {
  ast::HookDecl::Hook hook;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  std::map<std::string, FormulaValue> names = {};
  AttentionRegions *regions = nullptr;             ///< null for numbers alone
  std::map<std::string, mlir::Value> tensors = {}; ///< the hook's params and inputs
  std::map<std::string, Decl *> maps = {};         ///< the hook's linear maps
  bool isLine = false; ///< of an attend, where any tensor of that place can be read
  bool isSink = false;
  /// Of a hook that is applied in another formula: all that this one names.
  const std::map<std::string, FormulaValue> *positions = nullptr;
  /// Of the functions being built, the one in which axes have the names that stand here.
  size_t frame = SIZE_MAX;
  std::string words = {}; ///< of the spec, for the whole formula

  /// The formula's place, with its words.
  mlir::Location spoken() const { return inWords(loc, words); }
  /// "score", "bias", "mask" or "sink".
  llvm::StringRef what() const;
  bool isScore() const { return hook == ast::HookDecl::Hook::Score; }
  /// "a mask consists of …".
  llvm::StringRef consistsOf() const;
  /// "b, h, i, j".
  std::string listNames() const;
  FormulaValue truth(bool value) const;
  /// A position, or a number that can be one.
  bool isWhole(const FormulaValue &value) const;
  /// That, or a number without a fraction.
  bool hasNoFraction(const FormulaValue &value) const;
  mlir::Value position(const FormulaValue &value) const;
  static Interval rangeOf(const FormulaValue &value);
  /// A number or a position as f32; a number as a vector where `like` is one.
  mlir::Value scalar(const FormulaValue &value) const;
  mlir::Value vector(const FormulaValue &value, mlir::Type like) const;
  /// A formula of another hook that is applied in this one: nothing is named in it yet.
  Formula inner() const {
    Formula formula{hook, builder, loc, {}, regions};
    formula.positions = positions ? positions : &names;
    formula.frame = frame;
    return formula;
  }
};

/// What a value that is calculated of both depends on.
FormulaValue::Side join(FormulaValue::Side a, FormulaValue::Side b);
/// A function of one number, such as `tanh`, as an op on scalars or vectors.
mlir::Value createFunction(llvm::StringRef name, mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value x);
/// `+ - * /` as an op on f32 or vectors of it.
mlir::Value createArithmetic(ast::BinaryOp op, mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value a, mlir::Value b);

} // namespace attn::frontend
